"""Methods as schedules: a method is a sequence of phases that spends one budget.

Costs are in rollouts, the unit of the budget. A schedule is told what each phase really charged, since an adaptive one
may end early and a soft cap may be passed.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace

from envs.base import InputError
from whale.budget import (
    AdaptiveSettings,
    AttemptSettings,
    BudgetSettings,
    FstSettings,
    SearchSettings,
    WeightSettings,
)
from whale.patience import Patience
from whale.phases import Evolve, Phase, Search, Train
from whale.settings import LearnerKind

Schedule = Generator[Phase, int, None]
"""Yields phases and is sent the rollouts that each really charged."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The prices and the budget that a schedule works with."""

    weight: WeightSettings
    search: SearchSettings
    budget: BudgetSettings
    adaptive: AdaptiveSettings
    fst: FstSettings
    attempts: AttemptSettings

    def cost(self, phase: Phase) -> int:
        """Rollouts that a phase charges, at most (``Evolve``: up to ``slack`` more)."""
        match phase:
            case Train():
                return phase.rollouts
            case Search():
                return self.search.cost(phase.iterations)
            case Evolve():
                return phase.calls
        return 0

    def briefest(self, phase: Phase) -> Phase:
        """The phase as it is when its rule stops it at the first chance."""
        match phase:
            case Train(until=Patience() as rule):
                return replace(phase, rollouts=min(phase.rollouts, rule.minimum * self.weight.step_cost))
            case Search(until=Patience() as rule):
                return replace(phase, iterations=min(phase.iterations, rule.minimum))
        return phase

    @property
    def train(self) -> Train:
        """One weight phase of E steps."""
        return Train(self.budget.steps * self.weight.step_cost)

    @property
    def searching(self) -> Search:
        """One search of I iterations."""
        return Search(self.budget.iterations)

    @property
    def anchors(self) -> int:
        """Tasks on which prompts are evolved: those of E steps."""
        return self.budget.steps * self.weight.prompts

    @property
    def evolving(self) -> Evolve:
        """One evolution of prompts."""
        return Evolve(self.anchors * self.fst.calls, self.budget.steps)

    @property
    def slack(self) -> int:
        """What an evolution may charge beyond its cap: all but one rollout of an iteration."""
        return self.anchors + 2 * self.fst.minibatch - 1

    @property
    def least_calls(self) -> int:
        """What an evolution must have: all K carried prompts enter, and one rewrite may be tried."""
        fst = self.fst
        return fst.prompts * self.anchors + (fst.prompts - 1) * 2 * fst.minibatch + 1

    @property
    def training(self) -> int:
        """What the alternating method spends on weight phases, in rollouts."""
        return (self.budget.cycles + 1) * self.cost(self.train)

    @property
    def total(self) -> int:
        """The budget: what the alternating method spends, in rollouts."""
        return self.training + self.budget.cycles * self.cost(self.searching)

    def trains(self, rollouts: int, learner: LearnerKind = "rsft") -> Schedule:
        """Weight phases of E steps until ``rollouts`` are spent; the last may be shorter."""
        while rollouts > 0:
            rollouts -= yield Train(min(rollouts, self.train.rollouts), learner=learner)

    def searches(self, rollouts: int) -> Schedule:
        """Searches that continue one archive: of I iterations, then one of as many as the rest pays for."""
        first = True
        while iterations := min(self.budget.iterations, self.search.iterations_for(rollouts)):
            rollouts -= yield Search(iterations, continued=not first)
            first = False

    def alternating(self, search: Search) -> Schedule:
        """W(E) and ``search`` by turns, as many cycles as the profile says; a weight phase is the last."""
        for _ in range(self.budget.cycles):
            yield self.train
            yield replace(search, iterations=self.budget.iterations)
        yield self.train


@dataclass(frozen=True, slots=True)
class Method:
    """A compared method."""

    name: str
    schedule: Callable[[Plan], Schedule]

    def phases(self, plan: Plan, *, brief: bool = False) -> list[Phase]:
        """The phases in order, each as long as it may get, or (``brief``) as short.

        Raises ``InputError`` when the budget does not pay for them.
        """
        phases: list[Phase] = []

        def note(phase: Phase) -> int:
            phases.append(plan.briefest(phase) if brief else phase)
            return plan.cost(phases[-1])

        self.walk(plan, note)
        return phases

    def walk(self, plan: Plan, carry_out: Callable[[Phase], int]) -> None:
        """Have the phases carried out one after the other; ``carry_out`` returns the rollouts that each charged.

        Raises ``InputError`` before a phase that the budget does not pay for.
        """
        schedule, left = self.schedule(plan), plan.total
        try:
            phase = next(schedule)
            while True:
                if plan.cost(phase) > left:
                    raise InputError(
                        f"{self.name} would spend {plan.total - left + plan.cost(phase)} rollouts of a budget of "
                        f"{plan.total}; lower E or I"
                    )
                charged = carry_out(phase)
                left -= charged
                phase = schedule.send(charged)
        except StopIteration:
            return

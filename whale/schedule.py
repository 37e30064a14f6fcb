"""Methods as schedules: a method is a sequence of weight and search phases that spends one budget.

Nothing here runs a phase. Costs are in rollouts, the unit of the budget. A schedule is told how long each phase really
was, since an adaptive one may end early.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from envs.base import InputError
from whale.patience import Patience
from whale.settings import LearnerKind


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class WeightSettings(_Table):
    """The ``[weight]`` table of a profile: one weight step."""

    prompts: int = Field(gt=0)
    """Tasks a step."""
    samples: int = Field(gt=0)
    """Rollouts a task."""

    @property
    def step_cost(self) -> int:
        """Rollouts of one weight step."""
        return self.prompts * self.samples


class SearchSettings(_Table):
    """The ``[search]`` table of a profile: one harness search."""

    examples: int = Field(gt=0)
    """Search tasks on which every candidate is scored (D)."""
    candidates: int = Field(gt=0)
    """New harnesses an iteration (M)."""
    accept: Literal["confirm", "argmax"]
    """``confirm``: the best few and the incoming harness meet again on fresh samples; ``argmax`` (the
    published rule): the highest score in the archive is taken."""
    finalists: int = Field(ge=1)
    """Candidates that meet the incoming harness again under ``confirm``."""
    confirm_samples: int = Field(ge=1)
    """Fresh rollouts a search task and finalist under ``confirm``."""

    def cost(self, iterations: int) -> int:
        """Rollouts of a search: the incoming harness, M candidates an iteration, and the confirmation."""
        screen = self.examples * (1 + self.candidates * iterations)
        again = (self.finalists + 1) * self.examples * self.confirm_samples
        return screen + (again if self.accept == "confirm" else 0)

    def iterations_for(self, rollouts: int) -> int:
        """The most iterations that ``rollouts`` pay for; 0 when they do not pay for one."""
        return max(0, (rollouts - self.cost(0)) // (self.examples * self.candidates))


class BudgetSettings(_Table):
    """The ``[budget]`` table of a profile; every method but ``frozen`` may spend the same."""

    steps: int = Field(gt=0)
    """E: weight steps a phase."""
    iterations: int = Field(gt=0)
    """I: proposing iterations a search."""
    cycles: int = Field(gt=0)
    """Searches of the alternating method; it has one weight phase more."""


class AdaptiveSettings(_Table):
    """The ``[adaptive]`` table of a profile: when the phases of ``whale_adaptive`` stop."""

    weight: Patience
    """On the mean training reward of a step."""
    search: Patience
    """On the best score of the search's archive, the incoming harness included."""
    cap: int = Field(gt=0)
    """Most iterations of a search."""


@dataclass(frozen=True, slots=True)
class Train:
    """Phase W: weight steps under the current harness."""

    steps: int
    until: Patience | None = None
    """May end it before ``steps``."""
    learner: LearnerKind = "rsft"

    @property
    def length(self) -> int:
        """Steps, at most."""
        return self.steps


@dataclass(frozen=True, slots=True)
class Search:
    """Phase H: a harness search under the current weights."""

    iterations: int
    continued: bool = False
    """Whether the archive of the search before goes on (same weights) instead of a new one."""
    until: Patience | None = None
    """May end it before ``iterations``."""

    @property
    def length(self) -> int:
        """Iterations, at most."""
        return self.iterations


Phase = Train | Search
Schedule = Generator[Phase, int, None]
"""Yields phases and is sent the length that each really had."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The prices and the budget that a schedule works with."""

    weight: WeightSettings
    search: SearchSettings
    budget: BudgetSettings
    adaptive: AdaptiveSettings

    def cost(self, phase: Phase) -> int:
        """Rollouts that a phase charges."""
        if isinstance(phase, Train):
            return phase.steps * self.weight.step_cost
        return self.search.cost(phase.iterations)

    @property
    def train(self) -> Train:
        """One weight phase of E steps."""
        return Train(self.budget.steps)

    @property
    def searching(self) -> Search:
        """One search of I iterations."""
        return Search(self.budget.iterations)

    @property
    def training(self) -> int:
        """What the alternating method spends on weight phases, in rollouts."""
        return (self.budget.cycles + 1) * self.cost(self.train)

    @property
    def total(self) -> int:
        """The budget: what the alternating method spends, in rollouts."""
        return self.training + self.budget.cycles * self.cost(self.searching)

    def trains(self, rollouts: int, learner: LearnerKind = "rsft") -> Schedule:
        """Weight phases of E steps until ``rollouts`` are spent; the last may have fewer steps."""
        left = rollouts // self.weight.step_cost
        while left > 0:
            steps = min(left, self.budget.steps)
            yield Train(steps, learner=learner)
            left -= steps

    def searches(self, rollouts: int) -> Schedule:
        """Searches of I iterations that continue one archive, as many as ``rollouts`` pay for."""
        for index in range(rollouts // self.cost(self.searching)):
            yield Search(self.budget.iterations, continued=index > 0)


@dataclass(frozen=True, slots=True)
class Method:
    """A compared method."""

    name: str
    schedule: Callable[[Plan], Schedule]

    def phases(self, plan: Plan) -> list[Phase]:
        """The phases in order, each as long as it may get.

        Raises ``InputError`` when the budget does not pay for them.
        """
        phases: list[Phase] = []

        def note(phase: Phase) -> int:
            phases.append(phase)
            return phase.length

        self.walk(plan, note)
        return phases

    def walk(self, plan: Plan, carry_out: Callable[[Phase], int]) -> None:
        """Have the phases carried out one after the other; ``carry_out`` returns the length that a phase really had.

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
                done = carry_out(phase)
                left -= plan.cost(replace_length(phase, done))
                phase = schedule.send(done)
        except StopIteration:
            return


def replace_length(phase: Phase, length: int) -> Phase:
    """The phase as it was carried out."""
    return replace(phase, steps=length) if isinstance(phase, Train) else replace(phase, iterations=length)

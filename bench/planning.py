"""What a command will cost before anything runs: rollouts by method and phase, and what is shared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.config import Profile
from whale.phases import Attempt, Evolve, Phase, Refine, Search, Train
from whale.schedule import Method, Plan


@dataclass(frozen=True, slots=True)
class MethodCost:
    """Rollouts of one method under one seed."""

    name: str
    phases: str
    """The schedule in short, such as ``W2 H1 W2``."""
    charged: int
    """Charged to the method."""
    computed: int
    """Really run, evaluations included, after what methods before it in the list have computed."""


def costs(profile: Profile, methods: Sequence[Method]) -> list[MethodCost]:
    """Upper bounds a seed: a search that keeps its harness saves evaluations, a soft cap may be passed."""
    plan, sizes, samples = profile.plan, profile.env.sizes, profile.eval.samples
    seen: set[tuple[Phase, ...]] = set()
    evaluation = (sizes.select + sizes.test) * samples
    rows = []
    for method in methods:
        # The more and shorter the phases of an adaptive schedule, the more evaluations it needs.
        phases = method.phases(plan, brief=True)
        whole = tuple(phases)
        kinds = {type(phase) for phase in phases}
        joint = Train in kinds and bool(kinds & {Search, Evolve})
        computed = 2 * sizes.test * samples if joint and whole not in seen else 0
        for length in range(len(phases) + 1):
            prefix = whole[:length]
            if prefix not in seen:
                seen.add(prefix)
                computed += plan.cost(prefix[-1]) if prefix else 0
                computed += evaluation * _blocks(prefix)
        shown = " ".join(short(phase, plan) for phase in phases) or "-"
        if phases != method.phases(plan):
            shown += ", or longer and fewer"
        rows.append(MethodCost(method.name, shown, sum(map(plan.cost, phases)), computed))
    return rows


def short(phase: Phase, plan: Plan) -> str:
    """``W2`` for two weight steps, ``H3`` for three search iterations, ``P120`` for 120 calls that evolve prompts."""
    match phase:
        case Train():
            return f"W{phase.rollouts / plan.weight.step_cost:g}"
        case Search():
            return f"H{phase.iterations}"
        case Evolve():
            return f"P{phase.calls}"
        case Attempt():
            return f"x{phase.count}"
        case Refine():
            return "refine"


def _blocks(phases: Sequence[Phase]) -> int:
    """Blocks of samples that the evaluation after these phases adds: one, or the attempts that are new."""
    counts = [1, *(phase.count for phase in phases if isinstance(phase, Attempt))]
    return counts[-1] - counts[-2] if phases and isinstance(phases[-1], Attempt) else 1

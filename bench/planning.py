"""What a command will cost before anything runs: rollouts by method and phase, and what is shared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.config import Profile
from whale.schedule import Method, Phase, Train


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
    """Upper bounds a seed: a search that keeps its harness saves an evaluation."""
    seen: set[tuple[Phase, ...]] = set()
    evaluation = (profile.env.sizes.select + profile.env.sizes.test) * profile.eval.samples
    rows = []
    for method in methods:
        phases = method.phases(profile.plan)
        computed = 0
        for length in range(len(phases) + 1):
            prefix = tuple(phases[:length])
            if prefix not in seen:
                seen.add(prefix)
                computed += evaluation + (profile.plan.cost(prefix[-1]) if prefix else 0)
        charged = sum(profile.plan.cost(phase) for phase in phases)
        rows.append(MethodCost(method.name, " ".join(map(short, phases)) or "-", charged, computed))
    return rows


def short(phase: Phase) -> str:
    """``W2`` for two weight steps, ``H3`` for three search iterations."""
    return f"W{phase.steps}" if isinstance(phase, Train) else f"H{phase.iterations}"

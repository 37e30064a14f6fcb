"""Equal budgets as a rule: arms that are compared must have been charged the same rollouts.

Where they were not, the pair is compared at a common spend, the smallest final charge of the two. Methods
without a training budget are charged nothing and exempt. Charges and soft caps that were passed are put in
words here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bench.result_file import ResultFile
from bench.selection import FloatArray, RunChoice, by_method, name_of, question_means
from bench.wording import count, percent, spread
from envs.base import InputError

Unequal = Literal["interpolate", "refuse"]
"""What to do with a pair that was charged differently: compare it at a common spend, or raise."""


@dataclass(frozen=True, slots=True)
class CommonSpend:
    """The spend at which a pair is compared, because its arms were charged differently."""

    spend: int
    """Smallest final charge of the two, in rollouts."""
    better: tuple[int, ...]
    """Final charges of the arm named first, ascending, each once."""
    reference: tuple[int, ...]


def spends(runs: Sequence[RunChoice]) -> bool:
    """Whether a method was charged anything; those that learn nothing have no training budget."""
    return any(run.last.charged.rollouts for run in runs)


def charges(runs: Sequence[RunChoice]) -> tuple[int, ...]:
    """Final charged rollouts of a method's runs, ascending, each once."""
    return tuple(sorted({run.last.charged.rollouts for run in runs}))


def common_spend(
    better: Sequence[RunChoice], reference: Sequence[RunChoice], unequal: Unequal = "interpolate"
) -> CommonSpend | None:
    """The spend at which two arms must be compared; None where charges are equal or one arm spends nothing.

    Raises ``InputError`` under ``unequal="refuse"`` when the charges differ.
    """
    ours, theirs = charges(better), charges(reference)
    if not spends(better) or not spends(reference) or len({*ours, *theirs}) == 1:
        return None
    if unequal == "refuse":
        raise InputError(
            f"{better[0].result.method} was charged {_shown(ours)} rollouts and {reference[0].result.method} "
            f"{_shown(theirs)}; arms that are compared must be charged the same. Run them again with one "
            f'budget, or have such pairs compared at a common spend (unequal="interpolate")'
        )
    return CommonSpend(min(*ours, *theirs), ours, theirs)


def at_spend(result: ResultFile, spend: int) -> FloatArray:
    """Test mean of every question at ``spend`` charged rollouts, ordered by question id.

    A straight line between the checkpoints before and after that spend; beyond the last one, the last system.
    Raises ``InputError`` for a spend below the first checkpoint's.
    """
    points = result.checkpoints
    after = next((i for i, point in enumerate(points) if point.charged.rollouts > spend), len(points))
    if not after:
        raise InputError(
            f"{name_of(result)} has no checkpoint at {spend} charged rollouts or below, its first is at "
            f"{points[0].charged.rollouts}; the first must be the starting system, at 0, so run it again"
        )
    below = question_means(result, points[after - 1], "test")
    if after == len(points):
        return below
    start, end = points[after - 1].charged.rollouts, points[after].charged.rollouts
    share = (spend - start) / (end - start)
    return (1 - share) * below + share * question_means(result, points[after], "test")


def budget_notes(results: Sequence[ResultFile]) -> list[str]:
    """Sentences for the main table: charged or allowed rollouts that differ, and soft caps that were passed.

    Methods without a training budget are exempt.
    """
    methods = {name: runs for name, runs in by_method(results).items() if spends(runs)}
    charged = {name: charges(runs) for name, runs in methods.items()}
    allowed = {name: tuple(sorted({run.result.budget for run in runs})) for name, runs in methods.items()}
    notes = []
    if _differ(charged):
        notes.append(
            f"Charged rollouts differ: {_each(charged)}. So the rows of this table do not all stand at one "
            f"spend; below, every pair that was charged differently is compared at a common spend instead."
        )
    if _differ(allowed):
        notes.append(f"Allowed rollouts differ: {_each(allowed)}. What counts is what was charged.")
    for name, runs in methods.items():
        beyond = sum(run.result.overshoot for run in runs)
        if beyond:
            notes.append(f"{name}: gepa passed its soft caps by {count(beyond)} rollouts in all (charged).")
    return notes


def pair_note(label: str, common: CommonSpend, better: float, reference: float) -> str:
    """One pair's charges, its common spend and the two accuracies there (fractions), in words."""
    return (
        f"{label}: charged {_shown(common.better)} and {_shown(common.reference)} rollouts, compared at "
        f"{count(common.spend)}, where they score {percent(better)} % and {percent(reference)} %."
    )


def _differ(table: dict[str, tuple[int, ...]]) -> bool:
    return len({number for numbers in table.values() for number in numbers}) > 1


def _each(table: dict[str, tuple[int, ...]]) -> str:
    return "; ".join(f"{name} {_shown(numbers)}" for name, numbers in table.items())


def _shown(numbers: tuple[int, ...]) -> str:
    return spread([count(number) for number in numbers])

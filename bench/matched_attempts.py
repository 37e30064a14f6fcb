"""What the selected systems take at test time, each beside a control that spends as much on more attempts.

The control is the ``attempts`` arm, whose checkpoints are the starting system with 1, 2, 4, ... attempts a
question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.grid import Grid
from bench.result_file import Checkpoint, ResultFile
from bench.selection import RunChoice, by_method, mean_of
from bench.wording import DASH, decimal, percent, points

CONTROL = "attempts"


@dataclass(frozen=True, slots=True)
class Served:
    """What a system took on average to answer one sample of ``select`` and ``test``."""

    rollouts: float
    """More than one only with several attempts."""
    calls: float
    tokens: float
    """Generated ones."""


@dataclass(frozen=True, slots=True)
class Match:
    """The control for one method: a number of attempts, over the seeds that both ran."""

    attempts: float
    tokens: float
    """Generated a sample."""
    enough: bool
    """Whether these are at least as many tokens as the method's; if not, no number of attempts is."""
    accuracy: float
    """Test mean@k (a fraction)."""
    difference: float
    """The method's selected checkpoint minus this."""


def served(runs: Sequence[RunChoice], places: Sequence[Checkpoint]) -> Served | None:
    """Test-time spend a sample at one checkpoint of each run; None where a file does not record it."""
    spent = [point.evaluation for point in places if point.evaluation is not None]
    samples = sum(
        run.result.samples * (len(point.select) + len(point.test))
        for run, point in zip(runs, places, strict=True)
    )
    if len(spent) < len(places) or not samples:
        return None
    return Served(
        rollouts=sum(row.rollouts for row in spent) / samples,
        calls=sum(row.model_calls for row in spent) / samples,
        tokens=sum(row.completion_tokens for row in spent) / samples,
    )


def match(runs: Sequence[RunChoice], control: Sequence[RunChoice]) -> Match | None:
    """The fewest attempts that generate at least as many tokens as the method; else the most there are.

    None without a shared seed, or where a file does not record what evaluation took.
    """
    theirs = {run.result.seed: run for run in control}
    shared = [run for run in runs if run.result.seed in theirs]
    plain = [theirs[run.result.seed] for run in shared]
    own = served(shared, [run.selected for run in shared])
    if own is None:
        return None
    options = []
    for index in range(min(len(run.result.checkpoints) for run in plain)):
        places = [run.result.checkpoints[index] for run in plain]
        took = served(plain, places)
        if took is None:
            return None
        options.append((took, places))
    options.sort(key=lambda option: option[0].rollouts)
    took, places = next((option for option in options if option[0].tokens >= own.tokens), options[-1])
    accuracy = _accuracy(plain, places)
    ours = _accuracy(shared, [run.selected for run in shared])
    return Match(took.rollouts, took.tokens, took.tokens >= own.tokens, accuracy, ours - accuracy)


def serving_table(results: Sequence[ResultFile]) -> Grid:
    """One row per method: what a sample takes at the selected checkpoint, and its control."""
    methods = by_method(results)
    rows = []
    for name, runs in methods.items():
        own = served(runs, [run.selected for run in runs])
        found = match(runs, methods[CONTROL]) if CONTROL in methods and name != CONTROL else None
        rows.append(
            [
                name,
                decimal(own.calls if own else None),
                decimal(own.tokens if own else None),
                percent(_accuracy(runs, [run.selected for run in runs])),
                *_control_cells(found),
            ]
        )
    heads = ["method", "model calls a sample", "generated tokens a sample", "test, selected (%)", "attempts",
             "their tokens a sample", "their test (%)", "difference (points)"]  # fmt: skip
    return Grid(heads, rows)


def recorded(results: Sequence[ResultFile]) -> bool:
    """Whether any of these files holds what evaluation took."""
    return any(point.evaluation for result in results for point in result.checkpoints)


def _control_cells(found: Match | None) -> list[str]:
    if found is None:
        return [DASH] * 4
    attempts = f"{found.attempts:g}" + ("" if found.enough else " (fewer tokens)")
    return [attempts, decimal(found.tokens), percent(found.accuracy), points(found.difference)]


def _accuracy(runs: Sequence[RunChoice], places: Sequence[Checkpoint]) -> float:
    return float(
        np.mean([mean_of(run.result, place, "test") for run, place in zip(runs, places, strict=True)])
    )

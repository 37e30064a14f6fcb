"""The 2x2 of a joint method: first and last weights with first and last harness, and their interaction.

The first and the last system were in force. A mixed one that never was is evaluated for this table alone, at
no charge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.grid import Grid
from bench.result_file import Cross, ResultFile
from bench.selection import by_method, mean_of, name_of
from bench.wording import percent, points, short_percent, short_points, with_seeds
from envs.base import InputError


@dataclass(frozen=True, slots=True)
class Corners:
    """Test mean@k of the four systems of one run (fractions)."""

    first: float
    """First weights, first harness."""
    trained: float
    """Last weights, first harness."""
    searched: float
    """First weights, last harness."""
    last: float

    @property
    def interaction(self) -> float:
        """What both changes together add beyond the sum of what each adds alone."""
        return self.last - self.trained - self.searched + self.first


def corners(result: ResultFile) -> Corners | None:
    """The four systems of a run; None where the file holds no mixed ones.

    Raises ``InputError`` unless there are two mixed ones, on the questions of the checkpoints.
    """
    if not result.cross:
        return None
    if len(result.cross) != 2 or any(
        one.test.keys() != result.checkpoints[-1].test.keys() for one in result.cross
    ):
        raise InputError(
            f"{name_of(result)}: its 2x2 holds {len(result.cross)} mixed systems, or other questions than "
            f"its checkpoints; 2 on the same questions are needed, so run it again"
        )
    trained, searched = result.cross
    return Corners(
        first=mean_of(result, result.checkpoints[0], "test"),
        trained=_mean(result, trained),
        searched=_mean(result, searched),
        last=mean_of(result, result.checkpoints[-1], "test"),
    )


def two_by_two_table(results: Sequence[ResultFile]) -> Grid:
    """One row per joint method: means over seeds, with those of the single seeds where there are several."""
    rows = []
    for name, runs in by_method(results).items():
        found = [(run.result.seed, corners(run.result)) for run in runs]
        known = [(seed, four) for seed, four in found if four is not None]
        if known:
            systems = zip(
                *[(four.first, four.trained, four.searched, four.last) for _, four in known], strict=True
            )
            rows.append(
                [
                    name,
                    ", ".join(str(seed) for seed, _ in known),
                    *[_accuracy(values) for values in systems],
                    _difference([four.interaction for _, four in known]),
                ]
            )
    heads = ["method", "seeds", "first weights, first harness (%)", "last weights, first harness (%)",
             "first weights, last harness (%)", "last weights, last harness (%)",
             "interaction (points)"]  # fmt: skip
    return Grid(heads, rows)


def _mean(result: ResultFile, corner: Cross) -> float:
    # The checkpoint lends its shape: only its test counts matter here.
    return mean_of(result, result.checkpoints[-1].model_copy(update={"test": corner.test}), "test")


def _accuracy(values: Sequence[float]) -> str:
    return with_seeds(percent(float(np.mean(values))), [short_percent(value) for value in values])


def _difference(values: Sequence[float]) -> str:
    return with_seeds(points(float(np.mean(values))), [short_points(value) for value in values])

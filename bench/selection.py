"""Which checkpoint of a run is reported, and the per-question means behind every number.

The choice uses the ``select`` split alone; the best checkpoint on ``test`` is only computed to show how
much luck it would have added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from baselines import METHODS
from bench.result_file import Checkpoint, ResultFile, counts_of
from bench.stats import mean_at_k
from envs.base import InputError

FloatArray = npt.NDArray[np.float64]
ReportedSplit = Literal["select", "test"]


@dataclass(frozen=True, slots=True)
class RunChoice:
    """One run with its three checkpoints of interest."""

    result: ResultFile
    selected: Checkpoint
    """Highest mean@k on ``select``; the earlier one on a tie."""
    last: Checkpoint
    best: Checkpoint
    """Highest mean@k on ``test``: an upper bound that no honest choice can use."""

    @property
    def optimism(self) -> float:
        """What choosing on the test set would have added to the reported test mean@k (a fraction)."""
        return mean_of(self.result, self.best, "test") - mean_of(self.result, self.selected, "test")


def question_means(
    result: ResultFile, point: Checkpoint, split: ReportedSplit, family: str | None = None
) -> FloatArray:
    """Mean of the samples of each question, ordered by question id (optionally of one task family)."""
    correct_Q, n_Q = _counts(result, point, split, family)
    return correct_Q / n_Q


def mean_of(result: ResultFile, point: Checkpoint, split: ReportedSplit, family: str | None = None) -> float:
    """mean@k of a checkpoint, k being the stored samples; raises ``InputError`` without questions."""
    correct_Q, n_Q = _counts(result, point, split, family)
    mean = mean_at_k(correct_Q, n_Q, result.samples)
    if mean is None:
        where = f"{split}, family {family}" if family else split
        raise InputError(f"{name_of(result)}: checkpoint {point.index} has no questions in {where}")
    return mean


def choose(result: ResultFile) -> RunChoice:
    """Choose the checkpoint to report by ``select``; raises ``InputError`` without checkpoints."""
    if not result.checkpoints:
        raise InputError(f"{name_of(result)} has no checkpoint; finish the run first")
    return RunChoice(
        result=result,
        selected=_first_best(result, lambda point: mean_of(result, point, "select")),
        last=result.checkpoints[-1],
        best=_first_best(result, lambda point: mean_of(result, point, "test")),
    )


def by_method(results: Sequence[ResultFile]) -> dict[str, list[RunChoice]]:
    """Every run's choice, grouped: methods in their order everywhere (``in_order``), seeds in order.

    Raises ``InputError`` when the files cannot stand in one table.
    """
    check_comparable(results)
    names = in_order({r.method for r in results})
    ordered = sorted(results, key=lambda r: r.seed)
    return {name: [choose(r) for r in ordered if r.method == name] for name in names}


def in_order(names: Iterable[str]) -> list[str]:
    """Methods in the order of ``baselines.METHODS``; names that are not there follow by alphabet."""
    place = {name: i for i, name in enumerate(METHODS)}
    return sorted(names, key=lambda name: (place.get(name, len(place)), name))


def check_comparable(results: Sequence[ResultFile]) -> None:
    """Refuse (``InputError``) files of several profiles, environments, sample counts or question sets."""
    if not results:
        raise InputError("no result files to compare; run `python -m bench run` first")
    first = results[0]
    for result in results:
        for field in ("profile", "env", "samples"):
            ours, theirs = getattr(result, field), getattr(first, field)
            if ours != theirs:
                raise InputError(
                    f"{name_of(result)} has {field} {ours!r}, {name_of(first)} has {theirs!r}; "
                    f"report them separately or run one of them again"
                )
        _same_questions(result, first)
    runs = [name_of(result) for result in results]
    twice = sorted({run for run in runs if runs.count(run) > 1})
    if twice:
        raise InputError(f"two result files for {', '.join(twice)}; keep one of each")


def family_names(results: Sequence[ResultFile]) -> list[str]:
    """Families that occur among the test questions, sorted."""
    questions = results[0].checkpoints[0].test
    return sorted({results[0].families.get(question, "unnamed") for question in questions})


def family_questions(result: ResultFile, family: str) -> int:
    """How many test questions belong to a family."""
    return len(_counts(result, result.checkpoints[0], "test", family)[0])


def family_change(runs: Sequence[RunChoice], family: str) -> tuple[float, float]:
    """Test mean@k of one family at the start and at the selected checkpoint, averaged over seeds."""
    start = [mean_of(run.result, run.result.checkpoints[0], "test", family) for run in runs]
    selected = [mean_of(run.result, run.selected, "test", family) for run in runs]
    return float(np.mean(start)), float(np.mean(selected))


def name_of(result: ResultFile) -> str:
    """``method-sSEED``, as in the file's name."""
    return f"{result.method}-s{result.seed}"


def _counts(
    result: ResultFile, point: Checkpoint, split: ReportedSplit, family: str | None
) -> tuple[FloatArray, FloatArray]:
    rows = point.select if split == "select" else point.test
    pairs = [
        counts_of(rows[question])
        for question in sorted(rows)
        if family is None or result.families.get(question, "unnamed") == family
    ]
    table = np.array(pairs, dtype=np.float64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def _first_best(result: ResultFile, value: Callable[[Checkpoint], float]) -> Checkpoint:
    # max() keeps the first of equal values: the earlier checkpoint.
    return max(result.checkpoints, key=value)


def _same_questions(result: ResultFile, first: ResultFile) -> None:
    if not result.checkpoints or not first.checkpoints:
        raise InputError(f"{name_of(result if not result.checkpoints else first)} has no checkpoint")
    for point in result.checkpoints:
        for split in ("select", "test"):
            ours, theirs = set(getattr(point, split)), set(getattr(first.checkpoints[0], split))
            if ours != theirs:
                raise InputError(
                    f"{name_of(result)}, checkpoint {point.index}: its {split} questions differ from those "
                    f"of {name_of(first)} ({len(ours - theirs)} extra, {len(theirs - ours)} missing); "
                    f"only runs on the same questions can be compared, so run one of them again"
                )

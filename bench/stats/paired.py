"""Comparing two systems question by question, and two methods run by run.

The unit for "these two systems differ" is the question; for "this method beats that one" it is the
independent run. The two are never mixed into one p-value.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from bench.stats.estimates import FloatArray, finite, flat

RESAMPLES = 9_999
"""Bootstrap and permutation draws; with the observed one, p-values have a resolution of 1 in 10,000."""
EXACT_UNITS = 13
"""Up to 2^13 = 8,192 sign patterns are enumerated instead of drawn."""
MOST_RUNS = 16
"""Sign flips over runs are always exact; more runs than this would need too many patterns."""

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """How far system a is above system b on the same questions (fractions, not points)."""

    questions: int
    difference: float | None
    """Mean of a - b; None without questions."""
    interval: Interval | None
    """95 % bootstrap interval over questions; None under 2 questions or without any spread."""
    p: float | None
    """Two-sided sign-flip p-value over questions; None under 2 questions."""


@dataclass(frozen=True, slots=True)
class RunTest:
    """Exact sign-flip test over paired runs."""

    runs: int
    difference: float | None
    p: float | None
    """Two-sided p-value; None without runs."""
    smallest_p: float | None
    """The smallest p-value that this many runs can ever give."""


def paired_difference(a_Q: npt.ArrayLike, b_Q: npt.ArrayLike, rng: np.random.Generator) -> PairedDifference:
    """Compare two systems on the same questions, in the same order.

    Interval: percentile bootstrap over questions (Efron 1979). p-value: sign flips of the paired
    differences, exact up to 13 questions, else drawn and counted with the observed one (Phipson and
    Smyth 2010), so it is never 0. Raises ``ValueError`` when the two lengths differ.
    """
    a, b = finite(a_Q, "a_Q"), finite(b_Q, "b_Q")
    if a.shape != b.shape:
        raise ValueError(f"a_Q has {a.size} questions and b_Q {b.size}; pairing needs the same questions")
    d_Q = a - b
    if d_Q.size < 2:
        return PairedDifference(d_Q.size, float(d_Q[0]) if d_Q.size else None, None, None)
    p = _exact_p(d_Q) if d_Q.size <= EXACT_UNITS else _drawn_p(d_Q, rng)
    return PairedDifference(d_Q.size, float(d_Q.mean()), _interval(d_Q, rng), p)


def sign_flip_over_runs(diff_R: npt.ArrayLike) -> RunTest:
    """Exact test over all 2^R sign patterns of the per-run differences.

    No more than 2/2^R is reachable: 0.25 with 3 runs, 0.0625 with 5, 0.031 with 6.
    Raises ``ValueError`` above 16 runs.
    """
    d_R = finite(diff_R, "diff_R")
    if not d_R.size:
        return RunTest(0, None, None, None)
    if d_R.size > MOST_RUNS:
        raise ValueError(f"{d_R.size} runs; the exact test is limited to {MOST_RUNS}")
    return RunTest(d_R.size, float(d_R.mean()), _exact_p(d_R), smallest_run_p(d_R.size))


def smallest_run_p(runs: int) -> float | None:
    """2/2^R, the smallest two-sided p-value of a sign-flip test over R runs; None without runs."""
    return 2.0 / 2.0**runs if runs > 0 else None


def hierarchical_interval(diff_R_Q: npt.ArrayLike, rng: np.random.Generator) -> Interval | None:
    """95 % interval of the mean difference when runs and questions both vary.

    Each draw resamples the runs, then the questions; all drawn runs get the same questions, because
    in the data every run answered the same ones (the pigeonhole bootstrap, Owen 2007; independent
    questions per run would hide the questions' share of the variance). Few runs make it too narrow.
    ``None`` under 2 runs or 2 questions, or without any spread.
    """
    d_R_Q = finite(diff_R_Q, "diff_R_Q", axes=2)
    runs, questions = d_R_Q.shape
    if runs < 2 or questions < 2 or flat(d_R_Q):
        return None
    weight_B_R = rng.multinomial(runs, np.full(runs, 1 / runs), size=RESAMPLES) / runs
    weight_B_Q = rng.multinomial(questions, np.full(questions, 1 / questions), size=RESAMPLES) / questions
    mean_B = np.sum((weight_B_R @ d_R_Q) * weight_B_Q, axis=1)
    low, high = np.quantile(mean_B, [0.025, 0.975])
    return float(low), float(high)


def holm(p: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down adjustment (Holm 1979) over one declared family, in the order given.

    An undefined p-value stays undefined but still counts in the size of the family.
    """
    order = sorted((i for i, value in enumerate(p) if value is not None), key=lambda i: p[i] or 0.0)
    adjusted: list[float | None] = [None] * len(p)
    running = 0.0
    for rank, i in enumerate(order):
        running = max(running, min(1.0, (len(p) - rank) * (p[i] or 0.0)))
        adjusted[i] = running
    return adjusted


def _interval(d_Q: FloatArray, rng: np.random.Generator) -> Interval | None:
    if flat(d_Q):
        return None
    found = stats.bootstrap(
        (d_Q,), np.mean, n_resamples=RESAMPLES, batch=500, method="percentile", rng=rng
    ).confidence_interval
    return float(found.low), float(found.high)


def _exact_p(d: FloatArray) -> float:
    signs = np.array(list(itertools.product((1.0, -1.0), repeat=d.size)))
    return float(np.mean(_at_least(signs @ d, d)))


def _drawn_p(d_Q: FloatArray, rng: np.random.Generator) -> float:
    signs = rng.integers(0, 2, size=(RESAMPLES, d_Q.size)) * 2.0 - 1.0
    return float((1 + np.sum(_at_least(signs @ d_Q, d_Q))) / (RESAMPLES + 1))


def _at_least(flipped: FloatArray, d: FloatArray) -> npt.NDArray[np.bool_]:
    # Sums that are equal in exact arithmetic must count as equal: leave room for rounding.
    observed = abs(float(d.sum())) - 1e-9 * float(np.abs(d).sum())
    return np.greater_equal(np.abs(flipped), observed)

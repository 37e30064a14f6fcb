"""The smallest difference a comparison could have seen, with data and while planning.

Printed beside every comparison, so that "no difference shown" is not read as "equal".
"""

from __future__ import annotations

import math

import numpy.typing as npt
from scipy import stats

from bench.stats.estimates import finite, flat

WITHIN = 0.125
"""Planning: mean of p(1 - p) over questions. 1/8 belongs to p from Beta(1/2, 1/2): many easy and many
hopeless questions, as in mathematics sets. The worst case is 0.25."""
BETWEEN = 0.22
"""Planning: standard deviation over questions of the true difference of two systems. An assumption; it
leads to about 10 points on 60 questions and 5 on 256 with 8 samples."""


def detectable_difference(
    a_Q: npt.ArrayLike, b_Q: npt.ArrayLike, *, alpha: float = 0.05, power: float = 0.8
) -> float | None:
    """Minimum detectable difference between two systems measured on the same questions (a fraction).

    (z(1 - alpha/2) + z(power)) * sd / sqrt(Q), with sd the standard deviation of the paired per-question
    differences (Miller 2024, "Adding Error Bars to Evals", section on power; normal approximation, so
    somewhat small under 20 questions). ``None`` under 2 questions or without any spread.
    """
    a, b = finite(a_Q, "a_Q"), finite(b_Q, "b_Q")
    if a.shape != b.shape:
        raise ValueError(f"a_Q has {a.size} questions and b_Q {b.size}; pairing needs the same questions")
    if a.size < 2 or flat(a - b):
        return None
    return _multiplier(alpha, power) * float((a - b).std(ddof=1)) / math.sqrt(a.size)


def planned_detectable_difference(
    questions: int,
    samples: int,
    *,
    within: float = WITHIN,
    between: float = BETWEEN,
    alpha: float = 0.05,
    power: float = 0.8,
) -> float | None:
    """The same before any data: from the number of questions and of samples per question.

    The variance of a per-question difference is ``between``^2 (true differences) plus
    2 * ``within`` / samples (binomial noise of both systems). ``None`` under 2 questions or 1 sample.
    """
    if questions < 2 or samples < 1:
        return None
    sd = math.sqrt(between**2 + 2 * within / samples)
    return _multiplier(alpha, power) * sd / math.sqrt(questions)


def _multiplier(alpha: float, power: float) -> float:
    return float(stats.norm.ppf(1 - alpha / 2) + stats.norm.ppf(power))

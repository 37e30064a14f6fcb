"""Single-system estimates: mean@k, pass@k, their standard error, and the area under a cost curve.

Names carry their axes: ``correct_Q`` has one entry per question, ``acc_R_Q`` one row per run.
Comparisons of two systems are in ``paired``.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from envs.base import InputError

FloatArray = npt.NDArray[np.float64]


def finite(values: npt.ArrayLike, name: str, axes: int = 1) -> FloatArray:
    """``values`` as a float array with ``axes`` axes.

    Raises ``ValueError`` for another number of axes or for NaN and infinity: one such score would poison
    a whole mean, so it belongs in the count of verifier errors and never in a statistic.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != axes:
        raise ValueError(f"{name} has {array.ndim} axes, {axes} needed")
    bad = array[~np.isfinite(array)]
    if bad.size:
        raise ValueError(f"{name} holds {bad.size} non-finite values ({bad[0]}); count as verifier_error")
    return array


def flat(values: FloatArray) -> bool:
    """Whether all values are equal (up to rounding), so that no spread can be estimated from them."""
    return float(np.ptp(values)) < 1e-12


def mean_at_k(correct_Q: npt.ArrayLike, n_Q: npt.ArrayLike, k: int) -> float | None:
    """Mean over questions of the share of correct samples (a fraction in [0, 1]).

    With n > k stored samples all n are used: correct / n has the same expectation as the mean over a
    random k of them, and less noise. ``None`` without questions. Raises ``InputError`` when a question
    has fewer than ``k`` samples or a count is impossible.
    """
    correct, n = finite(correct_Q, "correct_Q"), finite(n_Q, "n_Q")
    if correct.shape != n.shape:
        raise InputError(f"correct_Q has {correct.size} questions and n_Q {n.size}; both need the same ones")
    if k < 1:
        raise InputError(f"mean@{k} was asked; k must be at least 1")
    if not n.size:
        return None
    if n.min() < k:
        raise InputError(f"mean@{k}: {int(n.min())} samples, {k} asked; store more samples or ask for less")
    if (correct < 0).any() or (correct > n).any():
        raise InputError("a question has fewer than 0 or more correct samples than samples; check its counts")
    return float(np.mean(correct / n))


def pass_at_k(n: int, c: int, k: int) -> float | None:
    """Chance that at least one of ``k`` samples, drawn from ``n`` with ``c`` correct, is correct.

    Closed form 1 - C(n-c, k) / C(n, k) (Chen et al. 2021, "Evaluating Large Language Models Trained on
    Code"). ``None`` when n < k, where the form has no meaning (it would short-cut to 1.0). Raises
    ``InputError`` unless k >= 1 and 0 <= c <= n.
    """
    if k < 1 or not 0 <= c <= n:
        raise InputError(f"pass@{k} of {c} correct in {n} samples; needs k >= 1 and 0 <= correct <= samples")
    if n < k:
        return None
    return 1.0 - math.comb(n - c, k) / math.comb(n, k)


def question_se(p_Q: npt.ArrayLike) -> float | None:
    """Standard error of the mean over questions, from the question means ``p_Q``.

    The question is the unit: samples of one question are not independent, and pooling 8 of them gives
    about half the true error (Miller 2024, "Adding Error Bars to Evals"). ``None`` under 2 questions.
    """
    p = finite(p_Q, "p_Q")
    if p.size < 2:
        return None
    return float(p.std(ddof=1) / math.sqrt(p.size))


def area_under_steps(x: npt.ArrayLike, y: npt.ArrayLike, budget: float) -> float | None:
    """Area under a step function up to ``budget``, divided by ``budget`` (so it has the unit of ``y``).

    ``y[i]`` is the accuracy of the system in force from spend ``x[i]`` until ``x[i + 1]``; a later, worse
    system lowers the curve (no running maximum), and the last one stays in force up to the budget.
    ``None`` without steps or with a budget of 0. Raises ``ValueError`` unless x starts at 0 and never falls.
    """
    x_S, y_S = finite(x, "x"), finite(y, "y")
    if x_S.shape != y_S.shape:
        raise ValueError(f"{x_S.size} spends and {y_S.size} accuracies; one accuracy per spend is needed")
    if not x_S.size or budget <= 0:
        return None
    if x_S[0] != 0 or (np.diff(x_S) < 0).any():
        raise ValueError(f"spends must start at 0 and never fall, got {x_S.tolist()}")
    edges = np.minimum(np.append(x_S, budget), budget)
    return float(np.sum(np.diff(edges) * y_S) / budget)

"""Statistics: known faults as rows, general rules by generated examples, scipy as an oracle."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from bench.stats import (
    area_under_steps,
    detectable_difference,
    hierarchical_interval,
    holm,
    mean_at_k,
    paired_difference,
    pass_at_k,
    planned_detectable_difference,
    question_se,
    sign_flip_over_runs,
    smallest_run_p,
)
from envs.base import InputError

EIGHTHS = st.integers(0, 8).map(lambda n: n / 8)
PAIRS = st.lists(st.tuples(EIGHTHS, EIGHTHS), min_size=2, max_size=30)
P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


# mean@k and pass@k


def test_all_stored_samples_count() -> None:
    assert mean_at_k([1], [8], 8) == 0.125


@pytest.mark.parametrize(("n", "k"), [(8, 16), (1, 10), (2, 5)])
def test_more_samples_asked_than_stored_is_refused(n: int, k: int) -> None:
    with pytest.raises(InputError, match=f"{n} samples, {k} asked"):
        mean_at_k([n // 2, 1], [n, n], k)


def test_one_short_question_is_enough_to_refuse() -> None:
    with pytest.raises(InputError, match="7 samples, 8 asked"):
        mean_at_k([1, 1], [8, 7], 8)


def test_doubling_k_never_halves_the_score() -> None:
    assert [mean_at_k([7, 7], [16, 16], k) for k in (4, 8, 16)] == [0.4375] * 3


def test_no_questions_have_no_mean() -> None:
    assert mean_at_k([], [], 8) is None


@pytest.mark.parametrize("correct", [-1, 9])
def test_impossible_counts_are_refused(correct: int) -> None:
    with pytest.raises(InputError, match="correct samples"):
        mean_at_k([correct], [8], 8)


@pytest.mark.parametrize(
    ("n", "c", "k", "expected"),
    [
        (2, 0, 5, None),
        (2, 2, 5, None),
        (1, 1, 10, None),
        (8, 0, 8, 0.0),
        (8, 1, 8, 1.0),
        (8, 1, 1, 0.125),
        (200, 1, 1, 0.005),
        (5, 2, 2, 0.7),
    ],
)
def test_pass_at_k(n: int, c: int, k: int, expected: float | None) -> None:
    assert pass_at_k(n, c, k) == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(("n", "c", "k"), [(8, 9, 1), (8, -1, 1), (8, 1, 0)])
def test_pass_at_k_refuses_impossible_numbers(n: int, c: int, k: int) -> None:
    with pytest.raises(InputError):
        pass_at_k(n, c, k)


@given(st.integers(1, 9), st.data())
def test_pass_at_k_is_what_drawing_gives(n: int, data: st.DataObject) -> None:
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    samples = [1] * c + [0] * (n - c)
    draws = list(itertools.combinations(samples, k))
    assert pass_at_k(n, c, k) == pytest.approx(sum(map(max, draws)) / len(draws))


@given(st.lists(st.integers(1, 20).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), min_size=1))
def test_mean_at_k_is_a_fraction_of_question_means(rows: list[tuple[int, int]]) -> None:
    mean = mean_at_k([c for c, _ in rows], [n for _, n in rows], 1)
    assert mean is not None
    assert 0 <= mean <= 1
    assert mean == pytest.approx(sum(c / n for c, n in rows) / len(rows))


# Standard error: the question is the unit


def test_standard_error_comes_from_question_means() -> None:
    generator = rng(1)
    p_T_Q = generator.beta(0.5, 0.5, size=(2000, 100))
    mean_T_Q = generator.binomial(8, p_T_Q) / 8
    true_sd = float(mean_T_Q.mean(axis=1).std())
    ours = np.mean([question_se(row) or math.nan for row in mean_T_Q])
    grand = float(mean_T_Q.mean())
    pooled = math.sqrt(grand * (1 - grand) / 800)
    assert ours == pytest.approx(true_sd, rel=0.05)
    assert 1.9 < true_sd / pooled < 2.3


@pytest.mark.parametrize("p_Q", [[], [0.5]])
@pytest.mark.filterwarnings("error")
def test_too_few_questions_have_no_standard_error(p_Q: list[float]) -> None:
    assert question_se(p_Q) is None
    assert detectable_difference(p_Q, p_Q) is None
    found = paired_difference(p_Q, p_Q, rng())
    assert found.interval is None
    assert found.p is None


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_non_finite_scores_are_refused_everywhere(bad: float) -> None:
    for call in (
        lambda: mean_at_k([bad, 1], [8, 8], 8),
        lambda: question_se([bad, 0.5]),
        lambda: paired_difference([bad, 0.5], [0.1, 0.2], rng()),
        lambda: sign_flip_over_runs([bad, 0.5]),
        lambda: hierarchical_interval([[bad, 0.5], [0.1, 0.2]], rng()),
        lambda: detectable_difference([bad, 0.5], [0.1, 0.2]),
        lambda: area_under_steps([0, 1], [bad, 0.5], 2),
    ):
        with pytest.raises(ValueError, match="non-finite"):
            call()


# Paired difference


def test_private_generator_leaves_the_global_one_alone() -> None:
    np.random.seed(3)
    state = np.random.get_state()[1].copy()  # type: ignore[index]
    a_Q, b_Q = rng(1).random(30), rng(2).random(30)
    first, again = (paired_difference(a_Q, b_Q, rng(5)) for _ in range(2))
    hierarchical_interval([a_Q, b_Q], rng(5))
    after = np.random.get_state()[1]  # type: ignore[index]
    assert (after == state).all()
    assert first == again
    assert first.interval != paired_difference(a_Q, b_Q, rng(6)).interval


@settings(max_examples=25)
@given(PAIRS)
def test_paired_difference_is_antisymmetric_and_inside_its_interval(pairs: list[tuple[float, float]]) -> None:
    a_Q, b_Q = [a for a, _ in pairs], [b for _, b in pairs]
    there, back = paired_difference(a_Q, b_Q, rng()), paired_difference(b_Q, a_Q, rng())
    assert there.difference == pytest.approx(np.mean(a_Q) - np.mean(b_Q))
    assert there.difference == pytest.approx(-(back.difference or 0.0))
    assert there.p == back.p
    assert there.p is not None
    assert 0 < there.p <= 1
    if there.interval is None:
        assert len({a - b for a, b in pairs}) == 1
    else:
        low, high = there.interval
        assert low - 1e-9 <= (there.difference or 0.0) <= high + 1e-9
        assert back.interval == pytest.approx((-high, -low))


@pytest.mark.parametrize("questions", [8, 12])
def test_exact_p_agrees_with_scipy(questions: int) -> None:
    d_Q = np.round(rng(4).normal(0.1, 0.3, questions) * 8) / 8
    oracle = scipy_stats.permutation_test(
        (d_Q,), np.mean, permutation_type="samples", n_resamples=2**questions, vectorized=True
    )
    assert paired_difference(d_Q, np.zeros(questions), rng()).p == pytest.approx(oracle.pvalue)


def test_drawn_p_agrees_with_the_exact_one() -> None:
    d_Q = np.round(rng(4).normal(0.1, 0.3, 16) * 8) / 8
    exact = sign_flip_over_runs(d_Q).p
    assert paired_difference(d_Q, np.zeros(16), rng()).p == pytest.approx(exact, abs=0.015)


def test_p_is_small_for_a_clear_difference_and_large_for_none() -> None:
    base_Q = rng(1).random(100)
    noise_Q = rng(2).normal(0, 0.1, 100)
    clear = paired_difference(base_Q + 0.2 + noise_Q, base_Q, rng())
    none = paired_difference(base_Q + noise_Q - noise_Q.mean(), base_Q, rng())
    assert clear.p == pytest.approx(1e-4)
    assert none.p is not None
    assert none.p > 0.5


def test_pairing_uses_the_questions() -> None:
    hard_and_easy_Q = np.linspace(0, 0.9, 50)
    found = paired_difference(hard_and_easy_Q + 0.05 + rng().normal(0, 0.02, 50), hard_and_easy_Q, rng())
    assert found.interval is not None
    assert found.interval[1] - found.interval[0] < 0.02


def test_identical_systems_have_no_interval_and_p_one() -> None:
    found = paired_difference([0.1, 0.5, 0.9], [0.1, 0.5, 0.9], rng())
    assert (found.difference, found.interval, found.p) == (0.0, None, 1.0)


def test_unequal_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="3 questions"):
        paired_difference([0.1, 0.2, 0.3], [0.1, 0.2], rng())


def test_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    generator = rng(8)
    covered = 0
    for _ in range(80):
        interval = paired_difference(generator.normal(0.1, 0.3, 60), np.zeros(60), generator).interval
        assert interval is not None
        covered += interval[0] <= 0.1 <= interval[1]
    assert 69 <= covered <= 79


# Runs


@pytest.mark.parametrize(("runs", "smallest"), [(1, 1.0), (2, 0.5), (3, 0.25), (5, 0.0625), (6, 0.03125)])
def test_smallest_run_level_p_is_reached_and_reported(runs: int, smallest: float) -> None:
    found = sign_flip_over_runs([0.1] * runs)
    assert found.p == found.smallest_p == smallest_run_p(runs) == smallest


def test_mixed_signs_over_runs() -> None:
    assert sign_flip_over_runs([0.3, 0.2, -0.1]).p == 0.5
    assert sign_flip_over_runs([0.0, 0.0]).p == 1.0
    assert sign_flip_over_runs([]).p is None


def test_too_many_runs_are_refused() -> None:
    with pytest.raises(ValueError, match="17 runs"):
        sign_flip_over_runs([0.1] * 17)


def test_hierarchical_interval_adds_the_spread_of_runs() -> None:
    question_Q = rng(1).normal(0, 0.2, 60)
    alike = question_Q + np.zeros((4, 1)) + 0.1
    apart = question_Q + np.array([[-0.3], [0.0], [0.2], [0.5]])
    low, high = hierarchical_interval(alike, rng()) or (0.0, 0.0)
    only_questions = paired_difference(alike.mean(axis=0), np.zeros(60), rng()).interval
    assert only_questions is not None
    # Runs that agree leave the questions' share of the spread in full.
    assert high - low == pytest.approx(only_questions[1] - only_questions[0], rel=0.1)
    wide = hierarchical_interval(apart, rng()) or (0.0, 0.0)
    assert wide[1] - wide[0] > 2 * (high - low)
    assert wide[0] < apart.mean() < wide[1]


@pytest.mark.parametrize("diff_R_Q", [[[0.1, 0.2]], [[0.1], [0.2]], [[0.1, 0.1], [0.1, 0.1]]])
def test_hierarchical_interval_needs_two_of_each_and_spread(diff_R_Q: list[list[float]]) -> None:
    assert hierarchical_interval(diff_R_Q, rng()) is None


# Holm


@given(P_VALUES)
def test_holm_agrees_with_its_closed_form(p: list[float]) -> None:
    adjusted = holm(p)
    closed = [max(min(1.0, q * sum(r >= q for r in p)) for q in p if q <= own) for own in p]
    assert adjusted == pytest.approx(closed)
    assert all(a is not None and a >= raw for a, raw in zip(adjusted, p, strict=True))
    by_raw = [a for _, a in sorted(zip(p, adjusted, strict=True), key=lambda pair: pair[0])]
    assert by_raw == sorted(by_raw, key=lambda a: a or 0.0)


def test_holm_keeps_undefined_and_counts_it() -> None:
    assert holm([0.01, None, 0.04]) == [pytest.approx(0.03), None, pytest.approx(0.08)]
    assert holm([]) == []


# Detectable differences


@pytest.mark.parametrize(("questions", "expected"), [(60, 0.10), (256, 0.05), (700, 0.034)])
def test_planned_detectable_difference_is_near_the_usual_figures(questions: int, expected: float) -> None:
    assert planned_detectable_difference(questions, 8) == pytest.approx(expected, abs=0.005)


def test_planning_needs_questions_and_samples() -> None:
    assert planned_detectable_difference(1, 8) is None
    assert planned_detectable_difference(60, 0) is None


def test_a_detectable_difference_is_detected_with_the_promised_power() -> None:
    generator = rng(3)
    d_T_Q = generator.normal(0, 0.25, size=(4000, 60))
    shift = detectable_difference(d_T_Q[0] / d_T_Q[0].std(ddof=1) * 0.25, np.zeros(60))
    assert shift is not None
    t_T = scipy_stats.ttest_1samp(d_T_Q + shift, 0.0, axis=1)
    assert float(np.mean(t_T.pvalue < 0.05)) == pytest.approx(0.8, abs=0.03)


# Area under the steps


def test_area_is_of_the_system_in_force_and_not_of_a_running_maximum() -> None:
    assert area_under_steps([0, 50], [0.8, 0.2], 100) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("x", "y", "budget", "expected"),
    [
        ([0], [0.3], 100, 0.3),
        ([0, 200], [0.3, 0.9], 100, 0.3),
        ([0, 50, 50], [0.2, 0.9, 0.4], 100, 0.3),
        ([0], [0.3], 0, None),
        ([], [], 100, None),
    ],
)
def test_area_cases(x: list[float], y: list[float], budget: float, expected: float | None) -> None:
    found = area_under_steps(x, y, budget)
    assert found == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize("x", [[10, 20], [0, 5, 3]])
def test_area_refuses_spends_that_make_no_sense(x: list[float]) -> None:
    with pytest.raises(ValueError, match="start at 0"):
        area_under_steps(x, [0.5] * len(x), 100)

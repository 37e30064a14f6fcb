"""Equal budgets: compared at a common spend, refused, or said; and which pairs are compared at all."""

from __future__ import annotations

import numpy as np
import pytest

from baselines import METHODS
from bench.budgets import CommonSpend, at_spend, budget_notes
from bench.compare import compare, declared
from bench.conclusion import conclusion
from bench.report import render
from bench.result_file import ResultFile
from bench.selection import by_method, in_order
from bench.tables import comparison_table, main_table
from envs.base import InputError
from tests.fake_results import full_results, many_results, one_result

FLAT = [[8, 8], [0, 0], [0, 0]]
"""Select counts for which the starting system would be chosen."""


def whale(seed: int = 0, step: int = 100) -> ResultFile:
    """Three checkpoints of two questions, at 0, ``step`` and 2 ``step`` charged rollouts."""
    return one_result("whale", seed, select=FLAT, test=[[0, 8], [4, 8], [8, 0]], step=step)


def weight_only(seed: int = 0, step: int = 75) -> ResultFile:
    return one_result("weight_only", seed, select=FLAT, test=[[0, 8], [2, 4], [6, 2]], step=step)


# A common spend


@pytest.mark.parametrize(
    ("spend", "expected"),
    [
        (0, [0.0, 1.0]),
        (100, [0.5, 1.0]),  # exactly at a checkpoint
        (150, [0.75, 0.5]),  # half way
        (125, [0.625, 0.75]),
        (200, [1.0, 0.0]),
        (999, [1.0, 0.0]),  # beyond the last
    ],
)
def test_accuracy_at_a_spend_is_a_straight_line_question_by_question(
    spend: int, expected: list[float]
) -> None:
    assert at_spend(whale(), spend).tolist() == expected


def test_of_two_checkpoints_at_one_spend_the_later_counts() -> None:
    result = whale()
    twice = result.checkpoints[1].model_copy(update={"index": 2, "test": result.checkpoints[2].test})
    points = [*result.checkpoints[:2], twice]
    assert at_spend(result.model_copy(update={"checkpoints": points}), 100).tolist() == [1.0, 0.0]


def test_a_spend_below_the_first_checkpoint_is_refused() -> None:
    result = whale()
    late = result.model_copy(update={"checkpoints": result.checkpoints[1:]})
    with pytest.raises(
        InputError, match="no checkpoint at 50 charged rollouts or below, its first is at 100"
    ):
        at_spend(late, 50)


def test_a_pair_that_was_charged_differently_is_compared_at_the_smaller_charge() -> None:
    results = [whale(), weight_only()]
    (pair,) = compare(results)
    assert pair.common == CommonSpend(150, (200,), (150,))
    assert pair.means == (
        0.625,
        0.5,
    )  # (0.75 + 0.5) / 2 and (6 + 2) / 16; not the start, which select would choose
    assert pair.question.difference == pytest.approx(0.125)
    assert comparison_table([pair]).rows[0][2] == "150 rollouts"
    said = conclusion([pair], results)
    assert (
        "- whale - weight_only: charged 200 and 150 rollouts, compared at 150, where they score 62.5 % and "
        "50.0 %." in said
    )
    assert "not at their selected checkpoints" in said


def test_seeds_that_were_charged_differently_make_a_pair_unequal_too() -> None:
    results = [whale(0), whale(1, step=60), weight_only(0, step=100), weight_only(1, step=100)]
    (pair,) = compare(results)
    assert pair.common == CommonSpend(120, (120, 200), (200,))
    assert "charged 120 to 200 and 200 rollouts, compared at 120" in conclusion([pair], results)
    at_120 = (np.array([0.6, 0.8]) + np.array([1.0, 0.0])) / 2
    assert pair.means is not None
    assert pair.means[0] == pytest.approx(at_120.mean())


def test_equal_charges_are_compared_at_the_selected_checkpoints() -> None:
    results = [whale(), weight_only(step=100)]
    (pair,) = compare(results, unequal="refuse")
    assert pair.common is None
    assert pair.means == (0.5, 0.5)
    assert comparison_table([pair]).rows[0][2] == "selected"
    assert "Unequal spend" not in conclusion([pair], results)


def test_a_pair_without_a_shared_seed_has_no_place_of_comparison() -> None:
    (pair,) = compare([whale(0), weight_only(1)])
    assert (pair.common, pair.means) == (None, None)
    assert comparison_table([pair]).rows[0][2] == "–"


def test_unequal_charges_can_be_refused() -> None:
    message = "whale was charged 200 rollouts and weight_only 150; .* Run them again with one budget"
    for act in (compare, render):
        with pytest.raises(InputError, match=message):
            act([whale(), weight_only()], unequal="refuse")


def test_methods_without_a_training_budget_are_exempt() -> None:
    free = one_result("attempts", select=[[0, 0]], test=[[4, 4]], budget=0)
    results = [whale(), free]
    (pair,) = compare(results, unequal="refuse")
    assert pair.common is None
    assert budget_notes(results) == []
    assert "attempts: seeds 0; no training budget" in render(results)


# What the main table says


def test_differing_charges_are_said_with_every_number() -> None:
    results = [whale(), weight_only(), one_result("frozen", select=[[0, 0]], test=[[4, 4]], budget=0)]
    charged, allowed = budget_notes(results)
    assert charged.startswith("Charged rollouts differ: weight_only 150; whale 200. So the rows")
    assert allowed.startswith("Allowed rollouts differ: weight_only 150; whale 200.")
    report = render(results)
    assert charged in report
    assert report.index("## Result") < report.index(charged) < report.index("## What may be concluded")


def test_equal_budgets_need_no_words() -> None:
    assert budget_notes([whale(), weight_only(step=100)]) == []


def test_soft_caps_that_were_passed_are_said_over_all_seeds() -> None:
    notes = budget_notes(full_results(arms=("frozen", "fst", "whale")))
    assert notes == ["fst: gepa passed its soft caps by 12 rollouts in all (charged)."]  # 3 + 4 + 5


def test_mean_over_spend_of_a_method_without_a_budget_is_its_selected_checkpoint() -> None:
    free = one_result("attempts", select=[[1], [5], [3]], test=[[1], [2], [6]], step=0, budget=0)
    row = main_table([free]).rows[0]
    assert row[3] == row[9] == "25.0"


# Order and declared comparisons


def test_methods_stand_in_the_order_of_the_project_and_unknown_ones_after_it() -> None:
    assert in_order(reversed([*METHODS, "aardvark", "zebra"])) == [*METHODS, "aardvark", "zebra"]
    assert list(by_method(full_results(seeds=(0,)))) == list(METHODS)
    names = list(METHODS)
    assert (names[0], names[-2:]) == ("frozen", ["whale", "whale_adaptive"])


def test_the_declared_family_of_all_methods() -> None:
    pairs = declared(list(METHODS))
    others = set(METHODS) - {"frozen", "whale", "whale_adaptive"}
    assert {pair for pair in pairs if pair[0] == "whale"} == {("whale", name) for name in (*others, "frozen")}
    assert [pair for pair in pairs if pair[0] == "whale_adaptive"] == [
        ("whale_adaptive", "whale"),
        ("whale_adaptive", "frozen"),
    ]
    assert {pair[0] for pair in pairs if pair[1] == "frozen"} == set(METHODS) - {"frozen"}
    assert len(pairs) == len(set(pairs)) == 10 + 1 + 12


def test_the_declared_family_and_its_direction() -> None:
    found = compare(many_results())
    assert [c.label for c in found] == [
        "whale - weight_only", "whale - harness_only", "whale - frozen", "harness_only - frozen",
        "weight_only - frozen",
    ]  # fmt: skip
    assert all((c.question.difference or 0) > 0 for c in found)


def test_holm_counts_the_whole_family() -> None:
    found = compare(full_results())
    best = min(found, key=lambda pair: pair.question.p or 1.0)
    assert best.question_holm == pytest.approx(23 * (best.question.p or 0))


def test_two_methods_of_which_none_is_a_reference_are_not_called_one() -> None:
    results = [one_result("grpo"), one_result("fst")]
    assert compare(results) == []
    assert conclusion([], results).startswith("Neither whale nor frozen ran")

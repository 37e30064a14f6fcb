"""Comparisons, report and figures on made-up result files: choice, refusals, honesty and fixed bytes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from bench import tables, wording
from bench.compare import Comparison, compare
from bench.conclusion import conclusion
from bench.report import render, screen_table, write_report
from bench.result_file import HarnessRow, ResultFile, dump
from bench.selection import choose
from envs.base import InputError, Verdict
from tests.fake_results import GAINS, many_results, one_result


def named(comparisons: list[Comparison], better: str, reference: str) -> Comparison:
    return next(c for c in comparisons if (c.better, c.reference) == (better, reference))


# Choosing a checkpoint


def test_the_checkpoint_is_chosen_on_select_and_optimism_is_the_rest() -> None:
    run = choose(one_result(select=[[1], [5], [3]], test=[[1], [2], [6]]))
    assert (run.selected.index, run.last.index, run.best.index) == (1, 2, 2)
    assert run.optimism == pytest.approx(4 / 8)


def test_a_tie_takes_the_earlier_checkpoint() -> None:
    run = choose(one_result(select=[[1, 1], [3, 1], [1, 3]], test=[[0], [0], [8]]))
    assert run.selected.index == 1


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=1, max_size=6))
def test_optimism_is_never_negative_and_test_never_chooses(rows: list[tuple[int, int]]) -> None:
    select, test = [[s] for s, _ in rows], [[t] for _, t in rows]
    run = choose(one_result(select=select, test=test))
    other = choose(one_result(select=select, test=[[8 - t] for _, t in rows]))
    assert run.optimism >= 0
    assert run.selected.index == other.selected.index


# Refusals


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (one_result("frozen", prefix="z"), "questions differ"),
        (one_result("frozen", samples=4), "samples 4"),
        (one_result("frozen").model_copy(update={"profile": "paper"}), "profile 'paper'"),
        (one_result("frozen").model_copy(update={"env": "chess"}), "env 'chess'"),
        (one_result("frozen").model_copy(update={"checkpoints": []}), "frozen-s0 has no checkpoint"),
        (one_result("whale"), "two result files for whale-s0"),
        (one_result("frozen", test=[[1, 2], [1, 2]]), "test questions differ .*1 extra, 0 missing"),
    ],
)
def test_files_that_cannot_be_compared_are_refused(other: ResultFile, message: str, tmp_path: Path) -> None:
    for act in (compare, render, screen_table, lambda results: write_report(tmp_path, results)):
        with pytest.raises(InputError, match=re.compile(message, re.DOTALL)):
            act([one_result("whale"), other])


def test_nothing_to_compare_is_refused() -> None:
    with pytest.raises(InputError, match="no result files"):
        compare([])


# Comparisons


def test_difference_averages_questions_and_shared_seeds_only() -> None:
    results = [
        one_result("whale", 0, select=[[0]], test=[[8, 4]]),
        one_result("whale", 1, select=[[0]], test=[[4, 4]]),
        one_result("whale", 2, select=[[0]], test=[[0, 0]]),
        one_result("frozen", 0, select=[[0]], test=[[2, 2]]),
        one_result("frozen", 1, select=[[0]], test=[[4, 0]]),
    ]
    found = named(compare(results), "whale", "frozen")
    assert found.seeds == (0, 1)
    assert found.question.difference == pytest.approx((0.75 + 0.25 + 0 + 0.5) / 4)
    assert found.run.difference == pytest.approx(found.question.difference)
    assert found.run.p == found.run.smallest_p == 0.5


def test_no_shared_seed_is_said_and_nothing_is_defined() -> None:
    results = [one_result("whale", 0), one_result("frozen", 1)]
    found = compare(results)
    assert found[0].question.difference is None
    assert "share" in conclusion(found, results)
    assert "nan" not in render(results).lower()


def test_holm_is_over_all_comparisons() -> None:
    found = compare(many_results())
    assert [c.run_holm for c in found] == [1.0] * 5
    smallest = min(found, key=lambda c: c.question.p or 1.0)
    assert smallest.question_holm == pytest.approx(5 * (smallest.question.p or 0))


def test_a_further_method_changes_no_other_interval() -> None:
    few = {name: GAINS[name] for name in ("frozen", "whale")}
    alone = named(compare(many_results(gains=few)), "whale", "frozen")
    together = named(compare(many_results()), "whale", "frozen")
    assert alone.question == together.question
    assert alone.hierarchical == together.hierarchical


# What may be concluded


def test_three_seeds_allow_no_claim_about_methods() -> None:
    results = many_results()
    text = conclusion(compare(results), results)
    assert "smallest run-level p-value that can come out is 0.25" in text
    assert "no claim that one method is better than another is possible" in text
    assert "it would take 8 seeds" in text
    assert "these particular trained systems" in text


def test_enough_seeds_allow_a_claim_and_equal_methods_do_not_get_one() -> None:
    gains = {"frozen": GAINS["frozen"], "whale": GAINS["whale"]}
    results = many_results(range(6), gains)
    text = conclusion(compare(results), results)
    assert "Method-level differences at the 5 % level: whale - frozen" in text
    assert "would take" not in text
    equal = many_results(range(6), {"frozen": (0.0,), "whale": (0.0,)})
    assert "No method-level difference" in conclusion(compare(equal), equal)


def test_six_seeds_are_too_few_once_holm_counts_five_comparisons() -> None:
    results = many_results(range(6), questions=12)
    text = conclusion(compare(results), results)
    assert "0.0312 (0.1562 after Holm over 5 comparisons)" in text
    assert "no claim" in text


def test_no_difference_is_not_called_equality() -> None:
    results = many_results(gains={"frozen": (0.0,), "whale": (0.0, 0.0)})
    text = conclusion(compare(results), results)
    assert "no difference shown" in text
    assert "not evidence of equality" in text


def test_one_method_concludes_nothing() -> None:
    results = many_results(gains={"whale": GAINS["whale"]})
    assert "nothing is compared" in conclusion(compare(results), results)


# Tables


def test_every_verdict_is_counted_and_they_sum_to_the_total() -> None:
    results = many_results()
    for row in tables.verdict_table(results).rows:
        numbers = [int(cell.replace(",", "")) for cell in row[1:]]
        assert len(numbers) == len(Verdict) + 1
        assert sum(numbers[:-1]) == numbers[-1] == 60 * 8 * 3


def test_all_verdicts_stand_in_one_denominator() -> None:
    result = one_result(select=[[1]], test=[[1]], samples=4)
    mixed = {Verdict.CORRECT: 1, Verdict.WRONG: 1, Verdict.INFRA_ERROR: 1, Verdict.TRUNCATED: 1}
    point = result.checkpoints[0].model_copy(update={"test": {"qt0": mixed}})
    row = tables.main_table([result.model_copy(update={"checkpoints": [point]})]).rows[0]
    assert row[3] == "25.0"


def test_families_are_weighted_by_their_own_questions() -> None:
    result = one_result(select=[[0, 0, 0], [1, 1, 1]], test=[[0, 0, 8], [8, 0, 8]])
    families = {**result.families, "qt2": "gcd"}
    grid = tables.family_table([result.model_copy(update={"families": families})])
    assert grid.heads == ["method", "chain_sum, 2 questions (%)", "gcd, 1 questions (%)"]
    assert grid.rows == [["whale", "0.0 → 50.0", "100.0 → 100.0"]]


def test_undefined_figures_are_dashes() -> None:
    report = render([one_result("whale", select=[[1]], test=[[1]])])
    assert "nan" not in report.lower()
    row = tables.main_table([one_result("whale", select=[[1]], test=[[1]])]).rows[0]
    assert row[4] == wording.DASH


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (wording.percent(0.005), "0.5"),
        (wording.percent(0.125), "12.5"),
        (wording.percent(None), "–"),
        (wording.points(-0.0001), "0.0"),
        (wording.points(0.031), "+3.1"),
        (wording.p_value(0.25), "0.25"),
        (wording.p_value(1.0), "1"),
        (wording.p_value(0.0504), "0.0504"),
        (wording.p_value(0.00099), "<0.001"),
        (wording.count(1234567), "1,234,567"),
    ],
)
def test_wording(text: str, expected: str) -> None:
    assert text == expected


# The written report


def test_the_report_is_the_same_bytes_in_any_order(tmp_path: Path) -> None:
    results = many_results(seeds=(0, 1))
    write_report(tmp_path / "one", results)
    write_report(tmp_path / "two", [ResultFile.model_validate_json(dump(r)) for r in reversed(results)])
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert names == ["curves.png", "curves.svg", "families.png", "report.md"]
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name


def test_the_report_holds_what_a_reader_needs() -> None:
    results = many_results()
    report = render(results)
    for text in (
        "`0123abc`", "`python -m bench run whale`", "switch accept: `confirm`", "retry_on_empty",
        "+    if not reply.text:", "optimism", conclusion(compare(results), results),
        "| whale: vote | 3 | 3 | 0 | 0 | – |",
    ):  # fmt: skip
        assert text in report


def test_hostile_harness_text_cannot_break_out_of_its_fence() -> None:
    result = one_result()
    source = '"""\n~~~~\n# not a heading\n"""\n' + result.harnesses["h0"].source
    row = HarnessRow(source=source, parent=None, edit="a|b\nc")
    report = render([result.model_copy(update={"harnesses": {"h0": row}})])
    assert "\n~~~~~~~python\n" in report
    assert "a\\|b c" in report


def test_screen_table_shows_every_method() -> None:
    console = Console(width=200, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(screen_table(many_results()))
    text = console.export_text()
    assert all(method in text for method in GAINS)

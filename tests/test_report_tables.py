"""The report's newer tables by hand: 2x2, what is taken at test time, and both ways of counting a search."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.console import Console

from bench.matched_attempts import match, serving_table
from bench.report import render, screen_table
from bench.result_file import CandidateRow, Cross, ResultFile, SpendRow, load_all
from bench.search_tables import accounting_table, search_table
from bench.selection import choose
from bench.tables import main_table
from bench.two_by_two import corners, two_by_two_table
from envs.base import InputError
from tests.commands import ROOT
from tests.fake_results import counts, full_results, one_result, served

DASH = "–"


# 2x2


def joint(seed: int = 0, trained: int = 4, searched: int = 2) -> ResultFile:
    """A run of one question: 1 of 8 right at first, 7 at last, and the two mixed systems as given."""
    result = one_result("whale", seed, select=[[1], [8], [0]], test=[[1], [8], [7]])
    mixed = [
        Cross(weights_id="w2", harness_id="h0", test={"qt0": counts(trained, 8)}),
        Cross(weights_id="w0", harness_id="h1", test={"qt0": counts(searched, 8)}),
    ]
    return result.model_copy(update={"cross": mixed})


def test_the_four_corners_and_their_interaction() -> None:
    four = corners(joint())
    assert four is not None
    assert (four.first, four.trained, four.searched, four.last) == (1 / 8, 4 / 8, 2 / 8, 7 / 8)
    assert four.interaction == (7 - 4 - 2 + 1) / 8
    assert corners(one_result()) is None


def test_the_2x2_shows_means_and_the_single_seeds_where_there_are_several() -> None:
    one = two_by_two_table([joint(), one_result("frozen", select=[[1]], test=[[1]])])
    assert one.rows == [["whale", "0", "12.5", "50.0", "25.0", "87.5", "+25.0"]]
    two = two_by_two_table([joint(0), joint(1, trained=8, searched=4)])
    assert two.rows == [
        [
            "whale",
            "0, 1",
            "12.5 (12, 12)",
            "75.0 (50, 100)",
            "37.5 (25, 50)",
            "87.5 (88, 88)",
            "-12.5 (+25, -50)",
        ]
    ]


def test_seeds_without_mixed_systems_are_left_out_of_the_2x2() -> None:
    bare = joint(1).model_copy(update={"cross": []})
    assert two_by_two_table([joint(), bare]).rows == two_by_two_table([joint()]).rows


def test_a_2x2_with_one_mixed_system_or_other_questions_is_refused() -> None:
    result = joint()
    other = Cross(weights_id="w0", harness_id="h1", test={"else": counts(1, 8)})
    for cross in (result.cross[:1], [result.cross[0], other]):
        with pytest.raises(InputError, match="whale-s0: its 2x2 holds"):
            corners(result.model_copy(update={"cross": cross}))


# What is taken at test time


def trying(seed: int = 0) -> ResultFile:
    """The ``attempts`` arm: 1, 2 and 4 attempts with 10, 20 and 40 tokens a sample, 1, 2 and 3 of 8 right."""
    result = one_result("attempts", seed, select=[[8], [0], [0]], test=[[1], [2], [3]], step=0, budget=0)
    return served(result, [10, 20, 40], [1, 2, 4])


def answering(tokens: int, seed: int = 0) -> ResultFile:
    """A method whose selected checkpoint has 6 of 8 right and takes so many tokens a sample."""
    return served(one_result("whale", seed, select=[[0], [8]], test=[[0], [6]]), [1, tokens])


@pytest.mark.parametrize(
    ("tokens", "cells"),
    [
        (9, ["1", "10.0", "12.5", "+62.5"]),
        (10, ["1", "10.0", "12.5", "+62.5"]),  # as many are enough
        (11, ["2", "20.0", "25.0", "+50.0"]),
        (21, ["4", "40.0", "37.5", "+37.5"]),
        (41, ["4 (fewer tokens)", "40.0", "37.5", "+37.5"]),
    ],
)
def test_the_control_is_the_fewest_attempts_that_take_as_many_tokens(tokens: int, cells: list[str]) -> None:
    control, own = serving_table([answering(tokens), trying()]).rows
    assert own == ["whale", "2.0", f"{tokens}.0", "75.0", *cells]
    assert control == ["attempts", "2.0", "10.0", "12.5", *[DASH] * 4]


def test_the_control_is_matched_over_the_seeds_that_both_ran() -> None:
    found = match(
        [choose(answering(11, 0)), choose(answering(99, 1))], [choose(trying(0)), choose(trying(2))]
    )
    assert found is not None
    assert (found.attempts, found.tokens, found.enough) == (2, 20, True)
    assert match([choose(answering(11, 1))], [choose(trying(0))]) is None


def test_tokens_are_averaged_over_seeds_before_they_are_matched() -> None:
    runs = [choose(answering(5, 0)), choose(answering(21, 1))]
    found = match(runs, [choose(trying(0)), choose(trying(1))])
    assert found is not None
    assert found.attempts == 2  # 13 tokens on average


def test_what_was_not_recorded_stays_undefined() -> None:
    bare = one_result("whale", select=[[0], [8]], test=[[0], [6]])
    unknown = ["whale", DASH, DASH, "75.0", *[DASH] * 4]
    assert serving_table([bare, trying()]).rows[1] == unknown
    silent = one_result("attempts", select=[[8]], test=[[1]])
    assert serving_table([answering(5), silent]).rows[1] == ["whale", "2.0", "5.0", "75.0", *[DASH] * 4]
    assert serving_table([answering(5)]).rows[0][4:] == [DASH] * 4
    second = one_result("whale", 1, select=[[0], [8]], test=[[0], [6]])
    assert serving_table([answering(5), second, trying(0), trying(1)]).rows[1][1:3] == [DASH, DASH]
    assert "Not recorded in these result files" in render([bare])


# Both ways of counting a search


def searching(
    method: str = "whale", seed: int = 0, longest: Sequence[int] = (2, 3), **changed: object
) -> ResultFile:
    """A run with a search for every entry of ``longest``: so many iterations of 4 on 10 examples."""
    result = one_result(method, seed, select=[[0]] * 5, test=[[0]] * 5)
    rows = [
        CandidateRow(
            phase=2 * n, iteration=i, harness_id=f"h{n}{i}", parent=None, edit="vote", screen=0.5,
            confirm=None, accepted=False,
        )
        for n, most in enumerate(longest, 1)
        for i in range(most + 1)
    ]  # fmt: skip
    screened = sum(10 * (1 + 4 * most) for most in longest)
    update = {
        "candidates": rows,
        "prices": {"step": 8, "examples": 10, "candidates": 4},
        "ledger": {"search": SpendRow(rollouts=screened), "confirm": SpendRow(rollouts=60)},
    }
    return result.model_copy(update={**update, **changed})


def test_a_search_is_counted_in_both_ways() -> None:
    (row,) = accounting_table([searching(), one_result("frozen")]).rows[-1:]
    # 2 + 3 iterations propose, 3 + 4 with the incoming harness; charged 10 (1 + 8) + 10 (1 + 12); 7 x 4 x 10.
    assert row == ["whale", "2", "5", "7", "220", "280", "60"]


def test_seeds_that_differ_are_shown_as_a_range() -> None:
    (row,) = accounting_table([searching(), searching(seed=1, longest=(1, 2))]).rows
    assert row == ["whale", "2", "3 to 5", "5 to 7", "140 to 220", "200 to 280", "60"]


def test_evolutions_of_prompts_have_no_iterations() -> None:
    (row,) = accounting_table([searching("fst")]).rows
    assert row == ["fst", "2", DASH, DASH, "220", DASH, "60"]


def test_what_a_file_does_not_say_about_searches_stays_undefined() -> None:
    (row,) = accounting_table([searching(prices={}, ledger={})]).rows
    assert row == ["whale", "2", "5", "7", DASH, DASH, DASH]
    (row,) = accounting_table([searching(longest=(2,))]).rows  # the second search left no candidates
    assert row[2:4] == [DASH, DASH]


def test_methods_without_searches_or_training_have_no_row() -> None:
    results = full_results(seeds=(0,))
    names = [row[0] for row in accounting_table(results).rows]
    assert "frozen" not in names
    assert "weight_only" not in names
    assert {"harness_only", "whale", "fst"} <= set(names)
    assert {row[0] for row in search_table(results).rows}.isdisjoint({"frozen", "attempts", "refinement"})


# All methods, and old files


def test_the_report_of_all_methods_holds_every_part() -> None:
    report = render(full_results())
    for text in (
        "## Weights and harness, alone and together", "## What the systems take at test time",
        "## Search, counted both ways", "I x M x D", "D + (I - 1) x M x D", "at no charge",
        "fst: gepa passed its soft caps by 12 rollouts", "after Holm over 23 comparisons",
    ):  # fmt: skip
        assert text in report
    assert "nan" not in report.lower()


def test_no_number_is_cut_on_a_narrow_screen() -> None:
    results = full_results()
    console = Console(width=80, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(screen_table(results))
    lines = console.export_text().splitlines()
    for row in main_table(results).rows:
        (line,) = (line for line in lines if line.startswith(f"{row[0]} "))
        assert line.split()[-6:] == [row[i] for i in (2, 3, 4, 5, 6, 10)]


@pytest.mark.parametrize("env", ["math", "searchqa", "chess"])
def test_committed_results_of_older_versions_still_render(env: str) -> None:
    folder: Path = ROOT / "results" / "cpu" / env
    report = render(load_all(folder))
    assert "nan" not in report.lower()
    assert "| whale |" in report

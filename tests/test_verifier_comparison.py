"""The comparison with the libraries: a small draw of it runs, and the suite's side is right by construction."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from bench.verifiers import maths, moves, questions
from bench.verifiers.__main__ import GROUPS, compare, save, tables
from bench.verifiers.judges import python_chess, squad
from bench.verifiers.pairs import Judged, Making, Pair, counts, digest, draw

STORED = Path(__file__).parents[1] / "results" / "verifiers"


@pytest.fixture(scope="module")
def found() -> dict[str, list[Judged]]:
    return compare(pairs=120, seed=3)


@pytest.mark.parametrize("group", [name for name in GROUPS if "canonical" not in name])
def test_ours_is_right_on_every_pair(found: dict[str, list[Judged]], group: str) -> None:
    assert [one.line() for one in found[group] if one.ours != one.pair.right] == []


def test_the_canonical_rule_says_what_squad_says(found: dict[str, list[Judged]]) -> None:
    judged = found["searchqa canonical / SQuAD"]
    assert [one.line() for one in judged if one.ours != one.library] == []
    assert any(one.sure == "neither" for one in judged), "the published rule has lost its weaknesses"


@pytest.mark.parametrize("kinds", [maths.KINDS, questions.KINDS, moves.KINDS])
def test_every_kind_has_right_and_wrong_answers(kinds: dict[str, Callable[[Random], Making]]) -> None:
    drawn = draw("any", kinds, 20 * len(kinds), seed=1)
    for kind in kinds:
        assert {pair.right for pair in drawn if pair.kind == kind} == {True, False}


def test_a_draw_repeats_itself() -> None:
    one, again, other = (draw("any", dict(maths.KINDS), 56, seed) for seed in (1, 1, 2))
    assert digest(one) == digest(again) != digest(other)
    assert len(set(one)) == len(one) == 56


def test_a_kind_that_cannot_vary_is_refused() -> None:
    with pytest.raises(ValueError, match="only 2 different pairs of 5"):
        draw("any", {"fixed": lambda rng: ("1", ["1"], ["2"])}, 5, 0)


def test_saving_lists_every_disagreement(found: dict[str, list[Judged]], tmp_path: Path) -> None:
    save(tmp_path, found, "python -m bench.verifiers", 3)
    lines = (tmp_path / "disagreements.jsonl").read_text("utf-8").splitlines()
    assert len(lines) == sum(one.ours != one.library for judged in found.values() for one in judged)
    assert tables(found) in (tmp_path / "report.md").read_text("utf-8")


def test_what_is_stored_says_the_same() -> None:
    summary = json.loads((STORED / "summary.json").read_text("utf-8"))
    totals = {group: kinds["all"] for group, kinds in summary["counts"].items()}
    assert set(totals) == set(GROUPS)
    assert sum(row["pairs"] for row in totals.values()) >= 2000
    for group, row in totals.items():
        assert row["library"] == 0
        assert "canonical" in group or row["neither"] == 0
    listed = len((STORED / "disagreements.jsonl").read_text("utf-8").splitlines())
    assert listed == sum(row["ours"] + row["library"] for row in totals.values())


@pytest.mark.parametrize(
    ("gold", "answer", "same"),
    [("The Hague", "hague", True), ("A", "the", True), ("3.14", "314", True), ("Paris", "Paris!", True),
     ("Paris", "London", False), ("theory", "the ory", False)],
)  # fmt: skip
def test_squad_as_published(gold: str, answer: str, same: bool) -> None:
    assert squad(Pair("", "", gold, answer, same)) is same


def test_python_chess_reads_uci_and_san() -> None:
    start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
    read = {
        text: python_chess(Pair("", "", f"{start}|e2e4", text, True)) for text in ("e2e4", "e4", "d4", "x")
    }
    assert read == {"e2e4": True, "e4": True, "d4": False, "x": False}


def test_counts_say_who_is_right() -> None:
    pair = Pair("g", "k", "1", "1", True)
    rows = counts([Judged(pair, True, True), Judged(pair, True, False), Judged(pair, False, True)])
    assert rows["all"] == {"pairs": 3, "both": 1, "ours": 1, "library": 1, "neither": 0}

"""Every verifier against many spellings of one answer, right and wrong: whole kinds of known faults, as data."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import chess
import pytest

from envs.base import Score, Verdict
from envs.chess_env.reading import read_move
from envs.math_env.canonical import canonical
from envs.math_env.robust import RobustVerifier
from envs.searchqa_env import canonical as squad
from envs.searchqa_env.robust import robust as robust_qa

CASES = Path(__file__).parent / "cases"
VERDICTS = {"right": Verdict.CORRECT, "wrong": Verdict.WRONG, "none": Verdict.NO_ANSWER}


def rows(name: str) -> list[Any]:
    """The lines of a file as parameters named by their ids."""
    lines = (CASES / f"{name}.jsonl").read_text("utf-8").splitlines()
    found = [json.loads(line) for line in lines]
    assert len({row["id"] for row in found}) == len(found)
    return [pytest.param(row, id=row["id"]) for row in found]


@pytest.fixture(scope="module")
def maths() -> Iterator[RobustVerifier]:
    verifier = RobustVerifier()
    yield verifier
    verifier.close()


def misjudged(row: dict[str, Any], grade: Callable[[str, str], Score]) -> list[str]:
    """The answers of a row whose verdict is another one than the row says."""
    found = []
    for name, verdict in VERDICTS.items():
        for answer in row.get(name, []):
            pairs = [(row["gold"], answer), *([(answer, row["gold"])] if row.get("swap") else [])]
            for gold, given in pairs:
                score = grade(gold, given)
                if score.verdict is not verdict:
                    found.append(
                        f"gold {gold!r}, answer {given!r}: {score.verdict}, not {verdict} {score.detail}"
                    )
    return found


@pytest.mark.parametrize("row", rows("math_spellings"))
def test_maths(row: dict[str, Any], maths: RobustVerifier) -> None:
    assert misjudged(row, lambda gold, text: maths.verify(gold, f"\\boxed{{{text}}}", truncated=False)) == []
    for answer in row.get("wrong", []):
        assert canonical(row["gold"], f"\\boxed{{{answer}}}", truncated=False).value == 0.0


@pytest.mark.parametrize("row", rows("qa_spellings"))
def test_qa(row: dict[str, Any]) -> None:
    assert (
        misjudged(row, lambda gold, text: robust_qa([gold], f"<answer>{text}</answer>", truncated=False))
        == []
    )
    for answer in row.get("none", []):
        score = squad.canonical([row["gold"]], f"<answer>{answer}</answer>", truncated=False)
        assert score.verdict is Verdict.NO_ANSWER


@pytest.mark.parametrize("row", rows("chess_spellings"))
def test_chess(row: dict[str, Any]) -> None:
    board = chess.Board(row["fen"])
    read = {text: read_move(board, text).move for text in row["texts"]}
    given = {text: move.uci() if move else "refused" for text, move in read.items()}
    assert given == dict.fromkeys(row["texts"], row["expected"])

"""The archive keeps what it is given, exactly, in the same bytes, and survives an interrupted write."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from envs.base import InputError
from whale.archive import Archive, Candidate, Trace, TraceCall, leaks, redact
from whale.contract import assistant, user

CALL = TraceCall((user("2 + 2 =\n"), assistant("é\u2028")), ("\\boxed{4}", "five"), (False, True))
RUN = ("python", '{"code": "print(4)"}', "4\n")
TRACE = Trace("t1", "2 + 2 =", (CALL,), (RUN,), "\\boxed{4}", "4", "correct")
FAILED = Trace("t2", "3 + 3 =", (), (), None, None, "no_answer", "ValueError: broken | pipe")
FIRST = Candidate("aaa", "x = '\\r'\r\n", None, "h0", "start", 0, (1.0, 0.0), (TRACE, FAILED), calls_mean=2.0)


def files(path: Path) -> dict[str, bytes]:
    return {str(item.relative_to(path)): item.read_bytes() for item in path.rglob("*") if item.is_file()}


def test_candidates_come_back_equal_and_the_bytes_are_the_same_twice(tmp_path: Path) -> None:
    refused = Candidate("bbb", "def", "aaa", "direct", "why", 1, invalid="does not parse")
    for name in ("one", "two"):
        archive = Archive.open(tmp_path / name)
        archive.add(FIRST)
        archive.add(refused)
    assert Archive.open(tmp_path / "one").candidates() == [FIRST, refused]
    assert files(tmp_path / "one") == files(tmp_path / "two")
    assert "candidates/000-aaa/harness.py" in files(tmp_path / "one")


def test_summary_lists_every_candidate_on_one_line(tmp_path: Path) -> None:
    archive = Archive.open(tmp_path)
    archive.add(replace(FIRST, why="two\nlines | a bar"))
    rows = [row for row in (tmp_path / "summary.md").read_text().splitlines() if row.startswith("| 000")]
    assert rows == ["| 000 | aaa | - | h0 | 0.5000 | 2.00 | correct 1, no_answer 1 | two lines / a bar |"]


def test_best_is_highest_mean_then_fewer_calls_then_earlier(tmp_path: Path) -> None:
    archive = Archive.open(tmp_path)
    archive.add(replace(FIRST, traces=()))
    archive.add(replace(FIRST, harness_id="worse", scores=(0.0, 0.0), traces=(), calls_mean=0.1))
    assert archive.best().harness_id == "aaa"
    archive.add(replace(FIRST, harness_id="cheap", traces=(), calls_mean=1.0))
    archive.add(replace(FIRST, harness_id="later", traces=(), calls_mean=1.0))
    assert archive.best().harness_id == "cheap"
    archive.add(replace(FIRST, harness_id="high", scores=(1.0, 1.0), traces=(), calls_mean=9.0))
    archive.add(replace(FIRST, harness_id="refused", scores=(1.0, 1.0), traces=(), invalid="too slow"))
    assert archive.best().harness_id == "high"


def test_best_of_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="score the incoming harness"):
        Archive.open(tmp_path).best()


def test_adding_again_is_idempotent_but_never_overwrites(tmp_path: Path) -> None:
    archive = Archive.open(tmp_path)
    archive.add(FIRST)
    archive.add(FIRST)
    assert len(archive.candidates()) == 1
    with pytest.raises(InputError, match="already in"):
        archive.add(replace(FIRST, source="other"))


@pytest.mark.parametrize("bad", [replace(FIRST, scores=(1.0,)), replace(FIRST, harness_id="../up")])
def test_inconsistent_candidates_are_refused(tmp_path: Path, bad: Candidate) -> None:
    archive = Archive.open(tmp_path)
    with pytest.raises(InputError):
        archive.add(bad)
    assert archive.candidates() == []


def test_an_interrupted_add_leaves_no_candidate(tmp_path: Path) -> None:
    archive = Archive.open(tmp_path)
    archive.add(FIRST)
    before = files(tmp_path)
    left = tmp_path / "candidates" / ".new-001-bbb"
    left.mkdir()
    (left / "harness.py").write_text("half")
    (tmp_path / "summary.md").unlink()
    assert Archive.open(tmp_path).candidates() == [FIRST]
    assert files(tmp_path) == before


def test_a_damaged_folder_is_named(tmp_path: Path) -> None:
    archive = Archive.open(tmp_path)
    archive.add(FIRST)
    (tmp_path / "candidates" / "000-aaa" / "scores.json").write_text("[1.0,")
    with pytest.raises(InputError, match="000-aaa"):
        archive.candidates()


def test_more_than_a_thousand_candidates_stay_in_order(tmp_path: Path) -> None:
    archive = Archive.open(tmp_path)
    archive.add(FIRST)
    for name, later in (("b", "999-b"), ("c", "1000-c")):
        archive.add(replace(FIRST, harness_id=name))
        place = tmp_path / "candidates"
        next(place.glob(f"*-{name}")).rename(place / later)
    assert [item.harness_id for item in archive.candidates()] == ["aaa", "b", "c"]


@pytest.mark.parametrize(
    ("text", "golds", "expected"),
    [
        ("it is 42.", ["42"], "it is [redacted]."),
        ("142 and 42.5 and 4.42", ["42"], "142 and 42.5 and 4.42"),
        ("Paris or Paris Texas", ["Paris", "Paris Texas"], "[redacted] or [redacted]"),
        ("\\boxed{-7}", ["-7"], "\\boxed{[redacted]}"),
        ("a.b axb", ["a.b"], "[redacted] axb"),
        ("nothing", [""], "nothing"),
    ],
)
def test_redact(text: str, golds: list[str], expected: str) -> None:
    assert redact(text, golds) == expected


LONG = "State the final answer to: 4 + 3 - 2 ="


@pytest.mark.parametrize(
    "source",
    [
        f"EXAMPLES = [({LONG!r}, '5')]",
        f"# {LONG.upper()}",
        f"x = {LONG.replace(' ', chr(10))!r}",
        f"x = {LONG[:12]!r} {LONG[12:]!r}",
        f"x = {LONG[:12]!r} + {LONG[12:]!r}",
    ],
)
def test_leaks_finds_a_question_however_it_is_written(source: str) -> None:
    assert leaks(source, ["some other long question text", LONG]) == [LONG]


def test_leaks_ignores_short_and_absent_texts() -> None:
    assert leaks("x = '4 + 3 ='", ["4 + 3 =", LONG]) == []

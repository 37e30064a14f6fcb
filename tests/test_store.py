"""Files of a run: logs that survive a torn write, files that are whole or absent, one process a directory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.base import InputError
from whale.store import Log, content_key, exclusive, write_atomic, write_json

ROOT = Path(__file__).parents[1]
LINES = [json.dumps({"n": index, "text": "Ärger ∑ 数学"}, ensure_ascii=False) for index in range(8)]


@pytest.fixture
def log(tmp_path: Path) -> Log:
    log = Log(tmp_path / "deep" / "log.jsonl")
    log.append(LINES)
    return log


def test_a_log_gives_back_what_was_appended(log: Log) -> None:
    log.append(['{"last": true}'])
    assert Log(log.path).lines() == [*LINES, '{"last": true}']


def test_a_missing_and_an_empty_log_have_no_lines(tmp_path: Path) -> None:
    assert Log(tmp_path / "none.jsonl").lines() == []
    (tmp_path / "empty.jsonl").touch()
    assert Log(tmp_path / "empty.jsonl").lines() == []


def test_every_cut_keeps_the_whole_lines_and_repairs_the_file(tmp_path: Path) -> None:
    """A write can be torn at any byte, also inside a letter of several bytes."""
    whole = "".join(line + "\n" for line in LINES[:2]).encode()
    for length in range(len(whole) + 1):
        log = Log(tmp_path / "log.jsonl")
        log.path.write_bytes(whole[:length])
        kept = whole[:length].count(b"\n")
        assert log.lines() == LINES[:kept]
        assert log.path.read_bytes() == b"".join(line.encode() + b"\n" for line in LINES[:kept])
        log.append(LINES[kept:])
        assert Log(log.path).lines() == LINES


def test_the_repair_is_a_rename_and_leaves_nothing_behind(log: Log) -> None:
    with log.path.open("ab") as stream:
        stream.write(b'{"n": 9, "te')
    before = log.path.stat().st_ino
    log.lines()
    assert log.path.stat().st_ino != before
    assert [path.name for path in log.path.parent.iterdir()] == ["log.jsonl"]


@pytest.mark.parametrize("damage", [b'{"n": 3, "te', b"\xff\xfe", b"", b"\x00\x00"])
def test_a_damaged_line_in_the_middle_is_an_error_that_names_it(log: Log, damage: bytes) -> None:
    rows = log.path.read_bytes().split(b"\n")
    rows[3] = damage
    log.path.write_bytes(b"\n".join(rows))
    with pytest.raises(InputError, match=r"line 4 of 8.* is damaged") as caught:
        log.lines()
    assert str(log.path) in str(caught.value)
    assert "Remove that line" in str(caught.value)
    assert log.path.read_bytes() == b"\n".join(rows), "an error must not change the file"


def test_write_atomic_replaces_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file.txt"
    write_atomic(path, "a long first text")
    write_atomic(path, "zweites ∑")
    assert path.read_text(encoding="utf-8") == "zweites ∑"
    assert [item.name for item in path.parent.iterdir()] == ["file.txt"]


def test_write_atomic_keeps_the_old_content_when_it_fails(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    write_atomic(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_atomic(path, "a lone surrogate cannot be written: \ud800")
    assert path.read_text(encoding="utf-8") == "old"
    assert [item.name for item in tmp_path.iterdir()] == ["file.txt"]


def test_write_json_is_sorted_and_ends_with_a_newline(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"b": 1, "a": "ü"})
    assert (tmp_path / "a.json").read_text(encoding="utf-8") == '{\n "a": "ü",\n "b": 1\n}\n'


@given(st.dictionaries(st.text(), st.integers() | st.text() | st.dictionaries(st.text(), st.integers())))
def test_a_content_key_does_not_depend_on_order(parts: dict[str, object]) -> None:
    key = content_key(parts)
    assert content_key(dict(reversed(parts.items()))) == key
    assert len(key) == 20
    assert content_key({**parts, "one more": 1.5}) != key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"work": [("a", 0), ("b", 1)]}, {"work": [("b", 1), ("a", 0)]}),
        ({"split": "search", "item": 0}, {"split": "select", "item": 0}),
        ({"a": 1}, {"a": "1"}),
        ({"a": None}, {}),
    ],
)
def test_a_content_key_tells_apart(one: dict[str, object], other: dict[str, object]) -> None:
    assert content_key(one) != content_key(other)


HOLDER = """
import sys
from pathlib import Path
from whale.store import exclusive
with exclusive(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def hold(directory: Path) -> subprocess.Popen[str]:
    """A second process that holds the directory until its input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(directory)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_process_is_told_who_holds_the_directory(tmp_path: Path) -> None:
    with hold(tmp_path / "run") as process:
        with pytest.raises(InputError) as caught, exclusive(tmp_path / "run"):
            pass
        process.communicate("")
    said = str(caught.value)
    assert f"in use by process {process.pid};" in said
    assert str(tmp_path / "run") in said
    assert "wait for it, stop it, or choose another with --runs" in said


@pytest.mark.parametrize("killed", [False, True])
def test_the_directory_is_free_once_its_holder_has_ended(tmp_path: Path, killed: bool) -> None:
    with hold(tmp_path) as process:
        if killed:
            process.kill()
        process.communicate("")
    with exclusive(tmp_path):
        assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"


def test_an_error_inside_frees_the_directory(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), exclusive(tmp_path):
        _ = 1 / 0
    with exclusive(tmp_path):
        pass

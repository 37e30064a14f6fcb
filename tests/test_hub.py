"""One hub set: what the lock says of it, what is wrong with a file, and the commands around both."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from envs.base import InputError
from envs.hub.__main__ import main
from envs.hub.load import FILES, load
from envs.hub.lock import LOCK, Pin, pins, write_pin
from envs.hub.records import content_hash
from envs.hub.sources import AIME_2024, DAPO, LICHESS, SOURCES
from tests import hub_files
from tests.hub_files import REVISION, aime, anyhow, dapo, pinned, write, write_csv

folder = hub_files.folder
Rows = list[dict[str, Any]]


def said(action: Callable[[], object]) -> str:
    with pytest.raises(InputError) as caught:
        action()
    text = str(caught.value)
    assert "; " in text, "no next step"
    return text


def test_a_pinned_set_is_read_as_it_was(folder: Path) -> None:
    rows = aime(AIME_2024, 1)
    write(folder, AIME_2024, [{**row, "ID": "other columns do not matter"} for row in rows])
    pin = pinned(AIME_2024)
    assert (pin.rows, pin.records, pin.revision, pin.sha256) == (30, 30, REVISION, content_hash(rows))
    assert load(AIME_2024).rows == rows


def test_the_order_of_the_rows_does_not_matter_but_their_contents_do(folder: Path) -> None:
    rows = aime(AIME_2024, 1)
    write(folder, AIME_2024, rows)
    pinned(AIME_2024)
    write(folder, AIME_2024, rows[::-1])
    assert load(AIME_2024).rows == rows[::-1]
    write(folder, AIME_2024, [{**rows[0], "Answer": 7}, *rows[1:]])
    text = said(lambda: load(AIME_2024))
    assert re.search(
        r"aime_2024 has changed: the sha256 of its records is [0-9a-f]{64}, .* says [0-9a-f]{64};", text
    )
    assert "python -m envs.hub fetch aime_2024" in text
    assert "python -m envs.hub pin aime_2024" in text


def changed(rows: Rows, change: Mapping[str, Any]) -> Rows:
    """The rows with columns changed; a column that is None is taken away."""
    merged = [{**row, **change} for row in rows]
    return [{key: cell for key, cell in row.items() if cell is not None} for row in merged]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda rows: [], "cannot be read as json (it is empty); copy or fetch it again"),
        (lambda rows: rows[:29], "aime_2024 has 29 rows, "),
        (lambda rows: [*rows, rows[0]], "aime_2024 has 31 rows, "),
        (
            lambda rows: changed(rows, {"Problem": None}),
            "lacks the columns ['Problem']; read are ['Problem', 'Answer']",
        ),
        (
            lambda rows: changed(rows, {"Problem": None, "question": "renamed"}),
            "lacks the columns ['Problem']; read are ['Problem', 'Answer'], it has ['Answer', 'question']",
        ),
        (lambda rows: changed(rows, {"Problem": 7}), "column Problem is Value('int64'), expected text;"),
        (
            lambda rows: changed(rows, {"Answer": 0.5}),
            "column Answer is Value('float64'), expected text or whole",
        ),
        (
            lambda rows: changed(rows, {"Answer": ["7"]}),
            "column Answer is List(Value('string')), expected text or",
        ),
        (
            lambda rows: [*rows[:29], {"Problem": "x", "Answer": None}],
            "row 30: Answer is empty; correct or drop",
        ),
    ],
    ids=["empty", "short", "repeated", "missing", "renamed", "number", "fraction", "list", "cell"],
)
def test_a_set_that_is_not_what_was_pinned(
    folder: Path, change: Callable[[Rows], Rows], expected: str
) -> None:
    rows = aime(AIME_2024, 1)
    write(folder, AIME_2024, rows)
    pinned(AIME_2024)
    write(folder, AIME_2024, change(rows))
    assert expected in said(lambda: load(AIME_2024))


def test_a_file_without_rows_or_out_of_format(folder: Path) -> None:
    write(folder, AIME_2024, aime(AIME_2024, 1))
    pinned(AIME_2024)
    (folder / "aime_2024.jsonl").write_text("no json\n", "utf-8")
    assert "cannot be read as json (" in said(lambda: load(AIME_2024))
    from datasets import Dataset

    Dataset.from_dict({"Problem": ["x"], "Answer": ["7"]}).select([]).to_parquet(folder / "aime_2024.parquet")
    assert "corresponds to no data!); copy or fetch it again" in said(lambda: load(AIME_2024))


def test_a_missing_file_names_the_folder_the_endings_and_the_command(folder: Path) -> None:
    write(folder, AIME_2024, aime(AIME_2024, 1))
    pinned(AIME_2024)
    (folder / "aime_2024.jsonl").unlink()
    text = said(lambda: load(AIME_2024))
    assert text.startswith(
        f"${FILES} is {folder}, which has no aime_2024 with one of the endings .parquet, .jsonl, .csv;"
    )
    assert "python -m envs.hub fetch aime_2024 --to FOLDER" in text


def test_copies_of_a_record_are_left_out_and_counted(folder: Path) -> None:
    write(folder, DAPO, dapo(range(20), copies=5))
    pin = pinned(DAPO, anyhow)
    assert (pin.rows, pin.records) == (100, 20)
    assert [row["extra_info.index"] for row in load(DAPO).rows] == [f"id-{number}" for number in range(20)]
    write(folder, DAPO, dapo(range(20)))
    assert len(load(DAPO).rows) == 20, "a file without the copies is the same set"
    write(folder, DAPO, [*dapo(range(19)), *dapo([0])])
    assert "dapo_math_17k has 19 records without copies, " in said(lambda: load(DAPO))
    write(folder, DAPO, dapo(range(20), copies=2))
    assert re.search("has 40 rows, .* says 100 rows or 20 without copies;", said(lambda: load(DAPO)))


def test_a_share_of_a_large_set_is_always_the_same_records(folder: Path) -> None:
    rows = hub_files.lichess()
    write_csv(folder, LICHESS, rows)
    pin = pinned(LICHESS)
    assert pin.rows == len(rows)
    assert 0.6 < pin.records / (len(rows) * LICHESS.share) < 1.5
    ids = [row["PuzzleId"] for row in load(LICHESS).rows]
    (folder / "lichess_puzzles.csv").unlink()
    write(folder, LICHESS, rows[::-1])
    assert [row["PuzzleId"] for row in load(LICHESS).rows] == ids[::-1], (
        "neither order nor format plays a part"
    )


def test_a_set_that_is_not_in_the_lock(folder: Path) -> None:
    text = said(lambda: load(AIME_2024))
    assert "aime_2024 (Maxwell-Jia/AIME_2024) is not in the lock " in text
    assert text.endswith(
        "which has: nothing; on a machine with a network run: python -m envs.hub pin aime_2024"
    )


def test_offline_and_not_cached(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder, AIME_2024, aime(AIME_2024, 1))
    pinned(AIME_2024)
    monkeypatch.delenv(FILES)
    text = said(lambda: load(AIME_2024))
    assert (
        "aime_2024 (Maxwell-Jia/AIME_2024 at 0123456789ab) is not in the cache and cannot be reached (Conn"
        in text
    )
    assert "python -m envs.hub fetch aime_2024 (see that HF_HUB_OFFLINE is not set)" in text
    assert f"set {FILES} to that folder" in text


def cached(cache: Path, file: Path, revision: str) -> None:
    """Put a file into the cache as if the hub had given it at a revision."""
    from datasets import load_dataset_builder

    builder = load_dataset_builder("json", data_files={"train": [str(file)]}, cache_dir=str(cache / "own"))
    builder.download_and_prepare()
    target = cache / "Maxwell-Jia___aime_2024" / "default" / "0.0.0" / revision
    shutil.copytree(builder.cache_dir, target)
    (target / "json-train.arrow").rename(target / "aime_2024-train.arrow")
    info = json.loads((target / "dataset_info.json").read_text("utf-8"))
    info |= {"config_name": "default", "dataset_name": "aime_2024"}
    (target / "dataset_info.json").write_text(json.dumps(info), "utf-8")


def test_offline_what_is_cached_is_used_at_the_pinned_revision_only(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(folder, AIME_2024, aime(AIME_2024, 1))
    pin = pinned(AIME_2024)
    monkeypatch.delenv(FILES)
    cached(folder.parent / "cache", file, REVISION)
    assert load(AIME_2024).rows == aime(AIME_2024, 1)
    write_pin("aime_2024", pin.model_copy(update={"revision": "f" * 40}))
    text = said(lambda: load(AIME_2024))
    assert (
        f"is in the cache at {REVISION}, wanted is {'f' * 40}, which cannot be reached; on a machine" in text
    )


def test_a_lock_out_of_form(folder: Path) -> None:
    lock = folder.parent / "lock.toml"
    lock.write_text("[aime_2024]\nrepo = 'a/b'\nrevision = 'main'\n", "utf-8")
    text = said(lambda: load(AIME_2024))
    assert "lock.toml: aime_2024.revision: String should match" in text
    assert "got 'main'; restore the file" in text
    lock.write_text("[aime_2024", "utf-8")
    assert "cannot be read as a lock" in said(lambda: load(AIME_2024))
    pin = Pin(repo="else/where", revision=REVISION, rows=30, records=30, sha256="0" * 64)
    lock.unlink()
    write_pin("aime_2024", pin)
    assert "aime_2024 was pinned from else/where, but is read from Maxwell-Jia/AIME_2024; run: " in said(
        lambda: load(AIME_2024)
    )


def test_the_lock_that_comes_with_the_project_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHALE_HUB_LOCK", str(LOCK))
    assert LOCK.is_file()
    for name, pin in pins().items():
        assert pin.repo == SOURCES[name].repo


def test_pin_list_and_fetch(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, AIME_2024, aime(AIME_2024, 1))
    assert main(["pin", "aime_2024", "--revision", REVISION]) == 0
    assert main(["list"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"aime_2024 +Maxwell-Jia/AIME_2024 +30 records at 0123456789ab\n", shown)
    assert re.search(r"aime_2025 +yentinglin/aime_2025 +not pinned\n", shown)
    assert main(["fetch", "aime_2024", "--to", str(folder / "out")]) == 0
    (folder / "aime_2024.jsonl").unlink()
    shutil.copy(folder / "out" / "aime_2024.parquet", folder)
    assert load(AIME_2024).rows == aime(AIME_2024, 1), "a file that was fetched stands for the set"


def test_a_fetched_file_of_a_set_with_structs_and_copies_stands_for_it(folder: Path) -> None:
    file = write(folder, DAPO, dapo(range(20), copies=3))
    pinned(DAPO, anyhow)
    rows = load(DAPO).rows
    assert main(["fetch", "dapo_math_17k", "--to", str(folder)]) == 0
    file.unlink()
    assert load(DAPO).rows == rows


def test_pin_refuses_what_cannot_be_pinned(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, AIME_2024, aime(AIME_2024, 1)[:29])
    for arguments, expected in (
        (
            ["pin", "aime_2023"],
            "error: unknown sources ['aime_2023']; known: all, dapo_math_17k, aime_2024, ",
        ),
        (
            ["pin", "aime_2024"],
            "error: cannot ask the hub for the revision of Maxwell-Jia/AIME_2024 (Offline",
        ),
        (
            ["pin", "aime_2024", "--revision", REVISION],
            f"error: aime_2024 has 29 rows at {REVISION}, published are 30; give the revision that has them",
        ),
        (["fetch", "aime_2024"], "error: aime_2024 (Maxwell-Jia/AIME_2024) is not in the lock"),
    ):
        assert main(arguments) == 2
        assert expected in capsys.readouterr().err
    assert pins() == {}
    write(folder, AIME_2024, aime(AIME_2024, 1))
    assert main(["pin", "aime_2024", "--revision", "main"]) == 2
    assert "a revision is a commit of 40 hex digits, got 'main'" in capsys.readouterr().err


def test_nobody_pays_for_datasets_who_does_not_use_the_hub() -> None:
    code = (
        "import sys; import envs.math_env.env, envs.searchqa_env.env, envs.chess_env.env; "
        "print({'datasets', 'huggingface_hub', 'pyarrow'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"

"""Small files in the schemas of the hub sets, so that the real ``datasets`` library reads them."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from envs.chess_env.puzzles import load as load_puzzles
from envs.hub.__main__ import measure
from envs.hub.load import FILES
from envs.hub.lock import VARIABLE, Pin, write_pin
from envs.hub.sources import AIME_2024, AIME_2025, DAPO, SOURCES, Source

REVISION = "0123456789abcdef" * 2 + "01234567"
"""Forty digits that no set has."""
NOUNS = ("apple", "bridge", "candle", "drum", "engine", "feather", "garden", "hammer", "island", "jewel")
BEFORE = "Solve the following math problem step by step.\n\n"
AFTER = '\n\nRemember to put your answer on its own line after "Answer:".'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of files, an empty lock, an empty cache, and no network."""
    import datasets
    import huggingface_hub

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "lock.toml"))
    files = tmp_path / "files"
    files.mkdir()
    monkeypatch.setenv(FILES, str(files))
    return files


def write(folder: Path, source: Source, rows: Sequence[Mapping[str, Any]]) -> Path:
    """The file of a source."""
    path = folder / f"{source.name}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def write_csv(folder: Path, source: Source, rows: Sequence[Mapping[str, Any]]) -> Path:
    """The same as comma-separated values."""
    path = folder / f"{source.name}.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def pinned(source: Source, unpublished: Callable[[Source], Source] | None = None) -> Pin:
    """Measure what lies in the folder and write it into the lock."""
    pin = measure(unpublished(source) if unpublished else source, REVISION)
    write_pin(source.name, pin)
    return pin


def anyhow(source: Source) -> Source:
    """The source without its published counts, which small files do not have."""
    from dataclasses import replace

    return replace(source, rows=None, records=None)


def problem(number: int) -> str:
    """A question of twenty-five words, no two of them alike."""
    nouns = [NOUNS[int(digit)] for digit in f"{number * 7919 % 100_000:05}"]
    told = " then ".join(f"{noun} number {number + place}" for place, noun in enumerate(nouns))
    return f"Mr {number} counts {told}; how many things does he count?"


def aime(source: Source, first: int) -> list[dict[str, Any]]:
    """Thirty rows in the schema of an AIME set."""
    columns = ("Problem", "Answer") if source is AIME_2024 else ("problem", "answer")
    return [
        {columns[0]: problem(first + place), columns[1]: place if source is AIME_2024 else f"{place:03}"}
        for place in range(30)
    ]


def dapo(numbers: Sequence[int], copies: int = 1) -> list[dict[str, Any]]:
    """Rows in the schema of DAPO-Math-17K, each ``copies`` times."""
    return [
        {
            "data_source": "math_dapo",
            "prompt": [{"role": "user", "content": f"{BEFORE}{problem(number)}{AFTER}"}],
            "reward_model": {"ground_truth": str(number), "style": "rule"},
            "extra_info": {"index": f"id-{number}"},
        }
        for _ in range(copies)
        for number in numbers
    ]


def maths(folder: Path, *, extra: Sequence[Mapping[str, Any]] = ()) -> None:
    """All three maths sets, pinned: 400 training problems (and ``extra``), 60 of test."""
    write(folder, DAPO, [*dapo(range(1000, 1400), copies=2), *extra])
    for source, first in ((AIME_2024, 1), (AIME_2025, 101)):
        write(folder, source, aime(source, first))
    for source in (DAPO, AIME_2024, AIME_2025):
        pinned(source, anyhow)


def questions(folder: Path, sizes: Mapping[str, int]) -> None:
    """The QA sets by name, pinned, each of a size; no question has its question mark."""
    for place, (name, size) in enumerate(sizes.items(), start=1):
        rows = [
            {
                "id": f"{name}_{number}",
                "question": f"who owns what {problem(number)[:-1]}",
                "golden_answers": ["Ann"],
            }
            for number in range(10_000 * place, 10_000 * place + size)
        ]
        write(folder, SOURCES[name], rows)
        pinned(SOURCES[name], anyhow)


def lichess() -> list[dict[str, Any]]:
    """The project's own puzzles in the schema of the hub set."""
    return [
        {
            "PuzzleId": puzzle.id,
            "FEN": puzzle.fen,
            "Moves": " ".join(puzzle.moves),
            "Rating": puzzle.rating,
            "RatingDeviation": 75,
            "Popularity": 90,
            "NbPlays": 1000,
            "Themes": " ".join(puzzle.themes),
        }
        for puzzle in load_puzzles()
    ]

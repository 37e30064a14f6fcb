"""Reads puzzles in the schema of the hub set ``Lichess/chess-puzzles``, which is Lichess's own CSV's too.

It takes rows from anywhere (``csv_rows``, a ``datasets`` iterable) and opens no connection. Dropped rows are
counted by reason; a row that is no legal puzzle is an error.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from envs.base import InputError
from envs.chess_env.puzzles import Puzzle, make_puzzle
from envs.chess_env.tasks import MAX_PLIES

COLUMNS = ("PuzzleId", "FEN", "Moves", "Rating", "Popularity", "NbPlays", "Themes")
"""What is read; other columns may stand beside them."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Which rows are kept."""

    max_plies: int = MAX_PLIES
    """Longest line, counted without the opponent's first move."""
    min_popularity: int = -100
    """Lichess's votes, from -100 to 100; the default keeps all."""
    min_plays: int = 0
    """How often the puzzle was played at Lichess."""


@dataclass(frozen=True, slots=True)
class HubPuzzles:
    """What ``read_rows`` kept, and what it did not."""

    puzzles: tuple[Puzzle, ...]
    dropped: Mapping[str, int]
    """Rows left out, by reason."""


def csv_rows(path: Path) -> Iterator[Mapping[str, object]]:
    """Rows of an unpacked CSV file with a header. Raises ``InputError`` when it cannot be read."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            yield from csv.DictReader(file, strict=True)
    except FileNotFoundError as error:
        raise InputError(
            f"{path} does not exist; download the puzzle file from https://database.lichess.org/#puzzles, unpack it "
            "and give its path"
        ) from error
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} cannot be read as CSV: {error}; unpack or download it again") from error


def read_rows(rows: Iterable[Mapping[str, object]], name: str, filters: Filters | None = None) -> HubPuzzles:
    """Puzzles of the rows in their order, filtered; ``name`` is what errors call the source.

    Raises ``InputError`` with the row's number for a missing column, an unreadable cell, an illegal position
    or line, or an id that two different puzzles share.
    """
    filters = filters or Filters()
    puzzles: dict[str, Puzzle] = {}
    dropped: Counter[str] = Counter()
    for place, row in enumerate(rows, start=1):
        where = f"{name}, row {place}"
        if missing := [column for column in COLUMNS if row.get(column) is None]:
            raise InputError(
                f"{where} lacks {missing}; the schema read here is {list(COLUMNS)}, the row has {list(row)}"
            )
        moves = _words(where, row, "Moves")
        if reason := _unwanted(where, row, len(moves) - 1, filters):
            dropped[reason] += 1
            continue
        puzzle = make_puzzle(
            where,
            id=str(row["PuzzleId"]),
            fen=str(row["FEN"]),
            moves=moves,
            rating=_whole(where, row, "Rating"),
            themes=_words(where, row, "Themes"),
        )
        if puzzles.setdefault(puzzle.id, puzzle) is not puzzle:
            if puzzles[puzzle.id] != puzzle:
                raise InputError(f"{where}: puzzle {puzzle.id!r} stands in an earlier row with other content")
            dropped["repeated"] += 1
    return HubPuzzles(tuple(puzzles.values()), dict(dropped))


def _unwanted(where: str, row: Mapping[str, object], plies: int, filters: Filters) -> str:
    """The reason to drop a row, or nothing."""
    if plies > filters.max_plies:
        return "plies"
    if _whole(where, row, "Popularity") < filters.min_popularity:
        return "popularity"
    return "plays" if _whole(where, row, "NbPlays") < filters.min_plays else ""


def _whole(where: str, row: Mapping[str, object], column: str) -> int:
    cell = row[column]
    try:
        if isinstance(cell, (int, str)) and not isinstance(cell, bool):
            return int(cell)
    except ValueError:
        pass
    raise InputError(f"{where}: {column} is {cell!r}, not a whole number; correct or drop the row")


def _words(where: str, row: Mapping[str, object], column: str) -> list[str]:
    """A cell of words: one text in the CSV file, a list in the hub's tables."""
    cell = row[column]
    if isinstance(cell, str):
        return cell.split()
    if isinstance(cell, Sequence):
        return [str(word) for word in cell]
    raise InputError(f"{where}: {column} is {cell!r}, neither a text nor a list; correct or drop the row")

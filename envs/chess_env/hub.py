"""Puzzles from the hub set ``Lichess/chess-puzzles``, which has the schema of Lichess's own CSV file.

Rows that are not wanted are dropped and counted by reason; a row that is no legal puzzle is an error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from envs.base import SPLITS, Split, Task
from envs.chess_env.puzzles import Puzzle, make_puzzle
from envs.chess_env.tasks import MAX_PLIES
from envs.hub.build import about, manifest
from envs.hub.load import load
from envs.hub.records import Row
from envs.hub.sources import LICHESS


class Filters(BaseModel):
    """The ``[env.filters]`` table: which rows are kept."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_plies: int = Field(default=MAX_PLIES, ge=1, le=MAX_PLIES)
    """Longest line, counted without the opponent's first move."""
    min_popularity: int = Field(default=-100, ge=-100, le=100)
    """Lichess's votes; the default keeps all."""
    min_plays: int = Field(default=0, ge=0)
    """How often the puzzle was played at Lichess."""


@dataclass(frozen=True, slots=True)
class HubPuzzles:
    """What was kept, and what was not."""

    puzzles: tuple[Puzzle, ...]
    dropped: Mapping[str, int]
    """Rows left out, by reason."""
    source: Mapping[str, object] = field(default_factory=dict)
    """What a manifest says of the set; empty for rows that are from no set."""

    def manifest(self, tasks: Mapping[Split, Sequence[Task]]) -> Mapping[str, object]:
        """See ``envs.hub.build.manifest``; all splits are of the one set."""
        sources = {split: {LICHESS.name: self.source} for split in SPLITS}
        return manifest(tasks, sources, {split: {} for split in SPLITS})


def read(filters: Filters | None = None) -> HubPuzzles:
    """The puzzles of the pinned set. Raises ``InputError`` as ``envs.hub.load.load`` and ``read_rows`` do."""
    loaded = load(LICHESS)
    kept = read_rows(loaded.rows, LICHESS.name, filters)
    return HubPuzzles(kept.puzzles, kept.dropped, about(loaded, kept.dropped))


def read_rows(rows: Iterable[Row], name: str, filters: Filters | None = None) -> HubPuzzles:
    """Puzzles of the rows in their order, filtered; ``name`` is what errors call the source.

    The rows have the set's schema, each puzzle once. Raises ``InputError`` with the row's number for an
    illegal position or line.
    """
    filters = filters or Filters()
    puzzles: list[Puzzle] = []
    dropped: Counter[str] = Counter()
    for place, row in enumerate(rows, start=1):
        moves = _words(row["Moves"])
        if reason := _unwanted(row, len(moves) - 1, filters):
            dropped[reason] += 1
            continue
        puzzles.append(
            make_puzzle(
                f"{name}, row {place}",
                id=row["PuzzleId"],
                fen=row["FEN"],
                moves=moves,
                rating=row["Rating"],
                themes=_words(row["Themes"]),
            )
        )
    return HubPuzzles(tuple(puzzles), dict(dropped))


def _unwanted(row: Row, plies: int, filters: Filters) -> str:
    """The reason to drop a row, or nothing."""
    if plies > filters.max_plies:
        return "plies"
    if row["Popularity"] < filters.min_popularity:
        return "popularity"
    return "plays" if row["NbPlays"] < filters.min_plays else ""


def _words(cell: Any) -> list[str]:
    """A cell of words: one text in some revisions and in the CSV file, a list in others."""
    return cell.split() if isinstance(cell, str) else list(cell)

"""Chess tasks: rating bands, four splits that share no position, and the guard that checks it.

The position alone decides the split: not its band, not the seed, not the sizes. So no change of a profile
ever moves a test position into training.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import chess
from pydantic import BaseModel, ConfigDict, Field, field_validator

from envs.base import SPLITS, InputError, Split, Task
from envs.chess_env.puzzles import Puzzle
from envs.chess_env.render import Style, position_text
from envs.hashing import fraction, split_by
from envs.settings import Sizes, check_shares

MAX_PLIES = 9
"""Longest line in use, as published; the data holds some longer ones."""
RESERVED = frozenset(
    {
        "6k1/5ppp/8/8/8/8/5PPP/4R1K1 w - -",
        "8/8/8/8/8/1k6/7q/1K6 b - -",
        "k7/8/1K6/8/8/8/8/7R w - -",
    }
)
"""Positions that a starting harness quotes as its examples; they are in no split."""
SHARES: Mapping[Split, float] = {"weight": 0.6, "search": 0.1, "select": 0.1, "test": 0.2}
"""What part of all positions belongs to each split."""


class Band(BaseModel):
    """One ``[[env.bands]]`` entry of a profile."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    """What reports call it."""
    min_rating: int = Field(ge=0)
    max_rating: int
    """Both limits belong to the band."""
    plies: list[int] | int
    """Moves of solver and opponent together, an odd number: a list names them, a number is the most."""
    choices: int = Field(default=0, ge=0)
    """How many legal moves a position's text lists, the stored one always among them; 0 is all, as published.

    A few make short prompts and a chance that a small model can start from. Every legal move may still be played.
    """

    @field_validator("plies")
    @classmethod
    def _odd(cls, plies: list[int] | int) -> list[int] | int:
        given = plies if isinstance(plies, list) else [plies]
        if not given or any(number % 2 == 0 or not 1 <= number <= MAX_PLIES for number in given):
            raise ValueError(f"plies are odd numbers from 1 to {MAX_PLIES}, got {plies}")
        return plies

    def holds(self, puzzle: Puzzle) -> bool:
        """Whether a puzzle belongs to the band."""
        fits = puzzle.plies in self.plies if isinstance(self.plies, list) else puzzle.plies <= self.plies
        return fits and self.min_rating <= puzzle.rating <= self.max_rating


def split_of(position: str) -> Split:
    """The split of a position (a FEN without its move counters)."""
    return split_by(SHARES, position)


def pick(
    puzzles: Iterable[Puzzle], bands: Sequence[Band], sizes: Sizes, seed: int
) -> dict[Split, list[tuple[Band, Puzzle]]]:
    """Puzzles by split, bands alternating and equally many; ``seed`` decides which of a split's puzzles.

    Raises ``InputError`` for bands without names of their own, a size they cannot share, or a band with too
    few puzzles.
    """
    check_shares("bands", [band.name for band in bands], sizes, len(bands))
    mixed = sorted(puzzles, key=lambda puzzle: (fraction("order", seed, puzzle.position), puzzle.id))
    taken = set(RESERVED)
    columns = [_fill(band, mixed, sizes, len(bands), taken) for band in bands]
    return {
        split: [
            (band, puzzle)
            for row in zip(*(column[split] for column in columns), strict=True)
            for band, puzzle in zip(bands, row, strict=True)
        ]
        for split in SPLITS
    }


def _fill(
    band: Band, mixed: Sequence[Puzzle], sizes: Sizes, share: int, taken: set[str]
) -> dict[Split, list[Puzzle]]:
    """One band's puzzles; ``taken``: positions that are in use, added to."""
    filled: dict[Split, list[Puzzle]] = {split: [] for split in SPLITS}
    wanted = {split: getattr(sizes, split) // share for split in SPLITS}
    for puzzle in mixed:
        split = split_of(puzzle.position)
        if len(filled[split]) < wanted[split] and puzzle.position not in taken and band.holds(puzzle):
            taken.add(puzzle.position)
            filled[split].append(puzzle)
    for split in SPLITS:
        if len(filled[split]) < wanted[split]:
            raise InputError(
                f"band {band.name!r} has too few puzzles: {len(filled[split])} of {wanted[split]} for split "
                f"{split!r}; widen its ratings or plies, or make the split smaller"
            )
    return filled


def refuse_overlap(picked: Mapping[Split, Sequence[tuple[Band, Puzzle]]]) -> None:
    """Raise ``InputError`` if a position stands in two splits, or twice in one."""
    seen: dict[str, tuple[Split, Puzzle]] = {}
    for split, chosen in picked.items():
        for _, puzzle in chosen:
            other, twin = seen.setdefault(puzzle.position, (split, puzzle))
            if twin is not puzzle:
                raise InputError(
                    f"puzzle {puzzle.id!r} ({split}) has the position of {twin.id!r} ({other}): "
                    f"{puzzle.position}; remove one of the two from the data"
                )


def make_task(split: Split, band: Band, puzzle: Puzzle, style: Style) -> Task:
    """The task of a puzzle: its first position as the question, its line as the gold."""
    return Task.make(
        "chess",
        split,
        position_text(chess.Board(puzzle.start), style, puzzle.line[0]),
        " ".join(puzzle.line),
        family=band.name,
        rating=str(puzzle.rating),
        plies=str(puzzle.plies),
        puzzle=puzzle.id,
    )

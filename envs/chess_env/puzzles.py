"""Puzzles as data: one frozen type, the file that comes with the project, and every check on both.

A puzzle that exists is legal: its position, every move of its line. Which puzzle serves which purpose is
decided in ``tasks``; other sources (``hub``, ``extract``) build the same type.
"""

from __future__ import annotations

import csv
import functools
import gzip
import hashlib
import io
import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import chess

from envs.base import InputError

DATA = Path(__file__).parent / "data" / "puzzles.csv.gz"
COUNT = 6605
"""Puzzles in ``DATA``."""
SHA256 = "248777599321e5ee854425224b382209330afeb86b3f1ce6537959d685b40770"
"""Of the unpacked text of ``DATA``; the packed bytes may depend on the machine's zlib."""
COLUMNS = ("id", "fen", "moves", "rating", "themes")
REBUILD = "restore it from version control, or rebuild it with: python -m envs.chess_env.extract"
_UCI = re.compile(r"[a-h][1-8][a-h][1-8][qrbn]?")


@dataclass(frozen=True, slots=True)
class Puzzle:
    """One puzzle. Make it with ``make_puzzle``, which checks it."""

    id: str
    """The name it has at Lichess."""
    fen: str
    """The position before the first move, which is the opponent's."""
    moves: tuple[str, ...]
    """All moves in UCI, the opponent's first one included."""
    rating: int
    """Glicko-2 rating at Lichess: higher is harder."""
    themes: tuple[str, ...]
    start: str
    """FEN of the position that the solver sees first."""
    position: str
    """``start`` without move counters: what makes two puzzles the same question."""

    @property
    def line(self) -> tuple[str, ...]:
        """The moves after the opponent's first one: solver, reply, solver, ..."""
        return self.moves[1:]

    @property
    def plies(self) -> int:
        """Length of ``line``; always odd."""
        return len(self.moves) - 1


def make_puzzle(
    where: str, *, id: str, fen: str, moves: Sequence[str], rating: int, themes: Sequence[str]
) -> Puzzle:
    """Check one puzzle. Raises ``InputError`` that begins with ``where`` (file and row)."""
    board = _board(f"{where}: puzzle {id!r}", fen)
    if len(moves) < 2 or len(moves) % 2:
        raise InputError(
            f"{where}: puzzle {id!r} has {len(moves)} moves; a line is the opponent's move, then the solver's, "
            "and ends with the solver's, so their number is even; correct or drop the row"
        )
    start, line = "", []
    for place, text in enumerate(moves):
        move = _legal(board, text)
        if move is None:
            raise InputError(
                f"{where}: puzzle {id!r}: move {place + 1}, {text!r}, is not legal in {board.fen()}; "
                "moves are UCI, such as e2e4 or e7e8q; correct or drop the row"
            )
        board.push(move)
        line.append(move.uci())
        if place == 0:
            start = board.fen()
    position = start.rsplit(" ", 2)[0]
    return Puzzle(id, fen, tuple(line), rating, tuple(themes), start, position)


def _known(id: str, fen: str, moves: Sequence[str], rating: int, themes: Sequence[str]) -> Puzzle:
    """A puzzle that ``make_puzzle`` has checked before: only its position is worked out."""
    board = chess.Board(fen)
    board.push(chess.Move.from_uci(moves[0]))
    start = board.fen()
    return Puzzle(id, fen, tuple(moves), rating, tuple(themes), start, start.rsplit(" ", 2)[0])


def _board(where: str, fen: str) -> chess.Board:
    try:
        board = chess.Board(fen)
    except ValueError as error:
        raise InputError(f"{where}: {fen!r} is no FEN ({error}); correct or drop the row") from error
    if len(fen.split()) != 6 or board.status() != chess.STATUS_VALID:
        raise InputError(
            f"{where}: {fen!r} is no legal position ({board.status()!r}); a FEN has six fields, one king a side, "
            "and the side that just moved is not in check; correct or drop the row"
        )
    return board


def _legal(board: chess.Board, text: str) -> chess.Move | None:
    """The move in its standard spelling (castling as the king's own two steps)."""
    if not _UCI.fullmatch(text):
        return None
    try:
        return board.parse_uci(text)
    except ValueError:
        return None


def to_csv(puzzles: Iterable[Puzzle]) -> str:
    """Puzzles as the text of a CSV file, in the order given."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for puzzle in puzzles:
        writer.writerow(
            [puzzle.id, puzzle.fen, " ".join(puzzle.moves), puzzle.rating, " ".join(puzzle.themes)]
        )
    return text.getvalue()


def data_hash(puzzles: Iterable[Puzzle]) -> str:
    """SHA-256 of the puzzles as CSV text: for the project's own file that is ``SHA256``."""
    return hashlib.sha256(to_csv(puzzles).encode()).hexdigest()


def from_csv(text: str, name: str, *, known: bool = False) -> tuple[Puzzle, ...]:
    """Read the text of a CSV file called ``name``. ``known``: its lines have been checked, so that takes no time.

    Raises ``InputError`` with file and row for another schema, a bad cell, a repeated id or an illegal line.
    """
    rows = csv.reader(io.StringIO(text), strict=True)
    puzzles: dict[str, Puzzle] = {}
    try:
        if (header := tuple(next(rows, []))) != COLUMNS:
            raise InputError(f"{name}: its columns are {list(header)}, expected {list(COLUMNS)}; {REBUILD}")
        for cells in rows:
            where = f"{name}, line {rows.line_num}"
            if len(cells) != len(COLUMNS) or not cells[0] or cells[0] in puzzles or not _digits(cells[3]):
                raise InputError(
                    f"{where}: {cells} is no row of {list(COLUMNS)} with a new id and a whole rating; {REBUILD}"
                )
            id, fen, moves, rating, themes = cells
            puzzles[id] = (
                _known(id, fen, moves.split(), int(rating), themes.split())
                if known
                else make_puzzle(
                    where, id=id, fen=fen, moves=moves.split(), rating=int(rating), themes=themes.split()
                )
            )
    except csv.Error as error:
        raise InputError(f"{name}, line {rows.line_num}: not CSV ({error}); {REBUILD}") from error
    return tuple(puzzles.values())


def _digits(cell: str) -> bool:
    return cell.isascii() and cell.isdigit() and len(cell) <= 5


@functools.cache
def load(path: Path = DATA, sha256: str = SHA256, count: int = COUNT) -> tuple[Puzzle, ...]:
    """The puzzles of the file that comes with the project, read once a process.

    With the project's own hash its lines count as checked, which a test does. Raises ``InputError`` when the
    file is missing, was changed, or holds something other than legal puzzles.
    """
    try:
        text = gzip.decompress(path.read_bytes()).decode()
    except FileNotFoundError as error:
        raise InputError(f"{path} is missing; {REBUILD}") from error
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}; {REBUILD}") from error
    if (found := hashlib.sha256(text.encode()).hexdigest()) != sha256:
        raise InputError(
            f"{path} has changed: the sha256 of its text is {found}, expected {sha256}; {REBUILD}"
        )
    puzzles = from_csv(text, path.name, known=sha256 == SHA256)
    if len(puzzles) != count:
        raise InputError(f"{path} holds {len(puzzles)} puzzles, expected {count}; {REBUILD}")
    return puzzles

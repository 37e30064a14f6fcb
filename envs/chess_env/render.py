"""What a harness sees of a position: side to move, FEN, board, legal moves. Pure text, no verdicts.

Every part has a function of its own. The order of the legal moves comes from a hash of the position, so it
says nothing about the solution.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

import chess

San = Literal["none", "plain", "marks"]


@dataclass(frozen=True, slots=True)
class Style:
    """What is shown."""

    san: San = "plain"
    """SAN beside every UCI move: not at all, without or with the marks for check and mate."""
    list_moves: bool = True
    """Whether the legal moves are listed."""
    shuffle_moves: bool = True
    """Order of the list: by a hash of the position; False is the alphabet's."""
    board: bool = True
    """Whether the board is drawn; the FEN says the same in a third of the tokens."""
    choices: int = 0
    """Most moves that are listed, the stored one among them; 0 is all legal moves."""


def side_to_move(board: chess.Board) -> str:
    """``White to move`` or ``Black to move``."""
    return f"{'White' if board.turn else 'Black'} to move"


def ascii_board(board: chess.Board) -> str:
    """Eight ranks from White's side, White's pieces in capitals, with ranks and files named."""
    ranks = [f"{8 - place} {rank}" for place, rank in enumerate(str(board).splitlines())]
    return "\n".join([*ranks, "  a b c d e f g h"])


def ordered_moves(board: chess.Board, *, shuffle: bool) -> list[chess.Move]:
    """All legal moves, by a hash of the position if ``shuffle``, else by the alphabet."""
    if not shuffle:
        return sorted(board.legal_moves, key=chess.Move.uci)
    return _mixed(board, list(board.legal_moves), "")


def _mixed(board: chess.Board, moves: list[chess.Move], salt: str) -> list[chess.Move]:
    """Moves in an order that only the position, the moves and ``salt`` decide."""
    state = hashlib.sha256(f"{salt}{board.epd()}".encode())

    def rank(move: chess.Move) -> bytes:
        mixed = state.copy()
        mixed.update(f" {move.uci()}".encode())
        return mixed.digest()

    return sorted(moves, key=rank)


def listed_moves(board: chess.Board, style: Style, stored: str | None) -> list[chess.Move]:
    """The moves that a position's text lists, in its order; ``stored``, in UCI, is among them.

    Which others are listed is drawn with a salt of its own: by the order of the list the stored move would stand
    last more often than not.
    """
    moves = ordered_moves(board, shuffle=style.shuffle_moves)
    if not style.choices or stored is None:
        return moves
    others = _mixed(board, [move for move in moves if move.uci() != stored], "choices ")[: style.choices - 1]
    return [move for move in moves if move.uci() == stored or move in others]


def move_text(board: chess.Board, move: chess.Move, san: San) -> str:
    """``g1f3``, or ``g1f3 (Nf3)``."""
    if san == "none":
        return move.uci()
    written = board.san(move)
    return f"{move.uci()} ({written if san == 'marks' else written.rstrip('+#')})"


def legal_moves(board: chess.Board, style: Style, stored: str | None = None) -> str:
    """The list of legal moves on one line; ``none`` where the game is over. ``stored``: as in ``listed_moves``."""
    moves = listed_moves(board, style, stored)
    return ", ".join(move_text(board, move, style.san) for move in moves) or "none"


def position_text(board: chess.Board, style: Style, stored: str | None = None) -> str:
    """The whole text of a position, as a question and after a reply. ``stored``: as in ``listed_moves``."""
    parts = [f"{side_to_move(board)}.", f"FEN: {board.fen()}"]
    if style.board:
        parts.append(f"Board:\n{ascii_board(board)}")
    if style.list_moves:
        parts.append(f"Legal moves: {legal_moves(board, style, stored)}")
    return "\n".join(parts)

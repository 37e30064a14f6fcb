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
    state = hashlib.sha256(board.epd().encode())

    def rank(move: chess.Move) -> bytes:
        mixed = state.copy()
        mixed.update(f" {move.uci()}".encode())
        return mixed.digest()

    return sorted(board.legal_moves, key=rank)


def move_text(board: chess.Board, move: chess.Move, san: San) -> str:
    """``g1f3``, or ``g1f3 (Nf3)``."""
    if san == "none":
        return move.uci()
    written = board.san(move)
    return f"{move.uci()} ({written if san == 'marks' else written.rstrip('+#')})"


def legal_moves(board: chess.Board, style: Style) -> str:
    """The list of legal moves on one line; ``none`` where the game is over."""
    moves = ordered_moves(board, shuffle=style.shuffle_moves)
    return ", ".join(move_text(board, move, style.san) for move in moves) or "none"


def position_text(board: chess.Board, style: Style) -> str:
    """The whole text of a position, as a question and after a reply."""
    parts = [f"{side_to_move(board)}.", f"FEN: {board.fen()}"]
    if style.board:
        parts.append(f"Board:\n{ascii_board(board)}")
    if style.list_moves:
        parts.append(f"Legal moves: {legal_moves(board, style)}")
    return "\n".join(parts)

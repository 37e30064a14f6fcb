"""Reads a move as people and models write it: UCI, SAN, castling and promotion in their usual spellings.

It never guesses: a text that names no legal move, or more than one, gives no move. Whether a move is a
good one is not its business.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import chess

LONGEST = 40
"""Characters; a longer text is not taken for a move."""
_NUMBER = re.compile(r"\A[0-9]{1,3}\s*\.+\s*")
_TRAILING = re.compile(r"(?:[!?.,;+#\s]|e\.?p\.?)*\Z")
_CASTLING = re.compile(r"[Oo0][-–—][Oo0]([-–—][Oo0])?")
_SQUARES = re.compile(r"([a-h][1-8])[-x]?([a-h][1-8])(?:=?([qrbn]))?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Reading:
    """What ``read_move`` made of a text."""

    move: chess.Move | None
    """A legal move in its standard form; None when the text gives none."""
    reason: str = ""
    """Why there is none; says nothing about which move is right."""


def read_move(board: chess.Board, text: str) -> Reading:
    """The one legal move that the text names on this board; never raises.

    Read are UCI in any case (``e7e8Q``, ``e7e8=q``, king takes own rook for castling) and SAN with or
    without its marks (``Nf3``, ``nf3``, ``exd5+``, ``e8=N!``, ``O-O``, ``0-0``, ``o-o``), after an optional
    move number. ``b`` at the start is the b-file, ``B`` the bishop.
    """
    plain = _tidy(text)
    if not plain or len(plain) > LONGEST:
        return Reading(None, "that is no move" if plain else "no move was given")
    try:
        if move := _named(board, plain):
            return Reading(move)
        if plain[-1] in "18=" and _named(board, f"{plain}q"):
            return Reading(None, "it needs a promotion piece")
    except chess.AmbiguousMoveError:
        return Reading(None, "it fits more than one move")
    return Reading(None, "no such move in this position")


def _named(board: chess.Board, text: str) -> chess.Move | None:
    """By squares or by SAN; only ``B1c3`` could be both, and then it is the bishop if one can move so."""
    squares = _SQUARES.fullmatch(text)
    if squares is None or text[0] == "B":
        move = _by_san(board, text)
        if move is not None or squares is None:
            return move
    return _by_squares(board, *squares.groups(default=""))


def _tidy(text: str) -> str:
    """Without move number, marks and white space around; castling in letters."""
    if len(text) > 4 * LONGEST:
        return text[: LONGEST + 1]
    plain = text.strip().strip("`'\"*").strip()
    plain = _TRAILING.sub("", _NUMBER.sub("", plain))
    if castling := _CASTLING.fullmatch(plain):
        return "O-O-O" if castling[1] else "O-O"
    return plain


def _by_san(board: chess.Board, text: str) -> chess.Move | None:
    """Raises ``AmbiguousMoveError`` for a text that fits several moves."""
    if text[0] in "nrqk":
        text = text[0].upper() + text[1:]
    try:
        move = board.parse_san(text)
    except chess.AmbiguousMoveError:
        raise
    except ValueError:
        return None
    if not move:  # the library reads "--" and the like as the null move
        return None
    # "xe5" and "exe5" would be read as the push e5; a pawn that is said to take has to take
    if "x" in text and board.piece_type_at(move.from_square) == chess.PAWN and not board.is_capture(move):
        return None
    return move


def _by_squares(board: chess.Board, origin: str, target: str, promotion: str) -> chess.Move | None:
    uci = (origin + target + promotion).lower()
    if uci[:2] == uci[2:4]:
        return None
    move = chess.Move.from_uci(uci)
    if not board.is_legal(move):
        return None
    # king takes own rook is legal to the library, yet unequal to the castling it means
    return board.parse_uci(uci) if board.color_at(move.to_square) == board.turn else move

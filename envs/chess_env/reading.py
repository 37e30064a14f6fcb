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
_SIGNS = str.maketrans(
    {
        **dict.fromkeys("‐‑‒–—―−", "-"),
        "×": "x",
        "…": "...",
        "†": "+",
        "‡": "+",
        **dict.fromkeys("“”„«»‘’", '"'),
    }
)
_AROUND = " `'\"*()[]"
_NUMBER = re.compile(r"\A[0-9]{1,3}\s*(?:\.+|\))\s*")
_TRAILING = re.compile(
    r"(?:[!?.,;+#\s=□±∓⩲⩱∞]|\(?\be\.?\s?p\b\.?\)?|(?<=\d)e\.?p\b\.?|\s(?:check|mate|checkmate)|\$[0-9]{1,3}"
    r"|\s(?:1-0|0-1|1/2-1/2))*\Z",
    re.IGNORECASE,
)
_SPACES = re.compile(r"\s*([-=x:])\s*|(?<=^[NBRQK])\s+(?=[a-hx1-8])")
_PROMOTION = re.compile(r"(?<=[18])(?:\s*[ /]\s*|\s*=?\s*\((?=.\)))([qrbn])\)?\Z", re.IGNORECASE)
_CAPITALS = re.compile(r"[A-H][1-8](?:=?[QRBN])?|[NRQK][A-H]?[1-8]?X?[A-H][1-8]")
_CASTLING = re.compile(r"[Oo0]-[Oo0](-[Oo0])?")
_UCI = re.compile(r"([a-h][1-8])([a-h][1-8])([qrbn])?")
_BOTH = re.compile(r"\s*([^\s()]{2,9})\s+\(([^\s()]{2,9})\)\s*")
"""A move in two spellings, as the list of legal moves shows it."""
_SQUARES = re.compile(r"([a-h][1-8])([-x]?)([a-h][1-8])(?:=?([qrbn]))?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Reading:
    """What ``read_move`` made of a text."""

    move: chess.Move | None
    """A legal move in its standard form; None when the text gives none."""
    reason: str = ""
    """Why there is none; says nothing about which move is right."""


def read_move(board: chess.Board, text: str) -> Reading:
    """The one legal move that the text names on this board; never raises.

    Read are UCI in any case (``e7e8Q``, ``e7e8=q``, ``e2-e4``, king takes own rook for castling) and SAN with or
    without its marks (``Nf3``, ``nf3``, ``exd5+``, ``d:e5``, ``e8=N!``, ``e8(N)``, ``O-O``, ``0-0``, ``o-o``), with
    an optional move number before it, and praise, ``e.p.`` or "mate" after it. ``b`` at the start is the b-file,
    ``B`` the bishop. ``g1f3 (Nf3)`` is read if both name the same move. Refused are piece signs and letters of other
    languages (``♘f3``, ``Sf3``), two moves, a pawn's capture without its file or of nothing, a promotion without its
    piece, and the king's two steps as ``Kg1``.
    """
    if (uci := _UCI.fullmatch(text)) and (move := _by_squares(board, *uci.groups(default=""))):
        return Reading(move)  # what the list of legal moves shows, and so what is nearly always written
    if (both := _BOTH.fullmatch(text)) and len(text) <= LONGEST:
        first, second = (read_move(board, part) for part in both.groups())
        if first.move and first.move == second.move:
            return first
    plain = _tidy(text)
    if not plain or len(plain) > LONGEST:
        return Reading(None, "that is no move" if plain else "no move was given")
    try:
        if move := _named(board, plain):
            return Reading(move)
        if plain[-1] in "18" and _named(board, f"{plain}q"):
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
    move = _by_squares(board, squares[1], squares[3], squares[4] or "")
    return None if move and squares[2] == "x" and _takes_nothing(board, move) else move


def _tidy(text: str) -> str:
    """Without move number, marks and white space around; castling in letters, promotion with its ``=``."""
    if len(text) > 4 * LONGEST:
        return text[: LONGEST + 1]
    plain = text.translate(_SIGNS).strip()
    quoted = plain[:1] in _AROUND
    plain = _NUMBER.sub("", plain.strip(_AROUND) if quoted else plain)
    plain = _PROMOTION.sub(r"=\1", _TRAILING.sub("", plain))
    plain = _SPACES.sub(r"\1", plain).replace(":", "x")
    if _CAPITALS.fullmatch(plain):
        plain = plain[0] + plain[1:].lower() if plain[0] in "NRQK" else plain.lower()
    if re.fullmatch(r"P[a-h].*|.*[a-h]X[a-h].*", plain):
        plain = plain.removeprefix("P").replace("X", "x")
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
    # "xe5" and "exe5" would be read as the push e5
    return None if "x" in text and _takes_nothing(board, move) else move


def _takes_nothing(board: chess.Board, move: chess.Move) -> bool:
    """A pawn that is said to take has to take."""
    return board.piece_type_at(move.from_square) == chess.PAWN and not board.is_capture(move)


def _by_squares(board: chess.Board, origin: str, target: str, promotion: str) -> chess.Move | None:
    uci = (origin + target + promotion).lower()
    if uci[:2] == uci[2:4]:
        return None
    move = chess.Move.from_uci(uci)
    if not board.is_legal(move):
        return None
    # king takes own rook is legal to the library, yet unequal to the castling it means
    return board.parse_uci(uci) if board.color_at(move.to_square) == board.turn else move

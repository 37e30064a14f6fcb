"""Generated chess answers: spellings of a legal move, other moves, and texts that name none.

Every gold is ``position|move in UCI``; positions come from random play, so that castling, promotion and
en passant turn up. The truth comes from the move a text was made of, not from any reader.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import chess

from bench.verifiers.pairs import Making

Rng = random.Random
STARTS = (
    chess.STARTING_FEN,
    "r3k2r/pPp2ppp/2n2n2/2b1p3/2B1P3/2N2N2/PPP2pPP/R3K2R w KQkq - 0 1",
    "r3k2r/1P6/8/8/8/8/1p6/R3K2R b KQkq - 0 1",
    "n1n1k3/PPPP4/8/3pP3/8/8/4pppp/4K1N1 w - d6 0 1",
    "4k3/8/8/1N3N2/8/1N3N2/8/4K3 w - - 0 1",
)


def _position(rng: Rng, wanted: Callable[[chess.Board, chess.Move], bool]) -> tuple[chess.Board, chess.Move]:
    """A position of random play, and a legal move of the wanted sort."""
    while True:
        board = chess.Board(rng.choice(STARTS))
        for _ in range(rng.randint(0, 30)):
            moves = list(board.legal_moves)
            if found := [move for move in moves if wanted(board, move)]:
                return board, rng.choice(found)
            if not moves:
                break
            board.push(rng.choice(moves))


def _any(board: chess.Board, move: chess.Move) -> bool:
    return len(board.move_stack) > 3


def _other(rng: Rng, board: chess.Board, move: chess.Move) -> chess.Move:
    return rng.choice([one for one in board.legal_moves if one != move])


def _gold(board: chess.Board, move: chess.Move) -> str:
    return f"{board.fen()}|{move.uci()}"


def _uci(rng: Rng) -> Making:
    board, move = _position(rng, _any)
    text, other = move.uci(), _other(rng, board, move).uci()
    rights = [text, text.upper(), f"{text[:2]}-{text[2:]}", f" {text}\n", f"{text}!", f"`{text}`"]
    return _gold(board, move), rights, [other, other.upper(), text[:2] * 2, "0000", f"{text} {other}"]


def _san(rng: Rng) -> Making:
    board, move = _position(rng, _any)
    san, other = board.san(move), board.san(_other(rng, board, move))
    bare = san.rstrip("+#")
    rights = [san, bare, f"{bare}+", f"{bare}!?", f"12. {san}", f"12...{san}", f"**{san}**", f"({san})"]
    return _gold(board, move), rights, [other, f"1. {other}", f"{san} {other}", f"{bare}z"]


def _castling(rng: Rng) -> Making:
    board, move = _position(rng, chess.Board.is_castling)
    san = board.san(move).rstrip("+#")
    rook = chess.square(7 if board.is_kingside_castling(move) else 0, chess.square_rank(move.from_square))
    king = chess.square_name(move.from_square)
    rights = [san, san.replace("O", "0"), san.lower(), f"{san}+", san.replace("-", "–"), move.uci()]
    rights.append(king + chess.square_name(rook))
    wrongs = [san.replace("-", ""), f"{san}-O-O", "0000", f"K{chess.square_name(move.to_square)}", "castling"]
    return _gold(board, move), rights, wrongs


def _promotion(rng: Rng) -> Making:
    board, move = _position(rng, lambda _, move: move.promotion is not None)
    uci, bare = move.uci(), board.san(move).rstrip("+#")
    stem, letter = bare.split("=")
    rights = [
        uci,
        f"{uci[:4]}{letter}",
        f"{uci[:4]}={letter}",
        bare,
        stem + letter,
        f"{stem}({letter})",
        f"{bare}+",
    ]
    another = next(one for one in "QNRB" if one != letter)
    return (
        _gold(board, move),
        rights,
        [uci[:4], stem, f"{stem}={another}", f"{uci[:4]}{another.lower()}", f"{stem}=K"],
    )


def _pawn_capture(rng: Rng) -> Making:
    def captures(board: chess.Board, move: chess.Move) -> bool:
        return (
            board.piece_type_at(move.from_square) == chess.PAWN
            and board.is_capture(move)
            and not move.promotion
        )

    board, move = _position(rng, captures)
    san = board.san(move).rstrip("+#")
    target = chess.square_name(move.to_square)
    rights = [san, san.replace("x", ""), san.replace("x", ":"), move.uci(), f"{move.uci()[:2]}x{target}"]
    if board.is_en_passant(move):
        rights += [f"{san} e.p.", f"{san}ep"]
    return _gold(board, move), rights, [f"x{target}", "--", f"{move.uci()[:2]}{move.uci()[:2]}", f"{san}=Q"]


def _foreign(rng: Rng) -> Making:
    board, move = _position(rng, lambda board, move: board.piece_type_at(move.from_square) == chess.KNIGHT)
    san = board.san(move)
    wrongs = ["♘" + san[1:], "S" + san[1:], "C" + san[1:], "К" + san[1:], san.replace("N", "Ｎ")]
    return _gold(board, move), [san, f"n{san[1:]}", board.lan(move)], wrongs


KINDS: dict[str, Callable[[Rng], Making]] = {
    "UCI": _uci, "SAN": _san, "castling": _castling, "promotion": _promotion,
    "pawn capture": _pawn_capture, "letters of other languages": _foreign,
}  # fmt: skip
"""What is varied, by the name that reports give it."""

"""Reading of moves against known faults (one data line each), and against random positions and texts."""

from __future__ import annotations

import json
import time
from pathlib import Path

import chess
import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.chess_env.reading import LONGEST, read_move

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "cases" / "chess_moves.jsonl").read_text("utf-8").splitlines()
]
START = chess.STARTING_FEN
OPENINGS = (
    START,
    "r3k2r/pPp2ppp/2n2n2/2b1p3/2B1P3/2N2N2/PPP2pPP/R3K2R w KQkq - 0 1",
    "r3k2r/1P6/8/8/8/8/1p6/R3K2R b KQkq - 0 1",
    "n1n1k3/PPPP4/8/3pP3/8/8/4pppp/4K1N1 w - d6 0 1",
    "3k4/8/Q2Q4/8/8/Q2Q4/8/3K4 w - - 0 1",
    "4k3/8/8/1N3N2/8/1N3N2/8/4K3 w - - 0 1",
)
"""Castling, promotions with and without capture, en passant, and pieces that need telling apart."""


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case(case: dict[str, str]) -> None:
    board = chess.Board(case["fen"])
    reading = read_move(board, case["text"])
    assert (reading.move.uci() if reading.move else "refused") == case["expected"], reading.reason
    assert bool(reading.reason) == (reading.move is None)
    assert board.fen() == chess.Board(case["fen"]).fen()


def test_case_ids_are_unique_and_cover_the_known_faults() -> None:
    ids = [case["id"] for case in CASES]
    assert len(set(ids)) == len(ids)
    assert {name[:3] for name in ids} >= {"C01", "C02", "C04", "C06", "C07", "C09", "C14"}


@st.composite
def boards(draw: st.DrawFn) -> chess.Board:
    """A position that legal moves reach, with a move to make."""
    board = chess.Board(draw(st.sampled_from(OPENINGS)))
    for number in draw(st.lists(st.integers(0, 2**20), max_size=40)):
        moves = list(board.legal_moves)
        board.push(moves[number % len(moves)])
        if not any(board.legal_moves):
            board.pop()
            break
    return board


def spellings(board: chess.Board, move: chess.Move) -> list[str]:
    """How people write a move; all of them name it and no other."""
    uci, san = move.uci(), board.san(move)
    bare = san.rstrip("+#")
    written = [uci, uci.upper(), f" {uci}\n", f"{uci[:2]}-{uci[2:]}", f"{san}!", f"{bare}?!", f"12... {san}"]
    written += [san, bare, f"{bare}#", board.lan(move), f"`{bare}`"]
    if move.promotion:
        written += [f"{uci[:4]}={uci[4:]}", f"{uci[:4]}{uci[4].upper()}", bare.replace("=", "")]
    if bare[0] in "NRQK":
        written.append(bare[0].lower() + bare[1:])
    if board.is_castling(move):
        rook = chess.square(7 if board.is_kingside_castling(move) else 0, chess.square_rank(move.from_square))
        king = chess.square_name(move.from_square)
        written += [king + chess.square_name(rook), bare.replace("O", "0"), bare.lower(), f"{bare.lower()}!?"]
    return written


@given(boards(), st.integers(0, 2**20))
def test_every_spelling_reads_back(board: chess.Board, number: int) -> None:
    moves = list(board.legal_moves)
    special = [
        move for move in moves if move.promotion or board.is_castling(move) or board.is_en_passant(move)
    ]
    for move in [moves[number % len(moves)], *special[:6]]:
        for text in spellings(board, move):
            assert read_move(board, text).move == move, text


@given(boards())
def test_every_move_reads_as_itself_only(board: chess.Board) -> None:
    for move in board.legal_moves:
        assert read_move(board, move.uci()).move == move
        assert read_move(board, board.san(move)).move == move


PIECES = st.sampled_from(
    ["e4", "e7", "O-O", "0", "N", "b", "=Q", "x", "+", "#", "!", "1.", "--", "@", " ", "\x00", "\u202e", "é"]
)


@given(boards(), st.lists(PIECES | st.text(max_size=4), max_size=8).map("".join))
def test_any_text_gives_a_legal_move_or_none(board: chess.Board, text: str) -> None:
    before = board.fen()
    reading = read_move(board, text)
    assert reading.move is None or reading.move in board.legal_moves
    assert board.fen() == before


@given(boards(), st.text(alphabet="abcdefgh12345678qrbnNBRQKOo0x=-+# ", max_size=8))
def test_texts_close_to_moves(board: chess.Board, text: str) -> None:
    reading = read_move(board, text)
    assert reading.move is None or reading.move in board.legal_moves


@pytest.mark.parametrize("unit", ["e2e4", "1.", ".", "e.p.", "!", "O-O-", " ", "\n", "`", "é", "\ud800"])
def test_enormous_texts_cost_nothing(unit: str) -> None:
    start = time.process_time()
    assert read_move(chess.Board(), unit * 1_000_000).move is None
    assert time.process_time() - start < 1.0


def test_a_text_of_the_longest_length_is_still_no_sentence() -> None:
    assert read_move(chess.Board(), "e" * LONGEST).reason == "no such move in this position"
    assert read_move(chess.Board(), "e" * (LONGEST + 1)).reason == "that is no move"


@pytest.mark.parametrize(
    ("fen", "text", "reason"),
    [
        (START, "", "no move was given"),
        (START, "e5", "no such move in this position"),
        ("8/4P1k1/8/8/8/8/6K1/8 w - - 0 1", "e8", "it needs a promotion piece"),
        ("4k3/8/8/8/8/8/8/1N1K1N2 w - - 0 1", "Nd2", "it fits more than one move"),
    ],
)
def test_the_reason_is_said(fen: str, text: str, reason: str) -> None:
    assert read_move(chess.Board(fen), text).reason == reason

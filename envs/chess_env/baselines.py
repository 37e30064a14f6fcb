"""What needs no model: accuracy of random moves and of simple rules, by band, under both verifiers.

For the reader of chess results only; nothing here is a method. Run: ``python -m envs.chess_env.baselines``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean, median

import chess

from envs.chess_env.game import Rule, is_mate, right_moves
from envs.chess_env.puzzles import Puzzle, load
from envs.chess_env.render import ordered_moves
from envs.chess_env.tasks import Band

RULES: tuple[Rule, ...] = ("canonical", "robust")
BANDS = tuple(
    Band(name=f"{title}, {low}-{high}", min_rating=low, max_rating=high, plies=plies)
    for title, plies, ratings in (
        ("1 ply", [1], ((0, 799), (800, 1199), (1200, 3500))),
        ("3 plies", [3], ((0, 799), (800, 1199), (1200, 1599), (1600, 3500))),
        ("5 plies", [5], ((0, 1199), (1200, 1799), (1800, 3500))),
        ("7-9 plies", [7, 9], ((0, 1799), (1800, 3500))),
    )
    for low, high in ratings
)
"""Bands that cover all puzzles of up to nine plies."""

Choice = Callable[[chess.Board, Sequence[chess.Move]], chess.Move]


def first(board: chess.Board, moves: Sequence[chess.Move]) -> chess.Move:
    """The first listed move."""
    return moves[0]


def first_check(board: chess.Board, moves: Sequence[chess.Move]) -> chess.Move:
    """The first listed check, else the first listed move."""
    return next(filter(board.gives_check, moves), moves[0])


def first_capture(board: chess.Board, moves: Sequence[chess.Move]) -> chess.Move:
    """The first listed capture, else the first listed move."""
    return next(filter(board.is_capture, moves), moves[0])


def first_mate(board: chess.Board, moves: Sequence[chess.Move]) -> chess.Move:
    """The first listed mate, else the first listed check, else the first listed move."""
    return next((move for move in moves if is_mate(board, move)), first_check(board, moves))


CHOICES: tuple[Choice, ...] = (first, first_check, first_capture, first_mate)


def outcomes(puzzle: Puzzle) -> list[list[float]]:
    """Accuracy on one puzzle by rule of verification: random moves (exact), then each of ``CHOICES`` (0 or 1).

    A choice has to play the whole line, each time from the moves as the question lists them.
    """
    board = chess.Board(puzzle.start)
    accuracies = [[1.0] * (1 + len(CHOICES)) for _ in RULES]
    for ply, stored in enumerate(puzzle.line):
        if ply % 2 == 0:
            moves = ordered_moves(board, shuffle=True)
            chosen = [choose(board, moves) for choose in CHOICES]
            for rule, row in zip(RULES, accuracies, strict=True):
                right = right_moves(board, stored, rule, last=ply == puzzle.plies - 1)
                shares = [len(right) / len(moves), *(float(move in right) for move in chosen)]
                row[:] = [before * now for before, now in zip(row, shares, strict=True)]
        board.push_uci(stored)
    return accuracies


def measure(puzzles: Sequence[Puzzle]) -> list[str]:
    """Mean accuracy of random moves and of each of ``CHOICES`` in percent, as ``canonical / robust``."""
    by_rule = zip(*map(outcomes, puzzles), strict=True)
    means = [[100 * fmean(column) for column in zip(*rows, strict=True)] for rows in by_rule]
    return [" / ".join(f"{mean:.1f}" for mean in cell) for cell in zip(*means, strict=True)]


def main() -> None:
    """Print one table."""
    puzzles = load()
    print("| band | puzzles | legal moves, median | random | first | check | capture | mate, else check |")
    print("|---|---|---|---|---|---|---|---|")
    for band in BANDS:
        chosen = [puzzle for puzzle in puzzles if band.holds(puzzle)]
        legal = median(chess.Board(puzzle.start).legal_moves.count() for puzzle in chosen)
        print(f"| {band.name} | {len(chosen)} | {legal:g} | {' | '.join(measure(chosen))} |")


if __name__ == "__main__":
    main()

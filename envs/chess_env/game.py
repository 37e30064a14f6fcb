"""One puzzle being played: which moves were made, whether the line goes on, and what the verdict is.

The two verifiers differ in one place, ``right_moves``. Texts and tools are ``env``'s business.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Sequence
from typing import Literal

import chess

from envs.base import Score, Verdict
from envs.chess_env.reading import read_move
from envs.chess_env.render import Style, listed_moves

Rule = Literal["canonical", "robust"]
State = Literal["open", "solved", "lost"]
_TAG = re.compile(r"<move>([^<]*+)</move>", re.IGNORECASE)


def last_tag(text: str) -> str | None:
    """Content of the last complete ``<move>...</move>``; None when there is none."""
    tags = _TAG.findall(text)
    return str(tags[-1]) if tags else None


def is_mate(board: chess.Board, move: chess.Move) -> bool:
    """Whether a legal move ends the game by checkmate."""
    if not board.gives_check(move):
        return False
    board.push(move)
    mate = board.is_checkmate()
    board.pop()
    return mate


def right_moves(board: chess.Board, stored: str, rule: Rule, *, last: bool) -> list[chess.Move]:
    """The moves that count at this point: the stored one; ``robust`` adds every mate on the last ply."""
    wanted = chess.Move.from_uci(stored)
    if rule == "canonical" or not last:
        return [wanted]
    return [wanted, *(move for move in board.legal_moves if move != wanted and is_mate(board, move))]


def random_accuracy(start: str, line: Sequence[str], rule: Rule, style: Style | None = None) -> float:
    """Exact chance that moves drawn evenly from those listed play the whole line; None: from all legal ones."""
    style = style or Style()
    board, chances = chess.Board(start), []
    for ply, stored in enumerate(line):
        if ply % 2 == 0:
            right = right_moves(board, stored, rule, last=ply == len(line) - 1)
            listed = listed_moves(board, style, stored)
            chances.append(len(set(right) & set(listed)) / len(listed))
        board.push_uci(stored)
    return math.prod(chances)


@functools.lru_cache(maxsize=4096)
def _root(fen: str) -> chess.Board:
    """Reading a FEN takes ten times as long as copying a board, and puzzles are attempted many times."""
    return chess.Board(fen)


class Game:
    """A line from its first solver's move on. Only legal moves enter."""

    def __init__(self, start: str, line: Sequence[str], rule: Rule) -> None:
        """``start``: FEN with the solver to move; ``line``: solver, reply, solver, ... in UCI."""
        self.board = _root(start).copy()
        self.state: State = "open"
        self.made: tuple[str, ...] = ()
        """The solver's moves in UCI."""
        self.illegal = 0
        """Texts that were no legal move."""
        self._line, self._rule = tuple(line), rule

    @property
    def stored(self) -> str:
        """The line's next move of the solver in UCI, while the line is open."""
        return self._line[2 * len(self.made)]

    def play(self, move: chess.Move) -> chess.Move | None:
        """Make a legal move; the opponent's reply is made and returned, None when the game ended."""
        self.state = self._outcome(move)
        self.made += (move.uci(),)
        self.board.push(move)
        if self.state != "open":
            return None
        reply = chess.Move.from_uci(self._line[2 * len(self.made) - 1])
        self.board.push(reply)
        return reply

    def judge(self, answer: str, *, truncated: bool) -> Score:
        """The verdict, with the answer's last ``<move>`` tag as one more move if the line is not over.

        Changes nothing, so judging twice gives the same score.
        """
        state, made, illegal = self.state, self.made, self.illegal
        tag = last_tag(answer) if state == "open" else None
        if tag is not None:
            move = read_move(self.board, tag).move
            if move is None:
                illegal += 1
            else:
                state, made = self._outcome(move), (*made, move.uci())
        notes = [f"{illegal} illegal"] if illegal else []
        if not made:
            verdict = Verdict.TRUNCATED if truncated else Verdict.NO_ANSWER
            return Score.of(verdict, detail=", ".join(["no legal move", *notes]))
        if state == "solved":
            return Score.of(Verdict.CORRECT, " ".join(made), ", ".join(notes))
        reason = "another move" if state == "lost" else "the line goes on"
        return Score.of(Verdict.WRONG, " ".join(made), ", ".join([reason, *notes]))

    def _outcome(self, move: chess.Move) -> State:
        """What a legal move in the present position leads to."""
        ply = 2 * len(self.made)
        last = ply == len(self._line) - 1
        if move.uci() == self._line[ply]:
            return "solved" if last else "open"
        mates = last and self._rule == "robust" and is_mate(self.board, move)
        return "solved" if mates else "lost"

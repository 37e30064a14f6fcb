"""What the suite and the libraries say of a pair: one function a side, each used as its documentation shows.

math-verify: ``verify(parse(gold), parse(text))``. reasoning-gym: ``score_answer(answer, entry)`` of the family.
SQuAD: exact match as its paper defines it (Rajpurkar et al. 2016, section 6.1). Chess: python-chess.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import random
import string
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import chess

from bench.verifiers.pairs import Pair
from envs.base import InputError
from envs.chess_env.reading import read_move
from envs.math_env.robust import RobustVerifier
from envs.searchqa_env import canonical as published
from envs.searchqa_env.robust import robust

Judge = Callable[[Pair], bool]
FAMILIES = (
    "chain_sum",
    "decimal_chain_sum",
    "products",
    "gcd",
    "lcm",
    "basic_arithmetic",
    "fraction_simplification",
)
"""reasoning-gym generators whose answers are numbers."""


def math_verify(pair: Pair) -> bool:
    r"""math-verify on ``$gold$`` and the text ``\boxed{answer}``, with its own time limits."""
    try:
        import math_verify as library
    except ImportError as error:
        raise InputError(
            "math-verify is not installed; run `pip install -c constraints.txt -e .[dev]`"
        ) from error
    logging.getLogger("math_verify").setLevel(logging.CRITICAL)
    gold = library.parse(f"${pair.gold}$")
    return bool(library.verify(gold, library.parse(f"\\boxed{{{pair.answer}}}")))


def squad(pair: Pair) -> bool:
    """SQuAD's exact match: lower case, no punctuation, no articles, white space as single spaces."""

    def form(text: str) -> list[str]:
        letters = "".join(one for one in text.lower() if one not in string.punctuation)
        words, word = [], ""
        for one in letters + " ":
            if one.isalnum() or one == "_":
                word += one
            else:
                words += [word if word not in ("a", "an", "the") else " ", one]
                word = ""
        return "".join(words).split()

    return form(pair.gold) == form(pair.answer)


def python_chess(pair: Pair) -> bool:
    """``parse_uci``, else ``parse_san``, on the text without white space around; errors are no move."""
    fen, _, wanted = pair.gold.partition("|")
    board = chess.Board(fen)
    for read in (board.parse_uci, board.parse_san):
        with contextlib.suppress(ValueError):
            return read(pair.answer.strip()).uci() == wanted
    return False


@cache
def _family(name: str) -> Any:
    with contextlib.redirect_stdout(io.StringIO()):
        import reasoning_gym
    options = {"styles": ["plain"]} if name == "fraction_simplification" else {}
    return reasoning_gym.create_dataset(name, seed=5, size=1000, **options)


def reasoning_gym_kinds() -> dict[str, Callable[[random.Random], tuple[str, list[str], list[str]]]]:
    """One kind a family: the generator's own answers in right and wrong spellings."""

    def kind(name: str) -> Callable[[random.Random], tuple[str, list[str], list[str]]]:
        def make(rng: random.Random) -> tuple[str, list[str], list[str]]:
            index = rng.randrange(1000)
            gold = str(_family(name)[index]["answer"])
            value = Fraction(gold)
            rights = [gold, f" {gold} ", f"+{gold}" if value > 0 else gold, f"\\text{{{gold}}}"]
            if "/" in gold:
                rights += [
                    f"\\frac{{{value.numerator}}}{{{value.denominator}}}",
                    f"{2 * value.numerator}/{2 * value.denominator}",
                ]
                wrongs = [
                    f"{value.numerator + 1}/{value.denominator}",
                    f"{value.denominator}/{value.numerator}",
                ]
            else:
                rights += [
                    f"{gold}.0" if "." not in gold else f"{gold}0",
                    f"{int(value):,}" if "." not in gold else gold,
                ]
                wrongs = [f"{gold}1", f"{value.numerator + 1}.75", f"{gold}, {gold}1"]
            return json.dumps([name, index, gold]), rights, [one for one in wrongs if one not in rights]

        return make

    return {name: kind(name) for name in FAMILIES}


def reasoning_gym(pair: Pair) -> bool:
    """The family's own scorer; right means its full score."""
    name, index, _ = json.loads(pair.gold)
    data = _family(name)
    return bool(data.score_answer(pair.answer, data[index]) >= 1.0)


@contextlib.contextmanager
def our_judges() -> Iterator[dict[str, Judge]]:
    """The suite's judges by group; the maths worker ends with the context."""
    maths = RobustVerifier()

    def boxed(gold: str, answer: str) -> bool:
        return maths.verify(gold, f"so \\boxed{{{answer}}}", truncated=False).value == 1.0

    def tagged(pair: Pair, judge: Any) -> bool:
        return bool(judge([pair.gold], f"<answer>{pair.answer}</answer>", truncated=False).value == 1.0)

    def played(pair: Pair) -> bool:
        fen, _, wanted = pair.gold.partition("|")
        move = read_move(chess.Board(fen), pair.answer).move
        return move is not None and move.uci() == wanted

    try:
        yield {
            "math / math-verify": lambda pair: boxed(pair.gold, pair.answer),
            "math / reasoning-gym": lambda pair: boxed(json.loads(pair.gold)[2], pair.answer),
            "searchqa robust / SQuAD": lambda pair: tagged(pair, robust),
            "searchqa canonical / SQuAD": lambda pair: tagged(pair, published.canonical),
            "chess / python-chess": played,
        }
    finally:
        maths.close()


LIBRARIES: dict[str, Judge] = {
    "math / math-verify": math_verify,
    "math / reasoning-gym": reasoning_gym,
    "searchqa robust / SQuAD": squad,
    "searchqa canonical / SQuAD": squad,
    "chess / python-chess": python_chess,
}
"""The other side, by the same groups."""

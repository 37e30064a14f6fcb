"""Speed floors of all verifiers on ordinary answers, on one core; run with pytest-benchmark."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from envs.base import Verdict
from envs.chess_env.game import Game
from envs.chess_env.puzzles import load
from envs.math_env.canonical import canonical
from envs.math_env.robust import RobustVerifier
from envs.math_env.robust_rules import plain_number
from envs.searchqa_env import canonical as squad
from envs.searchqa_env import robust as forgiving
from envs.searchqa_env.facts import facts

REASONING = "We add the two halves, so $a_{n+1} = a_n + 2$ and the sum is even. " * 60
SPELLINGS = [
    "{n}", "{n}.0", " {n} ", r"\text{{{n}}}", "${n}$", r"\frac{{{n}}}{{1}}", "0{n}", r"\mathbf{{{n}}}",
]  # fmt: skip
COUNT = 1000
ITEMS = [
    (str(n), REASONING + r"Hence \boxed{" + SPELLINGS[n % len(SPELLINGS)].format(n=n) + "}.")
    for n in range(COUNT)
]
CANONICAL, ROBUST = 20_000, 2_000
"""Least answers a second."""


def _rate(benchmark: BenchmarkFixture, count: int = COUNT) -> float:
    """Answers per second in the best round."""
    assert benchmark.stats is not None, "run without --benchmark-disable"
    return count / float(benchmark.stats.stats.min)


@pytest.fixture(scope="module")
def robust() -> Iterator[RobustVerifier]:
    verifier = RobustVerifier()
    yield verifier
    verifier.close()


@pytest.fixture(scope="module")
def answers() -> list[tuple[Sequence[str], str]]:
    """Golds of the data with texts in their spellings; every eighth answer is another's."""
    known = [fact.answers for fact in facts() if fact.answers][:COUNT]
    ways: list[Callable[[str], str]] = [
        str,
        str.upper,
        str.lower,
        "the {}".format,
        "{}.".format,
        "“{}”".format,
    ]
    texts = [ways[place % len(ways)](golds[0]) for place, golds in enumerate(known)]
    texts = [texts[(place + 1) % COUNT] if place % 8 == 7 else text for place, text in enumerate(texts)]
    found = [f"{REASONING[:600]}<answer>{text}</answer>" for text in texts]
    return list(zip(known, found, strict=True))


@pytest.fixture(scope="module")
def games() -> list[tuple[str, list[str], str]]:
    """(position, line, text with its last move) of puzzles of one move; every eighth text is illegal."""
    puzzles = [puzzle for puzzle in load() if len(puzzle.line) == 1]
    chosen = random.Random(0).choices(puzzles, k=COUNT)
    moves = ["a1a1" if place % 8 == 7 else puzzle.line[0] for place, puzzle in enumerate(chosen)]
    texts = [f"{REASONING[:600]}<move>{move}</move>" for move in moves]
    return [(puzzle.start, list(puzzle.line), text) for puzzle, text in zip(chosen, texts, strict=True)]


def test_canonical_speed(benchmark: BenchmarkFixture) -> None:
    right = benchmark(lambda: sum(canonical(gold, text, truncated=False).value for gold, text in ITEMS))
    assert right == 125
    assert _rate(benchmark) >= CANONICAL


def test_robust_speed(benchmark: BenchmarkFixture, robust: RobustVerifier) -> None:
    def grade() -> float:
        plain_number.cache_clear()  # else every round after the first would only look numbers up
        return sum(robust.verify(gold, text, truncated=False).value for gold, text in ITEMS)

    assert benchmark(grade) == len(ITEMS)
    assert _rate(benchmark) >= ROBUST


def test_qa_canonical_speed(benchmark: BenchmarkFixture, answers: list[tuple[Sequence[str], str]]) -> None:
    assert (
        benchmark(lambda: sum(squad.canonical(g, t, truncated=False).value for g, t in answers)) > COUNT / 2
    )
    assert _rate(benchmark) >= CANONICAL


def test_qa_robust_speed(benchmark: BenchmarkFixture, answers: list[tuple[Sequence[str], str]]) -> None:
    def grade() -> float:
        forgiving._form.cache_clear()
        return sum(forgiving.robust(golds, text, truncated=False).value for golds, text in answers)

    assert benchmark(grade) > COUNT / 2
    assert _rate(benchmark) >= ROBUST


@pytest.mark.parametrize(("rule", "floor"), [("canonical", CANONICAL), ("robust", ROBUST)])
def test_chess_speed(
    benchmark: BenchmarkFixture, games: list[tuple[str, list[str], str]], rule: str, floor: int
) -> None:
    """Judging only: the games are set up before, as an episode's is."""
    named = "canonical" if rule == "canonical" else "robust"
    opened = [(Game(start, line, named), text) for start, line, text in games]  # type: ignore[arg-type]
    right = benchmark(lambda: sum(game.judge(text, truncated=False).value for game, text in opened))
    assert right == COUNT * 7 // 8
    assert _rate(benchmark) >= floor


HOSTILE = [
    r"9^{9^{9^9}}",
    r"(10^9)!",
    r"2^{2^{2^{2^{2^2}}}}",
    r"\sum_{n=1}^{10^9} \frac{1}{n^2+n+1}",
    "9" * 10**6,
]


@pytest.mark.parametrize("answer", HOSTILE, ids=lambda answer: answer[:20])
def test_a_hostile_expression_costs_a_second_and_delays_nothing(robust: RobustVerifier, answer: str) -> None:
    ordinary = (r"\sqrt{8}", r"\boxed{2\sqrt{2}}")
    robust.verify(*ordinary, truncated=False)
    time.sleep(1.5)  # the replacement of the last hostile one has to be up
    start = time.perf_counter()
    score = robust.verify("1", rf"\boxed{{{answer}}}", truncated=False)
    hostile = time.perf_counter()
    assert robust.verify(*ordinary, truncated=False).verdict is Verdict.CORRECT
    assert score.verdict in (Verdict.VERIFIER_ERROR, Verdict.WRONG)
    print(f"\n{answer[:20]}: {hostile - start:.2f} s, the next {time.perf_counter() - hostile:.3f} s")
    assert hostile - start <= 1.0
    assert time.perf_counter() - hostile < 0.25

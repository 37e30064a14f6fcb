"""Speed floors of the maths verifiers, on one core; run with pytest-benchmark."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from envs.base import Verdict
from envs.math_env.canonical import canonical
from envs.math_env.robust import RobustVerifier
from envs.math_env.robust_rules import plain_number

REASONING = "We add the two halves, so $a_{n+1} = a_n + 2$ and the sum is even. " * 60
SPELLINGS = [
    "{n}", "{n}.0", " {n} ", r"\text{{{n}}}", "${n}$", r"\frac{{{n}}}{{1}}", "0{n}", r"\mathbf{{{n}}}",
]  # fmt: skip
ITEMS = [
    (str(n), REASONING + r"Hence \boxed{" + SPELLINGS[n % len(SPELLINGS)].format(n=n) + "}.")
    for n in range(1000)
]


def _rate(benchmark: BenchmarkFixture) -> float:
    """Answers per second in the best round."""
    assert benchmark.stats is not None, "run without --benchmark-disable"
    return len(ITEMS) / float(benchmark.stats.stats.min)


@pytest.fixture(scope="module")
def robust() -> Iterator[RobustVerifier]:
    verifier = RobustVerifier()
    yield verifier
    verifier.close()


def test_canonical_speed(benchmark: BenchmarkFixture) -> None:
    right = benchmark(lambda: sum(canonical(gold, text, truncated=False).value for gold, text in ITEMS))
    assert right == 125
    assert _rate(benchmark) >= 20_000


def test_robust_speed(benchmark: BenchmarkFixture, robust: RobustVerifier) -> None:
    def grade() -> float:
        plain_number.cache_clear()  # else every round after the first would only look numbers up
        return sum(robust.verify(gold, text, truncated=False).value for gold, text in ITEMS)

    assert benchmark(grade) == len(ITEMS)
    assert _rate(benchmark) >= 2_000


def test_hostile_expression_costs_about_its_limit(robust: RobustVerifier) -> None:
    robust.verify(r"\sqrt{8}", r"\boxed{2\sqrt{2}}", truncated=False)
    start = time.monotonic()
    score = robust.verify("1", r"\boxed{9^{9^{9^9}}}", truncated=False)
    assert score.verdict is Verdict.VERIFIER_ERROR
    assert time.monotonic() - start < 2.0

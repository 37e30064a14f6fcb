"""How long 200 sessions take, one step and an answer each; prints the time per session."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from envs.jail.jail import Jail, available
from envs.jail.tiers import TIERS
from whale.contract import Problem
from whale.hosting import HarnessHost

SESSIONS, AT_ONCE = 200, 50
BOOT = "def session(source, payload):\n    return payload\n    yield"
HARNESS = "def solve(problem):\n    return problem.question\n    yield"
AVAILABLE = available()


def _time(benchmark: Any, label: str, start: Callable[[str], None], collect: Callable[[], list[Any]]) -> None:
    def all_sessions() -> int:
        done = 0
        for first in range(0, SESSIONS, AT_ONCE):
            for number in range(first, first + AT_ONCE):
                start(str(number))
            done += len(collect())
        return done

    assert benchmark.pedantic(all_sessions, rounds=1, warmup_rounds=0) == SESSIONS
    if benchmark.stats is not None:
        print(f"\n{label}: {benchmark.stats.stats.min / SESSIONS * 1000:.2f} ms per session")


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("what", ["session", "harness"])
def test_speed(benchmark: Any, tier: str, what: str) -> None:
    if AVAILABLE[tier] != "ok":
        pytest.skip(AVAILABLE[tier])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if what == "session":
            with Jail(BOOT, isolation=tier) as jail:
                _time(benchmark, f"{tier}, bare", lambda key: jail.start(key, "", 1), jail.collect)
        else:
            with HarnessHost(isolation=tier) as host:
                begin = functools.partial(host.start, source=HARNESS, problem=Problem("q"))
                _time(benchmark, f"{tier}, harness", begin, host.collect)

"""What the jail's test files share: the sources they run and one jail per isolation tier."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator

import pytest

from envs.jail import tiers
from envs.jail.jail import Event, Jail, Limits, available

BOOT = """
def session(source, payload):
    names = {}
    exec(compile(source, "<code>", "exec"), names)
    return (yield from names["f"](payload))
"""
LIMITS = Limits(cpu_s=1, wall_s=20.0, memory_mb=256, output_chars=5000, message_bytes=100_000)
ECHO = "def f(p):\n    while True:\n        p = yield p"
TRY = """
def attempt(action):
    try:
        return repr(action())
    except BaseException as error:
        return type(error).__name__
"""
AVAILABLE = available()
linux_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Landlock and seccomp")


def open_jail(tier: str, limits: Limits = LIMITS, boot: str = BOOT) -> Jail:
    """A jail in a tier, without the warning that ``limits`` gives (one test asks for it)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Jail(boot, limits, tier)


@pytest.fixture(scope="module", params=tiers.TIERS)
def each_tier(request: pytest.FixtureRequest) -> Iterator[Jail]:
    """One jail per tier for a whole file: it must outlive everything the tests do to it."""
    if AVAILABLE[request.param] != "ok":
        pytest.skip(f"{request.param}: {AVAILABLE[request.param]}")
    with open_jail(request.param) as opened:
        yield opened


def run(jail: Jail, source: str, payload: object = None) -> Event:
    """One session's first event; the session is ended."""
    jail.start("it", source, payload)
    (event,) = jail.collect()
    jail.stop("it")
    return event


def returned(jail: Jail, source: str, payload: object = None) -> object:
    """What a session returns, which it must."""
    event = run(jail, source, payload)
    assert event.kind == "return", event
    return event.value

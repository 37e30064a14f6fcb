"""Harnesses in the jail: the contract's nouns go in and out, and every breach is named."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from envs.jail.jail import Limits
from envs.jail.tiers import TIERS
from tests.jail_cases import AVAILABLE
from whale.contract import Chat, Message, Problem, Reply, Tool
from whale.hosting import HarnessHost, HostEvent, check_source

LIMITS = Limits(cpu_s=2, wall_s=10.0, memory_mb=256)
PROBLEM = Problem("What is 2 + 2?", ("python",))
FULL = """
from __future__ import annotations
from whale.contract import Chat, Tool, assistant, system, user

def solve(problem):
    first = yield Chat([system("s"), user(problem.question), assistant("hm")], samples=2, max_tokens=9)
    shown = yield Tool(problem.tools[0], {"code": "2 + 2"})
    last = yield Chat([user(shown)])
    return " ".join([first[0].text, first[1].text, str(first[1].cut), shown, last.text])
"""
SHORT = "def solve(problem):\n    reply = yield Chat([user(problem.question)])\n    return reply.text"


@pytest.fixture(scope="module", params=TIERS)
def host(request: pytest.FixtureRequest) -> Iterator[HarnessHost]:
    """One host per tier for the whole module."""
    if AVAILABLE[request.param] != "ok":
        pytest.skip(f"{request.param}: {AVAILABLE[request.param]}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        opened = HarnessHost(LIMITS, request.param)
    yield opened
    opened.close()


def first(host: HarnessHost, source: str) -> HostEvent:
    """The first event of one episode, which is then ended."""
    host.start("it", source, PROBLEM)
    (event,) = host.collect()
    host.stop("it")
    return event


def test_a_whole_episode(host: HarnessHost) -> None:
    host.start("k", FULL, PROBLEM)
    messages = [Message("system", "s"), Message("user", PROBLEM.question), Message("assistant", "hm")]
    assert host.collect() == [HostEvent("k", "chat", chat=Chat(messages, 2, 9))]
    host.send("k", [Reply("a"), Reply("b", cut=True)])
    assert host.collect() == [HostEvent("k", "tool", tool=Tool("python", {"code": "2 + 2"}))]
    host.send("k", "4")
    assert host.collect() == [HostEvent("k", "chat", chat=Chat([Message("user", "4")]))]
    host.send("k", Reply("done"))
    assert host.collect() == [HostEvent("k", "answer", answer="a b True 4 done")]


def test_names_need_no_import_and_many_run_together(host: HarnessHost) -> None:
    for number in range(20):
        host.start(str(number), SHORT, PROBLEM)
    assert all(event.chat is not None for event in host.collect())
    for number in range(20):
        host.send(str(number), Reply(str(number)))
    assert [event.answer for event in host.collect()] == [str(number) for number in range(20)]


BREACHES = {
    "yield 3": "solve yielded 3 (int); a harness may yield Chat(messages, samples, max_tokens) or Tool",
    "yield None": "solve yielded None (NoneType)",
    "yield Chat('text')": "Chat takes a list of 1 to 256 messages; got 'text' (str)",
    "yield Chat([])": "got 0 of them",
    "yield Chat([user('x')] * 257)": "got 257 of them",
    "yield Chat(['x'])": "Chat takes system(), user() and assistant() messages; got 'x' (str)",
    "yield Chat([user(5)])": "a message's content must be a str; got 5 (int)",
    "yield Chat([Message('tool', 'x')])": "got 'tool' (str)",
    "yield Chat([user('x')], samples=0)": "Chat.samples must be an int, from 1 to 64; got 0 (int)",
    "yield Chat([user('x')], samples=True)": "got True (bool)",
    "yield Chat([user('x')], max_tokens=0)": "Chat.max_tokens must be an int, at least 1; got 0 (int)",
    "yield Tool(7)": "a tool's name must be a str; got 7 (int)",
    "yield Tool('python', ['x'])": "a tool's arguments must be a dict with str keys; got a value",
    "yield Tool('python', {1: 2})": "a tool's arguments must be a dict with str keys",
    "return 4\n    yield": "solve must return the answer text, a str; it returned 4 (int)",
    "return 4": "solve must be a generator (use yield), but it returned 4 (int)",
    "import whale.hosting\n    yield": "No module named 'whale.hosting'",
    "open('/etc/passwd')\n    yield": "Error: ",
}


@pytest.mark.parametrize("body", BREACHES)
def test_breaches_are_named(host: HarnessHost, body: str) -> None:
    event = first(host, f"def solve(problem):\n    {body}\n")
    assert (event.kind, event.fault) == ("fault", "exception")
    assert BREACHES[body] in event.detail


def test_tool_arguments_that_are_not_json(host: HarnessHost) -> None:
    event = first(host, "def solve(problem):\n    yield Tool('python', {'x': object()})")
    assert (event.kind, event.fault) == ("fault", "protocol")


def test_missing_solve_and_errors_at_import(host: HarnessHost) -> None:
    assert "a harness must define" in first(host, "x = 1").detail
    assert "ZeroDivisionError" in first(host, "1 / 0\n" + SHORT).detail
    detail = first(host, "def solve(p):\n    raise ValueError('mine')\n    yield").detail
    assert 'File "<harness>", line 2, in solve\n    raise ValueError' in detail


FORGED = [
    {"chat": [["user", 5]], "samples": 1, "max_tokens": None},
    {"chat": [["root", "x"]], "samples": 1, "max_tokens": None},
    {"chat": [], "samples": 1, "max_tokens": None},
    {"chat": [["user", "x"]], "samples": 10**9, "max_tokens": None},
    {"chat": [["user", "x"]], "samples": 1, "max_tokens": "9"},
    {"tool": 5, "arguments": {}},
    {"else": 1},
    "text",
    None,
]


@pytest.mark.parametrize("forged", FORGED)
def test_forged_requests_are_faults(host: HarnessHost, forged: object) -> None:
    """A harness that writes to its own channel is not believed."""
    source = f"""
import json, os
def solve(problem):
    line = json.dumps({{"kind": "yield", "value": {forged!r}}}).encode() + b"\\n"
    for descriptor in range(32):
        try:
            os.write(descriptor, line)
        except OSError:
            pass
    yield Chat([user("x")])
"""
    event = first(host, source)
    assert (event.kind, event.fault) == ("fault", "protocol")


def test_a_harness_sees_the_problem_and_no_more(host: HarnessHost) -> None:
    source = "def solve(problem):\n    return str(sorted(vars(problem).items()))\n    yield"
    assert first(host, source).answer == str([("question", PROBLEM.question), ("tools", PROBLEM.tools)])


def test_a_harness_that_spoils_the_contract_harms_only_itself(host: HarnessHost) -> None:
    spoiler = """
import random, sys
def solve(problem):
    for name in ("whale.contract", "boot", "harness"):
        vars(sys.modules[name]).clear()
    sys.modules.clear()
    random.random = None
    yield 1
"""
    assert first(host, spoiler).kind == "fault"
    assert first(host, SHORT).kind == "chat"


def test_infrastructure_is_told_apart(host: HarnessHost) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = HarnessHost(LIMITS, host.isolation)
    own.start("k", SHORT, PROBLEM)
    own.collect()
    assert own._jail._zygote is not None
    own._jail._zygote.close()
    own._jail._break("killed by the test")
    own.send("k", Reply("x"))
    assert [event.fault for event in own.collect()] == ["jail"]
    own.close()


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (SHORT, None),
        (FULL, None),
        ("def solve(problem, *, k=1, **rest):\n    yield", None),
        ("x = '\\d'\n" + SHORT, None),
        ("def solve(problem:\n", "does not parse: line 1"),
        ("x = '\0'", "does not parse"),
        ("x = 1", "no `def solve(problem)`"),
        ("if True:\n    def solve(problem):\n        yield", "no `def solve(problem)`"),
        ("async def solve(problem):\n    yield", "async"),
        ("def solve():\n    yield", "one argument"),
        ("def solve(a, b):\n    yield", "one argument"),
        ("def solve(a, *, b):\n    yield", "one argument"),
        ("(" * 5000, "does not parse"),
    ],
)
def test_check_source(source: str, reason: str | None) -> None:
    found = check_source(source)
    assert found is None if reason is None else reason in str(found)


def test_check_source_runs_nothing(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    assert check_source(f"open({str(mark)!r}, 'w')\n" + SHORT) is None
    assert not mark.exists()

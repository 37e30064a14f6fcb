"""Steps, messages and broken jails; and the Python tool, which is a small user of the jail."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Iterator

import pytest

from envs.base import ToolError
from envs.jail.jail import Event, Fault, Jail, Limits
from envs.jail.python_tool import PythonTool
from envs.jail.wire import LineBuffer, decode, event_of
from tests.jail_cases import ECHO, each_tier, open_jail, returned, run

jail = each_tier


def test_steps_go_back_and_forth(jail: Jail) -> None:
    jail.start("a", "def f(p):\n    x = yield {'got': p}\n    return [x, 'ü']", {"n": 1})
    assert jail.collect() == [Event("a", "yield", {"got": {"n": 1}})]
    jail.send("a", "more")
    assert jail.collect() == [Event("a", "return", ["more", "ü"])]
    assert jail.collect() == []


def test_events_come_in_the_order_of_start_whatever_the_timing(jail: Jail) -> None:
    for key, pause in zip("dacb", (0.2, 0.0, 0.1, 0.05), strict=True):
        jail.start(key, "import time\ndef f(p):\n    time.sleep(p)\n    yield p", pause)
    assert [event.key for event in jail.collect()] == list("dacb")
    for key in "bcad":
        jail.send(key, None)
    assert [(event.key, event.kind) for event in jail.collect()] == [(key, "return") for key in "dacb"]


def test_sessions_are_repeatable(jail: Jail) -> None:
    source = "import random\ndef f(p):\n    return [random.random(), hash('x'), str({'a', 'b'})]\n    yield"
    with open_jail(jail.isolation) as other:
        assert returned(jail, source) == returned(other, source)
    jail.start("seeded", source, None, 2**64 - 1)
    (event,) = jail.collect()
    assert event.value != returned(jail, source)


def test_detail_shows_the_foreign_line_only(jail: Jail) -> None:
    event = run(jail, "def f(p):\n    return {}['no']\n    yield")
    assert event.detail.splitlines() == ['  File "<code>", line 2, in f', "KeyError: 'no'"]


def test_long_messages_pass_in_both_directions(jail: Jail) -> None:
    with open_jail(jail.isolation, Limits(message_bytes=8_000_000)) as wide:
        text = "é" * 1_000_000
        wide.start("a", ECHO, text)
        wide.start("b", ECHO, text)
        assert all(event.value == text for event in wide.collect())


def test_a_dead_zygote_is_an_infrastructure_fault_and_is_replaced(jail: Jail) -> None:
    with open_jail(jail.isolation) as mortal:
        mortal.start("idle", ECHO, 0)
        mortal.collect()
        mortal.start("runs", "import time\ndef f(p):\n    time.sleep(60)\n    yield", 0)
        assert mortal._zygote is not None
        os.killpg(mortal._zygote._process.pid, 9)
        mortal._zygote._process.wait()
        (event,) = mortal.collect()
        assert event.value is Fault.JAIL
        mortal.send("idle", 1)
        assert [e.value for e in mortal.collect()] == [Fault.JAIL]
        mortal.start("new", ECHO, 5)
        assert mortal.collect() == [Event("new", "yield", 5)]


def test_a_hung_zygote_is_an_infrastructure_fault() -> None:
    with open_jail("limits") as hung:
        hung.start("before", ECHO, 1)
        hung.collect()
        assert hung._zygote is not None
        hung._zygote._control.settimeout(0.3)
        os.kill(hung._zygote._process.pid, signal.SIGSTOP)
        hung.start("a", ECHO, 1)
        assert [(event.key, event.value) for event in hung.collect()] == [("a", Fault.JAIL)]
        hung.start("b", ECHO, 1)
        assert hung.collect() == [Event("b", "yield", 1)]


def test_wrong_use_is_refused(jail: Jail) -> None:
    jail.start("a", ECHO, 0)
    with pytest.raises(ValueError, match="still alive"):
        jail.start("a", ECHO, 0)
    with pytest.raises(ValueError, match="collect"):
        jail.send("a", 1)
    jail.collect()
    jail.stop("a")
    jail.stop("a")
    with pytest.raises(KeyError, match="no session"):
        jail.send("a", 1)


def test_a_boot_that_fails_is_the_jails_fault(jail: Jail) -> None:
    with open_jail(jail.isolation, boot="raise OSError('boot')") as broken:
        event = run(broken, ECHO)
    assert event.value is Fault.JAIL
    assert "boot" in event.detail


@pytest.mark.parametrize(
    "line", [b"\xff", b"[1]", b"{", b'{"a": NaN}', b'{"a": "\\ud800"}', b"[" * 100_000, b"1" * 5000]
)
def test_foreign_bytes_are_refused(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        decode(line)


def test_wire_details() -> None:
    buffer = LineBuffer(4)
    buffer.feed(b"ab\ncd")
    assert (buffer.take(), buffer.take()) == (b"ab", None)
    buffer.feed(b"efg")
    with pytest.raises(ValueError, match="more than 4 bytes"):
        buffer.take()
    with pytest.raises(ValueError, match="allowed are"):
        event_of("a", {"kind": "error", "value": "time"})


@pytest.fixture(scope="module")
def tool() -> Iterator[PythonTool]:
    """One calculator for all cases."""
    limits = Limits(cpu_s=1, wall_s=5.0, memory_mb=256)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with PythonTool(limits) as opened:
            yield opened


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("1 + 1", "2"),
        ("print(3)\n4", "3"),
        ("x = 6\nx * 7", "42"),
        ("x = 6", "(no output)"),
        ("", "(no output)"),
        ("from fractions import Fraction\nFraction(1, 3) + 1", "Fraction(4, 3)"),
        ("def g(n):\n    return n if n < 2 else g(n - 1) + g(n - 2)\nprint(g(15))", "610"),
        ("print(1)\n1 / 0", "1\nZeroDivisionError: division by zero"),
        ("while True: pass", "error (time): more than 1 s of processor time"),
        ("x = 'a' * 10**12", "error (memory): the memory limit was reached"),
        ("while True: print('a')", "error (output): more than 20000 characters were printed"),
        ("import sys; sys.exit()", "error (died): the code ended its process (sys.exit)"),
    ],
)
def test_python_tool(tool: PythonTool, code: str, shown: str) -> None:
    assert tool.run(code) == shown


def test_python_tool_cuts_and_forgets(tool: PythonTool) -> None:
    assert tool.run("y = 1\n'x' * 5000").endswith("x ... (cut)")
    assert len(tool.run("print('x' * 5000)")) == 2000
    assert tool.run("y") == "NameError: name 'y' is not defined"
    assert tool.run("(").startswith("SyntaxError")


def test_python_tool_raises_only_when_the_jail_broke(tool: PythonTool) -> None:
    assert tool._jail._zygote is not None
    os.killpg(tool._jail._zygote._process.pid, 9)
    tool._jail._zygote._process.wait()
    with pytest.raises(ToolError, match="jail broke"):
        tool.run("1")
    assert tool.run("2") == "2"

"""The jail's limits on misbehaving code, its isolation tiers, and what is left after closing."""

from __future__ import annotations

import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from envs.base import InputError
from envs.jail import tiers
from envs.jail.inside import syscalls
from envs.jail.jail import Fault, Jail, Limits
from tests.jail_cases import AVAILABLE, BOOT, ECHO, LIMITS, each_tier, linux_only, open_jail, returned, run

jail = each_tier


MISBEHAVIOUR: dict[str, tuple[str, Fault]] = {
    "spin": ("while True: pass", Fault.TIME),
    "print_without_end": ("while True: print('x' * 100)", Fault.OUTPUT),
    "print_catching_everything": (
        "while True:\n        try: print('x' * 100)\n        except BaseException: pass", Fault.OUTPUT,
    ),
    "memory": ("x = [0] * (1 << 40)", Fault.MEMORY),
    "memory_slowly": ("x = []\n    while True: x.append(bytearray(1 << 20))", Fault.MEMORY),
    "recursion": ("g = lambda: g()\n    g()", Fault.EXCEPTION),
    "raises": ("1 / 0", Fault.EXCEPTION),
    "stop_iteration": ("raise StopIteration", Fault.EXCEPTION),
    "interrupt": ("raise KeyboardInterrupt", Fault.EXCEPTION),
    "sys_exit": ("import sys; sys.exit(0)", Fault.DIED),
    "os_exit": ("import os; os._exit(0)", Fault.DIED),
    "crash": ("import ctypes; ctypes.string_at(0)", Fault.DIED),
    "closes_its_channel": ("import os, time; os.closerange(0, 32); time.sleep(60)", Fault.DIED),
    "not_json": ("yield object()", Fault.PROTOCOL),
    "nan": ("yield float('nan')", Fault.PROTOCOL),
    "lone_surrogate": ("yield '\\ud800'", Fault.PROTOCOL),
    "huge_message": ("yield 'x' * 200_000", Fault.PROTOCOL),
    "endless_message": (
        "while True:\n        [forge(d, b'x' * 10000) for d in range(32)]", Fault.PROTOCOL,
    ),
    "forged_text": ("[forge(d, b'nonsense\\n') for d in range(32)]", Fault.PROTOCOL),
    "forged_depth": ("[forge(d, b'[' * 90000 + b'\\n') for d in range(32)]", Fault.PROTOCOL),
    "forged_infrastructure_failure": (
        """[forge(d, b'{"kind": "error", "value": "jail"}\\n') for d in range(32)]""", Fault.PROTOCOL,
    ),
    "forged_surrogate": (
        r"""[forge(d, b'{"kind": "yield", "value": "\ud800"}' + bytes([10])) for d in range(32)]""",
        Fault.PROTOCOL,
    ),
    "bad_exception": (
        "class E(Exception):\n        def __str__(self): raise SystemExit\n    raise E", Fault.EXCEPTION,
    ),
    "syntax": ("return (", Fault.EXCEPTION),
}  # fmt: skip
FORGE = """
import os
def forge(descriptor, data):
    try:
        os.write(descriptor, data)
    except OSError:
        pass
"""


def test_misbehaviour_is_named_and_harms_nobody_else(jail: Jail) -> None:
    """All at once, between two well-behaved sessions; then the same jail goes on."""
    jail.start("first", ECHO, 1)
    for name, (body, _) in MISBEHAVIOUR.items():
        jail.start(name, f"{FORGE}def f(p):\n    {body}\n    yield", None)
    jail.start("last", ECHO, 2)
    events = {event.key: event for event in jail.collect()}
    assert list(events) == ["first", *MISBEHAVIOUR, "last"]
    faults = {name: events[name].value for name in MISBEHAVIOUR}
    assert faults == {name: fault for name, (_, fault) in MISBEHAVIOUR.items()}, events
    assert events["first"].value == 1
    for key in ("first", "last"):
        jail.send(key, "again")
    assert [event.value for event in jail.collect()] == ["again", "again"]
    jail.stop("first")
    jail.stop("last")
    assert returned(jail, "def f(p):\n    return 7\n    yield") == 7


def test_who_ignores_the_time_signal_is_killed() -> None:
    """In the weakest tier only: it is the kernel's hard limit everywhere, and takes two seconds to reach."""
    ignore = "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\n"
    with open_jail("limits") as opened:
        assert run(opened, ignore + "def f(p):\n    while True: pass\n    yield").value is Fault.TIME


def test_a_sleeper_is_stopped_by_the_wall_clock(jail: Jail) -> None:
    with open_jail(jail.isolation, Limits(cpu_s=1, wall_s=0.5)) as short:
        short.start("sleeper", "import time\ndef f(p):\n    time.sleep(600)\n    yield", None)
        short.start("quick", ECHO, 1)
        sleeper, quick = short.collect()
    assert (sleeper.value, quick.value) == (Fault.TIME, 1)
    assert "0.5 s" in sleeper.detail


def test_a_hundred_sessions_at_once(jail: Jail) -> None:
    for number in range(100):
        jail.start(str(number), ECHO, number)
    assert [event.value for event in jail.collect()] == list(range(100))
    for number in range(100):
        jail.stop(str(number))


def _running() -> dict[int, int]:
    """Process id -> parent of all that are not zombies (Linux)."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
        except OSError:  # it ended while we looked
            continue
        if state != "Z":
            parents[int(folder.name)] = int(parent)
    return parents


def _below(root: int) -> set[int]:
    found = {root}
    parents = _running()
    for _ in range(5):  # the tree is shallow: bwrap, its init, the zygote, a session
        found |= {pid for pid, parent in parents.items() if parent in found}
    return found


@linux_only
def test_closing_leaves_no_process(jail: Jail) -> None:
    opened = open_jail(jail.isolation)
    opened.start("spin", "def f(p):\n    while True: pass\n    yield", None)
    assert opened._zygote is not None
    family = _below(opened._zygote._process.pid)
    assert len(family) >= 2
    opened.close()
    end = time.monotonic() + 5
    while family & _running().keys() and time.monotonic() < end:
        time.sleep(0.05)
    assert not family & _running().keys()
    with pytest.raises(RuntimeError, match="closed"):
        opened.start("x", ECHO, 0)


def test_limits_tier_says_what_is_open() -> None:
    with pytest.warns(UserWarning, match="'limits' does not isolate: .*namespaces"):
        Jail(BOOT, LIMITS, "limits").close()


def test_unknown_and_missing_tiers_are_input_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"unknown isolation 'docker'; allowed are bubblewrap"):
        Jail(BOOT, LIMITS, "docker")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(InputError, match="bwrap is not installed"):
        Jail(BOOT, LIMITS, "bubblewrap")


def test_best_tier_is_chosen() -> None:
    best = next(tier for tier in tiers.TIERS if AVAILABLE[tier] == "ok")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with Jail(BOOT, LIMITS) as chosen:
            assert chosen.isolation == best


def test_without_the_filter_the_warning_names_it() -> None:
    gone = {"landlock": "ok", "seccomp": "not permitted"}
    with pytest.raises(tiers.TierError, match="not permitted"):
        tiers.check("namespaces", gone)
    assert "network access" in tiers.check("limits", gone)
    assert tiers.check("bubblewrap", {"landlock": "ok", "seccomp": "ok"}) == []


def test_confinement_loads_without_linux() -> None:
    """Elsewhere only rlimits are left; the same files must load and run there."""
    code = (
        "import sys; sys.platform = 'darwin'\n"
        "from envs.jail.inside.confine import Confinement\n"
        "c = Confinement(); print(c.report); c.apply(1, 1, 4096); print('ctypes' in sys.modules)"
    )
    root = Path(__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0] == "{'landlock': 'Linux only', 'seccomp': 'Linux only'}"
    assert done.stdout.splitlines()[1] == "False"


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("files", [True, False])
def test_filter_programs_are_well_formed(machine: str, files: bool) -> None:
    program = syscalls.program(machine, files)
    length = len(program) // 8
    assert len(program) % 8 == 0
    for at in range(length):
        code, if_true, if_false = program[8 * at], program[8 * at + 2], program[8 * at + 3]
        if code & 7 == 5:  # a jump stays inside
            assert at + 1 + max(if_true, if_false) < length
    with pytest.raises(OSError, match="riscv64"):
        syscalls.program("riscv64", files)

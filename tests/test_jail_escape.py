"""Hostile code in the jail, in every isolation tier that this machine offers: nothing gets out or in."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

from envs.jail import tiers
from envs.jail.inside import syscalls
from envs.jail.jail import Event, Fault, Jail
from tests.jail_cases import ECHO, TRY, each_tier, linux_only, open_jail, returned, run

jail = each_tier


CANARY_HUNT = """
import gc, os, re, sys
mark = re.compile("go" + "ld-[0-9a-f]{16}")

def texts(value, depth=3):
    if isinstance(value, (str, bytes)):
        yield value if isinstance(value, str) else value.decode("latin-1")
    elif depth and isinstance(value, dict):
        for pair in list(value.items()):
            for part in pair:
                yield from texts(part, depth - 1)
    elif depth and isinstance(value, (list, tuple, set)):
        for part in list(value):
            yield from texts(part, depth - 1)

def read(path):
    with open(path, "rb") as stream:
        return stream.read(1 << 20)

def sources(folders, files):
    yield lambda: dict(os.environ)
    yield lambda: gc.get_objects()
    yield lambda: [f.f_locals for f in sys._current_frames().values()]
    for path in files + ["/proc/self/environ", "/proc/1/environ", "/proc/self/cmdline"]:
        yield lambda path=path: read(path)
    for pid in [os.getpid(), os.getppid()]:
        yield lambda pid=pid: read(f"/proc/{pid}/environ")
    for folder in folders + ["/", "/root", "/home", "/tmp", "/proc", "/etc"]:
        yield lambda folder=folder: os.listdir(folder)
        yield lambda folder=folder: [e.name for e in os.scandir(folder)]

def hunt(p):
    found = set()
    for number, source in enumerate(sources(p["folders"], p["files"])):
        try:
            for text in texts(source()):
                found.update(mark.findall(text))
        except OSError:
            continue
    return sorted(found)

def f(p):
    return hunt(p)
    yield
"""


@linux_only
def test_gold_cannot_be_found(jail: Jail, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    canary = "gold-" + secrets.token_hex(8)
    in_repository = Path(__file__).with_name(f".canary-{os.getpid()}.txt")
    in_tmp = tmp_path / "note"
    monkeypatch.setenv("SECRET_KEY", canary)
    payload = {
        "folders": [str(tmp_path), str(in_repository.parent), str(in_repository.parent.parent)],
        "files": [str(in_repository), str(in_tmp), __file__],
    }
    try:
        in_repository.write_text(canary)
        in_tmp.write_text(canary)
        (tmp_path / canary).touch()
        outside = CANARY_HUNT + "\nimport json, sys\nprint(json.dumps(hunt(json.loads(sys.argv[1]))))"
        command = [sys.executable, "-c", outside, json.dumps(payload)]
        hunted = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert canary in json.loads(hunted)  # the hunt itself works
        with open_jail(jail.isolation) as fresh:  # started with the canary in our environment
            assert returned(fresh, CANARY_HUNT, payload) == []
    finally:
        in_repository.unlink(missing_ok=True)


@linux_only
def test_installed_packages_and_the_project_cannot_be_read(jail: Jail) -> None:
    source = (
        TRY
        + """
import sys
def f(p):
    sys.path += p
    return [attempt(lambda n=n: __import__(n)) for n in ("envs", "pytest", "numpy", "pip")]
    yield
"""
    )
    folders = [str(Path(__file__).parents[1]), str(Path(pytest.__file__).parents[1])]
    folders.append(str(Path(sys.base_prefix) / "lib" / tiers.interpreter().name / "site-packages"))
    for outcome in returned(jail, source, folders):  # type: ignore[attr-defined]
        assert outcome in ("ModuleNotFoundError", "PermissionError", "ImportError")


@linux_only
def test_the_standard_library_can_be_imported(jail: Jail) -> None:
    """Also what the zygote has not loaded: Landlock is in force, not a filter that refuses every file."""
    source = "import colorsys, graphlib\ndef f(p):\n    return colorsys.__name__\n    yield"
    assert returned(jail, source) == "colorsys"


@linux_only
def test_files_cannot_be_written(jail: Jail, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("before")
    source = (
        TRY
        + """
import os
def f(p):
    new = os.path.dirname(p) + "/new"
    actions = [
        lambda: open(p, "w"), lambda: open(p, "a"), lambda: open(p, "r+"), lambda: open(new, "x"),
        lambda: open("here", "w"), lambda: open("/dev/shm/new", "w"), lambda: os.unlink(p),
        lambda: os.rename(p, new), lambda: os.mkdir(new), lambda: os.symlink(p, new), lambda: os.link(p, new),
        lambda: os.chmod(p, 0), lambda: os.truncate(p, 0), lambda: os.utime(p), lambda: os.mkfifo(new),
        lambda: os.open(os.path.dirname(p), os.O_TMPFILE | os.O_RDWR), lambda: os.memfd_create("x"),
        lambda: os.setxattr(p, "user.x", b"1"), lambda: os.chdir("/tmp"), lambda: os.write(1, b"x"),
    ]
    return [attempt(action) for action in actions]
    yield
"""
    )
    outcomes = returned(jail, source, str(victim))
    assert isinstance(outcomes, list)
    assert set(outcomes) <= {"PermissionError", "FileNotFoundError", "OSError"}, outcomes
    assert victim.read_text() == "before"
    assert list(tmp_path.iterdir()) == [victim]


@linux_only
def test_no_sockets_no_processes_no_threads_no_signals(jail: Jail) -> None:
    jail.start("sibling", ECHO, 0)
    assert jail.collect() == [Event("sibling", "yield", 0)]
    source = (
        TRY
        + """
import os, signal, socket, subprocess, sys, threading, _thread
def f(p):
    near = [q for q in range(os.getpid() - 5, os.getpid() + 5) if q > 0] + [os.getppid()]
    actions = [
        lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM),
        lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM), lambda: socket.socket(socket.AF_INET6),
        lambda: socket.socket(socket.AF_UNIX), lambda: socket.socketpair(),
        lambda: socket.create_connection(("127.0.0.1", 80), 1),
        os.fork, os.forkpty, lambda: os.execv(sys.executable or "/bin/sh", ["x"]),
        lambda: os.posix_spawn("/bin/sh", ["x"], {}), lambda: subprocess.run(["/bin/true"]),
        lambda: _thread.start_new_thread(print, ()), lambda: os.pidfd_open(os.getppid()),
        *[lambda q=q: os.kill(q, 0) for q in near], *[lambda q=q: os.kill(q, signal.SIGTERM) for q in near],
        lambda: os.killpg(0, 0), lambda: os.setsid(), lambda: os.setuid(0),
        lambda: signal.pthread_kill(threading.get_ident(), 0),
        lambda: __import__("resource").setrlimit(0, (9, 9)),
    ]
    return [attempt(action) for action in actions]
    yield
"""
    )
    outcomes = returned(jail, source)
    assert isinstance(outcomes, list)
    assert set(outcomes) <= {"PermissionError", "RuntimeError", "error", "OSError", "ValueError"}, outcomes
    jail.send("sibling", "alive")
    assert jail.collect() == [Event("sibling", "yield", "alive")]
    jail.stop("sibling")


RAW_CALLS = {  # x86-64, aarch64
    "clone": (56, 220), "clone3": (435, 435), "execveat": (322, 281), "ptrace": (101, 117),
    "process_vm_readv": (310, 270), "pidfd_getfd": (438, 438), "pidfd_send_signal": (424, 424),
    "mount": (165, 40), "unshare": (272, 97), "setns": (308, 268), "bpf": (321, 280), "keyctl": (250, 219),
    "io_uring_setup": (425, 425), "perf_event_open": (298, 241), "shmget": (29, 194), "msgget": (68, 186),
    "tgkill": (234, 131), "tkill": (200, 130), "rt_sigqueueinfo": (129, 138), "prctl": (157, 167),
    "prlimit64": (302, 261), "sendmsg": (46, 211), "userfaultfd": (323, 282), "openat2": (437, 437),
}  # fmt: skip


@linux_only
def test_raw_system_calls_are_refused(jail: Jail) -> None:
    machine = os.uname().machine
    if machine not in syscalls.AUDIT_ARCH:
        pytest.skip(f"no numbers for {machine}")
    column = ("x86_64", "aarch64").index(machine)
    source = """
import ctypes
def f(numbers):
    libc = ctypes.CDLL(None, use_errno=True)
    return [(libc.syscall(n, 0, 0, 0, 0, 0), ctypes.get_errno()) for n in numbers]
    yield
"""
    outcomes = returned(jail, source, [pair[column] for pair in RAW_CALLS.values()])
    assert isinstance(outcomes, list)
    for name, (result, code) in zip(RAW_CALLS, outcomes, strict=True):
        assert result == -1, name
        assert code == (38 if RAW_CALLS[name][column] >= syscalls.FIRST_NEW else 1), name


@linux_only
def test_own_pipe_cannot_be_made_to_signal_others(jail: Jail) -> None:
    source = (
        TRY
        + """
import fcntl, os
def f(p):
    return [attempt(lambda d=d: fcntl.fcntl(d, fcntl.F_SETOWN, os.getppid())) for d in range(32)]
    yield
"""
    )
    assert set(returned(jail, source)) == {"PermissionError"}  # type: ignore[call-overload]


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the x32 numbers exist on x86-64 only")
@linux_only
def test_foreign_call_numbering_kills(jail: Jail) -> None:
    event = run(jail, "import ctypes\ndef f(p):\n    ctypes.CDLL(None).syscall(0x40000000 + 57)\n    yield")
    assert event.value is Fault.DIED


def test_nothing_of_an_earlier_session_is_left(jail: Jail) -> None:
    stain = """
import builtins, sys, types, json, math, os
def f(p):
    builtins.len = lambda x: 42
    builtins.stain = sys.stain = math.pi = "secret-of-" + "another"
    sys.modules["stain"] = types.ModuleType("stain")
    json.dumps.__defaults__ and None
    os.environ["STAIN"] = "1"
    yield 1
"""
    assert run(jail, stain).kind == "yield"
    look = """
import builtins, gc, math, os, sys
def f(p):
    mark = "secret-of-" + "another"
    objects = [o for o in gc.get_objects() if isinstance(o, dict) and mark in map(str, list(o.values()))]
    return [len([]), hasattr(builtins, "stain"), hasattr(sys, "stain"), "stain" in sys.modules,
            math.pi > 3, dict(os.environ), len([o for o in objects if o is not sys._getframe().f_locals])]
    yield
"""
    assert returned(jail, look) == [0, False, False, False, True, {}, 0]


def test_the_boot_runs_once_and_every_session_finds_it_as_it_was(jail: Jail) -> None:
    boot = """
import os
MAKER, SEEN = os.getpid(), []
def session(source, payload):
    SEEN.append(payload)
    return [MAKER, os.getpid(), SEEN]
    yield
"""
    with open_jail(jail.isolation, boot=boot) as own:
        first, second = returned(own, "", 1), returned(own, "", 2)
    assert isinstance(first, list)
    assert isinstance(second, list)
    assert first[0] == second[0]
    assert len({first[0], first[1], second[1]}) == 3
    assert (first[2], second[2]) == ([1], [2])

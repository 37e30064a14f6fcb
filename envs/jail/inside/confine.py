"""Irrevocable limits on the calling process: rlimits, capabilities, Landlock and seccomp.

Each mechanism is tried once in a throw-away child; a session then applies all that worked and
treats a failure as a broken jail. Outside Linux only rlimits exist, and this file must still load.
"""

from __future__ import annotations

import functools
import os
import platform
import resource
import signal
import socket
import struct
import sys
from collections.abc import Callable
from typing import Any

from . import syscalls

LINUX = sys.platform.startswith("linux")
OPEN_FILES = 32
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3  # Landlock access bits
_NET_TCP, _SCOPES = 0b11, 0b11  # bind and connect; abstract sockets and signals
_SET_PDEATHSIG, _SET_SECCOMP, _SET_NO_NEW_PRIVS = 1, 22, 38  # prctl options
_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446  # Landlock system calls, alike on every machine
_CAPSET = {"x86_64": 126, "aarch64": 91}
_FOREIGN_PACKAGES = ("site-packages", "dist-packages")


@functools.cache
def _libc() -> Any:
    import ctypes  # some Pythons are built without it; the report then says so

    return ctypes.CDLL(None, use_errno=True)


def _call(name: str, *arguments: Any) -> Callable[[], int]:
    """A libc function with its arguments converted already, to be called later; that raises ``OSError``."""
    import ctypes

    function, errno_of = getattr(_libc(), name), ctypes.get_errno
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]

    def call() -> int:
        result: int = function(*words)
        if result < 0:
            code = errno_of()
            raise OSError(code, os.strerror(code))
        return result

    return call


def _syscall(number: int, *arguments: Any) -> int:
    return _call("syscall", number, *arguments)()


def _prctl(option: int, value: Any, extra: Any = 0) -> Callable[[], int]:
    return _call("prctl", option, value, extra, 0, 0)


def readable_paths() -> dict[str, int]:
    """Path -> Landlock access: the standard library without installed packages, which may hold data sets."""
    paths: dict[str, int] = {}
    for folder in filter(os.path.isdir, sys.path):
        if folder in paths:  # it lies in one that came before; every rule costs each session time
            continue
        paths[folder] = _READ_DIR
        for entry in os.scandir(folder):
            known = entry.name not in _FOREIGN_PACKAGES
            if known and os.path.exists(entry.path):  # distributions link files that may not be there
                paths[entry.path] = _READ_FILE | (_READ_DIR if entry.is_dir() else 0)
    return paths


def landlock_ruleset() -> int:
    """A ruleset descriptor that allows reading ``readable_paths()`` and nothing else; raises ``OSError``."""
    abi = _syscall(_CREATE, 0, 0, 1)
    fs_bits = 13 + (abi >= 2) + (abi >= 3) + (abi >= 5)
    attributes = struct.pack("<QQQ", (1 << fs_bits) - 1, _NET_TCP, _SCOPES)
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    ruleset = _syscall(_CREATE, attributes, size, 0)
    for path, access in readable_paths().items():
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            _syscall(_ADD_RULE, ruleset, 1, struct.pack("<Qi", access, handle), 0)
        finally:
            os.close(handle)
    return ruleset


def _no_new_privileges() -> Callable[[], int]:
    return _prctl(_SET_NO_NEW_PRIVS, 1)


def restrict_files(ruleset: int) -> Callable[[], int]:
    """What puts the calling process under a Landlock ruleset."""
    return _call("syscall", _RESTRICT, ruleset, 0)


def filter_syscalls(program: bytes) -> Callable[[], int]:
    """What puts the calling process under a seccomp program."""
    import ctypes

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))  # keeps the program alive

    return _prctl(_SET_SECCOMP, 2, ctypes.byref(Program(len(program) // 8, program)))


def drop_privileges() -> list[Callable[[], int]]:
    """What leaves no new privileges, no capabilities, and no life without the parent process (Linux)."""
    calls = [_no_new_privileges(), _prctl(_SET_PDEATHSIG, int(signal.SIGKILL))]
    number = _CAPSET.get(platform.machine())
    if number is not None:
        calls.append(_call("syscall", number, struct.pack("<Ii", 0x20080522, 0), bytes(24)))
    return calls


def set_rlimits(cpu_s: int, memory_mb: int) -> None:
    """CPU time (one second from SIGXCPU to SIGKILL), address space, no file writing, no core, few files."""
    wanted = {
        "RLIMIT_CPU": (cpu_s, cpu_s + 1),
        "RLIMIT_AS": (memory_mb << 20, memory_mb << 20),
        "RLIMIT_FSIZE": (0, 0),
        "RLIMIT_CORE": (0, 0),
        "RLIMIT_NOFILE": (OPEN_FILES, OPEN_FILES),
        "RLIMIT_NPROC": (0, 0),
    }
    for name, pair in wanted.items():
        kind = getattr(resource, name, None)
        if kind is None:
            continue
        try:
            resource.setrlimit(kind, pair)
        except (OSError, ValueError):
            if LINUX:  # macOS knows RLIMIT_AS but refuses it
                raise


def _trial(calls: list[Callable[[], int]], must_fail: Callable[[], object]) -> str:
    """Make ``calls`` in a child and see that it bites. "ok", or why not."""
    pid = os.fork()
    if pid == 0:
        code = 255
        try:
            for call in calls:
                call()
            try:
                must_fail()
                code = 254
            except PermissionError:
                code = 0
        except OSError as error:
            code = min(error.errno or 255, 255)
        finally:
            os._exit(code)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status == 0:
        return "ok"
    return {254: "accepted, but without effect", 255: "failed"}.get(status) or (
        f"killed by signal {-status}" if status < 0 else os.strerror(status)
    )


class Confinement:
    """What this machine offers, found once; ``apply`` puts it on the calling process for good.

    All that can be prepared is prepared here, before the forks: a session only makes the calls. Where the
    filter works, Landlock is put on this process itself, which sessions inherit: its rules are many, and
    what it would say between sessions (no signals, no tracing) the filter says already.
    """

    def __init__(self) -> None:
        """Try each mechanism in a child process."""
        self.report = {"landlock": "Linux only", "seccomp": "Linux only"}
        """Mechanism -> "ok" or why it is missing."""
        self._landlock: list[Callable[[], int]] = []
        self._privileges: list[Callable[[], int]] = []
        self._seccomp: list[Callable[[], int]] = []
        if not LINUX:
            return
        try:
            calls = [_no_new_privileges(), restrict_files(landlock_ruleset())]
            self.report["landlock"] = _trial(calls, lambda: os.listdir("/"))
            self._landlock = calls if self.report["landlock"] == "ok" else []
        except (OSError, ImportError) as error:
            self.report["landlock"] = str(error)
        try:
            program = syscalls.program(platform.machine(), files=bool(self._landlock))
            calls = [_no_new_privileges(), filter_syscalls(program)]
            self.report["seccomp"] = _trial(calls, socket.socket)
            self._seccomp = calls if self.report["seccomp"] == "ok" else []
        except (OSError, ImportError) as error:
            self.report["seccomp"] = str(error)
        if "ok" in self.report.values():
            self._privileges = drop_privileges()
        if self._seccomp:  # the filter keeps sessions apart, so the file rules can be put on all at once
            for call in self._landlock:
                call()
            self._landlock = []

    def apply(self, keep: int, cpu_s: int, memory_mb: int) -> None:
        """Confine the calling process and close every descriptor but ``keep``; raises ``OSError``."""
        for call in self._landlock:
            call()
        os.closerange(0, keep)
        os.closerange(keep + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        set_rlimits(cpu_s, memory_mb)
        for call in self._privileges + self._seccomp:
            call()

"""The parent of all sessions: forks one process per session on request, ends it on request.

It runs the boot text once (trusted, and the same for all), but never foreign code, and never sees a
session's source or messages (those go over a socket that is only handed through), so a forked session
inherits nothing of another one, not even in freed memory.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import signal
import socket
import sys
from types import ModuleType
from typing import Any

from . import session
from .confine import Confinement

PRELOAD = """
    abc array ast base64 bisect bz2 calendar cmath collections collections.abc contextlib copy csv
    dataclasses datetime decimal difflib enum fractions functools hashlib heapq inspect io itertools json
    keyword linecache lzma math numbers operator random re secrets statistics string struct textwrap time
    timeit traceback types typing unicodedata uuid warnings zlib
""".split()  # noqa: SIM905 (a list of quoted names reads worse)
"""Imported once for all sessions: faster, and some need shared libraries that sessions cannot read."""


def _end(pid: int) -> dict[str, object]:
    """Kill a session and reap it; one that had ended before keeps its own exit status."""
    os.kill(pid, signal.SIGKILL)
    _, status, usage = os.wait4(pid, 0)
    return {"exit": os.waitstatus_to_exitcode(status), "cpu_s": usage.ru_utime + usage.ru_stime}


def _load(boot_text: str) -> tuple[Any, str]:
    """The boot's ``session`` and nothing, or None and why it failed, which each session then reports."""
    module = sys.modules["boot"] = ModuleType("boot")
    try:
        exec(compile(boot_text, "<boot>", "exec", dont_inherit=True), module.__dict__)
        return module.session, ""
    except BaseException as error:
        return None, repr(error)


def _prepare(boot_text: str) -> tuple[Any, str]:
    """Bring this process into the state that every session starts from; returns what ``_load`` does."""
    os.environ.clear()
    sys.stdin = sys.__stdin__ = None  # type: ignore[misc]
    sys.modules["__main__"] = ModuleType("__main__")
    for name in PRELOAD:
        with contextlib.suppress(ImportError):  # a Python may be built without bz2 or lzma
            importlib.import_module(name)
    return _load(boot_text)


def main(boot_text: str, limits: dict[str, int]) -> None:
    """Serve requests on descriptor 0 until the other side closes it."""
    control = socket.socket(fileno=0)
    begin, broken = _prepare(boot_text)
    confinement = Confinement()
    alive: set[int] = set()
    gc.collect()
    gc.freeze()  # collections in a session would otherwise write to, and so copy, all shared pages
    control.sendall(json.dumps(confinement.report).encode() + b"\n")
    while True:
        data, descriptors, _, _ = socket.recv_fds(control, 4096, 1)
        if not data:
            break
        request = json.loads(data)
        if request["op"] == "fork":
            pid = os.fork()
            if pid == 0:
                session.run(descriptors[0], confinement, begin, broken, limits)
            os.close(descriptors[0])
            alive.add(pid)
            answer: dict[str, object] = {"pid": pid}
        else:
            answer = _end(request["pid"])
            alive.discard(request["pid"])
        control.sendall(json.dumps(answer).encode() + b"\n")
    for pid in alive:
        _end(pid)

"""A worker process that can be killed: runs one function under hard limits of time and memory.

Works from any thread, needs no signals in the parent, and never leaves a stuck process behind. It
limits time and memory only; it is no sandbox for code that nobody trusts.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import selectors
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import IO, NoReturn

START_LIMIT_S = 120.0
"""How long a child may take to import its function; not part of any call's limit."""
ORPHAN_GRACE_S = 1.0
"""A child whose parent is gone ends itself this long after the call's limit."""


class WorkerError(Exception):
    """Base of everything that can go wrong in a call."""


class WorkerTimeout(WorkerError):
    """The call ran past its limit; its process was killed and replaced."""


class WorkerDied(WorkerError):
    """The process ended without an answer (out of memory, crash); it was replaced."""


class WorkerFault(WorkerError):
    """The function raised, or returned something that is not finite JSON; the process lives on."""


class _Child:
    """One process and its pipes."""

    def __init__(self, target: str, memory_mib: int, warm_up: str) -> None:
        root = str(Path(__file__).resolve().parents[1])
        path = os.pathsep.join(part for part in (root, os.environ.get("PYTHONPATH", "")) if part)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "envs.worker", target, str(memory_mib), warm_up],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
            cwd=root,
            start_new_session=True,  # a Ctrl-C is for us, who then end it
        )
        self._buffer = b""
        self._ready = False

    @property
    def pid(self) -> int:
        return self._process.pid

    def alive(self) -> bool:
        return self._process.poll() is None

    def wait_ready(self) -> None:
        """Wait for the import to finish; raises ``WorkerFault`` with the reason when it failed."""
        if not self._ready:
            _unwrap(self._read_line(START_LIMIT_S))
            self._ready = True

    def ask(self, request: str, limit_s: float) -> object:
        """One reply; raises every ``WorkerError``."""
        pipe = _pipe(self._process.stdin)
        try:
            pipe.write(request.encode() + b"\n")
            pipe.flush()
        except BrokenPipeError as error:
            raise WorkerDied(f"worker {self.pid} ended before it took the request") from error
        return _unwrap(self._read_line(limit_s))

    def _read_line(self, limit_s: float) -> bytes:
        """One line of the child's output; raises ``WorkerTimeout`` or ``WorkerDied``."""
        deadline = time.monotonic() + limit_s
        pipe = _pipe(self._process.stdout)
        with selectors.DefaultSelector() as selector:
            selector.register(pipe, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                left = deadline - time.monotonic()
                if left <= 0 or not selector.select(left):
                    raise WorkerTimeout(f"no answer within {limit_s:g} s")
                chunk = os.read(pipe.fileno(), 1 << 16)
                if not chunk:
                    status = self._process.wait()
                    if status == -signal.SIGPROF:
                        raise WorkerTimeout("no answer within the limit of processor time")
                    raise WorkerDied(f"worker ended with status {status} before it answered")
                self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def kill(self) -> None:
        """End the process and reap it; safe to call twice."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(BrokenPipeError):  # unsent bytes of a request nobody will read
                _pipe(pipe).close()


class Worker:
    """Runs ``module:function`` on JSON-able positional arguments in a process that can be killed.

    One call at a time; threads queue up and their waiting does not count. Beside the working process
    there is a warm spare, so that the call after a kill need not wait for imports. Processes start at
    the first call.
    """

    def __init__(
        self, target: str, *, memory_mib: int = 2048, warm_up: Sequence[object] | None = None
    ) -> None:
        """Set up, start nothing.

        ``target``: ``package.module:function``. ``memory_mib``: address space limit of a process.
        ``warm_up``: arguments of one call that each new process makes before it is ready (lazy imports).
        """
        self._target = target
        self._memory_mib = memory_mib
        self._warm_up = json.dumps(warm_up)
        self._children: list[_Child] = []
        self._lock = threading.Lock()
        self._closed = False
        self._finalizer = weakref.finalize(self, _kill_all, self._children)

    def call(self, *args: object, limit_s: float, cpu_limit_s: float | None = None) -> object:
        """Return what the function returns.

        ``limit_s`` is wall-clock seconds for the function alone; ``cpu_limit_s``, if given, is seconds of
        processor time, which does not depend on what else the machine is doing. Raises
        ``WorkerTimeout``, ``WorkerDied`` or ``WorkerFault``; the next call works after each of them.
        """
        request = json.dumps({"args": args, "limit_s": limit_s, "cpu_limit_s": cpu_limit_s or 0})
        with self._lock:
            if self._closed:
                raise RuntimeError(f"the worker for {self._target} is closed; make a new one")
            child = self._take()
            try:
                return child.ask(request, limit_s)
            except WorkerFault:
                raise
            except BaseException:  # also an interrupt: a late answer must not be read by the next call
                self._drop(child)
                self._fill()
                raise

    def pids(self) -> list[int]:
        """Process ids in service: the working one first, then the spare."""
        return [child.pid for child in self._children]

    def close(self) -> None:
        """End all processes; later calls raise ``RuntimeError``. Happens by itself at interpreter exit."""
        with self._lock:
            self._closed = True
            self._finalizer()

    def _take(self) -> _Child:
        """The working child, ready; one that died while idle is replaced without a word."""
        for child in [child for child in self._children if not child.alive()]:
            self._drop(child)
        first = not self._children
        self._fill()
        # A spare that is still importing would slow the first timed call, so that one waits for both.
        for child in self._children[: 2 if first else 1]:
            try:
                child.wait_ready()
            except BaseException:
                self._drop(child)
                raise
        return self._children[0]

    def _fill(self) -> None:
        while len(self._children) < 2:
            self._children.append(_Child(self._target, self._memory_mib, self._warm_up))

    def _drop(self, child: _Child) -> None:
        self._children.remove(child)
        child.kill()


def _kill_all(children: list[_Child]) -> None:
    while children:
        children.pop().kill()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise RuntimeError("a worker process was started without pipes")
    return pipe


def _unwrap(line: bytes) -> object:
    reply = json.loads(line)
    if "fault" in reply:
        raise WorkerFault(reply["fault"])
    return reply["value"]


def _reply(out: IO[str], **body: object) -> None:
    out.write(json.dumps(body, allow_nan=False) + "\n")
    out.flush()


def _serve(target: str, memory_mib: int, warm_up: list[object] | None) -> NoReturn:
    """The child's life: import, say so, then one reply per request line until standard input ends."""
    resource.setrlimit(resource.RLIMIT_AS, (memory_mib << 20, memory_mib << 20))
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever the function prints must not mix with replies
    try:
        module, _, name = target.partition(":")
        function = getattr(importlib.import_module(module), name)
        if warm_up is not None:
            function(*warm_up)
    except Exception as error:
        _reply(out, fault=f"cannot load {target!r}: {type(error).__name__}: {error}")
        sys.exit(1)
    _reply(out, value=None)
    for line in sys.stdin:
        request = json.loads(line)
        # The default action of SIGALRM ends the process even inside one long C call, so a child whose
        # parent was killed in the middle of a request does not run on for ever.
        signal.setitimer(signal.ITIMER_REAL, request["limit_s"] + ORPHAN_GRACE_S)
        signal.setitimer(signal.ITIMER_PROF, request["cpu_limit_s"])
        try:
            _reply(out, value=function(*request["args"]))
        except Exception as error:
            _reply(out, fault=f"{type(error).__name__}: {error}"[:500])
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_PROF, 0)
    os._exit(0)


if __name__ == "__main__":
    _serve(sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3]))

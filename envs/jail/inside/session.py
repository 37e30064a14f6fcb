"""One session: after the fork, confine this process and step the boot's generator on the foreign source.

Speaks JSON lines over one descriptor. Knows nothing of what the boot text does with the foreign source.
"""

from __future__ import annotations

import json
import os
import random
import sys
import traceback
from typing import Any, NoReturn

from .confine import Confinement

_OURS = ("<jail", "<boot")
_DETAIL_LINES, _DETAIL_CHARS = 5, 800
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


class Channel:
    """JSON lines over a descriptor, with plain reads and writes (the filter forbids socket calls)."""

    def __init__(self, descriptor: int, message_bytes: int) -> None:
        """``message_bytes``: longest message that may be sent."""
        self._descriptor = descriptor
        self._message_bytes = message_bytes
        self._buffer = bytearray()

    def receive(self) -> Any:
        """The next message; ends the process when the other side is gone."""
        while b"\n" not in self._buffer:
            block = os.read(self._descriptor, 1 << 16)
            if not block:
                os._exit(0)
            self._buffer += block
        line, _, rest = bytes(self._buffer).partition(b"\n")
        self._buffer = bytearray(rest)
        return json.loads(line)

    def send(self, message: dict[str, object]) -> None:
        """Write one message; raises ``ValueError``, ``TypeError`` or ``RecursionError`` if that cannot be."""
        line = _encode(message).encode() + b"\n"
        if len(line) > self._message_bytes:
            raise ValueError(f"a message of {len(line)} bytes; at most {self._message_bytes} are allowed")
        view = memoryview(line)
        while view:
            view = view[os.write(self._descriptor, view) :]

    def fail(self, fault: str, detail: str) -> NoReturn:
        """Report a fault and end the process, so that foreign code cannot go on by catching something."""
        text = detail.encode(errors="replace").decode()[-_DETAIL_CHARS:]
        self.send({"kind": "error", "value": fault, "detail": text})
        os._exit(1)


class Sink:
    """Stands for stdout and stderr: counts, keeps nothing, ends the session when too much was written."""

    encoding = "utf-8"
    errors = "replace"
    closed = False

    def __init__(self, channel: Channel, limit: int) -> None:
        """``limit``: characters."""
        self._channel = channel
        self._limit = limit
        self.written = 0

    def write(self, text: str) -> int:
        """Count the characters."""
        self.written += len(text)
        if self.written > self._limit:
            self._channel.fail("output", f"more than {self._limit} characters were printed")
        return len(text)

    def flush(self) -> None:
        """Nothing is held back."""

    def isatty(self) -> bool:
        """Never a terminal."""
        return False

    def writable(self) -> bool:
        """Always."""
        return True


def _explain(error: BaseException) -> str:
    """The end of the traceback, without the frames of the jail itself."""
    try:
        told = traceback.TracebackException.from_exception(error, limit=-20)
        kept = [frame for frame in told.stack if not frame.filename.startswith(_OURS)]
        told.stack = traceback.StackSummary.from_list(kept[-2:])
        lines = "".join(told.format(chain=False)).rstrip().splitlines()
    except Exception:  # a foreign exception class may break the formatting of its own error
        return type(error).__name__
    return "\n".join(line for line in lines[-_DETAIL_LINES:] if not line.startswith("Traceback"))


def _step_all(channel: Channel, steps: Any) -> None:
    """Drive the boot's generator to its end, one message per step."""
    value: Any = None
    while True:
        try:
            message = {"kind": "yield", "value": steps.send(value)}
        except StopIteration as stop:
            message = {"kind": "return", "value": stop.value}
        try:
            channel.send(message)
        except (TypeError, ValueError, RecursionError) as error:
            channel.fail("protocol", f"the {message['kind']} value cannot be sent: {error}")
        if message["kind"] == "return":
            return
        value = channel.receive()["send"]


def run(
    descriptor: int, confinement: Confinement, begin: Any, broken: str, limits: dict[str, int]
) -> NoReturn:
    """Become a session; never returns to the zygote's code.

    ``begin``: the boot's generator function; ``broken``: why there is none, or empty.
    """
    channel = Channel(descriptor, limits["message_bytes"])
    sink = Sink(channel, limits["output_chars"])
    try:
        sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = sink  # type: ignore[assignment, misc]
        confinement.apply(descriptor, limits["cpu_s"], limits["memory_mb"])
    except BaseException as error:
        channel.fail("jail", repr(error))
    if broken:
        channel.fail("jail", broken)
    channel.send({"kind": "ready"})
    _serve(channel, begin)
    os._exit(0)


def _serve(channel: Channel, begin: Any) -> None:
    """Everything from the first foreign instruction on; each way to end becomes one message."""
    reserve: list[bytes] = [bytes(1 << 20)]  # lets the report be written when memory has run out
    first = channel.receive()
    random.seed(first["seed"])
    try:
        _step_all(channel, begin(first["source"], first["payload"]))
    except MemoryError:
        reserve.clear()
        channel.fail("memory", "the memory limit was reached")
    except SystemExit:
        channel.fail("died", "the code ended its process (sys.exit)")
    except BaseException as error:
        reserve.clear()
        channel.fail("exception", _explain(error))

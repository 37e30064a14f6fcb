"""The jail's nouns, and the parent's half of the wire: bytes from a session become checked values.

Everything a session sends is foreign data: it may be cut, huge, too deep or forged.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, NoReturn


@dataclass(frozen=True, slots=True)
class Limits:
    """What one session may use."""

    cpu_s: int = 5
    """Processor time of a whole session, in whole seconds."""
    wall_s: float = 20.0
    """Longest wait of one ``collect`` for a step, in seconds; far above ``cpu_s`` it stops only sleepers."""
    memory_mb: int = 512
    """Address space of a session, in MiB; the interpreter itself takes about 40."""
    output_chars: int = 20_000
    """Characters a session may print in all (they are counted and dropped)."""
    message_bytes: int = 1 << 20
    """Largest message from a session, in bytes of JSON."""


class Fault(StrEnum):
    """Why a session ended without returning. Only ``jail`` is not the foreign code's doing."""

    EXCEPTION = "exception"
    TIME = "time"
    MEMORY = "memory"
    OUTPUT = "output"
    DIED = "died"
    PROTOCOL = "protocol"
    """A message that is too big, not JSON, or not allowed at this point."""
    JAIL = "jail"
    """The jail itself broke: an infrastructure failure."""


@dataclass(frozen=True, slots=True)
class Event:
    """The outcome of one step of one session."""

    key: str
    kind: Literal["yield", "return", "error"]
    value: object
    """The value yielded or returned, or a ``Fault``."""
    detail: str = ""
    """For errors: the end of the traceback or the reason."""


_SAID_BY_SESSION = {fault.value for fault in Fault} - {Fault.TIME.value, Fault.JAIL.value}


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def decode(line: bytes) -> dict[str, Any]:
    """One line as an object whose strings are all valid Unicode; raises ``ValueError``."""
    try:
        message = json.loads(line.decode("utf-8"), parse_constant=_no_constant)
        if b"\\u" in line:  # an escaped lone surrogate would fail later, when it is written somewhere
            json.dumps(message, ensure_ascii=False).encode("utf-8")
    except RecursionError as error:
        raise ValueError("a message nested too deeply") from error
    if not isinstance(message, dict):
        raise ValueError(f"a message must be an object, got {type(message).__name__}")
    return message


def event_of(key: str, message: dict[str, Any]) -> Event:
    """The event that a session's message stands for; raises ``ValueError`` if it is none."""
    kind, value = message.get("kind"), message.get("value")
    if kind == "yield" or kind == "return":
        return Event(key, kind, value)
    if kind == "error" and value in _SAID_BY_SESSION:
        return Event(key, "error", Fault(value), str(message.get("detail", "")))
    raise ValueError(f"a message of kind {kind!r}; allowed are yield, return, error")


class LineBuffer:
    """Collects bytes until a line is complete."""

    def __init__(self, limit: int) -> None:
        """``limit``: longest line, in bytes."""
        self._limit = limit
        self._bytes = bytearray()

    def feed(self, block: bytes) -> None:
        """Add received bytes."""
        self._bytes += block

    def take(self) -> bytes | None:
        """The next complete line, or None; raises ``ValueError`` if it is longer than the limit."""
        end = self._bytes.find(b"\n")
        if (len(self._bytes) if end < 0 else end) > self._limit:
            raise ValueError(f"a message of more than {self._limit} bytes")
        if end < 0:
            return None
        line = bytes(self._bytes[:end])
        del self._bytes[: end + 1]
        return line

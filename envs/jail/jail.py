"""Sessions of foreign Python code in a jailed process tree, stepped together and collected in order.

What a session does with its source is the boot text's business. Not safe for use from several threads;
with bubblewrap, the thread that made the jail must live as long as the jail.
"""

from __future__ import annotations

import json
import select
import signal
import socket
import time
import warnings
from dataclasses import dataclass, field
from types import TracebackType

from envs.base import InputError
from envs.jail import tiers
from envs.jail.process import JailBroken, Zygote
from envs.jail.wire import Event, Fault, Limits, LineBuffer, decode, event_of

__all__ = ["Event", "Fault", "Jail", "Limits", "available"]


@dataclass
class _Session:
    zygote: Zygote | None
    """None when the jail broke before or under the session."""
    pid: int
    socket: socket.socket | None
    inbox: LineBuffer
    outbox: bytearray = field(default_factory=bytearray)
    ready: bool = False
    running: bool = True
    event: Event | None = None
    """The step's outcome, until it is collected."""


def _open(isolation: str | None, boot: str, limits: Limits) -> tuple[str, Zygote]:
    """Start a zygote in the wanted tier, or in the best that works."""
    reasons = {}
    for tier in tiers.TIERS if isolation is None else (isolation,):
        try:
            return tier, Zygote(tier, boot, limits)
        except tiers.TierError as error:
            reasons[tier] = str(error)
    raise InputError(
        "no jail for foreign code: " + "; ".join(f"{tier}: {reason}" for tier, reason in reasons.items())
        + f"; allowed are {', '.join(tiers.TIERS)}, or None for the best that works"
    )  # fmt: skip


def _ready(waiting: list[tuple[str, _Session]], timeout_s: float) -> set[int]:
    """The descriptors of sessions that can be read, or written where something is left to write."""
    poller = select.poll()
    for _, session in waiting:
        if session.socket is not None:
            poller.register(session.socket, select.POLLIN | (select.POLLOUT if session.outbox else 0))
    return {descriptor for descriptor, _ in poller.poll(timeout_s * 1000)}


def available() -> dict[str, str]:
    """Each isolation tier, best first: "ok", or why it cannot be used here (found by starting it)."""
    found = {}
    for tier in tiers.TIERS:
        try:
            Zygote(tier, "", Limits()).close()
            found[tier] = "ok"
        except tiers.TierError as error:
            found[tier] = str(error)
    return found


class Jail:
    """Runs sessions: ``start`` and ``send`` begin a step, ``collect`` waits for all steps begun."""

    def __init__(self, boot: str, limits: Limits = Limits(), isolation: str | None = None) -> None:  # noqa: B008
        """``boot``: trusted source that defines ``session(source, payload)``, a generator function.

        ``isolation``: a tier of ``tiers.TIERS``, None for the best that works here. Raises ``InputError``
        if it does not work; warns once where the tier leaves something open.
        """
        self.limits = limits
        self._boot = boot
        self._sessions: dict[str, _Session] = {}
        self._zygote: Zygote | None
        self.isolation, self._zygote = _open(isolation, boot, limits)
        self._closed = False
        if self._zygote.open_ends:
            told = "; ".join(self._zygote.open_ends)
            warnings.warn(f"jail tier {self.isolation!r} does not isolate: {told}", stacklevel=2)

    def start(self, key: str, source: str, payload: object, seed: int = 0) -> None:
        """Begin a session and its first step. ``payload`` must be JSON-able; ``seed`` is that of ``random``."""
        if self._closed:
            raise RuntimeError("the jail is closed")
        if key in self._sessions:
            raise ValueError(f"session {key!r} is still alive; stop it first")
        first = json.dumps({"seed": seed, "source": source, "payload": payload}).encode() + b"\n"
        inbox = LineBuffer(self.limits.message_bytes)
        ours, theirs = socket.socketpair()
        try:
            if self._zygote is None:
                self._zygote = Zygote(self.isolation, self._boot, self.limits)
            pid = self._zygote.fork(theirs.fileno())
        except (JailBroken, tiers.TierError) as error:
            ours.close()
            self._sessions[key] = _Session(None, 0, None, inbox)
            self._break(str(error))
            return
        finally:
            theirs.close()
        ours.setblocking(False)
        self._sessions[key] = _Session(self._zygote, pid, ours, inbox, bytearray(first))

    def send(self, key: str, value: object) -> None:
        """Answer a session's yield, which begins its next step. ``value`` must be JSON-able."""
        session = self._sessions.get(key)
        if session is None:
            raise KeyError(f"no session {key!r}; it was never started, or it is over")
        if session.running:
            raise ValueError(f"session {key!r} is running a step; collect its event first")
        session.outbox += json.dumps({"send": value}).encode() + b"\n"
        session.running = True
        if session.zygote is None:
            session.event = Event(key, "error", Fault.JAIL, "the zygote died between two steps")

    def stop(self, key: str) -> None:
        """End a session without an event; nothing happens if it is over."""
        session = self._sessions.pop(key, None)
        if session is not None:
            self._end(session)

    def collect(self) -> list[Event]:
        """Wait until every running session has its event; they come in the order of ``start``."""
        deadline = time.monotonic() + self.limits.wall_s
        while waiting := [(key, s) for key, s in self._sessions.items() if s.running and s.event is None]:
            left_s = deadline - time.monotonic()
            ready = _ready(waiting, max(0.0, left_s))
            for key, session in waiting:
                if session.event is None and session.socket and session.socket.fileno() in ready:
                    self._advance(key, session)
                if session.event is None and left_s <= 0:
                    reason = f"no answer within {self.limits.wall_s} s"
                    self._finish(key, Event(key, "error", Fault.TIME, reason))
        events = [s.event for s in self._sessions.values() if s.running and s.event is not None]
        for event in events:
            self._sessions[event.key].running = False
            self._sessions[event.key].event = None
            if event.kind != "yield":
                self.stop(event.key)
        return events

    def _advance(self, key: str, session: _Session) -> None:
        """Move bytes for one session, and settle its step when its message is complete."""
        assert session.socket is not None
        gone = False
        try:
            if session.outbox:
                del session.outbox[: session.socket.send(session.outbox)]
            block = session.socket.recv(1 << 16)
            session.inbox.feed(block)
            gone = not block
        except BlockingIOError:
            pass
        except ConnectionError:
            session.outbox.clear()  # the other side is gone, but what it said last may still be read
        self._read(key, session)
        if session.event is None and gone:
            self._finish(key, self._death(key, session))

    def _read(self, key: str, session: _Session) -> None:
        """Take the complete messages that have arrived: first "ready", then one per step."""
        try:
            while session.event is None and (line := session.inbox.take()) is not None:
                message = decode(line)
                if session.ready:
                    session.event = event_of(key, message)
                elif message.get("kind") == "ready":
                    session.ready = True
                else:  # sent before any foreign code ran
                    session.event = Event(key, "error", Fault.JAIL, str(message.get("detail", message)))
        except ValueError as error:
            session.event = Event(key, "error", Fault.PROTOCOL, str(error))
        if session.event is not None and session.event.kind != "yield":
            self._finish(key, session.event)

    def _death(self, key: str, session: _Session) -> Event:
        """The event of a session that ended without a message."""
        try:
            assert session.zygote is not None
            code, cpu_s = session.zygote.end(session.pid)
            session.pid = 0
        except JailBroken as error:
            self._break(str(error))
            return Event(key, "error", Fault.JAIL, str(error))
        if not session.ready:
            return Event(key, "error", Fault.JAIL, f"the session ended with {code} before it was ready")
        if code == -signal.SIGXCPU or cpu_s >= self.limits.cpu_s:
            return Event(key, "error", Fault.TIME, f"more than {self.limits.cpu_s} s of processor time")
        how = f"killed by signal {-code}" if code < 0 else f"exit status {code}"
        return Event(key, "error", Fault.DIED, f"the session's process ended: {how}")

    def _finish(self, key: str, event: Event) -> None:
        """Settle a session for good and free its process."""
        session = self._sessions[key]
        session.event = event
        self._end(session)

    def _end(self, session: _Session) -> None:
        if session.socket is not None:
            session.socket.close()
            session.socket = None
        if session.zygote is not None and session.pid:
            try:
                session.zygote.end(session.pid)
            except JailBroken as error:
                self._break(str(error))
            session.pid = 0

    def _break(self, reason: str) -> None:
        """The zygote is lost: every session without an outcome gets ``Fault.JAIL``."""
        if self._zygote is not None:
            self._zygote.close(patience_s=0.0)
            self._zygote = None
        for key, session in self._sessions.items():
            session.zygote = None
            session.pid = 0
            if session.running and session.event is None:
                session.event = Event(key, "error", Fault.JAIL, reason)

    def close(self) -> None:
        """End all sessions and the zygote."""
        self._closed = True
        for session in self._sessions.values():
            if session.socket is not None:
                session.socket.close()
        self._sessions.clear()
        if self._zygote is not None:
            self._zygote.close()
            self._zygote = None

    def __enter__(self) -> Jail:
        """The jail itself; leaving the block closes it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()

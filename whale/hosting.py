"""Runs harnesses in a jail and speaks in the contract's nouns: the parent's side of ``harness_boot``.

It does not run model calls or tools and knows no gold. What comes out of the jail is checked again here,
because a harness could forge messages.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from envs.jail.jail import Event, Fault, Jail, Limits
from whale.contract import Chat, Message, Problem, Reply, Tool
from whale.harness_boot import MAX_MESSAGES, MAX_SAMPLES

_HERE = Path(__file__).parent
_ROLES: dict[str, Literal["system", "user", "assistant"]] = {
    "system": "system", "user": "user", "assistant": "assistant",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class HostEvent:
    """What a harness did in one step; exactly the field that belongs to ``kind`` is set."""

    key: str
    kind: Literal["chat", "tool", "answer", "fault"]
    chat: Chat | None = None
    tool: Tool | None = None
    answer: str | None = None
    fault: str | None = None
    """A value of ``envs.jail.jail.Fault``; only ``jail`` is not the harness's own doing."""
    detail: str = ""
    """For faults: the end of the traceback or the reason."""


def boot_text() -> str:
    """The source that is run once in a jail, before any harness."""
    contract = (_HERE / "contract.py").read_text(encoding="utf-8")
    boot = (_HERE / "harness_boot.py").read_text(encoding="utf-8")
    return f"{boot}\nCONTRACT = load_contract({contract!r})\n"


def check_source(source: str) -> str | None:
    """Why a harness's source cannot work, or None; reads it without running it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a foreign "\d" is none of our terminal's business
            tree = ast.parse(source)
    except SyntaxError as error:
        return f"it does not parse: line {error.lineno}: {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:
        return f"it does not parse: {type(error).__name__}: {error}"
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    found = [node for node in functions if node.name == "solve"]
    if not found:
        return "it has no `def solve(problem)` at its top level"
    last = found[-1]
    if isinstance(last, ast.AsyncFunctionDef):
        return "solve is `async def`; it must be a plain `def` that yields"
    given = last.args
    required = len(given.posonlyargs) + len(given.args) - len(given.defaults)
    keywords = sum(default is None for default in given.kw_defaults)
    if required > 1 or keywords or not (given.posonlyargs or given.args or given.vararg):
        return "solve must be callable with one argument: `def solve(problem)`"
    return None


def _count(value: object, most: int | None = None) -> int:
    if type(value) is not int or value < 1 or (most is not None and value > most):
        raise ValueError(f"a forged count {value!r}")
    return value


def _request(value: Any) -> Chat | Tool:
    """The request in a session's message; raises ``ValueError``, ``TypeError`` or ``KeyError`` if forged."""
    if "tool" in value:
        name, arguments = value["tool"], value["arguments"]
        if not isinstance(name, str) or not isinstance(arguments, dict):
            raise TypeError("a forged tool call")
        return Tool(name, arguments)
    messages = []
    for role, content in value["chat"]:
        if not isinstance(content, str):
            raise TypeError("forged message content")
        messages.append(Message(_ROLES[role], content))
    if not 1 <= len(messages) <= MAX_MESSAGES:
        raise ValueError(f"a forged chat of {len(messages)} messages")
    most = value["max_tokens"]
    return Chat(messages, _count(value["samples"], MAX_SAMPLES), None if most is None else _count(most))


def _host_event(event: Event) -> HostEvent:
    """Translate a jail's event."""
    if event.kind == "error":
        return HostEvent(event.key, "fault", fault=str(event.value), detail=event.detail)
    if event.kind == "return":
        if isinstance(event.value, str):
            return HostEvent(event.key, "answer", answer=event.value)
        return HostEvent(event.key, "fault", fault=str(Fault.PROTOCOL), detail="the answer is not a text")
    try:
        request = _request(event.value)
    except (ValueError, TypeError, KeyError) as error:
        return HostEvent(event.key, "fault", fault=str(Fault.PROTOCOL), detail=f"not a request: {error}")
    if isinstance(request, Chat):
        return HostEvent(event.key, "chat", chat=request)
    return HostEvent(event.key, "tool", tool=request)


class HarnessHost:
    """Steps many harness episodes together: ``start`` and ``send`` begin steps, ``collect`` ends them."""

    def __init__(self, limits: Limits = Limits(), isolation: str | None = None) -> None:  # noqa: B008
        """Start the jail; see ``Jail`` for ``isolation`` and what is raised."""
        self._jail = Jail(boot_text(), limits, isolation)
        self.isolation = self._jail.isolation

    def start(self, key: str, source: str, problem: Problem, seed: int = 0) -> None:
        """Begin an episode. ``seed`` is that of the harness's ``random``: equal seeds repeat exactly."""
        self._jail.start(key, source, {"question": problem.question, "tools": list(problem.tools)}, seed)

    def send(self, key: str, result: Reply | Sequence[Reply] | str) -> None:
        """Give the result of the last request: a reply (a list when samples > 1), or a tool's text."""
        if isinstance(result, str):
            self._jail.send(key, result)
            return
        replies = [result] if isinstance(result, Reply) else result
        body = [[reply.text, reply.cut] for reply in replies]
        self._jail.send(key, {"single": isinstance(result, Reply), "replies": body})

    def stop(self, key: str) -> None:
        """End an episode without an event; nothing happens if it is over."""
        self._jail.stop(key)

    def collect(self) -> list[HostEvent]:
        """Wait for every episode that runs a step; events in the order of ``start``. Faults are final."""
        events = [_host_event(event) for event in self._jail.collect()]
        for event in events:
            if event.kind == "fault":
                self._jail.stop(event.key)
        return events

    def close(self) -> None:
        """End all episodes and the jail."""
        self._jail.close()

    def __enter__(self) -> HarnessHost:
        """The host itself; leaving the block closes it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()

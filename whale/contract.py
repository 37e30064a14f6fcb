"""What a harness may say: the whole vocabulary of the harness contract.

A harness is one Python file with ``def solve(problem)``, a generator. It *yields* ``Chat`` or ``Tool``
and is sent the result; it returns the answer text, which the environment reads and verifies. It owns
prompts, turns, retries and votes, and nothing else: no input or output, no sampling parameters.

This file is standard library only, because its text is also loaded inside the jail.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True)
class Problem:
    """What a harness sees of a task. It has no gold, no id and no split: a leak is impossible by type."""

    question: str
    tools: tuple[str, ...] = ()
    """Names of the tools that ``Tool`` may call."""


@dataclass(frozen=True)
class Message:
    """One turn of a conversation."""

    role: Role
    content: str


def system(content: str) -> Message:
    """A system message."""
    return Message("system", content)


def user(content: str) -> Message:
    """A user message (tool results are given back to the model this way)."""
    return Message("user", content)


def assistant(content: str) -> Message:
    """An assistant message: an earlier reply, or one of a worked example."""
    return Message("assistant", content)


@dataclass(frozen=True)
class Chat:
    """Ask the model. Sent back: one ``Reply`` when ``samples`` is 1, else a list of them."""

    messages: Sequence[Message]
    samples: int = 1
    """Independent replies to the same messages; every one is charged to the rollout's token limit."""
    max_tokens: int | None = None
    """Upper limit for each reply, in tokens; None is whatever the rollout has left."""


@dataclass(frozen=True)
class Tool:
    """Call one of the environment's tools. Sent back: its text (``str``)."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Reply:
    """One answer of the model."""

    text: str
    cut: bool = False
    """True when the reply ran into a token limit, so that it may be incomplete."""


Step = Generator[Chat | Tool, Any, str]
"""What ``solve(problem)`` returns: yields requests, is sent their results, returns the answer text."""

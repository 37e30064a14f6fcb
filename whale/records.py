"""What a run leaves behind: harnesses, model calls, rollouts, spend. Plain frozen records, no behaviour."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from envs.base import Score
from whale.contract import Message

Finish = Literal["stop", "length"]


@dataclass(frozen=True, slots=True)
class Harness:
    """One harness: a Python source file, known by the hash of its text."""

    source: str
    parent: str | None = None
    """Harness id it was made from; None for the starting harness."""
    edit: str = "h0"

    @property
    def id(self) -> str:
        """First 12 hex digits of the text's sha256."""
        return hashlib.sha256(self.source.encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One ``Chat`` of a harness and what the model made of it."""

    messages: tuple[Message, ...]
    prompt_ids: tuple[int, ...]
    completions: tuple[tuple[int, ...], ...]
    """Exact sampled token ids, one tuple a sample (axes: samples, tokens)."""
    texts: tuple[str, ...]
    finishes: tuple[Finish, ...]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call of a harness."""

    name: str
    arguments: str
    """JSON."""
    result: str


@dataclass(frozen=True, slots=True)
class Spend:
    """What something cost, in counts. Adds up with ``+``."""

    rollouts: int = 0
    model_calls: int = 0
    """Every sample of a ``Chat`` counts as one."""
    prompt_tokens: int = 0
    """A prompt shared by the samples of one ``Chat`` counts once."""
    completion_tokens: int = 0
    dollars: float = 0.0

    def __add__(self, other: Spend) -> Spend:
        return Spend(
            self.rollouts + other.rollouts,
            self.model_calls + other.model_calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.dollars + other.dollars,
        )

    @staticmethod
    def of_calls(calls: Sequence[ModelCall]) -> Spend:
        """The spend of one rollout."""
        return Spend(
            rollouts=1,
            model_calls=sum(len(call.completions) for call in calls),
            prompt_tokens=sum(len(call.prompt_ids) for call in calls),
            completion_tokens=sum(len(ids) for call in calls for ids in call.completions),
        )

    @staticmethod
    def total(parts: Iterable[Spend]) -> Spend:
        """The sum of many."""
        return sum(parts, Spend())


@dataclass(frozen=True, slots=True)
class Rollout:
    """One attempt of the agent at one task, complete enough to replay and to train on."""

    task_id: str
    sample: int
    harness_id: str
    weights_id: str
    calls: tuple[ModelCall, ...]
    tools: tuple[ToolCall, ...]
    answer: str | None
    """The text the harness returned; None when it failed."""
    score: Score
    spend: Spend
    error: str = ""
    """Why the harness or the machinery failed; empty otherwise."""

    @property
    def cut(self) -> bool:
        """Whether any reply ran into a token limit; RSFT never trains on such a rollout."""
        return any(finish == "length" for call in self.calls for finish in call.finishes)

    @property
    def key(self) -> tuple[str, str, int]:
        """What tells it from every other rollout of its block."""
        return (self.task_id, self.harness_id, self.sample)

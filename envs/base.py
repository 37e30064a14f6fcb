"""The nouns every environment shares: tasks, splits, verdicts, and the environment protocol.

Nothing here imports another part of the project, and nothing here knows a model exists.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, Protocol, get_args

Split = Literal["weight", "search", "select", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)


class InputError(ValueError):
    """Something the user gave cannot be used; the message says what, what is allowed, and the next step."""


class Verdict(StrEnum):
    """What became of one rollout. Every rollout has exactly one; only ``correct`` scores 1."""

    CORRECT = "correct"
    WRONG = "wrong"
    NO_ANSWER = "no_answer"
    """The text holds no answer in the required form (this includes a harness that failed)."""
    TRUNCATED = "truncated"
    """No answer could be read, and the model was cut by the length limit."""
    VERIFIER_ERROR = "verifier_error"
    """The verifier itself failed or ran into its time limit."""
    INFRA_ERROR = "infra_error"
    """A part outside model and harness failed (a jail or tool server that died)."""


@dataclass(frozen=True, slots=True)
class Task:
    """One question with its gold answer. Never handed to a harness: see ``Problem``."""

    id: str
    """Content hash that includes the split, so equal questions in two splits never share an id."""
    env: str
    split: Split
    question: str
    gold: str
    meta: Mapping[str, str] = field(default_factory=dict)
    """Facts for reports only, such as the family and its difficulty."""

    @staticmethod
    def make(env: str, split: Split, question: str, gold: str, **meta: str) -> Task:
        """Build a task and derive its id from everything that identifies it."""
        body = json.dumps([env, split, question, gold], ensure_ascii=False)
        digest = hashlib.sha256(body.encode()).hexdigest()[:16]
        return Task(digest, env, split, question, gold, meta)


def digests(tasks: Mapping[Split, Sequence[Task]]) -> dict[str, str]:
    """A hash of every split's tasks and golds, in their order: 16 hex digits by name of the split."""
    bodies = {split: json.dumps([(task.id, task.gold) for task in tasks[split]]) for split in SPLITS}
    return {split: hashlib.sha256(body.encode()).hexdigest()[:16] for split, body in bodies.items()}


@dataclass(frozen=True, slots=True)
class Score:
    """The verdict on one answer."""

    verdict: Verdict
    value: float
    """1.0 for ``correct``, else 0.0; always finite."""
    answer: str | None = None
    """The answer as read from the text; None when none could be read."""
    detail: str = ""
    """Why, in a few words, when the verdict is not self-evident."""

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):
            raise ValueError(f"a score must be finite, got {self.value!r}; report it as verifier_error")

    @staticmethod
    def of(verdict: Verdict, answer: str | None = None, detail: str = "") -> Score:
        """The score that belongs to a verdict (1.0 only for ``correct``)."""
        return Score(verdict, 1.0 if verdict is Verdict.CORRECT else 0.0, answer, detail)


class ToolError(Exception):
    """The tool's own machinery failed (not the call's content); the rollout becomes ``infra_error``."""


class Episode(Protocol):
    """One attempt at one task: holds whatever state its tools need."""

    def call(self, tool: str, arguments: Mapping[str, object]) -> str:
        """Run a tool and return what the harness may see.

        Bad arguments come back as text, so that a harness can react; raises ``ToolError`` only when
        the machinery failed.
        """
        ...

    def verify(self, answer: str, *, truncated: bool) -> Score:
        """Judge the harness's final text. ``truncated``: its last model call hit the length limit."""
        ...


class Environment(Protocol):
    """A domain: its tasks, its tools, its verifier."""

    name: str
    tools: tuple[str, ...]
    """Names of the tools a harness may call."""
    chance: float
    """Accuracy a harness reaches when every model reply is noise."""

    def tasks(self, split: Split) -> Sequence[Task]:
        """All tasks of a split, in a fixed order."""
        ...

    def open(self, task: Task) -> Episode:
        """Start one attempt."""
        ...

    def describe(self) -> Mapping[str, object]:
        """Everything that identifies data and grading: data hashes, verifier, versions (goes into results)."""
        ...

    def close(self) -> None:
        """End worker processes; the environment cannot be used afterwards."""
        ...

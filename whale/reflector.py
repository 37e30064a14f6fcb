"""What a reflector is: reads what became of an instruction, writes a better one. It never sees a gold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Feedback:
    """One attempt under an instruction."""

    question: str
    reply: str
    """The model's last one; empty when it was never asked."""
    verdict: str
    note: str
    """What became of the attempt, as a sentence for a model to read."""
    cut: bool
    """Whether a reply ran into a token limit."""
    formed: bool
    """Whether the reply holds an answer in the form that the environment asks for."""


@dataclass(frozen=True)
class Rewrite:
    """A new instruction and what it cost."""

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    dollars: float = 0.0


class Reflector(Protocol):
    """Writes new instructions from feedback on one."""

    name: str
    """Tells it from reflectors that would write something else."""

    def rewrite(self, instruction: str, feedback: Sequence[Feedback], seed: int) -> Rewrite:
        """A new instruction in place of ``instruction``, which all of the feedback was had under.

        The same arguments give the same text for a deterministic reflector.
        """
        ...

"""The engine contract: submit requests, poll for finished completions.

A plain event loop, so continuous batching is natural and the order of results depends on the requests alone,
never on timing. Engines know nothing of harnesses, tasks or scores.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from whale.contract import Message


class EngineError(RuntimeError):
    """The engine cannot serve this call (no weights loaded, or the request cannot fit)."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are drawn; part of the protocol, never of a harness."""

    temperature: float = 1.0
    """0 is greedy."""
    top_p: float = 1.0
    top_k: int = 20
    """0 keeps the whole vocabulary."""


@dataclass(frozen=True, slots=True)
class Request:
    """One completion to make."""

    key: str
    """The caller's name for it; comes back on the completion."""
    prompt_ids: tuple[int, ...]
    max_tokens: int
    seed: int
    """Decides every draw of this completion, whatever else is in the batch."""


@dataclass(frozen=True, slots=True)
class Completion:
    """One finished reply."""

    key: str
    text: str
    """Decoded without special tokens."""
    token_ids: tuple[int, ...]
    """Exactly as sampled; ends with the end-of-turn token when ``finish`` is ``stop``."""
    finish: Literal["stop", "length"]
    weights_id: str
    """The weights it was made with."""
    prompt_tokens: int


class Engine(Protocol):
    """What every engine offers."""

    @property
    def weights_id(self) -> str | None:
        """The weights in force; None before the first load."""
        ...

    def encode(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Token ids of a conversation up to and including the start of the assistant's turn."""
        ...

    def decode(self, token_ids: Sequence[int]) -> str:
        """Text of token ids, special tokens shown (for transcripts)."""
        ...

    def submit(self, request: Request) -> None:
        """Queue a request; raises ``EngineError`` while no weights are loaded."""
        ...

    def poll(self) -> list[Completion]:
        """Work until at least one request is finished; an empty list means that none is left."""
        ...

    def forget(self) -> None:
        """Drop what is kept for later prompts, so that what follows does not depend on what came before."""
        ...


def seed_of(*parts: object) -> int:
    """A 64-bit seed from anything printable: the same parts give the same seed, on every machine."""
    digest = hashlib.sha256(json.dumps([str(part) for part in parts]).encode()).digest()
    return int.from_bytes(digest[:8], "big")

"""What a method can do next: the phases that schedules are made of. Nothing here runs one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from whale.patience import Patience
from whale.settings import LearnerKind

SearchSpace = Literal["code", "text"]
"""What a search may change of a harness: all of it, or its texts alone."""
EvidenceKind = Literal["search", "failures"]
"""What a proposer sees: the rollouts that scored the candidates, or failures only, those of the weight phase first."""


@dataclass(frozen=True, slots=True)
class Train:
    """Phase W: weight steps under the current harness (or prompts), the last one smaller if need be."""

    rollouts: int
    until: Patience | None = None
    """May end it after any step before ``rollouts`` are spent."""
    learner: LearnerKind = "rsft"


@dataclass(frozen=True, slots=True)
class Search:
    """Phase H: a harness search under the current weights."""

    iterations: int
    continued: bool = False
    """Whether the archive of the search before goes on (same weights) instead of a new one."""
    until: Patience | None = None
    """May end it before ``iterations``."""
    space: SearchSpace = "code"
    evidence: EvidenceKind = "search"


@dataclass(frozen=True, slots=True)
class Evolve:
    """The fast half of Fast-Slow Training: evolve prompts on the tasks of the weight steps that come next."""

    calls: int
    """Rollouts; a soft cap, since the library ends an iteration that it has begun."""
    steps: int
    """Weight steps whose tasks are the anchors."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """No change: from here on every question gets several attempts, and a blind selector picks one."""

    count: int


@dataclass(frozen=True, slots=True)
class Refine:
    """No learning: put the profile's hand-made harness in force that asks the model to check its own answer."""


Phase = Train | Search | Evolve | Attempt | Refine

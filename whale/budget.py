"""The tables of a profile that say what phases cost and how much may be spent. Costs are in rollouts."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from whale.patience import Patience


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class WeightSettings(_Table):
    """The ``[weight]`` table of a profile: one weight step."""

    prompts: int = Field(gt=0)
    """Tasks a step."""
    samples: int = Field(gt=0)
    """Rollouts a task."""

    @property
    def step_cost(self) -> int:
        """Rollouts of one weight step."""
        return self.prompts * self.samples


class SearchSettings(_Table):
    """The ``[search]`` table of a profile: one harness search."""

    examples: int = Field(gt=0)
    """Search tasks on which every candidate is scored (D)."""
    candidates: int = Field(gt=0)
    """New harnesses an iteration (M)."""
    accept: Literal["confirm", "argmax"]
    """``confirm``: the best few and the incoming harness meet again on fresh samples; ``argmax`` (the
    published rule): the highest score in the archive is taken."""
    finalists: int = Field(ge=1)
    """Candidates that meet the incoming harness again under ``confirm``."""
    confirm_samples: int = Field(ge=1)
    """Fresh rollouts a search task and finalist under ``confirm``."""

    def cost(self, iterations: int) -> int:
        """Rollouts of a search: the incoming harness, M candidates an iteration, and the confirmation."""
        screen = self.examples * (1 + self.candidates * iterations)
        again = (self.finalists + 1) * self.examples * self.confirm_samples
        return screen + (again if self.accept == "confirm" else 0)

    def iterations_for(self, rollouts: int) -> int:
        """The most iterations that ``rollouts`` pay for; 0 when they do not pay for one."""
        return max(0, (rollouts - self.cost(0)) // (self.examples * self.candidates))


class BudgetSettings(_Table):
    """The ``[budget]`` table of a profile; every method that learns may spend the same."""

    steps: int = Field(gt=0)
    """E: weight steps a phase."""
    iterations: int = Field(gt=0)
    """I: proposing iterations a search."""
    cycles: int = Field(gt=0)
    """Searches of the alternating method; it has one weight phase more."""


class AdaptiveSettings(_Table):
    """The ``[adaptive]`` table of a profile: when the phases of ``whale_adaptive`` stop."""

    weight: Patience
    """On the mean training reward of a step."""
    search: Patience
    """On the best score of the search's archive, the incoming harness included."""
    cap: int = Field(gt=0)
    """Most iterations of a search."""


class FstSettings(_Table):
    """The ``[fst]`` table of a profile: the fast half of Fast-Slow Training."""

    prompts: int = Field(gt=0)
    """K: prompts that are carried from cycle to cycle; the samples of a weight step are split over them."""
    calls: int = Field(gt=1)
    """Metric calls of GEPA a cycle, for every anchor task; one call is one rollout."""
    minibatch: int = Field(gt=0)
    """Anchor tasks on which a new prompt must beat its parent before it meets all of them."""
    reflector: Literal["offline", "chat"]
    """Who rewrites prompts: a program, or a model behind an OpenAI-compatible endpoint (``chat_*``)."""
    chat_url: str = ""
    """Its address, such as ``http://localhost:8000/v1``."""
    chat_model: str = ""
    chat_key: str = ""
    """Name of the environment variable that holds the key; empty where none is needed."""
    chat_price_in: float = Field(default=0, ge=0)
    """US dollars a million prompt tokens."""
    chat_price_out: float = Field(default=0, ge=0)
    """US dollars a million generated tokens."""


class AttemptSettings(_Table):
    """The ``[attempts]`` table of a profile: the control that simply tries more often."""

    counts: tuple[int, ...] = Field(min_length=1)
    """Attempts a question, one checkpoint each."""

    @field_validator("counts")
    @classmethod
    def _rising(cls, counts: tuple[int, ...]) -> tuple[int, ...]:
        if list(counts) != sorted({*counts}) or counts[0] < 2:
            raise ValueError(f"counts = {list(counts)} must rise and start at 2 or more, such as [2, 4]")
        return counts

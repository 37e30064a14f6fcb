"""The profile tables of engine and learner, apart from their code so that reading a profile loads no torch."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

LearnerKind = Literal["rsft", "policy_gradient"]
"""How rollouts become new weights."""


class EngineSettings(BaseModel):
    """The ``[engine]`` table of a profile."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    batch: int = Field(gt=0)
    """Sequences generated at once."""
    refill: float = Field(ge=0, le=1)
    """New sequences enter when the batch has fallen to this share: 0 = whole waves, near 1 = continuously."""
    columns: int = Field(gt=0)
    """Columns of keys and values that the sequences under way may come to need: what bounds memory."""
    in_flight: int = Field(gt=0)
    """Episodes alive at once."""
    device: str
    """``auto``, ``cpu`` or ``cuda``."""
    threads: int = Field(ge=0)
    """Processor threads; 0 leaves the choice to torch. Part of the run's identity (rounding depends on it)."""


class LearnerSettings(BaseModel):
    """The ``[learner]`` table of a profile."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rate: float = Field(gt=0)
    """Learning rate of AdamW, constant."""
    minibatch: int = Field(gt=0)
    """Rollouts an optimizer step; of those that are trained on."""
    micro_tokens: int = Field(gt=0)
    """Tokens, padding included, that go through the model at once; decides peak memory only."""
    clip: float = Field(gt=0)
    """Largest norm of the gradient."""
    lora_rank: int = Field(ge=0)
    """Rank of the adapters that are trained in place of the weights; 0 trains all weights."""
    lora_alpha: int = Field(default=0, ge=0)
    """The adapters' product counts ``lora_alpha / lora_rank`` times; only with a rank."""

    @model_validator(mode="after")
    def _adapters_count(self) -> LearnerSettings:
        if self.lora_rank and not self.lora_alpha:
            raise ValueError(
                f"lora_rank = {self.lora_rank} needs lora_alpha of 1 or more, got {self.lora_alpha}; "
                f"lora_alpha = {2 * self.lora_rank} is a usual choice, lora_rank = 0 trains full weights"
            )
        return self


class PolicySettings(BaseModel):
    """The ``[policy_gradient]`` table of a profile: what that learner needs beside ``[learner]``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cap: float = Field(gt=0)
    """Largest ratio of the new to the sampling policy."""
    kl: float = Field(ge=0)
    """Coefficient of the divergence from the starting weights."""
    warmup: int = Field(ge=0)
    """Weight steps over which the learning rate rises to its value; 0 for none."""

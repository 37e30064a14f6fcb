"""What the settings of every environment have in common: the ``[env]`` table of a profile."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class Sizes(BaseModel):
    """Tasks a split, over all families."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    weight: int = Field(gt=0)
    search: int = Field(gt=0)
    select: int = Field(gt=0)
    test: int = Field(gt=0)


class EnvSettings(BaseModel):
    """The settings that the rest of the suite reads; each environment adds its own."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    verifier: str
    """Which of the environment's verifiers grades."""
    data_seed: int
    """Seed of the choice of tasks; the same for all run seeds, so all runs share their questions."""
    sizes: Sizes

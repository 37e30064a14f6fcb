"""What the settings of every environment have in common: the ``[env]`` table of a profile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from envs.base import SPLITS, InputError


class Sizes(BaseModel):
    """Tasks a split, over all families."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    weight: int = Field(gt=0)
    search: int = Field(gt=0)
    select: int = Field(gt=0)
    test: int = Field(gt=0)


DataSource = Literal["embedded", "hub"]
"""Where tasks come from: what comes with the packages and the project, or pinned sets of the hub."""


class EnvSettings(BaseModel):
    """The settings that the rest of the suite reads; each environment adds its own."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    verifier: str
    """Which of the environment's verifiers grades."""
    data_seed: int
    """Seed of the choice of tasks; the same for all run seeds, so all runs share their questions."""
    sizes: Sizes


def check_shares(what: str, names: Sequence[str], sizes: Sizes, shares: int) -> None:
    """Raise ``InputError`` unless there are ``names``, all different, and every size can be cut into ``shares``.

    ``what``: what the parts are called in the profile, such as ``families``.
    """
    if not names or len(set(names)) < len(names):
        raise InputError(f"[[env.{what}]] needs one entry or more, each with its own name; got {list(names)}")
    for split in SPLITS:
        size = getattr(sizes, split)
        if size % shares:
            raise InputError(
                f"[env.sizes] {split} = {size} is not a multiple of the {shares} shares of the {what}"
            )

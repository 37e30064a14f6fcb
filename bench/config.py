"""Profiles: one TOML file each, holding every number of a run. Reading, checking and overriding them."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from envs.base import InputError
from envs.math_env.env import MathSettings
from whale.schedule import BudgetSettings, Plan, SearchSettings, WeightSettings
from whale.settings import EngineSettings, LearnerSettings
from whale.store import content_key

PROFILES = Path(__file__).parent / "profiles"


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ModelSettings(_Table):
    """The ``[model]`` table."""

    source: str
    """``package:smollm2``, ``tiny``, ``hub:OWNER/NAME`` or a local directory."""
    revision: str = ""
    """Revision of a hub model."""


class RolloutSettings(_Table):
    """The ``[rollout]`` table: the sampling protocol and what one rollout may use."""

    temperature: float = Field(ge=0)
    top_p: float = Field(gt=0, le=1)
    top_k: int = Field(ge=0)
    tokens: int = Field(gt=0)
    """Assistant tokens a rollout, over all its calls."""
    calls: int = Field(gt=0)
    """Model and tool calls a rollout."""
    chunk: int = Field(gt=0)
    """Rollouts recorded together; what a kill can lose at most."""


class HarnessSettings(_Table):
    """The ``[harness]`` table."""

    start: str
    """Name of a starting harness, or the path of a harness file."""
    proposer: Literal["offline"]
    """Who proposes new harnesses."""


class EvalSettings(_Table):
    """The ``[eval]`` table."""

    samples: int = Field(gt=0)
    """Rollouts a question at every checkpoint: the k of mean@k."""


class Profile(_Table):
    """A whole profile."""

    name: str
    env: MathSettings
    model: ModelSettings
    engine: EngineSettings
    rollout: RolloutSettings
    harness: HarnessSettings
    learner: LearnerSettings
    weight: WeightSettings
    search: SearchSettings
    budget: BudgetSettings
    eval: EvalSettings

    @property
    def plan(self) -> Plan:
        """Prices and budget for the methods' schedules."""
        return Plan(self.weight, self.search, self.budget)

    @property
    def hash(self) -> str:
        """Content key of all its values."""
        return content_key(self.model_dump(mode="json"))

    @property
    def switches(self) -> dict[str, str]:
        """The named switches in force."""
        return {
            "accept": self.search.accept,
            "verifier": self.env.verifier,
            "select_on": "select",
            "evidence": "redacted",
            "iteration_cost": "with_base",
            "harness": self.harness.start,
            "proposer": self.harness.proposer,
        }


def profile_names() -> list[str]:
    """Names of the profiles that come with the project."""
    return sorted(path.stem for path in PROFILES.glob("*.toml"))


def load_profile(name: str, env: str, overrides: Sequence[str] = ()) -> Profile:
    """Read ``profiles/NAME.toml`` (or a file path), apply ``table.key=value`` overrides, and check it.

    Raises ``InputError`` for an unknown profile, environment, key or value, and for splits that are too
    small for one step or one search.
    """
    path = PROFILES / f"{name}.toml" if name in profile_names() else Path(name)
    if not path.is_file():
        raise InputError(f"unknown profile {name!r}{near(name, profile_names())}")
    if env != "math":
        raise InputError(f"unknown environment {env!r}{near(env, ['math'])}")
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not valid TOML: {error}") from error
    for override in overrides:
        _apply(values, override)
    try:
        profile = Profile.model_validate({"name": path.stem, **values})
    except ValidationError as error:
        raise InputError(_explain(path, error)) from error
    _check_sizes(profile)
    return profile


def _apply(values: dict[str, Any], override: str) -> None:
    """Set one ``table.key=value``; the value is read as TOML, else taken as text."""
    place, sign, text = override.partition("=")
    *tables, key = place.strip().split(".")
    if not sign or not tables:
        raise InputError(
            f"cannot read --set {override!r}; write table.key=value, for example --set budget.steps=1"
        )
    for table in tables:
        values = values.setdefault(table, {})
        if not isinstance(values, dict):
            raise InputError(f"cannot apply --set {override!r}: {table} is not a table")
    try:
        values[key] = tomllib.loads(f"v = {text}")["v"]
    except tomllib.TOMLDecodeError:
        values[key] = text


def _explain(path: Path, error: ValidationError) -> str:
    """The first complaint, in words, with near names for an unknown key."""
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        model: Any = Profile
        for part in first["loc"][:-1]:
            field = model.model_fields.get(part) if isinstance(part, str) else None
            model = field.annotation if field else None
            if not hasattr(model, "model_fields"):
                return f"{path}: unknown key {place}"
        return f"{path}: unknown key {place}{near(str(first['loc'][-1]), sorted(model.model_fields))}"
    if first["type"] == "missing":
        return f"{path}: {place} is missing; every number of a run must stand in its profile"
    return f"{path}: {place} = {first['input']!r}: {first['msg']}"


def near(name: str, known: list[str]) -> str:
    """The end of a message about an unknown name: the nearest known one, if any, and all of them."""
    close = difflib.get_close_matches(name, known, 1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return f"{hint} Known: {', '.join(known)}" if hint else f"; known: {', '.join(known)}"


def _check_sizes(profile: Profile) -> None:
    sizes, weight, search = profile.env.sizes, profile.weight, profile.search
    if sizes.weight < weight.prompts:
        raise InputError(
            f"one weight step needs {weight.prompts} tasks but [env.sizes] weight = {sizes.weight}; "
            f"the smallest that works is {weight.prompts}"
        )
    if sizes.search < search.examples:
        raise InputError(
            f"a search scores on {search.examples} tasks but [env.sizes] search = {sizes.search}; "
            f"the smallest that works is {search.examples}"
        )
    proposed = search.candidates * profile.budget.iterations
    if search.accept == "confirm" and search.finalists > proposed:
        raise InputError(
            f"a search of {profile.budget.iterations} iterations x {search.candidates} candidates proposes "
            f"{proposed} harnesses but [search] finalists = {search.finalists}; the largest that works is {proposed}"
        )

"""Profiles: one TOML file each, holding every number of a run. Reading, checking and overriding them."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny, ValidationError

from envs.base import InputError
from envs.settings import EnvSettings
from envs.table import ENVIRONMENTS, environment_class
from whale.budget import (
    AdaptiveSettings,
    AttemptSettings,
    BudgetSettings,
    FstSettings,
    SearchSettings,
    WeightSettings,
)
from whale.schedule import Plan
from whale.settings import EngineSettings, LearnerSettings, PolicySettings
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
    refine: str = ""
    """The same for the harness that has the model check its own answer; only ``refinement`` needs it."""
    proposer: Literal["offline"]
    """Who proposes new harnesses."""


class EvalSettings(_Table):
    """The ``[eval]`` table."""

    samples: int = Field(gt=0)
    """Rollouts a question at every checkpoint: the k of mean@k."""


class Profile(_Table):
    """A whole profile."""

    name: str
    environment: str
    """Name of the environment that the profile was read for."""
    env: SerializeAsAny[EnvSettings]
    model: ModelSettings
    engine: EngineSettings
    rollout: RolloutSettings
    harness: HarnessSettings
    learner: LearnerSettings
    policy_gradient: PolicySettings
    weight: WeightSettings
    search: SearchSettings
    budget: BudgetSettings
    adaptive: AdaptiveSettings
    fst: FstSettings
    attempts: AttemptSettings
    eval: EvalSettings

    @property
    def plan(self) -> Plan:
        """Prices and budget for the methods' schedules."""
        return Plan(self.weight, self.search, self.budget, self.adaptive, self.fst, self.attempts)

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
            "reflector": self.fst.reflector,
        }


def profile_names() -> list[str]:
    """Names of the profiles that come with the project."""
    return sorted(path.stem for path in PROFILES.glob("*.toml"))


def load_profile(name: str, env: str, overrides: Sequence[str] = ()) -> Profile:
    """Read ``profiles/NAME.toml`` (or a file path), apply ``table.key=value`` overrides, and check it.

    A table named after an environment holds that environment's tables; they add to the common ones.
    Raises ``InputError`` for an unknown profile, environment, key or value, and for splits that are too
    small for one step or one search.
    """
    path = PROFILES / f"{name}.toml" if name in profile_names() else Path(name)
    if not path.is_file():
        raise InputError(f"unknown profile {name!r}{near(name, profile_names())}")
    if env not in ENVIRONMENTS:
        raise InputError(f"unknown environment {env!r}{near(env, list(ENVIRONMENTS))}")
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not valid TOML: {error}") from error
    values = _for_environment(path, values, env)
    for override in overrides:
        _apply(values, override)
    settings = environment_class(env).Settings
    try:
        if "env" in values:
            values["env"] = settings.model_validate(values["env"])
    except ValidationError as error:
        raise InputError(_explain(path, error, settings, ("env",))) from error
    try:
        profile = Profile.model_validate({"name": path.stem, "environment": env, **values})
    except ValidationError as error:
        raise InputError(_explain(path, error, Profile, ())) from error
    _check_sizes(profile)
    return profile


def _for_environment(path: Path, values: dict[str, Any], env: str) -> dict[str, Any]:
    """The common tables with those of one environment laid over them."""
    held = [name for name in ENVIRONMENTS if name in values]
    if env not in held:
        raise InputError(f"{path} has no [{env}.env] table; it is for: {', '.join(held) or 'no environment'}")
    common = {key: value for key, value in values.items() if key not in ENVIRONMENTS}
    return _laid_over(common, values[env])


def _laid_over(common: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    merged = dict(common)
    for key, value in own.items():
        below = merged.get(key)
        merged[key] = (
            _laid_over(below, value) if isinstance(value, dict) and isinstance(below, dict) else value
        )
    return merged


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


def _explain(path: Path, error: ValidationError, root: type[BaseModel], above: tuple[str, ...]) -> str:
    """The first complaint, in words, with near names for an unknown key. ``root`` stands at ``above``."""
    first = error.errors()[0]
    place = ".".join(str(part) for part in (*above, *first["loc"]))
    if first["type"] == "extra_forbidden":
        model: Any = root
        for part in first["loc"][:-1]:
            if isinstance(part, int):
                model = next(iter(get_args(model)), None)  # of a list, what it holds
            else:
                field = getattr(model, "model_fields", {}).get(part)
                model = field.annotation if field else None
        if not hasattr(model, "model_fields"):
            return f"{path}: unknown key {place}"
        return f"{path}: unknown key {place}{near(str(first['loc'][-1]), sorted(model.model_fields))}"
    if first["type"] == "missing":
        return f"{path}: {place} is missing; every number of a run must stand in its profile"
    if first["type"] == "value_error":  # a check of our own, whose message names its values
        return f"{path}: {place}: {first['ctx']['error']}"
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
    if weight.samples % profile.fst.prompts:
        raise InputError(
            f"[fst] prompts = {profile.fst.prompts} cannot share the {weight.samples} samples of a task evenly; "
            f"it must divide [weight] samples = {weight.samples}"
        )
    fst = profile.fst
    if fst.reflector == "chat" and not (fst.chat_url and fst.chat_model):
        raise InputError(
            f'[fst] reflector = "chat" needs chat_url and chat_model, got {fst.chat_url!r} and {fst.chat_model!r}; '
            "write them like http://localhost:8000/v1 and the model's name there"
        )
    proposed = search.candidates * profile.budget.iterations
    if search.accept == "confirm" and search.finalists > proposed:
        raise InputError(
            f"a search of {profile.budget.iterations} iterations x {search.candidates} candidates proposes "
            f"{proposed} harnesses but [search] finalists = {search.finalists}; the largest that works is {proposed}"
        )

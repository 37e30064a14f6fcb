"""Profiles: all numbers in one file, and messages that say what is wrong, what is allowed and what to do."""

from __future__ import annotations

import copy
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.config import PROFILES, Profile, load_profile, profile_names
from envs.base import InputError
from envs.table import ENVIRONMENTS

NAMES = profile_names()


def leaves(values: dict[str, Any], place: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Places of all keys of a profile; the options of a family belong to its generator and stand apart."""
    for key, value in values.items():
        if isinstance(value, dict):
            yield from leaves(value, (*place, key))
        elif key == "families":
            yield from ((*place, key, "0", inner) for inner in value[0] if inner != "options")
        else:
            yield (*place, key)


def toml_of(values: Any) -> str:
    """A value as inline TOML."""
    if isinstance(values, dict):
        return "{" + ", ".join(f"{key} = {toml_of(value)}" for key, value in values.items()) + "}"
    if isinstance(values, list):
        return "[" + ", ".join(map(toml_of, values)) + "]"
    if isinstance(values, bool):
        return str(values).lower()
    return f"'{values}'" if isinstance(values, str) else repr(values)


def save(path: Path, flat: dict[str, Any]) -> str:
    """Write a profile for maths whose tables are ``flat``."""
    values = {"math": {key: flat[key] for key in ("env",) if key in flat}}
    values |= {key: value for key, value in flat.items() if key != "env"}
    path.write_text("".join(f"{key} = {toml_of(value)}\n" for key, value in values.items()), encoding="utf-8")
    return str(path)


def raw(name: str) -> dict[str, Any]:
    """The tables of a profile of the project as they are for maths."""
    values = tomllib.loads((PROFILES / f"{name}.toml").read_text(encoding="utf-8"))
    for key, table in values.pop("math").items():
        values[key] = {**values.get(key, {}), **table}
    return {key: value for key, value in values.items() if key not in ENVIRONMENTS}


OPTIONAL = {("harness", "refine")}
KEYS = [(name, place) for name in NAMES for place in leaves(raw(name)) if place not in OPTIONAL]


def said(name: str = "smoke", env: str = "math", *overrides: str) -> str:
    with pytest.raises(InputError) as caught:
        load_profile(name, env, overrides)
    return str(caught.value)


def test_the_profiles_of_the_project() -> None:
    assert {"cpu", "smoke"} <= set(NAMES)
    for name in NAMES:
        profile = load_profile(name, "math")
        assert profile.name == name
        assert profile.eval.samples == 8


def test_a_profile_written_by_a_user_is_read_by_its_path(tmp_path: Path) -> None:
    mine = load_profile(save(tmp_path / "mine.toml", raw("smoke")), "math")
    assert mine.name == "mine"
    assert mine.model_copy(update={"name": "smoke"}) == load_profile("smoke", "math")


@pytest.mark.parametrize(
    ("name", "place"), KEYS, ids=lambda part: part if isinstance(part, str) else ".".join(part)
)
def test_no_key_of_a_profile_may_be_missing(name: str, place: tuple[str, ...], tmp_path: Path) -> None:
    """Otherwise a number of the run would stand in the code."""
    values = copy.deepcopy(raw(name))
    table: Any = values
    for part in place[:-1]:
        table = table[int(part)] if isinstance(table, list) else table[part]
    del table[place[-1]]
    message = said(save(tmp_path / "p.toml", values))
    assert f"p.toml: {'.'.join(place)} is missing; every number of a run must stand in its profile" in message


@pytest.mark.parametrize("table", ["env", "model", "engine", "weight", "budget", "eval"])
def test_no_table_may_be_missing(table: str, tmp_path: Path) -> None:
    values = raw("smoke")
    del values[table]
    assert f"{table} is missing" in said(save(tmp_path / "p.toml", values))


@pytest.mark.parametrize("name", NAMES)
def test_every_profile_opens_with_what_it_is_for(name: str) -> None:
    text = (PROFILES / f"{name}.toml").read_text(encoding="utf-8")
    assert re.match(r"# \w.{20,}\n", text)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("budgte.steps=1", "unknown key budgte; did you mean 'budget'? Known: "),
        (
            "budget.stepz=1",
            "unknown key budget.stepz; did you mean 'steps'? Known: cycles, iterations, steps",
        ),
        ("env.verifer='robust'", "unknown key env.verifer; did you mean 'verifier'? Known: "),
        ("env.verifier=robst", "env.verifier = 'robst': Input should be 'canonical' or 'robust'"),
        ("search.accept=best", "search.accept = 'best': Input should be 'confirm' or 'argmax'"),
        ("harness.proposer=gpt", "harness.proposer = 'gpt': Input should be 'offline'"),
        ("budget.steps=0", "budget.steps = 0: Input should be greater than 0"),
        ("budget.steps=two", "budget.steps = 'two': Input should be a valid integer"),
        ("rollout.temperature=-1", "rollout.temperature = -1: Input should be greater than or equal to 0"),
        ("rollout.temperature=nan", "rollout.temperature = nan: Input should be"),
        ("env.sizes.train=4", "unknown key env.sizes.train"),
        ("zzz.a=1", "unknown key zzz; known: "),
        (
            "env.families=[{name='a', generator='chain_sum', optoins={}}]",
            "unknown key env.families.0.optoins; did you mean 'options'? Known: generator, name, options",
        ),
    ],
)
def test_what_a_wrong_key_or_value_says(override: str, message: str) -> None:
    found = said("smoke", "math", override)
    assert message in found
    assert "smoke.toml" in found


@pytest.mark.parametrize("override", ["budget.steps", "steps=1", "=1", ""])
def test_an_override_in_the_wrong_form_shows_the_right_one(override: str) -> None:
    found = said("smoke", "math", override)
    assert f"cannot read --set {override!r}" in found
    assert "--set budget.steps=1" in found


def test_an_override_below_a_plain_value_is_refused() -> None:
    assert "samples is not a table" in said("smoke", "math", "eval.samples.x=1")


def test_overrides_apply_in_order_and_change_the_identity() -> None:
    plain = load_profile("smoke", "math")
    other = load_profile(
        "smoke",
        "math",
        ["budget.steps=7", "budget.steps=2", "search.accept=argmax", "model.source=a/b", "learner.rate=1e-5"],
    )
    assert other.budget.steps == 2
    assert other.search.accept == "argmax"
    assert other.switches["accept"] == "argmax"
    assert other.model.source == "a/b"
    assert other.learner.rate == 1e-5
    assert other.hash != plain.hash
    assert load_profile("smoke", "math", ["budget.steps=1"]).hash == plain.hash


@pytest.mark.parametrize(("name", "near"), [("smke", "smoke"), ("cpuu", "cpu")])
def test_an_unknown_profile(name: str, near: str) -> None:
    message = said(name)
    assert f"unknown profile {name!r}; did you mean {near!r}?" in message
    assert ", ".join(NAMES) in message


@pytest.mark.parametrize("env", ["maths", "ches", "Math"])
def test_an_unknown_environment_names_the_known_ones(env: str) -> None:
    message = said("smoke", env)
    assert f"unknown environment {env!r}" in message
    assert "math, searchqa, chess" in message.split(repr(env))[1]


def test_a_check_of_an_environment_names_its_values_and_not_the_whole_table() -> None:
    message = said("smoke", "searchqa", "env.retriever=http")
    assert message.endswith("smoke.toml: env: url goes with retriever = 'http' and with no other; "
                            "got retriever = 'http', url = ''")  # fmt: skip


def test_a_profile_that_is_not_for_an_environment(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text("[budget]\nsteps = 1", encoding="utf-8")
    assert f"{path} has no [math.env] table; it is for: no environment" in said(str(path))


def test_an_environments_tables_are_laid_over_the_common_ones(tmp_path: Path) -> None:
    values = raw("smoke")
    plain = load_profile(save(tmp_path / "p.toml", values), "math")
    text = (tmp_path / "p.toml").read_text("utf-8").replace("math = {", "math = {rollout = {tokens = 7}, ")
    (tmp_path / "p.toml").write_text(text, encoding="utf-8")
    changed = load_profile(str(tmp_path / "p.toml"), "math")
    assert changed.rollout == plain.rollout.model_copy(update={"tokens": 7})
    assert changed.model_copy(update={"rollout": plain.rollout}) == plain


def test_a_file_that_is_not_toml(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text("[budget\nsteps = 1", encoding="utf-8")
    assert f"{path} is not valid TOML: " in said(str(path))


@pytest.mark.parametrize(
    ("small", "enough", "message"),
    [
        (
            "env.sizes.weight=31",
            "env.sizes.weight=32",
            "one weight step needs 32 tasks but [env.sizes] weight = 31",
        ),
        (
            "env.sizes.search=15",
            "env.sizes.search=16",
            "a search scores on 16 tasks but [env.sizes] search = 15",
        ),
    ],
)
def test_too_small_splits_name_the_smallest_that_works(small: str, enough: str, message: str) -> None:
    found = said("smoke", "math", small)
    assert message in found
    assert f"the smallest that works is {enough.split('=')[1]}" in found
    load_profile("smoke", "math", [enough])


def test_more_finalists_than_proposals_are_refused() -> None:
    message = "proposes 2 harnesses but [search] finalists = 3; the largest that works is 2"
    small = ["search.candidates=2", "budget.iterations=1", "search.finalists=3"]
    assert message in said("smoke", "math", *small)
    load_profile("smoke", "math", [*small, "search.accept=argmax"])
    load_profile("smoke", "math", [*small, "search.finalists=2"])


def test_a_profile_cannot_be_changed_after_reading() -> None:
    profile: Profile = load_profile("smoke", "math")
    with pytest.raises(ValueError, match="frozen"):
        profile.budget.steps = 5

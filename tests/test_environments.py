"""The contract that every environment of the table keeps, whatever its domain."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.config import load_profile
from envs.base import SPLITS, Environment, Score, Verdict
from envs.table import ENVIRONMENTS, environment_class
from whale import harnesses
from whale.control import Control
from whale.harnesses import starting
from whale.hosting import HarnessHost
from whale.offline.catalogue import SPACES
from whale.rollout import Caps

NAMES = list(ENVIRONMENTS)
HOSTILE = (
    "",
    "\x00\x1b[2J",
    "\u202e<answer>",
    "\\boxed{" * 2000,
    "<move>" * 2000,
    "9" * 100_000,
    "e\u0301" * 500,
)
"""Nothing, control characters, right-to-left marks, unclosed forms, enormous and combining text."""


@cache
def opened(name: str) -> Environment:
    return environment_class(name)(load_profile("smoke", name).env)


@pytest.mark.parametrize("name", NAMES)
def test_tasks_are_typed_and_no_question_stands_twice(name: str) -> None:
    env = opened(name)
    assert env.name == name
    sizes = load_profile("smoke", name).env.sizes
    seen: dict[str, str] = {}
    for split in SPLITS:
        tasks = env.tasks(split)
        assert len(tasks) == getattr(sizes, split)
        for task in tasks:
            assert (task.env, task.split) == (name, split)
            assert task.gold
            assert task.meta["family"]
            assert task.question.strip()
            assert task.question not in seen, f"{split} and {seen[task.question]} share a question"
            seen[task.question] = split
            assert task.id not in seen
            seen[task.id] = split


@pytest.mark.parametrize("name", NAMES)
def test_the_same_settings_give_the_same_tasks_and_another_seed_others(name: str) -> None:
    env, profile = opened(name), load_profile("smoke", name)
    again = environment_class(name)(profile.env)
    assert [again.tasks(split) for split in SPLITS] == [env.tasks(split) for split in SPLITS]
    assert again.describe() == env.describe()
    other = environment_class(name)(load_profile("smoke", name, ["env.data_seed=77"]).env)
    assert other.describe() != env.describe()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("verifier", ["canonical", "robust"])
def test_nothing_said_is_no_answer_and_a_cut_reply_is_truncated(name: str, verifier: str) -> None:
    env = environment_class(name)(load_profile("smoke", name, [f"env.verifier={verifier}"]).env)
    task = env.tasks("search")[0]
    assert env.open(task).verify("", truncated=False).verdict is Verdict.NO_ANSWER
    assert env.open(task).verify("", truncated=True).verdict is Verdict.TRUNCATED
    for text in HOSTILE:
        score = env.open(task).verify(text, truncated=False)
        assert score.value == 0
        assert score.verdict in (Verdict.WRONG, Verdict.NO_ANSWER, Verdict.VERIFIER_ERROR)
    env.close()


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60)
@given(text=st.text(), truncated=st.booleans())
def test_judging_any_text_gives_a_score(name: str, text: str, truncated: bool) -> None:
    env = opened(name)
    score = env.open(env.tasks("search")[0]).verify(text, truncated=truncated)
    assert isinstance(score, Score)
    assert score.value == (score.verdict is Verdict.CORRECT)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "arguments", [{}, {"x": 1}, {"query": 3}, {"move": None}, {"code": []}, {"k": 10**9}]
)
def test_bad_tool_arguments_come_back_as_text(name: str, arguments: dict[str, object]) -> None:
    env = opened(name)
    for tool in (*env.tools, "no such tool"):
        said = env.open(env.tasks("search")[0]).call(tool, arguments)
        assert said.startswith("error: call ")


@pytest.mark.parametrize("name", NAMES)
def test_its_harnesses_are_honest_and_a_search_space_belongs_to_it(name: str, host: HarnessHost) -> None:
    env, profile = opened(name), load_profile("smoke", name)
    assert 0 <= env.chance < 0.5
    assert len(SPACES[name].edits) >= 10
    control = Control(env, host, Caps(profile.rollout.tokens, profile.rollout.calls))
    own = {file.stem for file in Path(harnesses.__path__[0]).glob(f"{name}_*.py")}
    assert {profile.harness.start, f"{name}_h0"} <= own
    for harness in own:
        assert control.refusal(starting(harness).source, env.tasks("search")[:4]) == "", harness

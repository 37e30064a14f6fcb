"""The maths environment's data: disjoint balanced splits, golds that pass their own verifier, clear refusals."""

from __future__ import annotations

from collections import Counter

import pytest

from bench.config import load_profile, profile_names
from envs.base import SPLITS, InputError, Split, Task, Verdict
from envs.math_env.env import MathEnvironment, MathSettings
from envs.math_env.tasks import Family, build
from envs.settings import Sizes

SUMS = Family(
    name="sums",
    generator="chain_sum",
    options={"min_terms": 2, "max_terms": 2, "min_digits": 1, "max_digits": 2},
)
LINES = Family(name="lines", generator="simple_equations", options={"min_terms": 2, "max_terms": 2})
SIZES = Sizes(weight=20, search=8, select=6, test=10)


def made(
    families: tuple[Family, ...] = (SUMS, LINES), sizes: Sizes = SIZES, seed: int = 0
) -> dict[Split, list[Task]]:
    return build(list(families), sizes, seed)


def resized(**sizes: int) -> Sizes:
    return Sizes.model_validate({**SIZES.model_dump(), **sizes})


@pytest.mark.parametrize("name", profile_names())
def test_the_data_of_every_profile(name: str) -> None:
    settings = load_profile(name, "math").env
    assert isinstance(settings, MathSettings)
    tasks = build(settings.families, settings.sizes, settings.data_seed)
    questions = [task.question for split in SPLITS for task in tasks[split]]
    assert len(set(questions)) == len(questions), "a question stands in two splits"
    for split in SPLITS:
        assert len(tasks[split]) == getattr(settings.sizes, split)
        families = Counter(task.meta["family"] for task in tasks[split])
        assert families == {
            family.name: len(tasks[split]) // len(settings.families) for family in settings.families
        }
        assert all(task.split == split and task.env == "math" for task in tasks[split])


def test_ids_are_distinct_and_contain_the_split() -> None:
    tasks = made()
    ids = [task.id for split in SPLITS for task in tasks[split]]
    assert len(set(ids)) == len(ids)
    assert Task.make("math", "search", "q", "1").id != Task.make("math", "select", "q", "1").id


def test_families_alternate_within_a_split() -> None:
    assert [task.meta["family"] for task in made()["select"]] == ["sums", "lines"] * 3


def test_the_seed_decides_the_tasks() -> None:
    assert made(seed=3) == made(seed=3)
    assert made(seed=3) != made(seed=4)


@pytest.mark.parametrize("split", ["weight", "search", "select"])
def test_the_size_of_another_split_leaves_the_test_split_alone(split: str) -> None:
    assert made(sizes=resized(**{split: 40}))["test"] == made()["test"]


def test_a_larger_test_split_begins_with_the_smaller_one() -> None:
    assert made(sizes=resized(test=20))["test"][:10] == made()["test"]


def test_two_families_of_one_generator_share_no_question() -> None:
    tasks = made((SUMS, SUMS.model_copy(update={"name": "again"})))
    questions = [task.question for split in SPLITS for task in tasks[split]]
    assert len(set(questions)) == len(questions)


def refusal(*families: Family, sizes: Sizes = SIZES) -> str:
    with pytest.raises(InputError) as caught:
        build(list(families), sizes, 0)
    return str(caught.value)


def test_a_family_that_is_too_small_is_named() -> None:
    few = Family(name="tiny", generator="chain_sum", options={**SUMS.options, "max_digits": 1})
    message = refusal(few, sizes=resized(weight=400))
    assert "family 'tiny' has too few distinct questions: " in message
    assert "of 400 for split 'weight'; make its options wider or the splits smaller" in message


@pytest.mark.parametrize(
    ("typo", "near"), [("chian_sum", "chain_sum"), ("simple_equation", "simple_equations")]
)
def test_an_unknown_generator_gets_near_names(typo: str, near: str) -> None:
    message = refusal(Family(name="x", generator=typo))
    assert f"no generator {typo!r}" in message
    assert near in message.split("near names:")[1].split(";")[0]


@pytest.mark.parametrize("options", [{"min_digitz": 1}, {"min_terms": 3, "max_terms": 2}])
def test_an_option_that_the_generator_refuses(
    options: dict[str, int | float | str | bool | list[str]],
) -> None:
    message = refusal(Family(name="odd", generator="chain_sum", options=options))
    assert f"family 'odd': chain_sum refuses {options}: " in message


def test_a_size_that_families_cannot_share() -> None:
    assert "search = 7 is not a multiple of the 2 shares of the families" in refusal(
        SUMS, LINES, sizes=resized(search=7)
    )


@pytest.mark.parametrize("families", [(), (SUMS, SUMS)])
def test_families_need_names_of_their_own(families: tuple[Family, ...]) -> None:
    assert "each with its own name" in refusal(*families)


def settings(*families: Family, verifier: str = "robust") -> MathSettings:
    return MathSettings.model_validate(
        {"verifier": verifier, "data_seed": 0, "sizes": SIZES, "families": list(families)}
    )


def test_a_gold_that_does_not_pass_its_own_verifier_stops_the_start() -> None:
    """The published verifier looks at the last 100 characters only; these golds are longer."""
    long = Family(name="long", generator="number_sorting", options={"min_numbers": 30, "max_numbers": 31})
    with pytest.raises(InputError, match=r"the gold .* of task \w+ \(long, weight\) does not pass") as caught:
        MathEnvironment(settings(long, verifier="canonical"))
    assert "its own verifier (canonical): no_answer" in str(caught.value)
    assert "drop that family or use the other verifier" in str(caught.value)


def test_what_identifies_the_data_follows_the_data() -> None:
    """With the published verifier, so that no worker has to start."""
    first, again = (MathEnvironment(settings(SUMS, verifier="canonical")).describe() for _ in range(2))
    other = MathEnvironment(settings(LINES, verifier="canonical")).describe()
    assert first == again
    assert set(first) >= {"env", "verifier", "tasks", "reasoning-gym"}
    assert first["tasks"] != other["tasks"]


def test_an_episode_grades_its_own_gold(math_env: MathEnvironment) -> None:
    task = math_env.tasks("search")[0]
    episode = math_env.open(task)
    assert episode.verify(f"so \\boxed{{{task.gold}}}", truncated=False).verdict is Verdict.CORRECT
    assert episode.verify("\\boxed{123456}", truncated=False).verdict is Verdict.WRONG
    assert episode.verify("no box", truncated=False).verdict is Verdict.NO_ANSWER
    assert episode.verify("no box", truncated=True).verdict is Verdict.TRUNCATED


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("pyton", {"code": "1"}),
        ("python", {}),
        ("python", {"code": 3}),
        ("python", {"code": "1", "gold": "?"}),
    ],
)
def test_a_wrong_tool_call_comes_back_as_text(
    math_env: MathEnvironment, tool: str, arguments: dict[str, object]
) -> None:
    answer = math_env.open(math_env.tasks("search")[0]).call(tool, arguments)
    assert answer.startswith("error: call python with one argument, code (a text); got ")


@pytest.mark.parametrize(
    ("code", "shown"), [("print(2 + 3)", "5"), ("1 / 0", "ZeroDivisionError"), ("x = (", "SyntaxError")]
)
def test_the_python_tool_gives_output_and_errors_as_text(
    math_env: MathEnvironment, code: str, shown: str
) -> None:
    assert shown in math_env.open(math_env.tasks("search")[0]).call("python", {"code": code})

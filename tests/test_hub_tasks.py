"""Environments whose tasks are from the hub: splits, seeds, golds, manifests, and settings that do not fit."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from bench.config import load_profile
from envs.base import SPLITS, Environment, InputError, Split, Task, Verdict, digests
from envs.hub.overlap import refuse_overlap
from envs.hub.sources import DAPO, LICHESS, SOURCES
from envs.math_env import hub as math_hub
from envs.searchqa_env import hub as searchqa_hub
from envs.searchqa_env.tasks import read_golds
from envs.settings import Sizes
from envs.table import environment_class
from tests import hub_files
from tests.hub_files import REVISION, anyhow, dapo, maths, pinned, problem, questions, write, write_csv

folder = hub_files.folder
MATHS = {"source": "hub", "families": [], "sizes": {"weight": 64, "search": 2, "select": 2, "test": 20}}
QA = {
    **MATHS,
    "sizes": {"weight": 16, "search": 2, "select": 2, "test": 14},
    "retriever": "http",
    "url": "http://127.0.0.1:1/retrieve",
}
CHESS = {
    "source": "hub",
    "sizes": {"weight": 24, "search": 2, "select": 2, "test": 4},
    "bands": [{"name": "all", "min_rating": 0, "max_rating": 3500, "plies": 9}],
}


def opened(name: str, changes: Mapping[str, object]) -> Environment:
    """The smoke profile's environment with settings changed; too small for a run, not for a look."""
    made = environment_class(name)
    usual = load_profile("smoke", name).env.model_dump()
    return made(made.Settings.model_validate({**usual, **changes}))


def tasks_of(env: Environment) -> dict[Split, Sequence[Task]]:
    return {split: env.tasks(split) for split in SPLITS}


def manifest(env: Environment, split: str) -> dict[str, Any]:
    found = env.describe()["hub"]
    assert isinstance(found, dict)
    entry = found[split]
    assert isinstance(entry, dict)
    return entry


@pytest.fixture
def math(folder: Path) -> Path:
    maths(folder)
    return folder


def test_maths_from_the_hub(math: Path) -> None:
    env = opened("math", MATHS)
    tasks = tasks_of(env)
    assert [len(tasks[split]) for split in SPLITS] == [64, 2, 2, 20]
    assert [task.meta["family"] for task in tasks["test"]] == ["aime_2024", "aime_2025"] * 10
    assert {task.meta["family"] for split in SPLITS[:3] for task in tasks[split]} == {"dapo"}
    assert all(task.question.startswith("Mr 1") for split in SPLITS[:3] for task in tasks[split]), (
        "instructions"
    )
    assert not any(task.gold.startswith("0") and task.gold != "0" for task in tasks["test"]), "010 is 10"
    refuse_overlap(tasks)
    assert (
        env.open(tasks["weight"][0]).verify(f"\\boxed{{{tasks['weight'][0].gold}}}", truncated=False).value
        == 1
    )
    env.close()


def test_the_manifest_says_what_each_split_is_made_of(math: Path) -> None:
    env = opened("math", MATHS)
    entry = manifest(env, "test")
    assert entry["tasks"] == 20
    assert entry["families"] == {"aime_2024": 10, "aime_2025": 10}
    assert entry["hash"] == digests(tasks_of(env))["test"]
    aime = entry["sources"]["aime_2024"]
    assert (aime["repo"], aime["revision"], aime["rows"]) == ("Maxwell-Jia/AIME_2024", REVISION, 30)
    dapo_pin = manifest(env, "weight")["sources"]["dapo_math_17k"]
    assert (dapo_pin["rows"], dapo_pin["records"], dapo_pin["dropped"]) == (800, 400, {})
    assert json.loads(json.dumps(env.describe())) == env.describe()
    assert "hub" not in environment_class("math")(load_profile("smoke", "math").env).describe()
    env.close()


def test_seed_and_sizes_are_obeyed_and_move_no_question_to_another_split(math: Path) -> None:
    sizes = Sizes(weight=50, search=2, select=2, test=20)
    first = math_hub.tasks(sizes, 1).tasks
    assert math_hub.tasks(sizes, 1).tasks == first
    other = math_hub.tasks(sizes, 2).tasks
    assert [task.id for task in other["weight"]] != [task.id for task in first["weight"]]
    larger = math_hub.tasks(sizes.model_copy(update={"weight": 200}), 1).tasks
    assert larger["weight"][:50] == first["weight"]
    assert [larger[split] for split in SPLITS[1:]] == [first[split] for split in SPLITS[1:]]
    owner: dict[str, str] = {}
    for tasks in (first, other, larger):
        for split in SPLITS:
            assert all(owner.setdefault(task.question, split) == split for task in tasks[split])


def row(number: int, question: str, gold: str) -> dict[str, Any]:
    [made] = dapo([number])
    content = f"{hub_files.BEFORE}{question}{hub_files.AFTER}"
    return {
        **made,
        "prompt": [{"role": "user", "content": content}],
        "reward_model": {"ground_truth": gold, "style": "rule"},
    }


def test_what_cannot_be_used_is_dropped_and_counted(folder: Path) -> None:
    bare = dapo([4])[0]
    bare["prompt"][0]["content"] = "no instructions around it"
    maths(
        folder,
        extra=[
            row(1, problem(5000), "1"),
            row(2, problem(5000).upper(), "1"),
            row(3, problem(1000), "another gold than in its other record"),
            bare,
            *(row(6000 + place, f"Note. {problem(1 + place)}", "7") for place in range(30)),
            *(row(7000 + place, problem(7000 + place), "one half") for place in range(30)),
        ],
    )
    sizes = Sizes(weight=375, search=2, select=2, test=60)
    built = math_hub.tasks(sizes, 0)
    entry: Any = built.manifest["weight"]
    assert entry["sources"]["dapo_math_17k"]["dropped"] == {"form": 1, "repeated": 2, "conflict": 1}
    assert entry["dropped"]["near test"] >= 20
    assert entry["dropped"]["gold"] >= 20
    assert not any(task.question.startswith("Note.") for task in built.tasks["weight"])
    assert problem(1000) not in {task.question for split in SPLITS for task in built.tasks[split]}


def test_sizes_that_the_sets_cannot_fill(math: Path) -> None:
    sizes = Sizes(weight=50, search=2, select=2, test=20)
    for change, said in (
        ({"test": 21}, "[env.sizes] test = 21 is not a multiple of the 2 sets aime_2024, aime_2025"),
        (
            {"test": 62},
            "aime_2024 has too few questions: 30 of 31 for split 'test' (dropped there: {}); make",
        ),
        ({"search": 100}, "dapo_math_17k has too few questions: "),
    ):
        with pytest.raises(InputError) as caught:
            math_hub.tasks(sizes.model_copy(update=change), 0)
        assert said in str(caught.value)


def test_test_questions_in_the_training_set_never_reach_another_split(folder: Path) -> None:
    maths(folder)
    write(folder, DAPO, [*dapo(range(1, 31)), *dapo(range(101, 131)), *dapo(range(1000, 1100))])
    pinned(DAPO, anyhow)
    built = math_hub.tasks(Sizes(weight=80, search=1, select=1, test=60), 0)
    test = {task.question for task in built.tasks["test"]}
    assert len(test) == 60
    assert not test & {task.question for split in SPLITS[:3] for task in built.tasks[split]}
    with pytest.raises(InputError, match=r"dapo_math_17k has too few questions: .*'same test': 59"):
        math_hub.tasks(Sizes(weight=120, search=1, select=1, test=60), 0)


def test_questions_from_the_hub_and_a_retriever_that_is_a_server(folder: Path) -> None:
    questions(folder, {**dict.fromkeys(searchqa_hub.TRAIN, 600), **dict.fromkeys(searchqa_hub.TEST, 20)})
    env = opened("searchqa", QA)
    tasks = tasks_of(env)
    assert [len(tasks[split]) for split in SPLITS] == [16, 2, 2, 14]
    families = ["nq", "triviaqa", "popqa", "hotpotqa", "2wikimultihopqa", "musique", "bamboogle"]
    assert [task.meta["family"] for task in tasks["test"]] == families * 2
    assert [task.meta["family"] for task in tasks["weight"]] == ["nq", "hotpotqa"] * 8
    assert all(task.question.endswith("?") for split in SPLITS for task in tasks[split])
    answered = env.open(tasks["test"][0]).verify("<answer>ann</answer>", truncated=False)
    assert answered.verdict is Verdict.CORRECT
    assert env.describe()["url"] == "http://127.0.0.1:1/retrieve"
    assert set(manifest(env, "test")["sources"]) == set(searchqa_hub.TEST)
    env.close()


def test_answers_that_fail_their_own_verifier_are_left_out(folder: Path) -> None:
    questions(folder, {**dict.fromkeys(searchqa_hub.TRAIN, 600), **dict.fromkeys(searchqa_hub.TEST, 20)})
    source = SOURCES["bamboogle_test"]
    golds = [[""], ["", "Ann", "</answer>", "Ann", "Bo"], ["x" * 2000]]
    rows = [
        {"id": str(place), "question": problem(900 + place), "golden_answers": gold}
        for place, gold in enumerate(golds)
    ]
    write(folder, source, rows)
    pinned(source, anyhow)
    built = searchqa_hub.tasks(Sizes(weight=2, search=2, select=2, test=7), 0)
    [task] = [task for task in built.tasks["test"] if task.meta["family"] == "bamboogle"]
    assert read_golds(task.gold) == ("Ann", "Bo")
    with pytest.raises(InputError, match=r"bamboogle_test has too few questions: 1 of 2 .*'gold': 2"):
        searchqa_hub.tasks(Sizes(weight=2, search=2, select=2, test=14), 0)


def test_puzzles_from_the_hub(folder: Path) -> None:
    write_csv(folder, LICHESS, hub_files.lichess())
    pin = pinned(LICHESS)
    env = opened("chess", CHESS)
    assert [len(env.tasks(split)) for split in SPLITS] == [24, 2, 2, 4]
    entry = manifest(env, "weight")
    assert entry["families"] == {"all": 24}
    assert entry["sources"]["lichess_puzzles"]["sha256"] == pin.sha256
    assert entry["sources"]["lichess_puzzles"]["dropped"].keys() <= {"plies"}


def test_filters_of_the_profile_reach_the_hubs_puzzles(folder: Path) -> None:
    rows = [{**row, "NbPlays": 10 * (place % 4)} for place, row in enumerate(hub_files.lichess())]
    write_csv(folder, LICHESS, rows)
    pinned(LICHESS)
    small = {**CHESS, "sizes": {"weight": 4, "search": 1, "select": 1, "test": 1}}
    usual, strict = (
        manifest(opened("chess", {**small, "filters": {"min_plays": least}}), "weight")["sources"]
        for least in (0, 10)
    )
    assert "plays" not in usual["lichess_puzzles"]["dropped"]
    assert strict["lichess_puzzles"]["dropped"]["plays"] > 0


@pytest.mark.parametrize(
    ("name", "overrides", "said"),
    [
        ("math", ["env.source=hub"], "write families = [], got source = 'hub', families ['sum_1digit']"),
        ("math", ["env.families=[]"], "write families = [], got source = 'embedded', families []"),
        ("searchqa", ["env.families=[]"], "needs one [[env.families]] entry or more, got families = []"),
        (
            "chess",
            ["env.filters.min_plays=9"],
            "filters go with source = 'hub', got source = 'embedded', Filters(",
        ),
        ("chess", ["env.bands=[]"], "env.bands = []: List should have at least 1 item"),
        ("math", ["env.source=web"], "env.source = 'web': Input should be 'embedded' or 'hub'"),
        (
            "searchqa",
            ["env.source=hub", "env.families=[]"],
            "goes with families = [] and retriever = 'http' (a server that has its corpus); got fam",
        ),
        ("chess", ["env.source=web"], "env.source = 'web': Input should be 'embedded' or 'hub'"),
    ],
)
def test_settings_that_do_not_fit(name: str, overrides: list[str], said: str) -> None:
    with pytest.raises(InputError) as caught:
        load_profile("smoke", name, overrides)
    assert said in str(caught.value)
    assert isinstance(caught.value.__cause__, ValidationError)


def test_without_a_lock_the_environment_says_how_to_get_one(folder: Path) -> None:
    with pytest.raises(
        InputError, match=r"aime_2024 .* is not in the lock .* python -m envs.hub pin aime_2024"
    ):
        opened("math", MATHS)

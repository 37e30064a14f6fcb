"""The evolution of prompts when something goes wrong, and which prompts are kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.config import load_profile
from envs.base import Environment, InputError
from envs.table import environment_class
from tests.scripted import START, ScriptedSite
from tests.test_arms import SMALL
from whale.agent import State
from whale.evolve import Evolved, _keep
from whale.gepa_adapter import COMPONENT
from whale.hosting import HarnessHost
from whale.phases import Evolve
from whale.records import Harness, Rollout
from whale.reflector import Feedback, Rewrite
from whale.rollout import OutageError

PHASE = Evolve(41, 2)
"""The eight anchors cost eight calls, an iteration four or twelve: 41 are never met exactly."""


class Listed:
    """A reflector that gives these texts one after the other, then numbered ones; an exception is raised once."""

    name = "listed"

    def __init__(self, *answers: str | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[Sequence[Feedback]] = []

    def rewrite(self, instruction: str, feedback: Sequence[Feedback], seed: int) -> Rewrite:
        self.asked.append(feedback)
        answer = self.answers.pop(0) if self.answers else f"Answer {len(self.asked)} in \\boxed{{}}, please."
        if isinstance(answer, Exception):
            raise answer
        return Rewrite(answer, prompt_tokens=100, completion_tokens=10, dollars=0.5)


class Place:
    """A site in one folder, opened anew for every evolution."""

    def __init__(self, root: Path, env: Environment, host: HarnessHost) -> None:
        self.root, self.env, self.host = root, env, host
        self.made = 0

    def evolve(self, reflector: Listed, broken: bool = False) -> Evolved:
        def watch(_purpose: str, _planned: int, done: Rollout | None) -> None:
            self.made += done is not None
            if broken and self.made > 20:
                raise OutageError("the jail is down")

        site = ScriptedSite(load_profile("smoke", "math", SMALL), self.root, watch, self.env, self.host)
        evolution = site.evolution()
        evolution.reflector = reflector
        return evolution.run(State(START, None, site.starting()), PHASE, 0)


@pytest.fixture(scope="module")
def env(tiny_source: object) -> Iterator[Environment]:
    made = environment_class("math")(load_profile("smoke", "math", SMALL).env)
    yield made
    made.close()


@pytest.fixture
def place(tmp_path: Path, env: Environment, host: HarnessHost) -> Place:
    return Place(tmp_path, env, host)


def test_rewrites_are_charged_in_tokens_and_dollars_and_never_asked_for_twice(place: Place) -> None:
    first = Listed()
    found = place.evolve(first)
    assert found.proposing.dollars == 0.5 * len(first.asked) > 0
    assert found.proposing.rollouts == 0
    assert found.spend.rollouts == PHASE.calls + found.overshoot == place.made
    assert found.overshoot in (3, 7, 11), "the library ends an iteration that it has begun"
    for file in place.root.rglob("done.json"):
        file.unlink()
    again, made = Listed(RuntimeError("asked again")), place.made
    assert place.evolve(again) == found
    assert again.asked == []
    assert place.made == made, "every rollout is on record"


def test_feedback_holds_no_gold_and_no_task_of_another_split(place: Place) -> None:
    reflector = Listed()
    place.evolve(reflector)
    shown = {item.question for feedback in reflector.asked for item in feedback}
    assert shown <= {task.question for task in place.env.tasks("weight")}
    golds = {task.question: task.gold for task in place.env.tasks("weight")}
    assert all(golds[item.question] not in item.note for feedback in reflector.asked for item in feedback)


def test_a_reflector_that_fails_stops_the_run_and_its_work_is_taken_up_again(place: Place) -> None:
    broken = Listed("Be right, in \\boxed{}.", OutageError("no endpoint"))
    with pytest.raises(OutageError, match="no endpoint"):
        place.evolve(broken)
    assert len(broken.asked) == 2, "the library asks again; the reflector is not"
    mended = Listed()
    found = place.evolve(mended)
    whole = Listed("Be right, in \\boxed{}.", "Answer 1 in \\boxed{}, please.")
    other = Place(place.root / "other", place.env, place.host)
    assert [row.harness_id for row in other.evolve(whole).candidates][:2] == [
        row.harness_id for row in found.candidates
    ][:2]
    assert len(mended.asked) == len(whole.asked) - 1, "the first rewrite is on record"


def test_an_outage_inside_the_library_stops_the_run(place: Place) -> None:
    with pytest.raises(OutageError, match="the jail is down"):
        place.evolve(Listed(), broken=True)
    undisturbed = Place(place.root / "other", place.env, place.host).evolve(Listed())
    assert place.evolve(Listed()).candidates == undisturbed.candidates


def test_an_instruction_that_cannot_be_found_again_is_refused_and_costs_nothing(place: Place) -> None:
    found = place.evolve(Listed(*["?"] * 50))
    assert len(found.candidates) == 1, "no rewrite was accepted"
    assert found.spend.rollouts == PHASE.calls + found.overshoot


def test_a_harness_without_an_instruction_is_refused(place: Place) -> None:
    site = ScriptedSite(
        load_profile("smoke", "math", SMALL), place.root, lambda *_: None, place.env, place.host
    )
    bare = Harness("def solve(problem):\n    return problem.question\n    yield\n")
    with pytest.raises(InputError, match=r"no instruction that names the box.*leave fst out"):
        site.evolution().run(State(START, None, bare), PHASE, 0)


def result(scores: list[list[float]], texts: str) -> Any:
    """A library result: ``scores[candidate][anchor]``."""
    anchors = range(len(scores[0]))
    fronts = {a: {c for c, row in enumerate(scores) if row[a] == max(r[a] for r in scores)} for a in anchors}
    return SimpleNamespace(
        candidates=[{COMPONENT: text} for text in texts],
        val_aggregate_scores=[sum(row) / len(row) for row in scores],
        per_val_instance_best_candidates=fronts,
    )


@pytest.mark.parametrize(
    ("scores", "texts", "most", "samples", "kept"),
    [
        ([[1, 0, 0], [0, 1, 0], [0, 1, 1]], "abc", 2, 8, [2, 0]),  # 1 is dominated by 2, 0 is best somewhere
        (
            [[1, 1, 0], [0, 0, 0], [1, 0, 0]],
            "abc",
            2,
            8,
            [0, 2],
        ),  # ties on what all fail fill up, best mean first
        ([[1, 0, 0], [0, 1, 0], [0, 0, 1]], "abc", 4, 8, [0, 1]),  # three do not share eight samples evenly
        ([[1, 0, 0], [0, 1, 0], [0, 0, 1]], "abc", 4, 6, [0, 1, 2]),
        ([[1, 0], [0, 1]], "aa", 2, 8, [0]),  # one text is one prompt
    ],
)
def test_the_prompts_that_are_kept(
    scores: list[list[float]], texts: str, most: int, samples: int, kept: list[int]
) -> None:
    assert _keep(result(scores, texts), most, samples) == kept

"""What every compared method must do, on a scripted model: its phases in order, its budget, its ledger, and resume."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path

import pytest

from baselines import METHODS
from bench.config import Profile, load_profile
from bench.execute import CHARGED, Run
from bench.execute import PHASES as NAMES
from bench.result_file import ResultFile, load
from envs.base import Environment
from envs.table import environment_class
from tests.scripted import START, ScriptedAgent, ScriptedSite
from whale.hosting import HarnessHost
from whale.offline.catalogue import SPACES
from whale.phases import Attempt, Phase, Refine, Search, Train
from whale.prompt_text import same_but_texts
from whale.records import Rollout

SMALL = (
    "env.sizes={weight = 24, search = 4, select = 2, test = 3}",
    "env.verifier=canonical",
    "weight.prompts=4",
    "weight.samples=4",
    "search.examples=4",
    "budget.steps=2",
    "fst.minibatch=2",
    "fst.prompts=2",
    "eval.samples=2",
    "rollout.chunk=16",
)
CHUNK = 16
STEP, SEARCH, TOTAL = 16, 32, 96
"""Rollouts of a weight step, of a search of two iterations, and of the budget: two weight phases and a search."""

W, H = Train(2 * STEP), Search(2)
PHASES: dict[str, list[Phase]] = {
    "frozen": [],
    "attempts": [Attempt(2), Attempt(4)],
    "refinement": [Refine()],
    "weight_only": [W, W, W],
    "grpo": [Train(2 * STEP, learner="policy_gradient")] * 3,
    "harness_only": [H, Search(2, continued=True), Search(2, continued=True)],
    "stagewise": [W, W, H],
    "stagewise_reversed": [H, W, W],
    "whale": [W, H, W],
    "fst_control": [W, Search(2, space="text"), W],
    "split_evidence": [W, Search(2, evidence="failures"), W],
}
"""The definition of every method whose schedule does not depend on what happens."""
FREE = ("frozen", "attempts", "refinement")
JOINT = ("stagewise", "stagewise_reversed", "whale", "whale_adaptive", "fst", "fst_control", "split_evidence")


class Arms:
    """Runs methods on a scripted model below one folder; a run can be stopped at its n-th new rollout."""

    def __init__(self, root: Path, profile: Profile, env: Environment, host: HarnessHost) -> None:
        self.root, self.profile, self.env, self.host = root, profile, env, host

    def run(self, name: str, folder: str, stop_at: int | None = None) -> tuple[Path, ScriptedAgent]:
        """The result file and the agent. Raises ``KeyboardInterrupt`` when new rollout ``stop_at`` is finished."""
        made = 0

        def watch(_purpose: str, _planned: int, done: Rollout | None) -> None:
            nonlocal made
            made += done is not None
            if made == stop_at:
                raise KeyboardInterrupt

        site = ScriptedSite(self.profile, self.root / folder, watch, self.env, self.host)
        return Run(site, METHODS[name], 0, "test").execute(), site.scripted


@pytest.fixture(scope="module")
def arms(tmp_path_factory: pytest.TempPathFactory, host: HarnessHost, tiny_source: object) -> Iterator[Arms]:
    profile = load_profile("smoke", "math", SMALL)
    env = environment_class("math")(profile.env)
    yield Arms(tmp_path_factory.mktemp("arms"), profile, env, host)
    env.close()


@pytest.fixture(scope="module")
def results(arms: Arms) -> dict[str, ResultFile]:
    """All methods in one folder, as the command line runs them."""
    return {name: load(arms.run(name, "all")[0]) for name in METHODS}


def shown(phases: Sequence[Phase]) -> list[str]:
    return ["start", *(NAMES[type(phase)] for phase in phases)]


def test_the_numbers_of_this_file(arms: Arms) -> None:
    plan = arms.profile.plan
    assert (plan.weight.step_cost, plan.cost(plan.searching), plan.total) == (STEP, SEARCH, TOTAL)
    assert {*PHASES, "fst", "whale_adaptive"} == set(METHODS)


@pytest.mark.parametrize("name", PHASES)
def test_phases_come_in_the_order_of_the_definition(
    arms: Arms, results: dict[str, ResultFile], name: str
) -> None:
    assert METHODS[name].phases(arms.profile.plan) == PHASES[name]
    assert [point.phase for point in results[name].checkpoints] == shown(PHASES[name])


def test_fast_slow_training_evolves_before_every_weight_phase(results: dict[str, ResultFile]) -> None:
    found = [point.phase for point in results["fst"].checkpoints]
    assert found[:3] == ["start", "search", "weight"]
    assert found[-1] == "weight"


def test_adaptive_whale_begins_and_ends_with_weights(results: dict[str, ResultFile]) -> None:
    found = [point.phase for point in results["whale_adaptive"].checkpoints]
    assert found[1] == found[-1] == "weight"
    assert "search" in found


@pytest.mark.parametrize("name", METHODS)
def test_the_budget_is_spent_to_the_last_rollout(results: dict[str, ResultFile], name: str) -> None:
    result = results[name]
    assert result.budget == (0 if name in FREE else TOTAL)
    assert result.checkpoints[-1].charged.rollouts == result.budget


@pytest.mark.parametrize("name", METHODS)
def test_ledger_training_and_checkpoints_agree(results: dict[str, ResultFile], name: str) -> None:
    result = results[name]
    last = result.checkpoints[-1].charged
    for field in type(last).model_fields:
        assert getattr(last, field) == sum(getattr(result.ledger[purpose], field) for purpose in CHARGED)
    assert sum(row.rollouts for row in result.training) == result.ledger["train"].rollouts
    looked = sum(point.evaluation.rollouts for point in result.checkpoints if point.evaluation)
    systems = {(point.weights_id, point.harness_id) for point in result.checkpoints}
    corners = {(corner.weights_id, corner.harness_id) for corner in result.cross} - systems
    assert result.ledger["eval"].rollouts == looked + len(corners) * 3 * 2


@pytest.mark.parametrize("name", METHODS)
def test_joint_methods_have_the_two_corners_that_were_never_in_force(
    results: dict[str, ResultFile], name: str
) -> None:
    result = results[name]
    if name not in JOINT:
        assert result.cross == []
        return
    first, last = result.checkpoints[0], result.checkpoints[-1]
    trained, searched = result.cross
    assert (trained.weights_id, trained.harness_id) == (last.weights_id, first.harness_id)
    assert (searched.weights_id, searched.harness_id) == (START, last.harness_id)
    assert [set(corner.test) for corner in result.cross] == [set(last.test)] * 2


@pytest.mark.parametrize("name", METHODS)
def test_stopped_at_every_event_it_ends_with_the_same_bytes(
    arms: Arms, results: dict[str, ResultFile], name: str
) -> None:
    """Stopped by turns at the first rollout of a block and right after one, until nothing is left to stop."""
    stops = 0
    for stop_at in cycle((1, CHUNK + 1)):
        try:
            resumed, _ = arms.run(name, "stopped", stop_at)
            break
        except KeyboardInterrupt:
            stops += 1
    assert (
        resumed.read_bytes() == (arms.root / "all" / resumed.relative_to(arms.root / "stopped")).read_bytes()
    )
    assert stops >= len(results[name].checkpoints), "at least once in every phase"
    shutil.rmtree(arms.root / "stopped")


def test_prompts_are_carried_and_a_task_is_split_evenly_over_them(arms: Arms) -> None:
    profile = load_profile("smoke", "math", [*SMALL, "fst.calls=6", "budget.cycles=2"])
    path, agent = Arms(arms.root, profile, arms.env, arms.host).run("fst", "split")
    result = load(path)
    phases = [point.phase for point in result.checkpoints]
    assert phases[:5] == ["start", "search", "weight", "search", "weight"]
    assert set(phases[5:]) <= {"weight"}
    evolved = [row for row in result.candidates if row.phase == 3]
    kept = [row.harness_id for row in result.candidates if row.phase == 1 and row.accepted]
    assert len(kept) == 2
    assert set(kept) <= {row.harness_id for row in evolved}, "every carried prompt meets the new anchors"
    whole = agent.learnt[:4]
    assert [kind for kind, _ in whole] == ["policy_gradient"] * 4
    assert [sorted(map(harnesses.count, set(harnesses))) for _, harnesses in whole] == [[2, 2]] * 4


def test_what_goes_beyond_the_soft_cap_is_charged(arms: Arms, results: dict[str, ResultFile]) -> None:
    result = results["fst"]
    evolved = [point for point in result.checkpoints if point.phase == "search"]
    assert len(evolved) == 1
    assert 0 <= result.overshoot <= arms.profile.plan.slack
    assert result.ledger["search"].rollouts == arms.profile.plan.evolving.calls + result.overshoot


def test_a_proposer_with_split_evidence_sees_failures_of_the_weight_phase_and_no_success(
    arms: Arms, results: dict[str, ResultFile]
) -> None:
    weight_tasks = {task.id for task in arms.env.tasks("weight")}
    found = {}
    for folder in (arms.root / "all").rglob("candidates/*"):
        about = json.loads((folder / "about.json").read_text())
        if about["failures_only"]:
            traces = [json.loads(line) for line in (folder / "traces.jsonl").read_text().splitlines()]
            found[about["iteration"]] = traces
    assert set(found) == {0, 1, 2}
    assert found[0]
    assert {trace["task_id"] for trace in found[0]} <= weight_tasks
    assert not any(trace["verdict"] == "correct" for traces in found.values() for trace in traces)


def test_the_control_proposes_nothing_but_texts(arms: Arms, results: dict[str, ResultFile]) -> None:
    known = {edit.name for edit in SPACES["math"].text}
    rows = [row for row in results["fst_control"].candidates if row.iteration]
    assert len(rows) == 4
    assert {name for row in rows for name in row.edit.split("+")} <= known
    sources = {
        folder.name[4:]: (folder / "harness.py").read_text() for folder in arms.root.rglob("candidates/*")
    }
    for row in rows:
        assert row.parent is not None
        assert same_but_texts(sources[row.parent], sources[row.harness_id])
        assert sources[row.parent] != sources[row.harness_id]

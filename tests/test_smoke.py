"""All methods on the tiny model through the real command line: budgets, ledgers, sharing, resume, report."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from baselines import METHODS
from bench.config import Profile, load_profile
from bench.planning import costs
from bench.result_file import Checkpoint, ResultFile, SpendRow, dump, load
from tests.commands import finished, results

COMMAND = (
    *("run", "math", "--method", "all", "--seeds", "0", "--profile", "smoke", "--runs", "runs"),
    *("--set", "eval.samples=2"),
)
PAID = ("train", "search", "confirm", "proposer")
FREE = ("frozen", "attempts", "refinement")


@dataclass(frozen=True)
class Smoke:
    """One finished run of all methods."""

    cwd: Path
    output: str
    results: dict[str, ResultFile]

    @property
    def home(self) -> Path:
        return self.cwd / "runs" / "smoke" / "math"

    def file(self, method: str) -> Path:
        return self.home / method / "s0" / f"{method}-s0.json"

    def files(self) -> dict[str, bytes]:
        """Everything below the run's folder but the lock."""
        return {
            str(path.relative_to(self.home)): path.read_bytes()
            for path in sorted(self.home.rglob("*"))
            if path.is_file() and path.name != "lock"
        }


@pytest.fixture(scope="session")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Smoke:
    cwd = tmp_path_factory.mktemp("smoke")
    output = finished(*COMMAND, cwd=cwd)
    folder = cwd / "runs" / "smoke" / "math"
    found = {method: load(folder / method / "s0" / f"{method}-s0.json") for method in METHODS}
    return Smoke(cwd, output, found)


@pytest.fixture(scope="session")
def profile() -> Profile:
    return load_profile("smoke", "math", ["eval.samples=2"])


def added(rows: list[SpendRow]) -> SpendRow:
    return SpendRow.model_validate(
        {name: sum(getattr(row, name) for row in rows) for name in SpendRow.model_fields}
    )


def systems(points: list[Checkpoint]) -> list[tuple[str, str]]:
    return [(point.weights_id, point.harness_id) for point in points]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_charged_exactly_its_budget(smoke: Smoke, profile: Profile, method: str) -> None:
    result = smoke.results[method]
    assert result.budget == (0 if method in FREE else profile.plan.total)
    charged = added([result.ledger[purpose] for purpose in PAID])
    assert charged.rollouts == result.budget
    assert result.checkpoints[-1].charged == charged
    assert (charged.completion_tokens > 0) == (method not in FREE)


@pytest.mark.parametrize("method", METHODS)
def test_every_sample_has_one_verdict(smoke: Smoke, profile: Profile, method: str) -> None:
    result = smoke.results[method]
    sizes, samples = profile.env.sizes, profile.eval.samples
    for point in result.checkpoints:
        assert (len(point.select), len(point.test)) == (sizes.select, sizes.test)
        for counts in (point.select, point.test):
            total = sum((Counter(row) for row in counts.values()), Counter())
            assert sum(total.values()) == len(counts) * samples


@pytest.mark.parametrize("method", METHODS)
def test_a_result_file_is_canonical_and_holds_no_machine_path(smoke: Smoke, method: str) -> None:
    text = smoke.file(method).read_text(encoding="utf-8")
    assert dump(smoke.results[method]) == text
    assert str(smoke.cwd) not in text


def test_the_start_is_the_same_for_all_and_phases_move_it(smoke: Smoke) -> None:
    starts = {json.dumps(result.checkpoints[0].model_dump(mode="json")) for result in smoke.results.values()}
    assert len(starts) == 1
    for result in smoke.results.values():
        for before, after in zip(result.checkpoints, result.checkpoints[1:], strict=False):
            if after.phase == "weight":
                assert after.weights_id != before.weights_id
                assert after.harness_id == before.harness_id
            else:
                assert after.weights_id == before.weights_id
            if after.phase == "attempts":
                assert after.harness_id == before.harness_id
            assert after.harness_id in result.harnesses


def test_methods_share_their_first_weight_phase_and_are_each_charged(smoke: Smoke, profile: Profile) -> None:
    sharing = [smoke.results[method] for method in ("weight_only", "stagewise", "whale")]
    first = [result.checkpoints[1] for result in sharing]
    assert len({point.weights_id for point in first}) == 1
    assert {point.charged.rollouts for point in first} == {profile.plan.cost(profile.plan.train)}
    assert first[0] == first[1] == first[2]
    assert sharing[0].training[0] == sharing[1].training[0] == sharing[2].training[0]


def test_what_is_shared_is_computed_once(smoke: Smoke, profile: Profile) -> None:
    made = [
        (path.name, row["task_id"], row["sample"], row["harness_id"])
        for path in (smoke.home / "cache" / "rollouts").glob("*.jsonl")
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines())
    ]
    assert len(set(made)) == len(made), "a rollout was recorded twice"
    assert 0 < len(made) <= sum(row.computed for row in costs(profile, list(METHODS.values())))
    charged = sum(row.rollouts for result in smoke.results.values() for row in result.ledger.values())
    assert len(made) < charged


def test_every_candidate_of_a_search_is_in_the_result(smoke: Smoke, profile: Profile) -> None:
    search = profile.search
    for method in ("harness_only", "stagewise", "whale"):
        result = smoke.results[method]
        for point in result.checkpoints:
            if point.phase != "search":
                continue
            rows = [row for row in result.candidates if row.phase == point.index]
            proposed = [row for row in rows if row.iteration and row.screen is not None]
            assert len(proposed) == search.candidates * profile.budget.iterations
            assert sum(row.confirm is not None for row in rows) <= search.finalists + 1
            assert all(row.note for row in rows if row.screen is None), "an invalid candidate has a reason"
            assert {row.harness_id for row in rows if row.accepted} <= {point.harness_id}


def test_training_rows_say_what_a_step_did(smoke: Smoke, profile: Profile) -> None:
    rows = smoke.results["weight_only"].training
    assert [row.step for row in rows] == list(range(len(rows)))
    for row in rows:
        assert row.rollouts == profile.weight.step_cost
        assert 0 < row.accepted < row.rollouts, "nothing to learn from, or nothing to learn"
        assert row.loss is not None
        assert row.loss > 0


def test_the_output_is_ours_alone(smoke: Smoke) -> None:
    assert "train_runtime" not in smoke.output
    assert "Warning" not in smoke.output
    for method in METHODS:
        assert f"{method} s0: done, runs/smoke/math/{method}/s0/{method}-s0.json" in smoke.output


def test_the_report_names_everything_that_made_it(smoke: Smoke) -> None:
    report = (smoke.home / "report" / "report.md").read_text(encoding="utf-8")
    result = smoke.results["whale"]
    assert f"- command: `python -m bench {' '.join(COMMAND)}`" in report
    assert f"- commit: `{result.provenance['commit']}`" in report
    for name, value in result.switches.items():
        assert f"- switch {name}: `{value}`" in report
    for method in METHODS:
        budget = (
            "no training budget" if method in FREE else f"{smoke.results[method].budget} rollouts allowed"
        )
        assert f"- {method}: seeds 0; {budget}" in report
    assert str(smoke.cwd) not in report
    for name in ("curves.png", "curves.svg", "families.png"):
        assert (smoke.home / "report" / name).stat().st_size > 1000


def test_the_same_command_again_makes_nothing_and_changes_nothing(smoke: Smoke) -> None:
    before = smoke.files()
    output = finished(*COMMAND, cwd=smoke.cwd)
    assert smoke.files() == before, "files, report and figures included"
    assert output.count("already done") == len(METHODS)
    assert "rollouts  (" not in output, "a rollout was made"


def test_from_the_cache_alone_the_same_bytes_come_back(smoke: Smoke, tmp_path: Path) -> None:
    """Every result again from recorded rollouts, weights and searches: not one new rollout."""
    shutil.copytree(smoke.cwd / "runs", tmp_path / "runs")
    home = tmp_path / "runs" / "smoke" / "math"
    for method in METHODS:
        shutil.rmtree(home / method)
    output = finished(*COMMAND, cwd=tmp_path)
    assert "rollouts  (" not in output, "a rollout was made"
    assert results(tmp_path / "runs") == results(smoke.cwd / "runs")


def test_another_profile_in_between_is_not_mistaken_for_this_one(smoke: Smoke, tmp_path: Path) -> None:
    """Same names, other numbers: the file is replaced, and going back brings the first one back."""
    shutil.copytree(smoke.cwd / "runs", tmp_path / "runs")
    narrow = (*COMMAND[:3], "frozen", *COMMAND[4:])
    file = tmp_path / "runs" / "smoke" / "math" / "frozen" / "s0" / "frozen-s0.json"
    finished(*narrow, "--set", "eval.samples=1", cwd=tmp_path)
    assert load(file).samples == 1
    output = finished(*narrow, cwd=tmp_path)
    assert "frozen s0: done" in output
    again, first = load(file), smoke.results["frozen"]
    assert again.checkpoints == first.checkpoints
    assert again.provenance["config"] == first.provenance["config"]


def test_transcripts_can_be_read(smoke: Smoke) -> None:
    place = "runs/smoke/math"
    shown = finished(
        "show", place, "--method", "whale", "--verdict", "correct", "--count", "2", cwd=smoke.cwd
    )
    assert shown.count("verdict: correct") == 2
    assert shown.count("answer read: ") == 2
    assert "[user] " in shown
    assert "[model, stop] " in shown

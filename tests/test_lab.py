"""The lab's cache: nothing is computed twice, nothing is lost, and an interrupted run ends as a whole one does."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from envs.base import InputError, Score, Task, Verdict
from tests.small import ASK, Bench, PlainEnvironment, rollout
from whale.evaluation import blind, evaluate
from whale.hosting import HarnessHost
from whale.lab import Trained
from whale.models import ModelSource
from whale.phases import Train
from whale.records import Harness, Rollout, Spend
from whale.rollout import OutageError, Work

OTHER = ASK.replace("max_tokens=12", "max_tokens=11")


class Stop(Exception):
    """Raised where a process would have been killed."""


class Places:
    """Makes benches over folders of one test."""

    def __init__(self, root: Path, source: ModelSource, host: HarnessHost) -> None:
        self.root, self.source, self.host = root, source, host

    def open(self, name: str = "a", *, kill_after: int | None = None, down: Sequence[int] = ()) -> Bench:
        finished = 0

        def watch(purpose: str, planned: int, rollout: Rollout | None) -> None:
            nonlocal finished
            finished += rollout is not None
            if finished == kill_after:
                raise Stop

        env = PlainEnvironment(6)
        env.down = {env.tasks("search")[index].question for index in down}
        return Bench(self.root / name, self.source, env, self.host, watch=watch)

    def log(self, name: str = "a") -> Path:
        (path,) = (self.root / name / "rollouts").glob("*.jsonl")
        return path


@pytest.fixture
def places(tmp_path: Path, random_model: ModelSource, host: HarnessHost) -> Places:
    return Places(tmp_path, random_model, host)


def work_of(bench: Bench, source: str = ASK, samples: int = 2) -> list[Work]:
    return [
        Work(task, Harness(source), sample) for task in bench.env.tasks("search") for sample in range(samples)
    ]


def block(bench: Bench, seed: int = 0) -> list[Rollout]:
    return bench.lab.rollouts(bench.state(), work_of(bench), "test", seed)


def test_a_block_that_is_there_costs_no_engine_call(places: Places) -> None:
    bench = places.open()
    made = block(bench)
    assert [item.key for item in made] == [work.key for work in work_of(bench)]
    assert bench.submitted == 12
    written = places.log().read_bytes()
    again = places.open()
    assert block(again) == made
    assert again.submitted == 0
    assert again.counted is None, "not even the engine is loaded"
    assert places.log().read_bytes() == written


def test_eight_samples_stay_eight_samples_from_the_cache(places: Places) -> None:
    bench = places.open()
    work = work_of(bench, samples=8)[:8]
    first = bench.lab.rollouts(bench.state(), work, "test", 0)
    assert len({item.calls[0].completions for item in first}) > 4
    second = places.open()
    assert second.lab.rollouts(second.state(), work, "test", 0) == first


def test_a_torn_last_line_is_cut_off_and_its_work_done_again(places: Places) -> None:
    made = block(places.open())
    lines = places.log().read_bytes().splitlines(keepends=True)
    places.log().write_bytes(b"".join(lines[:4]) + lines[4][: len(lines[4]) // 2])
    again = places.open()
    assert block(again) == made
    assert again.submitted == 12, "both chunks of eight are run whole"
    assert sorted(places.log().read_bytes().splitlines(keepends=True)) == sorted(lines)
    assert places.log().read_bytes().startswith(b"".join(lines[:4]))


def test_only_the_chunk_that_lacks_something_is_run(places: Places) -> None:
    made = block(places.open())
    lines = places.log().read_bytes().splitlines(keepends=True)
    places.log().write_bytes(b"".join(lines[:-1]))
    again = places.open()
    assert block(again) == made
    assert again.submitted == 4


def test_damage_in_the_middle_names_file_and_line(places: Places) -> None:
    block(places.open())
    lines = places.log().read_bytes().splitlines(keepends=True)
    lines[2] = lines[2][:40] + b"\n"
    places.log().write_bytes(b"".join(lines))
    with pytest.raises(InputError, match=r"\.jsonl, line 3 of 12, is damaged") as caught:
        block(places.open())
    assert str(places.log()) in str(caught.value)


def test_a_line_that_is_no_rollout_is_named(places: Places) -> None:
    block(places.open())
    lines = places.log().read_bytes().splitlines(keepends=True)
    lines[4] = b'{"task_id": "x"}\n'
    places.log().write_bytes(b"".join(lines))
    with pytest.raises(InputError, match=r"\.jsonl, line 5, is no rollout: .*Remove that line"):
        block(places.open())


def test_of_duplicate_rows_the_first_counts(places: Places) -> None:
    made = block(places.open())
    lines = places.log().read_text(encoding="utf-8").splitlines(keepends=True)
    forged = json.loads(lines[0]) | {"answer": "from the second copy"}
    places.log().write_text("".join([*lines, json.dumps(forged) + "\n", *lines]), encoding="utf-8")
    again = places.open()
    assert block(again) == made
    assert again.submitted == 0


def test_an_outage_stops_the_block_and_only_it_is_owed(places: Places) -> None:
    clock = "def solve(problem):\n    return problem.question + (yield Tool('clock'))\n"

    def run(bench: Bench) -> list[Rollout]:
        return bench.lab.rollouts(bench.state(clock), work_of(bench, clock), "test", 0)

    with pytest.raises(OutageError, match=r"2 of 8 rollouts \(test\) .* the clock is down.* are recorded"):
        run(places.open(down=(1, 4)))
    recorded = places.log().read_text(encoding="utf-8").splitlines()
    assert recorded
    assert not any("infra_error" in line for line in recorded)
    mended = run(places.open())
    assert Verdict.INFRA_ERROR not in [item.score.verdict for item in mended]
    assert places.log().read_text(encoding="utf-8").splitlines()[: len(recorded)] == recorded
    assert run(places.open()) == mended


def test_a_killed_block_ends_as_a_whole_one_does(places: Places) -> None:
    whole = block(places.open("whole"))
    with pytest.raises(Stop):
        block(places.open(kill_after=10))
    assert len(places.log().read_bytes().splitlines()) == 8
    again = places.open()
    assert block(again) == whole
    assert again.submitted == 4
    assert places.log().read_bytes() == places.log("whole").read_bytes()


def test_what_decides_a_rollout_is_in_its_key(places: Places) -> None:
    bench = places.open()
    lab, state = bench.lab, bench.state()
    work = work_of(bench)[:2]
    bench.lab.rollouts(state, work, "test", 0)
    others = [
        (state, [Work(item.task, Harness(OTHER), item.sample) for item in work], "test", 0),
        (state, work, "other", 0),
        (state, work, "test", 1),
        (state, work[:1], "test", 0),
        (state, [replace(item, sample=item.sample + 1) for item in work], "test", 0),
    ]
    for count, arguments in enumerate(others, 2):
        lab.rollouts(*arguments)
        assert len(list((places.root / "a" / "rollouts").glob("*.jsonl"))) == count
    keys = {lab.key("rollouts", weights=weights, seed=seed) for weights in "ab" for seed in (0, 1)}
    lab.identity["caps"] = 5
    keys |= {lab.key("rollouts", weights="a", seed=0), lab.key("weights", weights="a", seed=0)}
    assert len(keys) == 6


def test_equal_questions_in_two_splits_are_two_tasks(places: Places) -> None:
    bench = places.open()
    search, select = (bench.env.tasks(split)[0] for split in ("search", "select"))
    assert search.question == select.question
    assert search.id != select.id
    assert search.id == Task.make("plain", "search", search.question, search.gold).id
    made = [
        bench.lab.rollouts(bench.state(), [Work(task, Harness(ASK), 0)], "test", 0)
        for task in (search, select)
    ]
    assert len(list((places.root / "a" / "rollouts").glob("*.jsonl"))) == 2
    assert made[0][0].calls != made[1][0].calls, "the split is part of the seed too"


def test_an_evaluation_counts_every_rollout_once(places: Places) -> None:
    bench = places.open()
    counts, spend = evaluate(bench.lab, bench.state(), 3, 0)
    for split in ("select", "test"):
        assert list(counts[split]) == [task.id for task in bench.env.tasks(split)]
        assert all(sum(row.values()) == 3 for row in counts[split].values())
    verdicts = {verdict for rows in counts.values() for row in rows.values() for verdict in row}
    assert {Verdict.CORRECT, Verdict.WRONG} <= verdicts
    assert spend.rollouts == 2 * 6 * 3
    assert bench.submitted == spend.model_calls == 36
    again = places.open()
    assert evaluate(again.lab, again.state(), 3, 0) == (counts, spend)
    assert again.submitted == 0


def test_attempts_share_the_first_block_and_a_blind_vote_decides(places: Places) -> None:
    bench = places.open()
    one, _ = evaluate(bench.lab, bench.state(), 3, 0)
    submitted = bench.submitted
    three, spend = evaluate(bench.lab, bench.state(), 3, 0, attempts=3)
    assert bench.submitted == 3 * submitted, "the first attempts are those of the evaluation before"
    assert spend.rollouts == 3 * 2 * 6 * 3
    assert three == one, "no two replies are alike, and the first of equals is taken"
    assert all(sum(row.values()) == 3 for rows in three.values() for row in rows.values())


def test_the_blind_vote_by_hand() -> None:
    def made(answer: str | None, verdict: Verdict) -> Rollout:
        return replace(rollout(verdict=verdict), score=Score.of(verdict, answer))

    right, wrong, none = made("7", Verdict.CORRECT), made("8", Verdict.WRONG), made(None, Verdict.NO_ANSWER)
    assert blind([wrong, right, right]) is right
    assert blind([wrong, wrong, right]) is wrong, "most attempts, whatever the verdict"
    assert blind([wrong, right]) is wrong, "the first of equals"
    assert blind([none, right]) is right, "an answer before none"
    assert blind([none, none]) is none


def test_a_weight_phase_spends_its_rollouts_to_the_last(places: Places) -> None:
    trained = places.open().lab.train(places.open().state(), Train(8 + 3), 5)
    assert [step.rollouts for step in trained.steps] == [8, 3]
    assert trained.spend.rollouts == 11


def train(bench: Bench) -> Trained:
    """Two steps under a seed with which both have something to learn from."""
    return bench.lab.train(bench.state(), Train(2 * 8), 5)


def test_a_weight_phase_is_trained_once(places: Places) -> None:
    bench = places.open()
    trained = train(bench)
    assert trained.state.weights_id == bench.agent.engine.weights_id != bench.agent.start_id
    assert trained.state.steps == 2
    assert [step.step for step in trained.steps] == [0, 1]
    assert all(step.rollouts == 8 and step.accepted > 0 and step.loss for step in trained.steps)
    assert all(0 < step.reward < 1 for step in trained.steps)
    assert trained.spend.rollouts == 16
    again = places.open()
    assert train(again) == trained
    assert again.submitted == 0
    again.agent.load(trained.state)
    assert again.agent.engine.weights_id == trained.state.weights_id
    after = again.lab.train(trained.state, Train(8), 0)
    assert [step.step for step in after.steps] == [2]
    assert after.state.weights_id == bench.lab.train(trained.state, Train(8), 0).state.weights_id


@pytest.mark.parametrize("kill_after", [3, 8, 12])
def test_a_killed_weight_phase_ends_as_a_whole_one_does(places: Places, kill_after: int) -> None:
    whole = train(places.open("whole"))
    with pytest.raises(Stop):
        train(places.open(kill_after=kill_after))
    again = places.open()
    resumed = train(again)
    assert again.submitted == (16 if kill_after <= 8 else 8), "a recorded block is not made again"
    assert resumed.state.weights_id == whole.state.weights_id
    assert (resumed.steps, resumed.spend) == (whole.steps, whole.spend)


def test_a_phase_that_accepts_nothing_keeps_the_weights(places: Places) -> None:
    bench = places.open()
    silent = "def solve(problem):\n    yield Chat([user(problem.question)], max_tokens=2)\n    return 'odd'\n"
    trained = bench.lab.train(bench.state(silent), Train(2 * 8), 0)
    assert trained.state.weights_id == bench.agent.start_id
    assert [(step.accepted, step.loss, step.rollouts) for step in trained.steps] == [(0, None, 8)] * 2
    assert trained.spend.rollouts == 16
    assert trained.spend.completion_tokens > 0


def test_weights_of_another_run_are_not_taken_for_ours(places: Places) -> None:
    bench = places.open()
    trained = train(bench)
    other = bench.lab.train(bench.state(), Train(8), 1).state
    assert trained.state.learner is not None
    assert other.learner is not None
    shutil.copy(other.learner / "model.safetensors", trained.state.learner / "model.safetensors")
    with pytest.raises(RuntimeError, match=f"not {trained.state.weights_id}; delete that directory"):
        places.open().agent.load(trained.state)


def test_training_tasks_go_round_before_any_comes_again(places: Places) -> None:
    lab = places.open().lab
    for seed in (0, 1):
        epoch = [task.id for step in range(3) for task in lab.batch(step, seed)]
        assert sorted(epoch) == sorted(task.id for task in lab.env.tasks("weight"))
        assert [task.id for step in range(3, 6) for task in lab.batch(step, seed)] != epoch
    assert [task.id for task in lab.batch(0, 0)] != [task.id for task in lab.batch(0, 1)]


def test_spend_adds_up() -> None:
    parts = [Spend(1, 2, 3, 4, 0.5), Spend(10, 20, 30, 40, 0.25)]
    assert Spend.total(parts) == Spend(11, 22, 33, 44, 0.75)
    assert Spend.total([]) == Spend()

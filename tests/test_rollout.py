"""Rollouts with a real engine and a real jail: what is charged, what is cut, what fails, and in what order."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from pydantic import TypeAdapter

from envs.base import Task, Verdict
from envs.math_env.env import MathEnvironment
from tests.small import ASK, PlainEnvironment
from whale.contract import Message
from whale.engine import Sampling
from whale.hosting import HarnessHost
from whale.models import ModelSource
from whale.records import Harness, Rollout, Spend
from whale.rollout import INFRA_TRIES, OUTAGE, Caps, OutageError, RolloutRunner, Work
from whale.rows import accepted, rows_of
from whale.transformers_engine import TransformersEngine

CAPS = Caps(tokens=48, calls=8)
VOTE = """
def solve(problem):
    replies = yield Chat([user(problem.question)], samples=3, max_tokens=9)
    return " | ".join(reply.text for reply in replies) + f" {len(replies)}"
"""
GREEDY_FOR_TOKENS = """
def solve(problem):
    cut = []
    for turn in range(12):
        reply = yield Chat([user(f"{problem.question} {turn}")], max_tokens=7)
        cut.append((len(reply.text) > 0, reply.cut))
    return str(cut[-1])
"""
TALK = """
def solve(problem):
    messages = [user(problem.question)]
    for turn in range(3):
        reply = yield Chat(messages, max_tokens=10)
        messages += [assistant(reply.text), user("again")]
    return reply.text
"""
CALCULATE = """
def solve(problem):
    shown = yield Tool("python", {"code": "print(6 * 7)"})
    bad = yield Tool("python", {"cod": "1"})
    return f"\\\\boxed{{{shown.strip()}}} {bad[:5]}"
"""
RANDOM = """
import random

def solve(problem):
    reply = yield Chat([user(problem.question)], samples=random.randint(1, 3), max_tokens=random.randint(1, 9))
    return "done"
"""
CLOCK = 'def solve(problem):\n    yield Chat([user("x")], max_tokens=3)\n    return (yield Tool("clock"))\n'


@pytest.fixture(scope="module")
def engine(random_model: ModelSource) -> TransformersEngine:
    made = TransformersEngine(random_model.directory, Sampling(), batch=16, refill=0.5, device="cpu")
    made.use("w")
    return made


@pytest.fixture
def env() -> PlainEnvironment:
    return PlainEnvironment(8)


def task_of(gold: str = "even", question: str = "Say something.") -> Task:
    return Task.make("plain", "search", question, gold)


def one(
    engine: TransformersEngine,
    env: PlainEnvironment | MathEnvironment,
    host: HarnessHost,
    source: str,
    task: Task | None = None,
    caps: Caps = CAPS,
) -> Rollout:
    (made,) = RolloutRunner(engine, env, host, caps).run(
        [Work(task or task_of(), Harness(source), 0)], (0, "test")
    )
    return made


def test_every_sample_of_a_vote_is_charged(
    engine: TransformersEngine, env: PlainEnvironment, host: HarnessHost
) -> None:
    made = one(engine, env, host, VOTE)
    (call,) = made.calls
    assert len(call.completions) == len(call.texts) == len(call.finishes) == 3
    assert len(set(call.completions)) == 3
    assert call.messages == (Message("user", "Say something."),)
    assert call.prompt_ids == engine.encode(call.messages)
    lengths = [len(ids) for ids in call.completions]
    assert made.spend == Spend(1, 3, len(call.prompt_ids), sum(lengths))
    assert max(lengths) <= 9
    assert made.answer == " | ".join(call.texts) + " 3"
    assert (made.weights_id, made.harness_id, made.error) == ("w", Harness(VOTE).id, "")


def test_the_samples_of_a_vote_share_what_is_left(
    engine: TransformersEngine, env: PlainEnvironment, host: HarnessHost
) -> None:
    source = VOTE.replace(", max_tokens=9", "")
    for sample in range(8):
        runner = RolloutRunner(engine, env, host, Caps(tokens=20, calls=8))
        (made,) = runner.run([Work(task_of(), Harness(source), sample)], (0,))
        assert made.spend.completion_tokens <= 20
        assert all(len(ids) <= 6 for ids in made.calls[0].completions)


def test_the_token_limit_holds_over_all_calls_and_later_replies_are_cut_and_free(
    engine: TransformersEngine, env: PlainEnvironment, host: HarnessHost
) -> None:
    made = one(engine, env, host, GREEDY_FOR_TOKENS, caps=Caps(tokens=10, calls=20))
    assert made.spend.completion_tokens == 10
    assert len(made.calls) == made.spend.model_calls < 12
    assert made.answer == "(False, True)"
    assert made.error == ""


def test_an_empty_answer_after_the_token_limit_counts_as_truncated(
    engine: TransformersEngine, env: PlainEnvironment, host: HarnessHost
) -> None:
    # The last real reply may have ended by itself: it is the free reply that was cut.
    source = GREEDY_FOR_TOKENS.replace("return str(cut[-1])", "return reply.text")
    for sample in range(6):
        runner = RolloutRunner(engine, env, host, Caps(tokens=10, calls=20))
        (made,) = runner.run([Work(task_of(), Harness(source), sample)], (0,))
        assert made.score.verdict is Verdict.TRUNCATED


@pytest.mark.parametrize("tokens", [1000, 5])
def test_too_many_calls_end_the_rollout_even_when_they_are_free(
    engine: TransformersEngine, env: PlainEnvironment, host: HarnessHost, tokens: int
) -> None:
    source = 'def solve(problem):\n    while True:\n        yield Chat([user("x")], max_tokens=5)\n'
    made = one(engine, env, host, source, caps=Caps(tokens=tokens, calls=3))
    assert made.score.verdict is Verdict.NO_ANSWER
    assert made.error == "more than 3 model and tool calls"
    assert made.answer is None
    assert 1 <= len(made.calls) <= 3
    assert not accepted(made)
    allowed = (
        "def solve(problem):\n" + '    yield Chat([user("x")], max_tokens=2)\n' * 3 + '    return "ok"\n'
    )
    assert one(engine, env, host, allowed, caps=Caps(tokens=tokens, calls=3)).answer == "ok"


FAILURES = {
    'yield Tool("browser")': ["no tool 'browser'; this environment has: clock"],
    'raise ValueError("boom")': ["exception: ", "ValueError: boom"],
    "yield 3": ["solve yielded 3 (int)"],
    "import os; os._exit(3)": ["died: ", "exit status 3"],
    'yield Chat([user("word " * 4000)])': ["prompt", "exceed the model's 512"],
    'yield Chat([user("a\\ud800b")])': ["protocol: ", "ud800"],
    "return chr(0xd800)": ["protocol: ", "ud800"],
    "raise ValueError(chr(0xd800))": ["exception: ", "ValueError: ?"],
}


@pytest.mark.parametrize(("body", "words"), FAILURES.items(), ids=range(len(FAILURES)))
def test_a_harness_that_fails_has_no_answer_and_others_go_on(
    engine: TransformersEngine, env: PlainEnvironment, host: HarnessHost, body: str, words: list[str]
) -> None:
    source = f"def solve(problem):\n    reply = yield Chat([user('hi')], max_tokens=4)\n    {body}\n    return ''\n"
    works = [Work(task_of(), Harness(item), 0) for item in (ASK, source, ASK)]
    first, failed, last = RolloutRunner(engine, env, host, CAPS).run(works, (0,))
    assert failed.score.verdict is Verdict.NO_ANSWER
    assert failed.score.detail == failed.error
    assert failed.answer is None
    assert TypeAdapter(Rollout).validate_json(TypeAdapter(Rollout).dump_json(failed)) == failed
    assert all(word in failed.error for word in words), failed.error
    assert (failed.spend.rollouts, failed.spend.model_calls) == (1, 1)
    assert first == last
    assert first.error == ""


def test_the_python_tool_runs_and_its_calls_are_recorded(
    engine: TransformersEngine, math_env: MathEnvironment, host: HarnessHost
) -> None:
    task = Task.make("math", "search", "What is 6 * 7?", "42")
    made = one(engine, math_env, host, CALCULATE, task)
    assert made.score.verdict is Verdict.CORRECT, made
    assert (made.score.answer, made.calls, made.spend) == ("42", (), Spend(rollouts=1))
    good, bad = made.tools
    assert (good.name, json.loads(good.arguments), good.result.strip()) == (
        "python",
        {"code": "print(6 * 7)"},
        "42",
    )
    assert bad.result.startswith("error: call python with one argument")
    assert not accepted(made), "a rollout in which the model never spoke trains nothing"


def test_results_come_in_the_order_of_the_work_and_repeat_exactly(
    engine: TransformersEngine, env: PlainEnvironment, host: HarnessHost
) -> None:
    sources = [Harness(source) for source in (ASK, VOTE, TALK, RANDOM)]
    works = [Work(task, sources[(index + sample) % 4], sample)
             for index, task in enumerate(env.tasks("search")) for sample in range(3)]  # fmt: skip

    def run(in_flight: int, *seed_parts: object, order: int = 1) -> list[Rollout]:
        finished: list[Rollout] = []
        runner = RolloutRunner(engine, env, host, CAPS, in_flight=in_flight)
        made = runner.run(works[::order], seed_parts, finished.append)
        assert sorted(map(repr, finished)) == sorted(map(repr, made))
        return made

    first = run(64, 0, "test")
    assert [item.key for item in first] == [work.key for work in works]
    assert run(64, 0, "test") == first
    assert run(5, 0, "test") == first
    assert run(64, 0, "test", order=-1) == first[::-1]
    for other in (run(64, 1, "test"), run(64, 0, "other")):
        pairs = zip(first, other, strict=True)
        differ = sum(mine.calls != theirs.calls for mine, theirs in pairs)
        assert differ > len(works) // 2
    texts = [item.calls[0].texts for item in first if item.harness_id == sources[0].id]
    assert len(set(texts)) > len(texts) // 2


def test_the_samples_of_one_task_differ(
    engine: TransformersEngine, env: PlainEnvironment, host: HarnessHost
) -> None:
    works = [Work(task_of(), Harness(ASK), sample) for sample in range(8)]
    made = RolloutRunner(engine, env, host, CAPS).run(works, (0, "eval"))
    assert len({item.calls[0].completions for item in made}) > 4


def test_the_calls_of_one_rollout_differ(
    engine: TransformersEngine, env: PlainEnvironment, host: HarnessHost
) -> None:
    twice = (
        "def solve(problem):\n"
        + "    yield Chat([user(problem.question)], max_tokens=9)\n" * 2
        + "    return 'x'\n"
    )
    works = [Work(task, Harness(twice), 0) for task in env.tasks("search")]
    made = RolloutRunner(engine, env, host, CAPS).run(works, (0,))
    assert sum(item.calls[0].completions != item.calls[1].completions for item in made) > len(works) // 2


def test_training_rows_hold_the_sampled_ids_although_the_text_has_others(
    engine: TransformersEngine, env: PlainEnvironment, host: HarnessHost
) -> None:
    works = [Work(task, Harness(TALK), 0) for task in env.tasks("search")]
    made = RolloutRunner(engine, env, host, CAPS).run(works, (0,))
    apart = 0
    for item in made:
        own = [ids for row in rows_of(item) for ids in masked(row.ids, row.mask)]
        assert own == [ids for call in item.calls for completion in call.completions for ids in completion]
        for call in item.calls:
            again = engine.tokenizer.encode(call.texts[0], add_special_tokens=False)
            apart += again != list(call.completions[0])
    assert apart > 0


def masked(ids: Sequence[int], mask: Sequence[int]) -> list[int]:
    return [token for token, own in zip(ids, mask, strict=True) if own]


def test_an_outage_is_tried_again_and_leaves_no_trace(
    engine: TransformersEngine, env: PlainEnvironment, host: HarnessHost
) -> None:
    task = task_of("12:00")
    calm = one(engine, env, host, CLOCK, task)
    assert calm.score.verdict is Verdict.CORRECT
    assert [tool.result for tool in calm.tools] == ["12:00"]
    env.outages = INFRA_TRIES - 1
    assert one(engine, env, host, CLOCK, task) == calm
    assert env.outages == 0


def test_a_lasting_outage_is_an_error_of_the_machinery(
    engine: TransformersEngine, env: PlainEnvironment, host: HarnessHost
) -> None:
    env.outages = INFRA_TRIES
    made = one(engine, env, host, CLOCK, task_of("12:00"))
    assert made.score.verdict is Verdict.INFRA_ERROR
    assert made.score.value == 0
    assert made.error == "the clock is down"
    assert env.outages == 0


def test_an_outage_that_does_not_end_stops_the_block(
    engine: TransformersEngine, env: PlainEnvironment, host: HarnessHost
) -> None:
    env.outages = 10**6
    works = [Work(task_of("12:00"), Harness(CLOCK), sample) for sample in range(OUTAGE + 1)]
    runner = RolloutRunner(engine, env, host, Caps(200, 8))
    with pytest.raises(
        OutageError, match=rf"{OUTAGE} rollouts in a row .* each tried 3 times.* the clock is down"
    ):
        runner.run(works, (3,))
    env.outages = 0
    assert {made.score.verdict for made in runner.run(works, (3,))} == {Verdict.CORRECT}


def test_a_verifier_that_breaks_is_no_wrong_answer(
    engine: TransformersEngine, env: PlainEnvironment, host: HarnessHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise OSError("no process can be started")

    monkeypatch.setattr(type(env.open(task_of("right"))), "verify", broken)
    made = one(
        engine,
        env,
        host,
        "def solve(problem):\n    yield Chat([user('x')])\n    return 'right'\n",
        task_of("right"),
    )
    assert made.score.verdict is Verdict.VERIFIER_ERROR
    assert made.score.detail == "OSError: no process can be started"


def test_every_rollout_gets_exactly_one_of_six_verdicts(
    engine: TransformersEngine, env: PlainEnvironment, host: HarnessHost
) -> None:
    returns = {
        Verdict.CORRECT: 'return "right"',
        Verdict.WRONG: 'return "left"',
        Verdict.NO_ANSWER: 'return ""',
        Verdict.TRUNCATED: 'yield Chat([user("x")], max_tokens=1)\n    return ""',
        Verdict.VERIFIER_ERROR: 'return "strange"',
        Verdict.INFRA_ERROR: 'return (yield Tool("clock"))',
    }
    env.outages = 10**6
    harnesses = {
        verdict: Harness(f"def solve(problem):\n    yield Chat([user('x')], max_tokens=40)\n    {body}\n")
        for verdict, body in returns.items()
    }
    works = [Work(task_of("right"), harness, sample) for harness in harnesses.values() for sample in range(4)]
    made = RolloutRunner(engine, env, host, Caps(200, 8)).run(works, (3,))
    counts = {verdict: 0 for verdict in Verdict}
    wanted = {harness.id: verdict for verdict, harness in harnesses.items()}
    either = {Verdict.NO_ANSWER, Verdict.TRUNCATED}  # whether a short reply is cut is up to the model
    for item in made:
        verdict = wanted[item.harness_id]
        counts[item.score.verdict] += 1
        assert item.score.verdict in (either if verdict in either else {verdict})
        assert item.score.value == (verdict is Verdict.CORRECT)
    assert sum(counts.values()) == len(works)
    assert all(counts.values())

"""What the tests of engine, rollouts, lab and search share: a plain environment, a counter, small builders."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from envs.base import SPLITS, Score, Split, Task, ToolError, Verdict
from whale.agent import Agent, State
from whale.budget import WeightSettings
from whale.contract import Message
from whale.engine import Completion, Engine, Request, Sampling
from whale.hosting import HarnessHost
from whale.lab import Lab
from whale.models import ModelSource
from whale.records import Harness, ModelCall, Rollout, Spend
from whale.rollout import Caps, RolloutRunner
from whale.settings import EngineSettings, LearnerSettings, PolicySettings

ASK = "def solve(problem):\n    reply = yield Chat([user(problem.question)], max_tokens=12)\n    return reply.text\n"
"""A harness that asks once and returns the reply."""


def tokenizer_of() -> Any:
    """The tiny model's tokenizer, made from a few of its training texts."""
    from whale.tiny import RIGHT, _conversation, _tokenizer

    rng = random.Random(0)
    talks = [_conversation(rng, RIGHT) for _ in range(50)]
    return _tokenizer([f"{message.role}\n{message.content}" for talk in talks for message in talk])


class PlainEpisode:
    """One attempt in ``PlainEnvironment``."""

    def __init__(self, env: PlainEnvironment, task: Task) -> None:
        self.env, self.task = env, task

    def call(self, tool: str, arguments: Mapping[str, object]) -> str:
        if self.env.outages or self.task.question in self.env.down:
            self.env.outages = max(0, self.env.outages - 1)
            raise ToolError("the clock is down")
        return "12:00"

    def verify(self, answer: str, *, truncated: bool) -> Score:
        if answer == "strange":
            return Score.of(Verdict.VERIFIER_ERROR, detail="cannot judge that")
        if not answer:
            return Score.of(Verdict.TRUNCATED if truncated else Verdict.NO_ANSWER)
        right = len(answer) % 2 == 0 if self.task.gold == "even" else answer == self.task.gold
        return Score.of(Verdict.CORRECT if right else Verdict.WRONG, answer)


class PlainEnvironment:
    """Tasks that a model without ability solves half of the time: any reply of even length is right.

    ``outages``: how many of the next tool calls fail with ``ToolError``; ``down``: questions for which all do.
    """

    name = "plain"
    tools: tuple[str, ...] = ("clock",)
    h0 = ASK
    chance = 0.5

    def __init__(self, size: int = 6) -> None:
        self.outages = 0
        self.down: set[str] = set()
        self._tasks = {
            split: [
                Task.make("plain", split, f"Say something about {number}.", "even") for number in range(size)
            ]
            for split in SPLITS
        }

    def tasks(self, split: Split) -> Sequence[Task]:
        return self._tasks[split]

    def open(self, task: Task) -> PlainEpisode:
        return PlainEpisode(self, task)

    def describe(self) -> Mapping[str, object]:
        return {"env": self.name}

    def close(self) -> None:
        """Nothing to end."""


class Counted:
    """An engine that counts what is asked of another one."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.submitted = 0

    @property
    def weights_id(self) -> str | None:
        return self.engine.weights_id

    def encode(self, messages: Sequence[Message]) -> tuple[int, ...]:
        return self.engine.encode(messages)

    def decode(self, token_ids: Sequence[int]) -> str:
        return self.engine.decode(token_ids)

    def submit(self, request: Request) -> None:
        self.submitted += 1
        self.engine.submit(request)

    def forget(self) -> None:
        """See ``Engine.forget``; nothing is kept."""

    def poll(self) -> list[Completion]:
        return self.engine.poll()


class Bench:
    """A lab on one model, with its engine counted; ``open`` it again over the same folder to resume."""

    def __init__(
        self,
        root: Path,
        source: ModelSource,
        env: Any,
        host: HarnessHost,
        *,
        caps: Caps = Caps(tokens=48, calls=8),  # noqa: B008
        chunk: int = 8,
        minibatch: int = 4,
        watch: Any = lambda *_: None,
    ) -> None:
        self.env, self.host, self.caps = env, host, caps
        self.counted: Counted | None = None
        self.agent = Agent(
            source,
            Sampling(),
            EngineSettings(batch=64, refill=0.5, columns=40_000, in_flight=64, device="cpu", threads=1),
            LearnerSettings(rate=1e-3, minibatch=minibatch, micro_tokens=512, clip=1.0, lora_rank=0),
            PolicySettings(cap=4.0, kl=0.001, warmup=0),
        )
        weight = WeightSettings(prompts=2, samples=4)
        self.lab = Lab(root, env, self.agent, self._runner, {"chunk": chunk}, weight, watch)

    @property
    def submitted(self) -> int:
        """Requests that reached the engine; 0 also when it was never loaded."""
        return self.counted.submitted if self.counted else 0

    def state(self, source: str = ASK) -> State:
        return State(self.agent.start_id, None, Harness(source))

    def _runner(self) -> RolloutRunner:
        self.counted = Counted(self.agent.engine)
        return RolloutRunner(self.counted, self.env, self.host, self.caps, in_flight=64)


def call(prompt: Sequence[int], *completions: Sequence[int], finish: str = "stop") -> ModelCall:
    """A model call by its token ids."""
    assert finish in ("stop", "length")
    return ModelCall(
        messages=(),
        prompt_ids=tuple(prompt),
        completions=tuple(tuple(ids) for ids in completions),
        texts=("",) * len(completions),
        finishes=("stop" if finish == "stop" else "length",) * len(completions),
    )


def rollout(
    *calls: ModelCall, verdict: Verdict = Verdict.CORRECT, task: str = "t", sample: int = 0
) -> Rollout:
    """A rollout of given calls."""
    return Rollout(task, sample, "h", "w", calls, (), "answer", Score.of(verdict), Spend.of_calls(calls))

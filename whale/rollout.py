"""The one way a rollout is run: search, training and evaluation all come through here.

Many episodes advance together in lockstep: all harness steps that can run are collected before the engine
works, so the order of everything depends on the work list alone, never on timing.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from envs.base import Environment, Episode, Score, Task, ToolError, Verdict
from envs.jail.jail import Fault
from whale.contract import Chat, Message, Problem, Reply, Tool
from whale.engine import Completion, Engine, EngineError, Request, seed_of
from whale.hosting import HarnessHost, HostEvent
from whale.records import Harness, ModelCall, Rollout, Spend, ToolCall

INFRA_TRIES = 3
"""How often an episode is started when the machinery, not the harness, fails."""

OUTAGE = 5
"""Rollouts given up one after the other, with no tool call that worked between them, that end a block."""


class OutageError(RuntimeError):
    """The machinery (a search server, the jail) is down; what was not recorded is owed."""


@dataclass(frozen=True, slots=True)
class Work:
    """One rollout to make."""

    task: Task
    harness: Harness
    sample: int
    """Sample index of this task within the block; part of the seed and of every key."""

    @property
    def key(self) -> tuple[str, str, int]:
        """What tells it from every other rollout of its block, and the key of the rollout it becomes."""
        return (self.task.id, self.harness.id, self.sample)


@dataclass(frozen=True, slots=True)
class Caps:
    """What one rollout may use; part of the protocol, never of a harness."""

    tokens: int
    """Assistant tokens over all its model calls."""
    calls: int
    """Model and tool calls together."""


@dataclass(slots=True)
class _Live:
    """An episode under way."""

    work: Work
    episode: Episode
    tries: int = 1
    calls: list[ModelCall] = field(default_factory=list)
    tools: list[ToolCall] = field(default_factory=list)
    used: int = 0
    requests: int = 0
    """Model and tool calls asked for, free ones included."""
    cut: bool = False
    """Whether the last reply was cut, be it by leaving nothing for it."""
    asked: tuple[Message, ...] = ()
    prompt: tuple[int, ...] = ()
    awaited: int = 0
    replies: dict[int, Completion] = field(default_factory=dict)
    single: bool = True


class RolloutRunner:
    """Runs blocks of rollouts with one engine, one environment and one harness host."""

    def __init__(
        self, engine: Engine, env: Environment, host: HarnessHost, caps: Caps, *, in_flight: int = 128
    ) -> None:
        """``in_flight``: episodes alive at once; part of the run's identity, since it shapes batches."""
        self.engine, self.env, self.host, self.caps, self.in_flight = engine, env, host, caps, in_flight

    def run(
        self,
        work: Sequence[Work],
        seed_parts: Sequence[object],
        progress: Callable[[Rollout], None] = lambda _: None,
    ) -> list[Rollout]:
        """Run every item and return the rollouts in the order of ``work``.

        ``seed_parts`` name the block (run seed, purpose); weights, task, sample and call are added here.
        """
        block = _Block(self, work, seed_parts, progress)
        return block.run()


class _Block:
    """The state of one call of ``RolloutRunner.run``."""

    def __init__(
        self,
        runner: RolloutRunner,
        work: Sequence[Work],
        seed_parts: Sequence[object],
        progress: Callable[[Rollout], None],
    ) -> None:
        self.runner, self.seed_parts, self.progress = runner, seed_parts, progress
        self.work = work
        self.waiting = deque(range(len(work)))
        self.live: dict[str, _Live] = {}
        self.done: dict[int, Rollout] = {}
        self.given_up = 0
        """Rollouts in a row that ended in ``infra_error``."""
        weights = runner.engine.weights_id
        assert weights is not None, "the engine holds no weights"
        self.weights_id = weights
        runner.engine.forget()  # a resumed run must compute what an uninterrupted one computed

    def run(self) -> list[Rollout]:
        try:
            while self.waiting or self.live:
                self._advance()
        finally:
            for key in self.live:
                self.runner.host.stop(key)
        return [self.done[index] for index in range(len(self.work))]

    def _advance(self) -> None:
        """Start what fits, run every harness to its next model call, and let the engine finish something."""
        while self.waiting and len(self.live) < self.runner.in_flight:
            self._start(self.waiting.popleft())
        while events := self.runner.host.collect():
            for event in events:
                self._handle(event)
        for completion in self.runner.engine.poll():
            self._receive(completion)

    def _start(self, index: int, tries: int = 1) -> None:
        work = self.work[index]
        self.live[str(index)] = _Live(work, self.runner.env.open(work.task), tries)
        problem = Problem(work.task.question, self.runner.env.tools)
        self.runner.host.start(str(index), work.harness.source, problem, self._seed(work, "harness"))

    def _seed(self, work: Work, *parts: object) -> int:
        """The seed of one thing that is drawn in an episode."""
        return seed_of(*self.seed_parts, self.weights_id, work.task.id, work.sample, *parts)

    def _handle(self, event: HostEvent) -> None:
        live = self.live.get(event.key)
        if live is None:
            return
        if event.chat is not None or event.tool is not None:
            live.requests += 1
            if live.requests > self.runner.caps.calls:
                self._fail(event.key, f"more than {self.runner.caps.calls} model and tool calls")
            elif event.chat is not None:
                self._chat(event.key, live, event.chat)
            elif event.tool is not None:
                self._tool(event.key, live, event.tool)
        elif event.kind == "answer":
            assert event.answer is not None
            self.given_up = 0
            self._finish(event.key, _verified(live, event.answer), answer=event.answer)
        elif event.fault == Fault.JAIL:
            self._infra(event.key, event.detail)
        else:
            self._fail(event.key, f"{event.fault}: {event.detail}")

    def _chat(self, key: str, live: _Live, chat: Chat) -> None:
        share = (self.runner.caps.tokens - live.used) // chat.samples
        limit = share if chat.max_tokens is None else min(share, chat.max_tokens)
        live.asked, live.single = tuple(chat.messages), chat.samples == 1
        if limit < 1:
            self._reply(key, live, [Reply("", cut=True)] * chat.samples)
            return
        live.prompt = self.runner.engine.encode(chat.messages)
        live.awaited, live.replies = chat.samples, {}
        try:
            for choice in range(chat.samples):
                seed = self._seed(live.work, len(live.calls), choice)
                request = Request(f"{key}/{choice}", live.prompt, limit, seed)
                self.runner.engine.submit(request)
        except EngineError as error:
            # All choices have one prompt and one limit, so it is the first that is refused.
            self._fail(key, str(error))

    def _receive(self, completion: Completion) -> None:
        key, choice = completion.key.split("/")
        live = self.live[key]
        live.replies[int(choice)] = completion
        if len(live.replies) < live.awaited:
            return
        ordered = [live.replies[index] for index in range(live.awaited)]
        live.used += sum(len(reply.token_ids) for reply in ordered)
        live.calls.append(
            ModelCall(
                messages=live.asked,
                prompt_ids=live.prompt,
                completions=tuple(reply.token_ids for reply in ordered),
                texts=tuple(reply.text for reply in ordered),
                finishes=tuple(reply.finish for reply in ordered),
            )
        )
        self._reply(key, live, [Reply(reply.text, reply.finish == "length") for reply in ordered])

    def _reply(self, key: str, live: _Live, replies: list[Reply]) -> None:
        live.cut = any(reply.cut for reply in replies)
        self.runner.host.send(key, replies[0] if live.single else replies)

    def _tool(self, key: str, live: _Live, tool: Tool) -> None:
        if tool.name not in self.runner.env.tools:
            allowed = ", ".join(self.runner.env.tools) or "none"
            self._fail(key, f"no tool {tool.name!r}; this environment has: {allowed}")
            return
        try:
            result = live.episode.call(tool.name, tool.arguments)
        except ToolError as error:
            self._infra(key, str(error))
            return
        self.given_up = 0
        live.tools.append(ToolCall(tool.name, json.dumps(tool.arguments, sort_keys=True), result))
        self.runner.host.send(key, result)

    def _fail(self, key: str, reason: str) -> None:
        """The harness failed: no answer, and the reason is kept."""
        self._finish(key, Score.of(Verdict.NO_ANSWER, detail=reason), error=reason)

    def _infra(self, key: str, reason: str) -> None:
        """The machinery failed: try again from the start, and give up only after a few times."""
        live = self.live[key]
        if live.tries < INFRA_TRIES:
            self.runner.host.stop(key)
            self._start(int(key), live.tries + 1)
        else:
            self.given_up += 1
            if self.given_up == OUTAGE:
                raise OutageError(
                    f"{OUTAGE} rollouts in a row could not be carried out, each tried {INFRA_TRIES} times; the last: "
                    f"{reason}. Mend that and run the same command again: what is recorded stays"
                )
            self._finish(key, Score.of(Verdict.INFRA_ERROR, detail=reason), error=reason)

    def _finish(self, key: str, score: Score, *, answer: str | None = None, error: str = "") -> None:
        live = self.live.pop(key)
        self.runner.host.stop(key)
        rollout = Rollout(
            task_id=live.work.task.id,
            sample=live.work.sample,
            harness_id=live.work.harness.id,
            weights_id=self.weights_id,
            calls=tuple(live.calls),
            tools=tuple(live.tools),
            answer=answer,
            score=score,
            error=error,
            spend=Spend.of_calls(live.calls),
        )
        self.done[int(key)] = rollout
        self.progress(rollout)


def _verified(live: _Live, answer: str) -> Score:
    """The episode's verdict; whatever else comes out of a verifier is its own failure and never "wrong"."""
    try:
        return live.episode.verify(answer, truncated=live.cut)
    except Exception as error:
        return Score.of(Verdict.VERIFIER_ERROR, detail=f"{type(error).__name__}: {error}")

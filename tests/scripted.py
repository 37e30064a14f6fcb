"""A model without a model: replies and weights by rule, so that whole methods run in seconds and can be followed.

Everything else of a run is the real thing: environment, verifier, jail, search, ledger, files.
"""

from __future__ import annotations

import random
import re
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.config import Profile
from bench.profile_site import Site
from envs.base import Environment
from whale.agent import State
from whale.contract import Message
from whale.engine import Completion, Request
from whale.hosting import HarnessHost
from whale.lab import Watch
from whale.learner import StepReport
from whale.records import Rollout
from whale.settings import LearnerKind
from whale.store import content_key

START = "start-scripted"
GOOD = 0.4
"""Share of replies that hold the right sum."""


class ScriptedEngine:
    """Adds the numbers in the last question, right or wrong as the request's seed decides."""

    class device:
        """As a torch device."""

        type = "none"

    def __init__(self) -> None:
        self.weights_id: str | None = None
        self.conversations: dict[tuple[int, ...], Sequence[Message]] = {}
        self.waiting: deque[Request] = deque()

    def encode(self, messages: Sequence[Message]) -> tuple[int, ...]:
        ids = tuple("".join(message.content for message in messages).encode())
        self.conversations[ids] = tuple(messages)
        return ids

    def decode(self, token_ids: Sequence[int]) -> str:
        return bytes(token_ids).decode()

    def submit(self, request: Request) -> None:
        assert self.weights_id is not None
        self.waiting.append(request)

    def forget(self) -> None:
        """Nothing is kept."""

    def poll(self) -> list[Completion]:
        done = [self._complete(request) for request in self.waiting]
        self.waiting.clear()
        return done

    def _complete(self, request: Request) -> Completion:
        asked = self.conversations[request.prompt_ids][-1].content
        numbers = [int(word) for word in re.findall(r"-?\d+", asked)]
        rng = random.Random(request.seed)
        total = sum(numbers) if rng.random() < GOOD else rng.randrange(20)
        text = f"\\boxed{{{total}}}" if rng.random() < 0.8 else f"It is {total}"
        ids = tuple(text.encode())[: request.max_tokens]
        finish = "stop" if len(ids) == len(text) else "length"
        assert self.weights_id is not None
        return Completion(
            request.key,
            bytes(ids).decode(),
            ids,
            "stop" if finish == "stop" else "length",
            self.weights_id,
            len(request.prompt_ids),
        )


class ScriptedAgent:
    """Weights are a hash of all that they were trained on."""

    start_id = START

    def __init__(self) -> None:
        self.engine = ScriptedEngine()
        self.learner = self
        self.learnt: list[tuple[LearnerKind, tuple[str, ...]]] = []
        """(learner, harness ids in the order of a task's samples) of every step in this process."""

    def load(self, state: State) -> None:
        if self.engine.weights_id == state.weights_id:
            return
        if state.learner is not None:
            assert (state.learner / "model.safetensors").read_text() == state.weights_id
        self.engine.weights_id = state.weights_id

    def learn(
        self, rollouts: Sequence[Rollout], seed: int, kind: LearnerKind = "rsft", step: int = 0
    ) -> StepReport:
        assert {rollout.weights_id for rollout in rollouts} == {self.engine.weights_id}
        first = rollouts[0].task_id
        self.learnt.append((kind, tuple(r.harness_id for r in rollouts if r.task_id == first)))
        seen = [(rollout.key, rollout.score.value) for rollout in rollouts]
        accepted = sum(value > 0.5 for _, value in seen)
        if accepted:
            parts = {"before": self.engine.weights_id, "seen": seen, "kind": kind, "seed": seed, "step": step}
            self.engine.weights_id = content_key(parts)[:16]
        return StepReport(accepted, 0, 1.0 if accepted else None)

    def save(self, directory: Path) -> None:
        (directory / "model.safetensors").write_text(str(self.engine.weights_id))
        (directory / "optimizer.pt").write_text("")


class ScriptedSite(Site):
    """A site whose agent is scripted; environment and jail are shared between sites."""

    def __init__(
        self, profile: Profile, runs: Path, watch: Watch, env: Environment, host: HarnessHost
    ) -> None:
        super().__init__(profile, runs, watch)
        self.env.close()
        self.env = env
        self._host = host
        agent: Any = ScriptedAgent()
        self.scripted: ScriptedAgent = agent
        self.agent = self.lab.agent = agent
        self.lab.env = env

"""Integrity controls that a proposed harness must pass before it may cost a rollout.

It must parse and run; it must not contain text of tasks it has no business with; and with the model's replies
replaced by noise its accuracy must fall to chance, or else it solves the tasks without the model.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Sequence

from envs.base import SPLITS, Environment, Split, Task
from whale.archive import leaks
from whale.contract import Message
from whale.engine import Completion, Request
from whale.hosting import HarnessHost, check_source
from whale.records import Harness
from whale.rollout import Caps, RolloutRunner, Work

MARGIN = 0.15
"""Accuracy above chance that noise replies may reach by luck before a harness is refused."""


class NoiseEngine:
    """An engine without a model: its replies are random numbers in the forms a harness may look for."""

    def __init__(self) -> None:
        self.weights_id: str | None = "noise"
        self._waiting: deque[Request] = deque()

    def encode(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """One token; the text does not matter."""
        return (len(messages),)

    def decode(self, token_ids: Sequence[int]) -> str:
        """The ids as text."""
        return " ".join(map(str, token_ids))

    def submit(self, request: Request) -> None:
        """Queue a request."""
        self._waiting.append(request)

    def forget(self) -> None:
        """See ``Engine.forget``; nothing is kept."""

    def poll(self) -> list[Completion]:
        """Answer everything queued."""
        done = [self._complete(request) for request in self._waiting]
        self._waiting.clear()
        return done

    def _complete(self, request: Request) -> Completion:
        rng = random.Random(request.seed)
        number = rng.choice([-1, 1]) * rng.randrange(100, 100_000)
        text = rng.choice(
            [f"\\boxed{{{number}}}", f"```python\nprint({number})\n```", f"It is {number}.", "-"]
        )
        return Completion(request.key, text, (number % 97,), "stop", "noise", len(request.prompt_ids))


class Control:
    """Checks proposals of one environment."""

    def __init__(
        self, env: Environment, host: HarnessHost, caps: Caps, shown: Sequence[Split] = ("search",)
    ) -> None:
        """``shown``: splits whose questions a proposer has seen, so that a harness may quote them."""
        self.env = env
        self.runner = RolloutRunner(NoiseEngine(), env, host, caps)
        self._forbidden = [
            task.question for split in SPLITS if split not in shown for task in env.tasks(split)
        ]

    def refusal(self, source: str, tasks: Sequence[Task]) -> str:
        """Why this harness may not be scored; empty when it may."""
        reason = check_source(source)
        if reason:
            return reason
        found = leaks(source, self._forbidden)
        if found:
            return f"it contains the text of a task that its proposer has not seen: {found[0][:60]!r}"
        made = self.runner.run([Work(task, Harness(source), 0) for task in tasks], ("control",))
        failed = [rollout.error for rollout in made if rollout.error]
        if len(failed) > len(made) // 2:
            return f"it fails on {len(failed)} of {len(made)} tasks: {_short(failed[0])}"
        accuracy = sum(rollout.score.value for rollout in made) / len(made)
        if accuracy > self.env.chance + MARGIN:
            return f"with noise for replies it scores {accuracy:.2f} (chance {self.env.chance:.2f}): it needs no model"
        return ""


def _short(error: str) -> str:
    """A harness's error on one line: what kind it is, and the last line of its traceback."""
    kind, *rest = error.strip().splitlines()
    return f"{kind.partition(':')[0]}: {rest[-1].strip()}" if rest else kind

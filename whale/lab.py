"""Rollouts and weight phases, each cached under a key made of all that decides it.

A key covers data, weights, harness, settings, seed and versions, so methods that share a prefix compute it
once, and a killed run continues where it stood. Who is charged for what is not decided here.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from envs.base import Environment, InputError, Task, Verdict
from whale.agent import Agent, State
from whale.budget import WeightSettings
from whale.phases import Train
from whale.records import Harness, Rollout, Spend
from whale.rollout import OutageError, RolloutRunner, Work
from whale.store import Log, content_key, write_json

_ROLLOUT = TypeAdapter(Rollout)
Watch = Callable[[str, int, Rollout | None], None]
"""Progress: (what is going on, rollouts planned for it, the rollout just finished or None at its start)."""


@dataclass(frozen=True, slots=True)
class TrainStep:
    """One weight step as it went."""

    step: int
    rollouts: int
    accepted: int
    truncated: int
    reward: float
    loss: float | None


@dataclass(frozen=True, slots=True)
class Trained:
    """Result of a weight phase."""

    state: State
    spend: Spend
    steps: tuple[TrainStep, ...]
    blocks: tuple[str, ...]
    """Names of the recorded blocks of rollouts, one a step (see ``Lab.recorded``)."""


class Lab:
    """Runs and caches rollout blocks and weight phases below one directory."""

    def __init__(
        self,
        root: Path,
        env: Environment,
        agent: Agent,
        runner: Callable[[], RolloutRunner],
        identity: Mapping[str, object],
        weight: WeightSettings,
        watch: Watch,
    ) -> None:
        """``runner`` is called when the first rollout must be made. ``identity``: everything that decides
        what a rollout or an update gives (model, data, sampling, caps, learner, versions)."""
        self.root, self.env, self.agent, self.weight, self.watch = root, env, agent, weight, watch
        self.identity = dict(identity)
        self._make_runner = runner
        self._runner: RolloutRunner | None = None

    @property
    def runner(self) -> RolloutRunner:
        """The rollout runner; starts jail and engine at the first call."""
        if self._runner is None:
            self._runner = self._make_runner()
        return self._runner

    def rollouts(self, state: State, work: Sequence[Work], purpose: str, seed: int) -> list[Rollout]:
        """A block of rollouts, from the cache as far as it is there, in the order of ``work``.

        Purpose and seed name the random stream. Raises ``OutageError`` when the machinery failed: rollouts that ended
        in ``infra_error`` are not recorded but owed, so that no number ever holds one.
        """
        items = [item.key for item in work]
        log = Log(self.root / "rollouts" / self.block(state, work, purpose, seed))
        known = self._known(log)
        self.watch(purpose, len(work), None)
        size = self.runner_chunk
        for first in range(0, len(work), size):
            chunk = work[first : first + size]
            if all(item.key in known for item in chunk):
                continue
            # A chunk is always run whole: batches, and so the last bits of every logit, are then the same
            # as in a run that was never interrupted. What is already recorded stays as it was.
            self.agent.load(state)
            made = self.runner.run(chunk, (seed, purpose), lambda done: self.watch(purpose, len(work), done))
            new = [rollout for rollout in made if rollout.key not in known]
            owed = [rollout for rollout in new if rollout.score.verdict is Verdict.INFRA_ERROR]
            fresh = [rollout for rollout in new if rollout.score.verdict is not Verdict.INFRA_ERROR]
            log.append([_ROLLOUT.dump_json(rollout).decode() for rollout in fresh])
            known |= {rollout.key: rollout for rollout in fresh}
            if owed:
                raise OutageError(
                    f"{len(owed)} of {len(chunk)} rollouts ({purpose}) could not be carried out; the last: "
                    f"{owed[-1].error}. Mend that and run the same command again: the others are recorded"
                )
        return [known[item] for item in items]

    def block(self, state: State, work: Sequence[Work], purpose: str, seed: int) -> str:
        """Name under which a block of rollouts is recorded."""
        items = [item.key for item in work]
        key = self.key("rollouts", weights=state.weights_id, work=items, purpose=purpose, seed=seed)
        return f"{purpose.replace(' ', '-')}-s{seed}-{key}.jsonl"

    def recorded(self, block: str) -> list[Rollout]:
        """What a block holds, in the order in which it was recorded."""
        return list(self._known(Log(self.root / "rollouts" / block)).values())

    @property
    def runner_chunk(self) -> int:
        """Rollouts that are run and recorded together."""
        return int(str(self.identity["chunk"]))

    @staticmethod
    def _known(log: Log) -> dict[tuple[str, str, int], Rollout]:
        """Recorded rollouts by key; of duplicates the first one counts."""
        known: dict[tuple[str, str, int], Rollout] = {}
        for number, line in enumerate(log.lines(), 1):
            try:
                rollout = _ROLLOUT.validate_json(line)
            except ValidationError as error:
                raise InputError(
                    f"{log.path}, line {number}, is no rollout: {error.errors()[0]['msg']}. Remove that line (its "
                    "work is then done again) or restore the file from a copy"
                ) from error
            known.setdefault(rollout.key, rollout)
        return known

    def train(self, state: State, phase: Train, seed: int) -> Trained:
        """Phase W: weight steps under the state's harness or prompts, until ``phase`` is spent or has enough.

        A task's samples are split evenly over the prompts, where the state has several.
        """
        key = self.key(
            "weights",
            weights=state.weights_id,
            learner=state.learner.name if state.learner else None,
            harness=[harness.id for harness in state.harnesses],
            first=state.steps,
            rollouts=phase.rollouts,
            until=phase.until.model_dump() if phase.until else None,
            learning=phase.learner,
            seed=seed,
        )
        target = self.root / "weights" / key
        record = target / "done.json"
        if not (record.is_file() and has_learner(target)):
            self._train(state, phase, seed, target)
        done = json.loads(record.read_text(encoding="utf-8"))
        rows = tuple(TrainStep(**step) for step in done["steps"])
        after = replace(
            state, weights_id=done["weights_id"], learner=target, steps=state.steps + len(rows), archive=None
        )
        return Trained(after, Spend(**done["spend"]), rows, tuple(done["blocks"]))

    def _train(self, state: State, phase: Train, seed: int, target: Path) -> None:
        rows: list[TrainStep] = []
        blocks: list[str] = []
        spend = Spend()
        current = state
        while spend.rollouts < phase.rollouts:
            index = state.steps + len(rows)
            work = self.step_work(state.harnesses, index, seed)[: phase.rollouts - spend.rollouts]
            made = self.rollouts(current, work, f"train {index}", seed)
            blocks.append(self.block(current, work, f"train {index}", seed))
            self.agent.load(current)
            report = self.agent.learn(made, hash_free(seed, index), phase.learner, index)
            assert self.agent.engine.weights_id is not None
            current = replace(current, weights_id=self.agent.engine.weights_id)
            spend += Spend.total(rollout.spend for rollout in made)
            reward = sum(rollout.score.value for rollout in made) / len(made)
            rows.append(TrainStep(index, len(made), report.accepted, report.truncated, reward, report.loss))
            if phase.until and phase.until.enough([row.reward for row in rows]):
                break
        partial = fresh_directory(target)
        self.agent.learner.save(partial)
        body = {
            "weights_id": current.weights_id,
            "spend": fields(spend),
            "steps": [fields(row) for row in rows],
            "blocks": blocks,
        }
        write_json(partial / "done.json", body)
        partial.rename(target)

    def step_work(self, harnesses: Sequence[Harness], step: int, seed: int) -> list[Work]:
        """The rollouts of a whole weight step, task by task; sample n is made under harness n modulo their number."""
        return [
            Work(task, harnesses[sample % len(harnesses)], sample)
            for task in self.batch(step, seed)
            for sample in range(self.weight.samples)
        ]

    def batch(self, step: int, seed: int) -> list[Task]:
        """The tasks of a weight step: the seed's own shuffle of the split, epoch after epoch."""
        tasks = list(self.env.tasks("weight"))
        per_epoch = len(tasks) // self.weight.prompts
        epoch, place = divmod(step, per_epoch)
        random.Random(f"{seed}/{epoch}").shuffle(tasks)
        return tasks[place * self.weight.prompts : (place + 1) * self.weight.prompts]

    def key(self, kind: str, **parts: object) -> str:
        """The content key of a piece of work, the lab's identity included."""
        return content_key({"kind": kind, **self.identity, **parts})


def has_learner(directory: Path) -> bool:
    """Whether weights and optimizer are (still) there; pruned ones are trained again from recorded rollouts."""
    return (directory / "model.safetensors").is_file() and (directory / "optimizer.pt").is_file()


def prune(used: Sequence[Path], last: Sequence[Path]) -> None:
    """Delete the learner directories ``used`` except ``last``, of which only the optimizer goes."""
    for directory in set(used) - set(last):
        shutil.rmtree(directory, ignore_errors=True)
    for directory in last:
        (directory / "optimizer.pt").unlink(missing_ok=True)


def hash_free(*parts: object) -> int:
    """A seed from parts (Python's own ``hash`` changes from process to process)."""
    return int(content_key({"parts": [str(part) for part in parts]})[:12], 16)


def fields(record: object) -> dict[str, object]:
    """A flat record as a dictionary."""
    return {name: getattr(record, name) for name in record.__dataclass_fields__}  # type: ignore[attr-defined]


def fresh_directory(target: Path) -> Path:
    """An empty directory beside ``target``, to be filled and then renamed to it."""
    partial = target.with_name(f".{target.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    shutil.rmtree(target, ignore_errors=True)
    partial.mkdir(parents=True)
    return partial

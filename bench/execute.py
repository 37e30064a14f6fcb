"""Carry out runs: one method under one seed, phase by phase, with its ledger, events and result file.

What is computed once and shared between methods is the lab's business; every method is charged in full.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path

from bench.profile_site import PACKAGES, Site, code_hash
from bench.result_file import (
    CandidateRow,
    Checkpoint,
    Cross,
    HarnessRow,
    ResultFile,
    SpendRow,
    TrainRow,
    dump,
)
from envs.base import Split
from whale.agent import State
from whale.candidates import failed
from whale.evaluation import Counts, evaluate
from whale.harnesses import starting
from whale.phases import Attempt, Evolve, Phase, Refine, Search, Train
from whale.records import Harness, Rollout, Spend
from whale.schedule import Method
from whale.store import Log, content_key, write_atomic

CHARGED = ("train", "search", "confirm", "proposer")
"""What a method pays for; evaluation is shown and never charged."""


PHASES: dict[type[Phase], str] = {
    Train: "weight",
    Search: "search",
    Evolve: "search",
    Attempt: "attempts",
    Refine: "refine",
}
"""What a checkpoint says of the phase that it ended."""


class Run:
    """One method under one seed."""

    def __init__(self, site: Site, method: Method, seed: int, command: str) -> None:
        self.site, self.method, self.seed, self.command = site, method, seed, command
        self.profile = site.profile
        self.folder = site.home / method.name / f"s{seed}"
        self.result_path = self.folder / f"{method.name}-s{seed}.json"
        self.events = Log(self.folder / "events.jsonl")
        self.checkpoints: list[Checkpoint] = []
        self.cross: list[Cross] = []
        self.ledger: dict[str, Spend] = {name: Spend() for name in (*CHARGED, "eval")}
        self.training: list[TrainRow] = []
        self.candidates: list[CandidateRow] = []
        self.harnesses: dict[str, Harness] = {}
        self.overshoot = 0
        self.attempts = 1
        self.blocks: Sequence[str] = ()
        """Recorded rollouts of the last weight phase."""
        self.learners: list[Path] = []
        """Directories of weights and optimizers that this run made or used, in order."""

    @property
    def key(self) -> str:
        """Identifies what this run computes; a result file under another key is not reused."""
        parts = {
            **self.site.identity(),
            "profile": self.profile.hash,
            "harnesses": [starting(name).id for name in self._named() if name],
            "methods": code_hash("baselines", "bench/execute.py"),
            "method": self.method.name,
            "seed": self.seed,
        }
        return content_key(parts)

    def _named(self) -> tuple[str, str]:
        return self.profile.harness.start, self.profile.harness.refine

    def finished(self) -> bool:
        """Whether this very run has its result already."""
        return self.result_path.is_file() and self._line(self._done()) in self.events.lines()

    def execute(self) -> Path:
        """Do what is still owed, write the result file and return its path."""
        if self.finished():
            return self.result_path
        write_atomic(self.folder / "profile.json", self.profile.model_dump_json(indent=1) + "\n")
        self.state = self.start = State(self.site.agent.start_id, None, self.site.starting())
        self._checkpoint("start")
        self.method.phases(self.profile.plan)  # a budget that does not pay is refused before it is spent
        self.method.walk(self.profile.plan, self._carry_out)
        self._two_by_two()
        write_atomic(self.result_path, dump(self._result()))
        self._event(self._done())
        return self.result_path

    def _carry_out(self, phase: Phase) -> int:
        """Move the state through one phase, charge it and evaluate; returns the rollouts that it charged."""
        before, index = self._charged().rollouts, len(self.checkpoints)
        match phase:
            case Train():
                self._train(phase)
            case Search():
                self._search(phase)
            case Evolve():
                self._evolve(phase)
            case Attempt():
                self.attempts = phase.count
            case Refine():
                self.state = replace(self.state, harness=self.site.refining())
        self._checkpoint(PHASES[type(phase)])
        self._event({"phase": index, "weights": self.state.weights_id, "harness": self.state.harness.id})
        return self._charged().rollouts - before

    def _train(self, phase: Train) -> None:
        trained = self.site.lab.train(self.state, phase, self.seed)
        self.state = trained.state
        self.learners += [self.state.learner] if self.state.learner else []
        self._charge("train", trained.spend)
        self.training += [TrainRow(**asdict(step)) for step in trained.steps]
        self.blocks = trained.blocks

    def _search(self, phase: Search) -> None:
        failures: list[Rollout] = []
        if phase.evidence == "failures":
            made = (rollout for block in self.blocks for rollout in self.site.lab.recorded(block))
            failures = sorted(
                (rollout for rollout in made if failed(rollout)), key=lambda rollout: rollout.key
            )
        found = self.site.search(phase).run(self.state, phase, self.seed, failures)
        self.state = found.state
        self._charge("search", found.screening)
        self._charge("confirm", found.confirming)
        self.candidates += [
            CandidateRow(phase=len(self.checkpoints), **asdict(row)) for row in found.candidates
        ]

    def _evolve(self, phase: Evolve) -> None:
        found = self.site.evolution().run(self.state, phase, self.seed)
        self.state = found.state
        self.overshoot += found.overshoot
        self._charge("search", found.spend)
        self._charge("proposer", found.proposing)
        self.candidates += [
            CandidateRow(phase=len(self.checkpoints), **asdict(row)) for row in found.candidates
        ]

    def _two_by_two(self) -> None:
        """{first, last weights} x {first, last harness} of a joint method on test; what is known is not run again."""
        if not {"weight", "search"} <= {point.phase for point in self.checkpoints}:
            return
        known = {(point.weights_id, point.harness_id): point.test for point in self.checkpoints}
        for state in (
            replace(self.state, harness=self.start.harness),
            replace(self.start, harness=self.state.harness),
        ):
            place = (state.weights_id, state.harness.id)
            if place not in known:
                known[place] = self._evaluate(state, ["test"])["test"]
            self.cross.append(
                Cross.model_validate({"weights_id": place[0], "harness_id": place[1], "test": known[place]})
            )

    def _done(self) -> dict[str, object]:
        """The event that closes this run; the file's hash, since another profile may have replaced the file."""
        return {"done": self.key, "result": hashlib.sha256(self.result_path.read_bytes()).hexdigest()}

    @staticmethod
    def _line(body: Mapping[str, object]) -> str:
        return json.dumps(body)

    def _event(self, body: Mapping[str, object]) -> None:
        if self._line(body) not in self.events.lines():
            self.events.append([self._line(body)])

    def _charge(self, purpose: str, spend: Spend) -> None:
        self.ledger[purpose] += spend

    def _charged(self) -> Spend:
        """Everything that the method has paid for so far."""
        return Spend.total(self.ledger[name] for name in CHARGED)

    def _evaluate(self, state: State, splits: Sequence[Split]) -> dict[Split, Counts]:
        counts, cost = evaluate(
            self.site.lab,
            state,
            self.profile.eval.samples,
            self.seed,
            attempts=self.attempts,
            splits=splits,
        )
        self._charge("eval", cost)
        self.evaluation = cost
        return counts

    def _checkpoint(self, phase: str) -> None:
        counts = self._evaluate(self.state, ["select", "test"])
        self.harnesses[self.state.harness.id] = self.state.harness
        self.checkpoints.append(
            Checkpoint.model_validate(
                {
                    "index": len(self.checkpoints),
                    "phase": phase,
                    "weights_id": self.state.weights_id,
                    "harness_id": self.state.harness.id,
                    "charged": asdict(self._charged()),
                    "evaluation": asdict(self.evaluation),
                    "select": counts["select"],
                    "test": counts["test"],
                }
            )
        )

    def _result(self) -> ResultFile:
        env = self.site.env
        return ResultFile(
            profile=self.profile.name,
            env=env.name,
            method=self.method.name,
            seed=self.seed,
            samples=self.profile.eval.samples,
            budget=self.profile.plan.total if self._charged().rollouts else 0,
            prices=self._prices(),
            overshoot=self.overshoot,
            switches=self.profile.switches,
            provenance=self._provenance(),
            families={
                task.id: task.meta["family"] for split in ("select", "test") for task in env.tasks(split)
            },
            checkpoints=self.checkpoints,
            cross=self.cross,
            ledger={name: SpendRow(**asdict(spend)) for name, spend in self.ledger.items()},
            training=self.training,
            candidates=self.candidates,
            harnesses={
                key: HarnessRow(source=row.source, parent=row.parent, edit=row.edit)
                for key, row in self.harnesses.items()
            },
        )

    def _prices(self) -> dict[str, int]:
        """What a weight step and the parts of a search cost, in rollouts and candidates."""
        search, weight = self.profile.search, self.profile.weight
        return {"step": weight.step_cost, "examples": search.examples, "candidates": search.candidates}

    def _provenance(self) -> dict[str, str]:
        tasks = self.site.env.describe()["tasks"]
        assert isinstance(tasks, dict)
        return {
            "command": self.command,
            "commit": self.site.commit,
            "config": self.profile.hash,
            "model": f"{self.site.source.name}, {self.site.source.revision}",
            "isolation": self.site.host.isolation,
            "hardware": f"{platform.machine()}, {os.cpu_count()} cores, {self.site.agent.engine.device.type}",
            "python": platform.python_version(),
            **{f"data {split}": str(digest) for split, digest in tasks.items()},
            **{name: version(name) for name in PACKAGES},
        }


def command_line(arguments: Sequence[str] | None = None) -> str:
    """The command as a person would type it."""
    return shlex.join(["python", "-m", "bench", *(sys.argv[1:] if arguments is None else arguments)])

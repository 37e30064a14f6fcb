"""Carry out runs: one method under one seed, phase by phase, with its ledger, events and result file.

What is computed once and shared between methods is the lab's business; every method is charged in full.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from bench.config import Profile
from bench.result_file import (
    CandidateRow,
    Checkpoint,
    HarnessRow,
    ResultFile,
    SpendRow,
    TrainRow,
    dump,
)
from envs.base import InputError
from envs.table import environment_class
from whale.agent import Agent, State
from whale.control import Control
from whale.engine import Sampling
from whale.harnesses import starting
from whale.hosting import HarnessHost
from whale.lab import Lab, Watch
from whale.models import resolve
from whale.offline.catalogue import SPACES
from whale.offline.propose import OfflineProposer
from whale.records import Harness, Spend
from whale.rollout import Caps, RolloutRunner
from whale.schedule import Method, Phase, Train
from whale.search import HarnessSearch
from whale.store import Log, content_key, write_atomic

CHECKED = 4
"""Search tasks on which a starting harness is tried, with noise for replies, before anything is spent."""
PACKAGES = ("torch", "transformers", "trl", "reasoning-gym", "sympy")
"""Versions that can change a number; they are part of every key and of every result."""


class Site:
    """Everything that the runs of one profile share: environment, model, jail, cache. Close it when done."""

    def __init__(self, profile: Profile, runs: Path, watch: Watch) -> None:
        self.profile, self.watch = profile, watch
        self.commit = commit()
        self.home = runs / profile.name / profile.environment
        self.env = environment_class(profile.environment)(profile.env)
        rollout = profile.rollout
        sampling = Sampling(rollout.temperature, rollout.top_p, rollout.top_k)
        self.source = resolve(profile.model.source, profile.model.revision)
        self.agent = Agent(self.source, sampling, profile.engine, profile.learner, profile.policy_gradient)
        self.caps = Caps(rollout.tokens, rollout.calls)
        self._host: HarnessHost | None = None
        self.lab = Lab(
            self.home / "cache", self.env, self.agent, self._runner, self.identity(), profile.weight, watch
        )

    @property
    def host(self) -> HarnessHost:
        """The jail for harnesses; starts at the first call."""
        if self._host is None:
            self._host = HarnessHost()
        return self._host

    def _runner(self) -> RolloutRunner:
        return RolloutRunner(
            self.agent.engine, self.env, self.host, self.caps, in_flight=self.profile.engine.in_flight
        )

    def identity(self) -> dict[str, object]:
        """What decides the outcome of a rollout or an update, whatever the method."""
        rollout = self.profile.rollout
        return {
            "env": dict(self.env.describe()),
            "model": self.source.revision,
            "rollout": rollout.model_dump(),
            "chunk": rollout.chunk,
            "engine": self.profile.engine.model_dump(),
            "learner": self.profile.learner.model_dump(),
            "policy_gradient": self.profile.policy_gradient.model_dump(),
            "weight": self.profile.weight.model_dump(),
            "versions": {name: version(name) for name in PACKAGES},
            "code": code_hash(),
        }

    @property
    def control(self) -> Control:
        """The checks that every harness must pass; starts the jail."""
        return Control(self.env, self.host, self.caps)

    def search(self) -> HarnessSearch:
        """The search operator; starts the jail."""
        space = SPACES[self.profile.environment]
        proposer = OfflineProposer(space.edits, space.form)
        return HarnessSearch(self.lab, proposer, self.profile.search, self.control)

    def starting(self) -> Harness:
        """The profile's starting harness; ``InputError`` when it fails the checks that proposals must pass."""
        name = self.profile.harness.start
        harness = starting(name)
        reason = self.control.refusal(harness.source, self.env.tasks("search")[:CHECKED])
        if reason:
            raise InputError(f"the starting harness {name} cannot be used: {reason}. Mend it or use another")
        return harness

    def close(self) -> None:
        """End every process the runs have started."""
        if self._host is not None:
            self._host.close()
        self.env.close()


class Run:
    """One method under one seed."""

    def __init__(self, site: Site, method: Method, seed: int, command: str) -> None:
        self.site, self.method, self.seed, self.command = site, method, seed, command
        self.profile = site.profile
        self.folder = site.home / method.name / f"s{seed}"
        self.result_path = self.folder / f"{method.name}-s{seed}.json"
        self.events = Log(self.folder / "events.jsonl")
        self.checkpoints: list[Checkpoint] = []
        self.ledger: dict[str, Spend] = {name: Spend() for name in ("train", "search", "confirm", "eval")}
        self.training: list[TrainRow] = []
        self.candidates: list[CandidateRow] = []
        self.harnesses: dict[str, Harness] = {}
        self.learners: list[Path] = []
        """Directories of weights and optimizers that this run made or used, in order."""

    @property
    def key(self) -> str:
        """Identifies what this run computes; a result file under another key is not reused."""
        parts = {
            **self.site.identity(),
            "profile": self.profile.hash,
            "method": self.method.name,
            "seed": self.seed,
        }
        return content_key(parts)

    def finished(self) -> bool:
        """Whether this very run has its result already."""
        return self.result_path.is_file() and self._line(self._done()) in self.events.lines()

    def execute(self) -> Path:
        """Do what is still owed, write the result file and return its path."""
        if self.finished():
            return self.result_path
        write_atomic(self.folder / "profile.json", self.profile.model_dump_json(indent=1) + "\n")
        self.state = State(self.site.agent.start_id, None, self.site.starting())
        self._checkpoint(self.state, "start")
        self.method.phases(self.profile.plan)  # a budget that does not pay is refused before it is spent
        self.method.walk(self.profile.plan, self._carry_out)
        write_atomic(self.result_path, dump(self._result()))
        self._event(self._done())
        return self.result_path

    def _carry_out(self, phase: Phase) -> int:
        """Move the state through one phase, charge it and evaluate; returns the length that it really had."""
        index = len(self.checkpoints)
        if isinstance(phase, Train):
            trained = self.site.lab.train(self.state, phase, self.seed)
            self.state, done = trained.state, len(trained.steps)
            self.learners += [self.state.learner] if self.state.learner else []
            self._charge("train", trained.spend)
            self.training += [TrainRow(**asdict(step)) for step in trained.steps]
        else:
            found = self.site.search().run(
                self.state, phase.iterations, self.seed, continued=phase.continued, until=phase.until
            )
            self.state, done = found.state, found.iterations
            self._charge("search", found.screening)
            self._charge("confirm", found.confirming)
            self.candidates += [CandidateRow(phase=index, **asdict(row)) for row in found.candidates]
        self._checkpoint(self.state, "weight" if isinstance(phase, Train) else "search")
        self._event({"phase": index, "weights": self.state.weights_id, "harness": self.state.harness.id})
        return done

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

    def _checkpoint(self, state: State, phase: str) -> None:
        samples = self.profile.eval.samples
        counts, cost = self.site.lab.evaluate(state, samples, self.seed)
        self._charge("eval", cost)
        self.harnesses[state.harness.id] = state.harness
        charged = Spend.total(self.ledger[name] for name in ("train", "search", "confirm"))
        self.checkpoints.append(
            Checkpoint.model_validate(
                {
                    "index": len(self.checkpoints),
                    "phase": phase,
                    "weights_id": state.weights_id,
                    "harness_id": state.harness.id,
                    "charged": asdict(charged),
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
            budget=0 if not self.method.phases(self.profile.plan) else self.profile.plan.total,
            switches=self.profile.switches,
            provenance=self._provenance(),
            families={
                task.id: task.meta["family"] for split in ("select", "test") for task in env.tasks(split)
            },
            checkpoints=self.checkpoints,
            ledger={name: SpendRow(**asdict(spend)) for name, spend in self.ledger.items()},
            training=self.training,
            candidates=self.candidates,
            harnesses={
                key: HarnessRow(source=row.source, parent=row.parent, edit=row.edit)
                for key, row in self.harnesses.items()
            },
        )

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


def code_hash() -> str:
    """Hash of all code that can change a rollout or an update (``envs`` and ``whale``): edited code reuses nothing."""
    digest = hashlib.sha256()
    root = Path(__file__).parent.parent
    for file in sorted(path for name in ("envs", "whale") for path in (root / name).rglob("*.py")):
        digest.update(str(file.relative_to(root)).encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def commit() -> str:
    """The checkout's commit, with ``+changes`` when files differ from it; ``unknown`` outside a checkout."""
    here = Path(__file__).parent

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", *words], cwd=here, capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no", "--", ":!/results")
        return git("rev-parse", "--short=12", "HEAD") + ("+changes" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def command_line(arguments: Sequence[str] | None = None) -> str:
    """The command as a person would type it."""
    return shlex.join(["python", "-m", "bench", *(sys.argv[1:] if arguments is None else arguments)])

"""What the runs of one profile share: environment, model, jail, proposers, cache; and what identifies it all."""

from __future__ import annotations

import hashlib
import subprocess
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from bench.config import Profile
from envs.base import InputError, Split
from envs.table import environment_class
from whale.agent import Agent
from whale.chat_reflector import ChatReflector
from whale.control import Control
from whale.engine import Sampling
from whale.harnesses import starting
from whale.hosting import HarnessHost
from whale.lab import Lab, Watch
from whale.models import resolve
from whale.offline.catalogue import SPACES
from whale.offline.propose import OfflineProposer
from whale.offline.reflect import OfflineReflector
from whale.phases import Search
from whale.records import Harness
from whale.reflector import Reflector
from whale.rollout import Caps, RolloutRunner
from whale.search import HarnessSearch

if TYPE_CHECKING:  # the library behind it is needed by one method only
    from whale.evolve import PromptEvolution

CHECKED = 4
"""Search tasks on which a starting harness is tried, with noise for replies, before anything is spent."""
PACKAGES = ("torch", "transformers", "trl", "peft", "gepa", "reasoning-gym", "sympy")
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
            "code": code_hash("envs", "whale"),
        }

    def control(self, *shown: Split) -> Control:
        """The checks that every harness must pass, given the splits whose questions it may quote; starts the jail."""
        return Control(self.env, self.host, self.caps, shown)

    def search(self, phase: Search) -> HarnessSearch:
        """The search operator for a phase; starts the jail."""
        space = SPACES[self.profile.environment]
        if phase.space == "text":
            proposer = OfflineProposer(space.text, space.form, "offline-text")
        else:
            proposer = OfflineProposer(space.edits, space.form)
        shown: tuple[Split, ...] = ("search", "weight") if phase.evidence == "failures" else ("search",)
        return HarnessSearch(self.lab, proposer, self.profile.search, self.control(*shown))

    def evolution(self) -> PromptEvolution:
        """The evolution of prompts; starts the jail."""
        from whale.evolve import PromptEvolution

        form, settings = SPACES[self.profile.environment].form, self.profile.fst
        reflector: Reflector = OfflineReflector(form)
        if settings.reflector == "chat":
            reflector = ChatReflector(
                settings.chat_url,
                settings.chat_model,
                settings.chat_key,
                settings.chat_price_in,
                settings.chat_price_out,
            )
        return PromptEvolution(self.lab, form, reflector, settings, self.control("search", "weight"))

    def starting(self) -> Harness:
        """The profile's starting harness."""
        return self._checked(self.profile.harness.start, "starting harness")

    def refining(self) -> Harness:
        """The profile's hand-made harness that has the model check its answer."""
        if not self.profile.harness.refine:
            raise InputError(
                f"the profile has no [{self.profile.environment}.harness] refine, which the method refinement needs; "
                "name a harness that has the model check its answer, or leave that method out"
            )
        return replace(self._checked(self.profile.harness.refine, "refining harness"), edit="refine")

    def _checked(self, name: str, role: str) -> Harness:
        """The harness of that name; ``InputError`` when it fails the checks that proposals must pass."""
        harness = starting(name)
        reason = self.control("search").refusal(harness.source, self.env.tasks("search")[:CHECKED])
        if reason:
            raise InputError(f"the {role} {name} cannot be used: {reason}. Mend it or use another")
        return harness

    def close(self) -> None:
        """End every process the runs have started."""
        if self._host is not None:
            self._host.close()
        self.env.close()


def code_hash(*places: str) -> str:
    """Hash of the code in these files and folders of the checkout: edited code reuses nothing."""
    digest = hashlib.sha256()
    root = Path(__file__).parent.parent
    files = {path for place in places for path in [root / place, *(root / place).rglob("*.py")]}
    for file in sorted(path for path in files if path.suffix == ".py"):
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

"""The maths environment: reasoning-gym tasks, a Python tool in a jail, and two named verifiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Literal

from pydantic import model_validator

from envs.base import SPLITS, InputError, Score, Split, Task, Verdict, digests
from envs.jail.python_tool import PythonTool
from envs.math_env import hub
from envs.math_env.canonical import canonical
from envs.math_env.robust import RobustVerifier
from envs.math_env.tasks import Family, build
from envs.settings import DataSource, EnvSettings


class MathSettings(EnvSettings):
    """The ``[env]`` table of a maths profile."""

    verifier: Literal["canonical", "robust"]
    """``canonical``: exact string in the last box, the published rule; ``robust``: exact mathematical equality."""
    families: list[Family]
    """Empty with ``source = "hub"``: there the sets are the families."""
    source: DataSource = "embedded"
    """``hub``: DAPO-Math-17K, and AIME 2024 and 2025 for test."""

    @model_validator(mode="after")
    def _families_go_with_embedded(self) -> MathSettings:
        if (self.source == "hub") == bool(self.families):
            names = [family.name for family in self.families]
            raise ValueError(
                "one family or more goes with source = 'embedded'; with source = 'hub' write families = [], "
                f"got source = {self.source!r}, families {names}"
            )
        return self


class _MathEpisode:
    """One attempt at one maths task; see ``envs.base.Episode``."""

    def __init__(self, env: MathEnvironment, task: Task) -> None:
        self._env, self._task = env, task

    def call(self, tool: str, arguments: Mapping[str, object]) -> str:
        """Only ``python`` exists; its one argument is ``code``."""
        code = arguments.get("code")
        if tool != "python" or not isinstance(code, str) or len(arguments) != 1:
            return f"error: call python with one argument, code (a text); got {tool} with {sorted(arguments)}"
        return self._env.python.run(code)

    def verify(self, answer: str, *, truncated: bool) -> Score:
        """See ``envs.base.Episode.verify``."""
        return self._env.grade(self._task.gold, answer, truncated=truncated)


class MathEnvironment:
    """See ``envs.base.Environment``."""

    Settings = MathSettings
    name = "math"
    tools: tuple[str, ...] = ("python",)
    chance = 0.0

    def __init__(self, settings: MathSettings) -> None:
        """Build the tasks and check that every gold passes its own verifier.

        Raises ``InputError`` naming the first gold that does not.
        """
        self.settings = settings
        self._built = hub.tasks(settings.sizes, settings.data_seed) if settings.source == "hub" else None
        self._tasks = (
            self._built.tasks if self._built else build(settings.families, settings.sizes, settings.data_seed)
        )
        self._robust: RobustVerifier | None = None
        self._python: PythonTool | None = None
        self._check_golds()

    def tasks(self, split: Split) -> Sequence[Task]:
        """See ``envs.base.Environment.tasks``."""
        return self._tasks[split]

    def open(self, task: Task) -> _MathEpisode:
        """See ``envs.base.Environment.open``."""
        return _MathEpisode(self, task)

    @property
    def python(self) -> PythonTool:
        """The Python tool; its jail starts at the first call."""
        if self._python is None:
            self._python = PythonTool()
        return self._python

    def grade(self, gold: str, answer: str, *, truncated: bool) -> Score:
        """Judge a text against a gold with the verifier in force."""
        if self.settings.verifier == "canonical":
            return canonical(gold, answer, truncated=truncated)
        if self._robust is None:
            self._robust = RobustVerifier()
        return self._robust.verify(gold, answer, truncated=truncated)

    def describe(self) -> Mapping[str, object]:
        """See ``envs.base.Environment.describe``."""
        return {
            "env": self.name,
            "verifier": self.settings.verifier,
            "tasks": digests(self._tasks),
            "reasoning-gym": version("reasoning-gym"),
            **({"hub": self._built.manifest} if self._built else {}),
        }

    def close(self) -> None:
        """End the worker and the jail."""
        if self._robust is not None:
            self._robust.close()
        if self._python is not None:
            self._python.close()

    def _check_golds(self) -> None:
        for split in SPLITS:
            for task in self._tasks[split]:
                score = self.grade(task.gold, f"\\boxed{{{task.gold}}}", truncated=False)
                if score.verdict is not Verdict.CORRECT:
                    raise InputError(
                        f"the gold {task.gold!r} of task {task.id} ({task.meta.get('family')}, {split}) does not pass "
                        f"its own verifier ({self.settings.verifier}): {score.verdict} {score.detail}; "
                        "drop that family or use the other verifier"
                    )

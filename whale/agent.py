"""The model side of a run: engine and learner over one model object, made only when something must be computed.

Knows which weights are loaded and how to bring back any earlier state; knows nothing of methods.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from whale.engine import Sampling
from whale.models import ModelSource
from whale.records import Harness, Rollout
from whale.settings import EngineSettings as EngineSettings
from whale.settings import LearnerKind, LearnerSettings, PolicySettings

if TYPE_CHECKING:  # torch takes seconds to load; a plan, a report or --help must not wait for it
    from whale.learner import StepReport
    from whale.rsft import RsftLearner
    from whale.transformers_engine import TransformersEngine


@dataclass(frozen=True, slots=True)
class State:
    """Where a run stands: weights and harness, and the optimizer that belongs to the weights."""

    weights_id: str
    learner: Path | None
    """Directory of the saved weights and optimizer; None for the starting ones."""
    harness: Harness
    steps: int = 0
    """Weight steps done so far (the place in the stream of training tasks)."""
    searches: int = 0
    """Searches done so far."""
    archive: Path | None = None
    """Archive of the last search, if it was the last phase."""
    prompts: tuple[Harness, ...] = ()
    """Fast-Slow Training's population, best first and ``harness`` its first; empty for every other method."""

    @property
    def harnesses(self) -> tuple[Harness, ...]:
        """What a weight step's samples are split over."""
        return self.prompts or (self.harness,)


class Agent:
    """Engine and learner, loaded on first use."""

    def __init__(
        self,
        source: ModelSource,
        sampling: Sampling,
        engine: EngineSettings,
        learner: LearnerSettings,
        policy: PolicySettings,
    ) -> None:
        self.source, self._policy = source, policy
        self._sampling, self._engine_settings, self._learner_settings = sampling, engine, learner
        self._engine: TransformersEngine | None = None
        self._learner: RsftLearner | None = None

    @property
    def start_id(self) -> str:
        """Id of the starting weights."""
        return f"start-{self.source.revision[:10]}"

    @property
    def engine(self) -> TransformersEngine:
        """The engine; loads the model at the first call."""
        if self._engine is None:
            from whale.transformers_engine import TransformersEngine

            settings = self._engine_settings
            if settings.threads:
                import torch

                torch.set_num_threads(settings.threads)
            self._engine = TransformersEngine(
                self.source.directory,
                self._sampling,
                batch=settings.batch,
                refill=settings.refill,
                columns=settings.columns,
                device=settings.device,
            )
            self._engine.use(self.start_id)
        return self._engine

    @property
    def learner(self) -> RsftLearner:
        """The learner, which trains the engine's own model object."""
        if self._learner is None:
            from whale.rsft import RsftLearner

            engine = self.engine
            self._learner = RsftLearner(engine.model, engine.tokenizer, self._learner_settings)
        return self._learner

    def learn(
        self, rollouts: Sequence[Rollout], seed: int, kind: LearnerKind = "rsft", step: int = 0
    ) -> StepReport:
        """Weight step number ``step`` on the weights in force; the engine then serves the new ones."""
        from whale.learner import weights_id
        from whale.policy_gradient import PolicyGradientLearner

        before = self.engine.weights_id
        learner = self.learner if kind == "rsft" else PolicyGradientLearner(self.learner, self._policy, step)
        self.engine.use(None)
        report = learner.step(rollouts, seed)
        self.engine.use(weights_id(self.engine.model) if report.accepted else before)
        return report

    def load(self, state: State) -> None:
        """Put a state's weights (and optimizer) into the model, unless they are there already.

        Raises ``RuntimeError`` when the files hold other weights than the state says.
        """
        if self.engine.weights_id == state.weights_id:
            return
        self.engine.use(None)
        if state.weights_id == self.start_id:  # also after a phase that had nothing to learn from
            self.learner.reset()
        else:
            assert state.learner is not None
            found = self.learner.load(state.learner)
            if found != state.weights_id:
                raise RuntimeError(
                    f"{state.learner} holds weights {found}, not {state.weights_id}; delete that directory and "
                    "run the same command again, which trains them anew"
                )
        self.engine.use(state.weights_id)

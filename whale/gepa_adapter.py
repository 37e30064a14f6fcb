"""What the ``gepa`` library asks of a system: how prompts are scored, rewritten and accepted, over our rollouts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gepa.core.adapter import EvaluationBatch, ProposalFn
from gepa.proposer.reflective_mutation.reflection_lm import ReflectionProposal

from envs.base import Task
from whale.agent import State
from whale.control import Control
from whale.lab import Lab
from whale.offline.form import Form
from whale.offline.reflect import feedback_from
from whale.offline.text_edits import instruction_of, with_instruction
from whale.records import Harness, Spend
from whale.reflector import Feedback, Reflector, Rewrite
from whale.rollout import Work
from whale.store import Log

COMPONENT = "instruction"
"""The one text of a candidate."""


class Adapter:
    """Scores a candidate with one rollout a task, each of its own random stream; also the library's logger."""

    propose_new_texts: ProposalFn | None = None

    def __init__(self, lab: Lab, form: Form, control: Control, state: State, seed: int) -> None:
        self.lab, self.form, self.control, self.state, self.seed = lab, form, control, state, seed
        self.spend = Spend()
        self._number = 0
        self._refused: dict[str, str] = {}

    def log(self, message: str) -> None:
        """Say nothing: the terminal belongs to the progress bar."""

    def harness(self, text: str) -> Harness:
        """The state's harness with another instruction."""
        source = self.state.harness.source
        if instruction_of(source, self.form) == text:
            return self.state.harness
        return Harness(with_instruction(source, text, self.form))

    def evaluate(
        self, batch: list[Task], candidate: dict[str, str], capture_traces: bool = False
    ) -> EvaluationBatch[Feedback, float]:
        """Scores and feedback in the order of ``batch``. A harness that controls refuse scores 0 and costs nothing."""
        harness = self.harness(candidate[COMPONENT])
        reason = self._refusal(harness, candidate[COMPONENT], batch)
        if reason:
            refused = [Feedback(task.question, "", "no_answer", reason, False, False) for task in batch]
            zeros = [0.0] * len(batch)
            return EvaluationBatch(list(zeros), zeros, refused, num_metric_calls=0)
        # The library fills up a minibatch with a task that is in it already.
        work = [Work(task, harness, batch[:place].count(task)) for place, task in enumerate(batch)]
        purpose = f"evolve {self.state.searches} call {self._number}"
        self._number += 1
        made = self.lab.rollouts(self.state, work, purpose, self.seed)
        self.spend += Spend.total(rollout.spend for rollout in made)
        scores = [rollout.score.value for rollout in made]
        told = [
            feedback_from(task.question, rollout, self.form)
            for task, rollout in zip(batch, made, strict=True)
        ]
        return EvaluationBatch(list(scores), scores, told)

    def make_reflective_dataset(
        self,
        candidate: dict[str, str],
        eval_batch: EvaluationBatch[Feedback, float],
        components_to_update: list[str],
    ) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """The feedback as it is; it never holds a gold."""
        return {COMPONENT: [asdict(item) for item in eval_batch.trajectories or []]}

    def _refusal(self, harness: Harness, text: str, tasks: Sequence[Task]) -> str:
        if harness.id not in self._refused:
            reason = self.control.refusal(harness.source, tasks)
            if instruction_of(harness.source, self.form) != text:
                reason = (
                    f"the instruction {text!r} cannot be told from the harness's other texts; name the form"
                )
            self._refused[harness.id] = reason
        return self._refused[harness.id]


class Carried:
    """Prompts from the cycle before, which enter as proposals; and the library's rule of acceptance."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.waiting = list(texts)
        self.all = frozenset(texts)
        self.entering = set(texts)

    def name_of(self, candidate: Mapping[str, str]) -> str:
        """How the result file calls the way in which a candidate was made."""
        return "carried" if candidate[COMPONENT] in self.all else "rewrite"

    def should_accept(self, proposal: Any, state: Any) -> bool:
        """A carried prompt when it enters, anything else only when it beats its parent on the minibatch."""
        if proposal.candidate[COMPONENT] in self.entering:
            self.entering.remove(proposal.candidate[COMPONENT])
            return True
        return bool(sum(proposal.subsample_scores_after) > sum(proposal.subsample_scores_before))


class Reflection:
    """Proposes the carried prompts, then what the reflector makes of the feedback; rewrites are recorded."""

    def __init__(self, reflector: Reflector, carried: Carried, record: Path, seed: int) -> None:
        self.reflector, self.carried, self.seed = reflector, carried, seed
        self.log = Log(record)
        self.known = [Rewrite(**json.loads(line)) for line in self.log.lines()]
        self.spend = Spend()
        self._number = 0
        self._failure: Exception | None = None

    def check(self, gepa_state: Any) -> bool:
        """Raise what the reflector raised: the library would go on without it and spend the budget on nothing."""
        if self._failure is not None:
            raise self._failure
        return False

    def reflect(
        self,
        candidate: dict[str, str],
        reflective_dataset: Mapping[str, Sequence[Mapping[str, Any]]],
        components_to_update: list[str],
    ) -> tuple[ReflectionProposal, Reflection]:
        """See the library's ``ReflectionLM``, which is asked again when it raised."""
        if self._failure is not None:
            raise self._failure
        if self.carried.waiting:
            return ReflectionProposal({COMPONENT: self.carried.waiting.pop(0)}), self
        feedback = [Feedback(**record) for record in reflective_dataset[COMPONENT]]
        try:
            rewrite = self._rewrite(candidate[COMPONENT], feedback)
        except Exception as error:
            self._failure = error
            raise
        self.spend += Spend(
            prompt_tokens=rewrite.prompt_tokens,
            completion_tokens=rewrite.completion_tokens,
            dollars=rewrite.dollars,
        )
        return ReflectionProposal({COMPONENT: rewrite.text}), self

    def _rewrite(self, instruction: str, feedback: Sequence[Feedback]) -> Rewrite:
        """The next rewrite, from the record if it is there (a model may cost money and vary)."""
        number = self._number
        if number == len(self.known):
            self.known.append(self.reflector.rewrite(instruction, feedback, self.seed + number))
            self.log.append([json.dumps(asdict(self.known[number]))])
        self._number += 1
        return self.known[number]

"""The embedded reflector, a deterministic program that changes sentences; and what reflectors are told."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from envs.base import Verdict
from whale.offline.evidence import Evidence
from whale.offline.form import Form
from whale.offline.sentences import added, sentences
from whale.records import Rollout
from whale.reflector import Feedback, Rewrite

JITTER = 0.2
"""Largest random addition to a strength; a proposer's is smaller, as it knows what was tried before."""
IDLE = 0.1
"""A sentence is dropped with this strength less its own: only where what it is for does not happen."""


class OfflineReflector:
    """See ``whale.reflector.Reflector``. It takes what the feedback suggests most, and keeps no state."""

    name = "offline"

    def __init__(self, form: Form) -> None:
        """Use the sentences for answers of this form."""
        self.form = form

    def rewrite(self, instruction: str, feedback: Sequence[Feedback], seed: int) -> Rewrite:
        """The instruction with one sentence added, exchanged or dropped; the same only if none changes it."""
        evidence = evidence_of(feedback, self.form)
        rng = random.Random(f"offline reflector, seed {seed}")
        held = {item.slot: item for item in sentences(self.form) if item.text in instruction}
        options: list[tuple[float, str]] = []
        for sentence in sentences(self.form):
            strength, text = sentence.strength(evidence), added(instruction, sentence, self.form)
            other = held.get(sentence.slot)
            if other is sentence:
                strength, text = IDLE - strength, sentence.removed(instruction)
            elif other is not None:
                strength -= other.strength(evidence)
            options.append((strength + rng.uniform(0, JITTER), text))
        fresh = [option for option in options if option[1] != instruction]
        return Rewrite(max(fresh, key=lambda option: option[0])[1] if fresh else instruction)


def evidence_of(feedback: Sequence[Feedback], form: Form) -> Evidence:
    """The shares in the feedback, as the strengths of sentences read them."""
    total = len(feedback) or 1
    counts = Counter(item.verdict for item in feedback)
    return Evidence(
        rollouts=len(feedback),
        verdicts={verdict: count / total for verdict, count in counts.items()},
        form=form,
        no_form=sum(not item.formed for item in feedback) / total,
        cut=sum(item.cut for item in feedback) / total,
    )


def feedback_from(question: str, rollout: Rollout, form: Form) -> Feedback:
    """What a reflector may see of one rollout.

    The verifier's remarks are left out, since they could tell the answer.
    """
    texts = rollout.calls[-1].texts if rollout.calls else ()
    reply = texts[-1] if texts else ""
    formed = bool(form.read(reply))
    note = _note(rollout, form, formed=formed)
    return Feedback(question, reply, str(rollout.score.verdict), note, rollout.cut, formed)


def _note(rollout: Rollout, form: Form, *, formed: bool) -> str:
    shape = "...".join(form.around)
    match rollout.score.verdict:
        case Verdict.CORRECT:
            return "The answer is right."
        case Verdict.WRONG:
            return "An answer was given, but it is wrong."
        case Verdict.VERIFIER_ERROR | Verdict.INFRA_ERROR:
            return "The answer could not be judged, which says nothing about the reply."
    if rollout.error:
        return "The program around the model failed, so no answer was given."
    if rollout.cut and not formed:
        return f"The reply was cut at the limit of its length before it gave {shape}."
    if not formed:
        return f"The reply holds no {shape}, so no answer could be read."
    return f"What {shape} holds does not count as an answer."

"""Candidates of a search made from rollouts and refused proposals, as the archive keeps them: no gold anywhere."""

from __future__ import annotations

from collections.abc import Sequence

from envs.base import Task, Verdict
from whale.archive import Candidate, Trace, TraceCall
from whale.proposer import Proposal
from whale.records import Harness, Rollout

FAILURES = (Verdict.WRONG, Verdict.NO_ANSWER, Verdict.TRUNCATED)
"""Verdicts that say something about the agent."""


def scored_candidate(
    harness: Harness, why: str, iteration: int, tasks: Sequence[Task], made: Sequence[Rollout]
) -> Candidate:
    """A harness with one rollout for each of ``tasks``, in their order."""
    return Candidate(
        harness_id=harness.id,
        source=harness.source,
        parent=harness.parent,
        edit=harness.edit,
        why=why,
        iteration=iteration,
        scores=tuple(rollout.score.value for rollout in made),
        traces=tuple(trace_of(task, rollout) for task, rollout in zip(tasks, made, strict=True)),
        calls_mean=sum(rollout.spend.model_calls for rollout in made) / len(made),
    )


def invalid_candidate(proposal: Proposal, iteration: int, reason: str) -> Candidate:
    """A proposal that was refused before it cost a rollout."""
    harness = Harness(proposal.source, proposal.parent, proposal.edit)
    return Candidate(
        harness.id, proposal.source, proposal.parent, proposal.edit, proposal.why, iteration, invalid=reason
    )


def trace_of(task: Task, rollout: Rollout) -> Trace:
    """A rollout as a proposer may see it."""
    return Trace(
        task_id=task.id,
        question=task.question,
        calls=tuple(
            TraceCall(call.messages, call.texts, tuple(finish == "length" for finish in call.finishes))
            for call in rollout.calls
        ),
        tools=tuple((tool.name, tool.arguments, tool.result) for tool in rollout.tools),
        answer=rollout.answer,
        read=rollout.score.answer,
        verdict=rollout.score.verdict.value,
        error=rollout.error,
    )


def failed(rollout: Rollout) -> bool:
    """Whether the agent failed: neither right nor beyond judging."""
    return rollout.score.verdict in FAILURES

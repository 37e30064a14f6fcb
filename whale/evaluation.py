"""Evaluation of a state on ``select`` and ``test``, with one attempt a sample or several and a blind selector.

Its cost is shown and never charged to a method.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from envs.base import Split, Verdict
from whale.agent import State
from whale.lab import Lab
from whale.offline.form import plain
from whale.records import Rollout, Spend
from whale.rollout import Work

Counts = dict[str, dict[Verdict, int]]
"""Question id -> verdict -> how often."""
EVALUATED: tuple[Split, ...] = ("select", "test")


def evaluate(
    lab: Lab,
    state: State,
    samples: int,
    seed: int,
    *,
    attempts: int = 1,
    splits: Sequence[Split] = EVALUATED,
) -> tuple[dict[Split, Counts], Spend]:
    """Verdict counts a question, ``samples`` each, and the cost of all attempts."""
    places = [(split, task) for split in splits for task in lab.env.tasks(split)]
    spend = Spend()
    tries: list[list[Rollout]] = [[] for _ in range(len(places) * samples)]
    for attempt in range(attempts):
        # Block by block: the first is what evaluation with one attempt makes, and is shared with it.
        numbers = range(attempt * samples, (attempt + 1) * samples)
        work = [Work(task, state.harness, number) for _, task in places for number in numbers]
        for group, rollout in zip(tries, lab.rollouts(state, work, "evaluation", seed), strict=True):
            group.append(rollout)
            spend += rollout.spend
    counts: dict[Split, Counts] = {split: {} for split in splits}
    for index, group in enumerate(tries):
        split, task = places[index // samples]
        row = counts[split].setdefault(task.id, {})
        verdict = blind(group).score.verdict
        row[verdict] = row.get(verdict, 0) + 1
    return counts, spend


def blind(attempts: Sequence[Rollout]) -> Rollout:
    """The first attempt with the answer that most attempts give; no verdict is looked at.

    Answers are compared without spaces, separators of thousands and case, as a harness that votes does it. An attempt
    without an answer is taken only when none has one.
    """
    answers = [plain(rollout.score.answer or "").casefold() for rollout in attempts]
    votes = Counter(answer for answer in answers if answer)
    if not votes:
        return attempts[0]
    most = max(votes.values())
    return next(rollout for rollout, answer in zip(attempts, answers, strict=True) if votes[answer] == most)

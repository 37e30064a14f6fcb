"""Reads the answer out of a text: what stands in the last ``<answer>...</answer>`` pair.

Only the final text of a harness is looked at, never its prompts, so a pair in an instruction cannot be taken
for an answer. The tags are exact, and the field ends at the closing tag, not at a line break.
"""

from __future__ import annotations

from envs.base import Score, Verdict
from envs.searchqa_env.normal import normal

OPEN, CLOSE = "<answer>", "</answer>"
LONGEST = 1000
"""Characters of an answer that are compared; no gold is that long, so a longer answer is wrong."""


def last_answer(text: str) -> str | None:
    """The stripped content of the last complete pair, None without one; linear in the length, never raises."""
    close = text.rfind(CLOSE)
    start = text.rfind(OPEN, 0, max(close, 0))
    if start < 0:
        return None
    start += len(OPEN)
    return text[start : text.find(CLOSE, start)].strip()


def unanswered(answer: str | None, *, truncated: bool) -> Score | None:
    """The score of a text that gives no answer; None when there is one to judge.

    Blank means nothing visible: spaces, control characters and direction marks alone are no answer.
    """
    if answer is None:
        return _missing("no pair of answer tags", truncated)
    if not normal(answer[: LONGEST + 1]):
        return _missing("the answer is empty", truncated)
    return (
        Score.of(Verdict.WRONG, answer[:LONGEST], "longer than any answer") if len(answer) > LONGEST else None
    )


def _missing(why: str, truncated: bool) -> Score:
    return Score.of(Verdict.TRUNCATED if truncated else Verdict.NO_ANSWER, detail=why)

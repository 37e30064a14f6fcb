"""The published form of the maths verifier, with its known weakness kept on purpose.

An answer is right when the last box equals the gold character for character, and the box is looked for
only in the last 100 characters of the text. ``robust`` is the one without these faults.
"""

from __future__ import annotations

from envs.base import Score, Verdict
from envs.math_env.answer import last_box, unanswered

TAIL = 100
"""Characters at the end of the text that are searched; a box that begins earlier is not seen."""


def canonical(gold: str, text: str, *, truncated: bool) -> Score:
    """Judge ``text`` by exact string equality with ``gold``; ``truncated``: the model was cut."""
    box = last_box(text[-TAIL:])
    if not box.holds_answer:
        return unanswered(box, truncated=truncated)
    return Score.of(Verdict.CORRECT if box.content == gold else Verdict.WRONG, box.content)

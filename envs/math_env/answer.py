r"""Reads the answer out of a solution: the content of the last ``\boxed{...}`` group.

Only braces count. ``\boxed 5``, a bare ``\boxed`` and ``\fbox{5}`` are not answers, and neither is a
box that is never closed. Dollar signs and other delimiters play no part.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from envs.base import Score, Verdict

_LAST_OPENING = re.compile(r".*\\boxed\s*\{", re.DOTALL)
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Box:
    """What ``last_box`` found."""

    state: Literal["found", "none", "unclosed"]
    content: str = ""
    """Text between the braces, exactly as written; empty unless ``found``."""

    @property
    def holds_answer(self) -> bool:
        """Whether there is something to grade: a closed box with something that can be seen in it."""
        return self.state == "found" and any(
            char.isprintable() and not char.isspace() for char in self.content
        )


def last_box(text: str) -> Box:
    r"""The last ``\boxed{...}`` of the text, in time linear in its length; never raises.

    "Last" goes by where the box begins, so of nested boxes the inner one is read. When the last group
    is unclosed the result is ``unclosed``, even if an earlier one is complete: the text was taking an
    answer back. Escaped braces (``\{``, ``\}``) do not count, spaces may stand before the group.
    """
    opening = _LAST_OPENING.match(text)
    if not opening:
        return Box("none")
    start, depth = opening.end(), 1
    for token in _BRACE.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(token.group(), 0)
        if depth == 0:
            return Box("found", text[start : token.start()])
    return Box("unclosed")


def unanswered(box: Box, *, truncated: bool) -> Score:
    """Score a text whose box holds no answer: ``truncated`` if the model was cut, else ``no_answer``."""
    reasons = {"none": "no box", "unclosed": "the last box is not closed", "found": "the box is empty"}
    return Score.of(Verdict.TRUNCATED if truncated else Verdict.NO_ANSWER, detail=reasons[box.state])

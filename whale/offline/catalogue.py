"""The search spaces of the embedded proposer: per environment its form of answer, and all edits.

Edits stand in the order in which ties are broken and pairs applied; each has its own name, which is what an
archive and a result file show.
"""

from __future__ import annotations

from dataclasses import dataclass

from whale.offline import chess_edits, example_edits, flow_edits, search_edits, wording_edits
from whale.offline.edit import Edit
from whale.offline.form import ANSWER, BOX, MOVE, Form
from whale.offline.text_edits import text_edits

EDITS: tuple[Edit, ...] = (
    wording_edits.DIRECT,
    wording_edits.PYTHON,
    wording_edits.EXPRESSION,
    wording_edits.STEPS,
    example_edits.EXAMPLES_3,
    wording_edits.FORM_EXAMPLE,
    flow_edits.LAST_NUMBER,
    flow_edits.RETRY,
    example_edits.EXAMPLES_2,
    example_edits.EXAMPLES_4,
    example_edits.MORE_EXAMPLES,
    example_edits.FEWER_EXAMPLES,
    example_edits.OTHER_EXAMPLES,
    flow_edits.SHORT_REPLIES,
    flow_edits.LONGER_REPLIES,
    flow_edits.VOTE_3,
    flow_edits.VOTE_5,
    flow_edits.AGREE,
    flow_edits.DECOMPOSE,
    wording_edits.RESTATE,
    wording_edits.ROLE,
)
"""For maths."""

SEARCHQA_EDITS: tuple[Edit, ...] = (
    wording_edits.DIRECT,
    search_edits.QUESTION_3,
    search_edits.HOP_1,
    search_edits.MORE_3,
    search_edits.QUESTION_1,
    search_edits.NARROW,
    search_edits.BOTH_2,
    search_edits.HOP_2,
    search_edits.MORE_5,
    search_edits.WRAP,
    wording_edits.FORM_EXAMPLE,
    wording_edits.STEPS,
    flow_edits.RETRY,
    example_edits.EXAMPLES_2,
    example_edits.EXAMPLES_3,
    example_edits.MORE_EXAMPLES,
    example_edits.FEWER_EXAMPLES,
    example_edits.OTHER_EXAMPLES,
    flow_edits.SHORT_REPLIES,
    flow_edits.LONGER_REPLIES,
    flow_edits.VOTE_3,
    flow_edits.AGREE,
    wording_edits.ROLE,
)

CHESS_EDITS: tuple[Edit, ...] = (
    wording_edits.DIRECT,
    chess_edits.CHECKS,
    chess_edits.CAPTURES,
    chess_edits.PIECES,
    wording_edits.FORM_EXAMPLE,
    wording_edits.STEPS,
    example_edits.EXAMPLES_2,
    example_edits.EXAMPLES_3,
    example_edits.MORE_EXAMPLES,
    example_edits.FEWER_EXAMPLES,
    example_edits.OTHER_EXAMPLES,
    flow_edits.SHORT_REPLIES,
    flow_edits.LONGER_REPLIES,
    flow_edits.VOTE_3,
    flow_edits.VOTE_5,
    flow_edits.AGREE,
    wording_edits.ROLE,
)


@dataclass(frozen=True)
class Space:
    """What the proposer may do in one environment."""

    form: Form
    edits: tuple[Edit, ...]
    """Of the whole code."""

    @property
    def text(self) -> tuple[Edit, ...]:
        """Edits of the harness's instruction alone."""
        return text_edits(self.form)


SPACES = {
    "math": Space(BOX, EDITS),
    "searchqa": Space(ANSWER, SEARCHQA_EDITS),
    "chess": Space(MOVE, CHESS_EDITS),
}
"""By name of the environment."""

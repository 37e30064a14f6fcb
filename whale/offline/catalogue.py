"""All edits of the embedded proposer, in the order in which ties are broken and pairs applied."""

from __future__ import annotations

from whale.offline import example_edits, flow_edits, wording_edits
from whale.offline.edit import Edit

EDITS: tuple[Edit, ...] = (
    wording_edits.DIRECT,
    wording_edits.PYTHON,
    wording_edits.EXPRESSION,
    wording_edits.STEPS,
    example_edits.EXAMPLES_3,
    wording_edits.BOX_EXAMPLE,
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
"""Every edit has its own name; names are what an archive and a result file show."""

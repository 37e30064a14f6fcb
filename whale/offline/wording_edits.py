"""Edits of what the model is told: the box, the style of the reply, the role, the question's wording."""

from __future__ import annotations

from collections.abc import Callable

from whale.offline import frame, parts
from whale.offline.edit import Edit, percent
from whale.offline.evidence import Evidence
from whale.offline.example_edits import restyled


def put(**pieces: str | None) -> Callable[[str, Evidence], str]:
    """The ``apply`` of an edit that only places fixed pieces."""
    return lambda source, _evidence: frame.read(source).put(**pieces).render()


def unless(piece: str, body: str, evidence: Evidence, strength: float) -> float:
    """``strength``, or 0 when the harness already has exactly this piece."""
    return 0.0 if evidence.pieces.get(piece) == body.strip() else strength


BOX_EXAMPLE = Edit(
    name="box_example",
    applies=lambda e: unless("explained", parts.BOX_EXAMPLE, e, 0.8 * e.no_box),
    apply=put(explained=parts.BOX_EXAMPLE),
    why=lambda e: f"{percent(e.no_box)} of {e.rollouts} answers hold no box: show what one looks like",
)

DIRECT = Edit(
    name="direct",
    applies=lambda e: unless("styled", parts.DIRECT, e, 0.2 + 0.8 * e.cut),
    apply=lambda source, e: restyled(source, e, parts.DIRECT, None),
    why=lambda e: (
        f"{percent(e.cut)} of {e.rollouts} rollouts were cut, a reply takes about {e.tokens:.0f} tokens: "
        "ask for the box only"
    ),
    slot="style",
)

STEPS = Edit(
    name="steps",
    applies=lambda e: unless("styled", parts.STEPS, e, 0.6 * e.share("wrong") * (1 - e.cut)),
    apply=lambda source, e: restyled(source, e, parts.STEPS, None),
    why=lambda e: (
        f"{percent(e.share('wrong'))} of {e.rollouts} answers are wrong and only {percent(e.cut)} were cut: "
        "there is room for steps"
    ),
    slot="style",
)

PYTHON = Edit(
    name="python",
    applies=lambda e: unless("styled", parts.PYTHON, e, 0.7 * (1 - e.share("correct")) * (1 - e.tools)),
    apply=lambda source, e: restyled(source, e, parts.PYTHON, parts.RUN_BLOCK),
    why=lambda e: (
        f"{percent(1 - e.share('correct'))} of {e.rollouts} rollouts fail and {percent(e.tools)} call "
        "a tool: let the model write the calculation as code and run it"
    ),
    slot="style",
)

EXPRESSION = Edit(
    name="expression",
    applies=lambda e: unless("styled", parts.EXPRESSION, e, 0.6 * (1 - e.share("correct"))),
    apply=lambda source, e: restyled(source, e, parts.EXPRESSION, parts.RUN_EXPRESSION),
    why=lambda e: (
        f"{percent(1 - e.share('correct'))} of {e.rollouts} rollouts fail with {percent(e.tools)} calling "
        "a tool: let the model write the calculation on one line and run that"
    ),
    slot="style",
)

ROLE = Edit(
    name="role",
    applies=lambda e: unless("with_role", parts.ROLE, e, 0.3 * (1 - e.share("correct"))),
    apply=put(with_role=parts.ROLE),
    why=lambda e: f"{percent(1 - e.share('correct'))} of {e.rollouts} rollouts fail: say who is answering",
)

RESTATE = Edit(
    name="restate",
    applies=lambda e: unless("restated", parts.RESTATED, e, 0.5 * e.share("wrong", "no_answer")),
    apply=put(restated=parts.RESTATED),
    why=lambda e: (
        f"{percent(e.share('wrong'))} of {e.rollouts} answers are wrong and {percent(e.share('no_answer'))} "
        "missing: put the calculation itself in front of the model"
    ),
)

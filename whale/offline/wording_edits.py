"""Edits of what the model is told: the form of the answer, the style of the reply, the role, the wording."""

from __future__ import annotations

from collections.abc import Callable

from whale.offline import parts
from whale.offline.edit import Edit, percent
from whale.offline.evidence import Evidence
from whale.offline.example_edits import place, restyled


def put(**pieces: str) -> Callable[[str, Evidence], str]:
    """The ``apply`` of an edit that only places fixed pieces."""
    return lambda source, evidence: place(source, evidence, **pieces).render()


def unless(piece: str, body: str, evidence: Evidence, strength: float) -> float:
    """``strength``, or 0 when the harness already has exactly this piece."""
    return 0.0 if evidence.pieces.get(piece) == evidence.form.fill(body).strip() else strength


FORM_EXAMPLE = Edit(
    name="form_example",
    applies=lambda e: unless("explained", parts.FORM_EXAMPLE, e, 0.8 * e.no_form),
    apply=put(explained=parts.FORM_EXAMPLE),
    why=lambda e: (
        f"{percent(e.no_form)} of {e.rollouts} answers hold no {e.form.noun}: show what one looks like"
    ),
)

DIRECT = Edit(
    name="direct",
    applies=lambda e: unless("styled", parts.DIRECT, e, 0.2 + 0.8 * e.cut),
    apply=lambda source, e: restyled(source, e, parts.DIRECT, None),
    why=lambda e: (
        f"{percent(e.cut)} of {e.rollouts} rollouts were cut, a reply takes about {e.tokens:.0f} tokens: "
        f"ask for the {e.form.noun} only"
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

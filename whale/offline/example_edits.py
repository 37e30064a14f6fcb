"""Edits that quote worked examples: the model's own replies, verbatim, from verified rollouts."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from whale.offline import frame, parts
from whale.offline.edit import Edit, asks_steps, held_limit, least_limit, percent
from whale.offline.evidence import Evidence, choose

MOST = 6
"""Examples that a harness quotes at most."""


def place(source: str, evidence: Evidence, **pieces: str | None) -> frame.Frame:
    """The harness with pieces put around it, in the words of the environment's form of answer."""
    form = evidence.form
    filled = {name: None if body is None else form.fill(body) for name, body in pieces.items()}
    marker = {"MARKER": f"MARKER = {form.marker!r}"} if form.marker else {}
    return frame.read(source).put(answer_in=form.reader, **marker, **filled)


def kinds_for(pieces: Mapping[str, str]) -> tuple[str, ...]:
    """Which kinds of quote fit the style that a harness asks for."""
    if "computed" in pieces:
        return ("code",) if "```" in pieces["computed"] else ("expression",)
    return ("steps",) if asks_steps(pieces) else ("form", "steps")


def held(pieces: Mapping[str, str]) -> int:
    """Number of examples that a harness already quotes."""
    text = pieces.get("EXAMPLES")
    return len(ast.literal_eval(text.split("=", 1)[1].strip())) if text else 0


def quoting(source: str, evidence: Evidence, count: int, skip: int = 0) -> str:
    """The source with ``count`` examples; unchanged when no verified reply fits."""
    now = frame.read(source)
    quotes = choose(evidence.quotes, kinds_for(now.pieces), count, skip)
    if not quotes:
        return source
    rows = "".join(f"    ({quote.question!r}, {quote.reply!r}),\n" for quote in quotes)
    examples = f"EXAMPLES = (\n{rows})"
    return place(source, evidence, EXAMPLES=examples, with_examples=parts.EXAMPLES).render()


def restyled(source: str, evidence: Evidence, styled: str, computed: str | None) -> str:
    """The source asking for another style of reply; examples of the old style are exchanged or dropped.

    A limit on the reply that leaves the new style no room is raised.
    """
    count = held(frame.read(source).pieces)
    bare = place(source, evidence, styled=styled, computed=computed, EXAMPLES=None, with_examples=None)
    if 0 < held_limit(bare.pieces) < least_limit(bare.pieces):
        bare = bare.put(MAX_TOKENS=f"MAX_TOKENS = {least_limit(bare.pieces)}")
    return quoting(bare.render(), evidence, count) if count else bare.render()


def available(evidence: Evidence) -> int:
    """Number of quotes that fit the harness."""
    kinds = kinds_for(evidence.pieces)
    return len({quote.question for quote in evidence.quotes if quote.kind in kinds})


def _examples(count: int) -> Edit:
    return Edit(
        name=f"examples_{count}",
        applies=lambda e: (
            0.0 if available(e) < count or held(e.pieces) else 0.5 + 0.4 * e.share("no_answer", "truncated")
        ),
        apply=lambda source, e: quoting(source, e, count),
        why=lambda e: (
            f"{available(e)} verified replies can be quoted and {percent(e.share('no_answer', 'truncated'))} "
            f"of {e.rollouts} rollouts give no answer: quote {count}"
        ),
        slot="examples",
    )


def _held_now(source: str, evidence: Evidence) -> int:
    return held(frame.read(source).pieces) or min(2, available(evidence))


EXAMPLES_2, EXAMPLES_3, EXAMPLES_4 = _examples(2), _examples(3), _examples(4)

MORE_EXAMPLES = Edit(
    name="more_examples",
    applies=lambda e: 0.4 if 0 < held(e.pieces) < min(MOST, available(e)) else 0.0,
    apply=lambda source, e: quoting(source, e, min(MOST, _held_now(source, e) + 1)),
    why=lambda e: (
        f"{held(e.pieces)} examples are quoted, {available(e)} verified replies are at hand: quote one more"
    ),
    slot="examples",
)

FEWER_EXAMPLES = Edit(
    name="fewer_examples",
    applies=lambda e: 0.15 + 0.2 * e.share("wrong") if held(e.pieces) > 1 else 0.0,
    apply=lambda source, e: quoting(source, e, max(1, _held_now(source, e) - 1)),
    why=lambda e: (
        f"{percent(e.share('wrong'))} of {e.rollouts} answers are wrong with {held(e.pieces)} examples "
        "quoted: quote one fewer"
    ),
    slot="examples",
)

OTHER_EXAMPLES = Edit(
    name="other_examples",
    applies=lambda e: 0.3 * e.share("wrong") if 0 < held(e.pieces) < available(e) else 0.0,
    apply=lambda source, e: quoting(source, e, _held_now(source, e), skip=1),
    why=lambda e: (
        f"{percent(e.share('wrong'))} of {e.rollouts} answers are wrong with {held(e.pieces)} of "
        f"{available(e)} verified replies quoted: quote others"
    ),
    slot="examples",
)

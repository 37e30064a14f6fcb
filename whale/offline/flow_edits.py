"""Edits of the flow: more calls, several samples, token limits, and what is done with the final answer."""

from __future__ import annotations

import re
from collections.abc import Mapping

from whale.offline import frame, parts
from whale.offline.edit import Edit, held_limit, least_limit, percent
from whale.offline.evidence import Evidence
from whale.offline.example_edits import place
from whale.offline.wording_edits import put, unless

PLAN = "PLAN_TOKENS = 32"


def limit_for(evidence: Evidence, pieces: Mapping[str, str]) -> int:
    """A limit (tokens) that the parent's correct replies stay below and the style has room in."""
    return max(least_limit(pieces), int(1.5 * evidence.correct_tokens) or 32)


def _limited(source: str, evidence: Evidence, limit: int) -> str:
    return place(source, evidence, MAX_TOKENS=f"MAX_TOKENS = {limit}").render()


def _limit_now(source: str, evidence: Evidence) -> int:
    pieces = frame.read(source).pieces
    return held_limit(pieces) or limit_for(evidence, pieces)


SHORT_REPLIES = Edit(
    name="short_replies",
    applies=lambda e: 0.5 * e.cut if held_limit(e.pieces) != limit_for(e, e.pieces) else 0.0,
    apply=lambda source, e: _limited(source, e, limit_for(e, frame.read(source).pieces)),
    why=lambda e: (
        f"{percent(e.cut)} of {e.rollouts} rollouts were cut, while nine in ten correct replies take at most "
        f"{e.correct_tokens} tokens: stop each near there"
    ),
    slot="limit",
)

LONGER_REPLIES = Edit(
    name="longer_replies",
    applies=lambda e: 0.6 * e.cut if held_limit(e.pieces) else 0.0,
    apply=lambda source, e: _limited(source, e, 2 * _limit_now(source, e)),
    why=lambda e: (
        f"{percent(e.cut)} of {e.rollouts} rollouts were cut with a limit of "
        f"{held_limit(e.pieces)} tokens: double it"
    ),
    slot="limit",
)


def _sampled(source: str, evidence: Evidence, body: str, samples: int | None) -> str:
    """Several samples, with a limit on each when there is none: all of them share the rollout's tokens."""
    now = frame.read(source)
    count = f"SAMPLES = {samples}" if samples else None
    limit = now.pieces.get("MAX_TOKENS") or f"MAX_TOKENS = {limit_for(evidence, now.pieces)}"
    return place(source, evidence, sampled=body, SAMPLES=count, MAX_TOKENS=limit).render()


def _samples(evidence: Evidence) -> int:
    found = re.search(r"\d+", evidence.pieces.get("SAMPLES", ""))
    return int(found.group()) if found else 0


def _vote(samples: int) -> Edit:
    return Edit(
        name=f"vote_{samples}",
        applies=lambda e: (
            0.0
            if _samples(e) == samples
            else (0.3 * e.share("wrong") + 0.4 * e.disagree + 0.2 * (1 - e.cut))
            * min(1.0, 40 / (e.tokens + 1))
        ),
        apply=lambda source, e: _sampled(source, e, parts.VOTE, samples),
        why=lambda e: (
            f"{percent(e.share('wrong'))} of {e.rollouts} answers are wrong, a reply takes about "
            f"{e.tokens:.0f} tokens and {percent(e.disagree)} of samples disagree: vote over {samples}"
        ),
        slot="samples",
    )


VOTE_3, VOTE_5 = _vote(3), _vote(5)

AGREE = Edit(
    name="agree",
    applies=lambda e: unless(
        "sampled", parts.AGREE, e, 0.3 * e.share("wrong") * (1 - e.cut) + 0.1 * (1 - e.share("correct"))
    ),
    apply=lambda source, e: _sampled(source, e, parts.AGREE, None),
    why=lambda e: (
        f"{percent(e.share('wrong'))} of {e.rollouts} answers are wrong and {percent(e.cut)} were cut: "
        "ask twice, and a third time when the two differ"
    ),
    slot="samples",
)

DECOMPOSE = Edit(
    name="decompose",
    applies=lambda e: unless("planned", parts.PLANNED, e, 0.4 * e.share("wrong") * (1 - e.cut)),
    apply=put(planned=parts.PLANNED, PLAN_TOKENS=PLAN),
    why=lambda e: (
        f"{percent(e.share('wrong'))} of {e.rollouts} answers are wrong: write the calculation down first, "
        "answer in a second call"
    ),
)

LAST_NUMBER = Edit(
    name="last_number",
    applies=lambda e: unless("finished", parts.LAST_NUMBER, e, e.bare_number),
    apply=put(finished=parts.LAST_NUMBER),
    why=lambda e: (
        f"{percent(e.bare_number)} of {e.rollouts} answers hold a number but no {e.form.noun}, uncut: "
        "read the last number"
    ),
)

RETRY = Edit(
    name="retry",
    applies=lambda e: unless("retried", parts.RETRY, e, 0.7 * e.no_form * (1 - 0.5 * e.cut)),
    apply=put(retried=parts.RETRY),
    why=lambda e: (
        f"{percent(e.no_form)} of {e.rollouts} answers hold no {e.form.noun}: ask once more, naming what is missing"
    ),
)

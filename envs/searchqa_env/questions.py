"""Puts facts into questions: one hop names the country, two hops describe it by another of its facts."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from envs.searchqa_env.cleaning import Answers
from envs.searchqa_env.facts import Fact
from envs.searchqa_env.names import in_sentence, spellings_of
from envs.searchqa_env.normal import normal

Hops = Literal[1, 2]
_form = functools.lru_cache(maxsize=1 << 16)(normal)


@dataclass(frozen=True, slots=True)
class Question:
    """One question with everything that is known about it."""

    text: str
    answers: Answers
    """All accepted answers, the canonical one first."""
    country: str
    """Code of the country that it is about; both hops are facts of this one."""
    relation: str
    """Name of the relation that is asked for; ``country_by_...`` where the country itself is the answer."""
    anchor: str
    """Name of the relation that describes the country; "" where the question names it."""
    evidence: tuple[str, ...]
    """Ids of the passages that prove it, one a hop, in the order in which they are needed."""
    test_only: bool
    """Whether it touches a relation that is held out for the test split."""


def one_hop(facts: Sequence[Fact]) -> Iterator[Question]:
    """``What is the capital of Angola?`` and ``Which country's capital is Luanda?``, in the order of the facts."""
    for fact in facts:
        text = fact.relation.question.format(country=in_sentence(fact.name))
        if not _gives_away(text, fact.answers):
            held_out = fact.relation.test_only
            yield Question(
                text, fact.answers, fact.country, fact.relation.name, "", (fact.passage,), held_out
            )
        if _describes(fact):
            yield _which_country(fact)


def two_hop(facts: Sequence[Fact]) -> Iterator[Question]:
    """``What is the currency of the country whose capital is Luanda?`` for all pairs of one country's facts.

    The anchor fits one country only, and the text gives away neither that country nor the answer.
    """
    by_country: dict[str, list[Fact]] = {}
    for fact in facts:
        by_country.setdefault(fact.country, []).append(fact)
    for own in by_country.values():
        for anchor in filter(_describes, own):
            for target in own:
                question = _pair(anchor, target)
                if question:
                    yield question


def _which_country(anchor: Fact) -> Question:
    name = f"country_by_{anchor.relation.name}"
    text = f"Which country's {anchor.relation.anchor} is {anchor.answers[0]}?"
    answers = (anchor.name, *spellings_of(anchor.name))
    return Question(
        text,
        answers,
        anchor.country,
        name,
        anchor.relation.name,
        (anchor.passage,),
        anchor.relation.test_only,
    )


def _pair(anchor: Fact, target: Fact) -> Question | None:
    described = f"the country whose {anchor.relation.anchor} is {anchor.answers[0]}"
    asked = target.relation.question
    # The two parts one by one: their normal forms are known by now, and there are tens of thousands of pairs.
    if anchor.relation is target.relation or any(
        _gives_away(text, target.answers) for text in (asked, described)
    ):
        return None
    text = asked.format(country=described)
    return Question(
        text,
        target.answers,
        target.country,
        target.relation.name,
        anchor.relation.name,
        (anchor.passage, target.passage),
        anchor.relation.test_only or target.relation.test_only,
    )


def _describes(fact: Fact) -> bool:
    """Whether a fact can stand for its country without its name, as ``Guatemala City`` cannot."""
    names = (fact.name, *spellings_of(fact.name))
    given_away = any(_gives_away(answer, names) for answer in fact.answers)
    return bool(fact.relation.anchor) and fact.identifies and not given_away


def _gives_away(text: str, answers: Answers) -> bool:
    """Whether the words of any answer stand in a text."""
    words = f" {_form(text)} "
    return any(f" {_form(answer)} " in words for answer in answers)

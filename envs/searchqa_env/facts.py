"""Every fact that can be asked: its accepted answers, and the passage that proves the canonical one.

A fact without proof is no fact here. That check, made at every build, is what lets a wrong answer be blamed on
search or reading and never on the data.
"""

from __future__ import annotations

import functools
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from envs.searchqa_env.cleaning import Answers
from envs.searchqa_env.corpus import Passage, corpus
from envs.searchqa_env.factbook import Profile, profiles
from envs.searchqa_env.normal import normal
from envs.searchqa_env.relations import RELATIONS, Relation

_ADJECTIVE = ("People and Society", "Nationality", "adjective")


@dataclass(frozen=True, slots=True)
class Fact:
    """One answerable thing about one country."""

    relation: Relation
    country: str
    """The country's code."""
    name: str
    """The country's name."""
    answers: Answers
    """All accepted answers; the first one is the canonical one and stands in the passage."""
    passage: str
    """Id of the passage that proves it."""
    identifies: bool
    """Whether no other country shares any of the answers, so that they can stand for the country."""


@functools.cache
def facts() -> tuple[Fact, ...]:
    """All facts of the Factbook, by country, then in the order of the table of relations."""
    by_country: dict[str, list[Passage]] = defaultdict(list)
    for passage in corpus():
        by_country[passage.country].append(passage)
    found = [fact for profile in profiles() for fact in _facts_of(profile, by_country[profile.code])]
    forms = [frozenset(map(normal, fact.answers)) for fact in found]
    shared = Counter(
        (fact.relation.name, form) for fact, own in zip(found, forms, strict=True) for form in own
    )
    return tuple(
        Fact(fact.relation, fact.country, fact.name, fact.answers, fact.passage, identifies)
        for fact, own in zip(found, forms, strict=True)
        for identifies in [all(shared[fact.relation.name, form] == 1 for form in own)]
    )


def says(text: str, answer: str) -> bool:
    """Whether the words of an answer stand in a text in that order, spelling aside."""
    return f" {normal(answer)} " in f" {normal(text)} "


def _facts_of(profile: Profile, passages: Sequence[Passage]) -> Iterator[Fact]:
    texts = {leaf.path: leaf.text for leaf in reversed(profile.leaves)}
    own = {normal(word) for word in texts.get(_ADJECTIVE, "").replace(",", " ").split()} | {
        normal(profile.name)
    }
    for relation in RELATIONS:
        path = next((path for path in relation.paths if path in texts), None)
        answers = relation.rule(texts[path]) if path else ()
        proof = next(
            (one for one in passages if path in one.paths and answers and says(one.text, answers[0])), None
        )
        if proof:
            if relation.own_adjective:
                answers = _without_own(answers, own)
            yield Fact(relation, profile.code, profile.name, answers, proof.id, identifies=False)


def _without_own(answers: Answers, own: set[str]) -> Answers:
    """The answers, and again without a first word that is the country's own adjective."""
    shorter = [
        rest for first, _, rest in (answer.partition(" ") for answer in answers) if normal(first) in own
    ]
    return tuple(dict.fromkeys((*answers, *filter(None, shorter))))

"""SearchQA tasks: four splits that share no country and so no fact, with some relations kept for test.

Which country belongs to which split depends on the seed alone, not on the sizes; a larger split begins with
the smaller one. Relations take turns inside a family, families take turns inside a split.
"""

from __future__ import annotations

import functools
import json
import random
from collections.abc import Iterable, Mapping, Sequence

from pydantic import BaseModel, ConfigDict, Field

from envs.base import SPLITS, InputError, Split, Task
from envs.searchqa_env.facts import facts
from envs.searchqa_env.questions import Hops, Question, one_hop, two_hop
from envs.settings import Sizes, check_shares

SHARES: Mapping[Split, float] = {"weight": 0.5, "search": 0.12, "select": 0.13, "test": 0.25}
"""Part of the countries that each split gets."""


class Family(BaseModel):
    """One ``[[env.families]]`` entry of a profile."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    """What reports call it, such as one_hop."""
    hops: Hops
    """Searches that an answer needs."""
    share: int = Field(default=1, gt=0)
    """Tasks of this family in each round of all families."""
    relations: list[str] = Field(default_factory=list)
    """Names of the relations that are asked for; empty for all."""


@functools.cache
def questions(hops: Hops) -> tuple[Question, ...]:
    """All questions of the embedded data."""
    return tuple(one_hop(facts()) if hops == 1 else two_hop(facts()))


def build(families: Sequence[Family], sizes: Sizes, seed: int) -> dict[Split, list[Task]]:
    """All tasks by split. Raises ``InputError`` for a bad family, a bad size, or splits that overlap."""
    turns = [family for family in families for _ in range(family.share)]
    check_shares("families", [family.name for family in families], sizes, len(turns))
    _check(families)
    owner = countries(seed)
    tasks: dict[Split, list[Task]] = {}
    for split in SPLITS:
        size = getattr(sizes, split)
        taken: set[str] = set()
        rows = {
            family.name: iter(_fill(family, split, size // len(turns) * family.share, owner, seed, taken))
            for family in families
        }
        tasks[split] = [next(rows[family.name]) for _ in range(size // len(turns)) for family in turns]
    check_disjoint(tasks)
    return tasks


def countries(seed: int) -> dict[str, Split]:
    """The split of every country that has facts."""
    codes = sorted({fact.country for fact in facts()})
    random.Random(f"{seed}/countries").shuffle(codes)
    owner: dict[str, Split] = {}
    start = 0.0
    for split in SPLITS:
        end = start + SHARES[split]
        owner.update(dict.fromkeys(codes[round(start * len(codes)) : round(end * len(codes))], split))
        start = end
    return owner


@functools.lru_cache(maxsize=1 << 14)
def read_golds(gold: str) -> tuple[str, ...]:
    """A gold as stored, a JSON list of texts; raises ``ValueError`` if it is anything else."""
    answers = json.loads(gold)
    if not isinstance(answers, list) or not answers or not all(isinstance(answer, str) for answer in answers):
        raise ValueError(f"a gold is a JSON list of accepted answers, got {gold[:80]!r}")
    return tuple(answers)


def check_disjoint(tasks: Mapping[Split, Sequence[Task]]) -> None:
    """Raises ``InputError`` when two splits share a question (spelling aside) or a country."""
    for what, keys in (("question", _question_key), ("country", _country_key)):
        owner: dict[str, Split] = {}
        for split, rows in tasks.items():
            for task in rows:
                key = keys(task)
                if key and owner.setdefault(key, split) != split:
                    raise InputError(
                        f"the splits {owner[key]!r} and {split!r} share the {what} {key!r} (task {task.id}); "
                        "facts of training and test must be disjoint, so remove it from one of them"
                    )


def _question_key(task: Task) -> str:
    return " ".join(task.question.casefold().split())


def _country_key(task: Task) -> str:
    return task.meta.get("country", "")


def _check(families: Sequence[Family]) -> None:
    for family in families:
        known = {question.relation for question in questions(family.hops)}
        if unknown := sorted(set(family.relations) - known):
            raise InputError(
                f"family {family.name!r}: unknown relations {unknown}; known: {', '.join(sorted(known))}"
            )


def _fill(
    family: Family, split: Split, wanted: int, owner: Mapping[str, Split], seed: int, taken: set[str]
) -> list[Task]:
    """One family's tasks of one split; what is ``taken`` by another family is passed over."""
    pool = [
        question
        for question in questions(family.hops)
        if owner[question.country] == split
        and (not family.relations or question.relation in family.relations)
        and (split == "test" or not question.test_only)
    ]
    random.Random(f"{seed}/{family.name}/{split}").shuffle(pool)
    tasks: list[Task] = []
    for question in _in_turns(pool):
        if len(tasks) < wanted and question.text not in taken:
            taken.add(question.text)
            tasks.append(_task(question, family, split))
    if len(tasks) < wanted:
        raise InputError(
            f"family {family.name!r} has too few distinct questions: {len(tasks)} of {wanted} for split {split!r}; "
            "allow more relations or make the split smaller"
        )
    return tasks


def _in_turns(pool: Iterable[Question]) -> list[Question]:
    """One question of every relation, then the next of every relation, and so on."""
    seen: dict[str, int] = {}
    ranked = []
    for question in pool:
        rank = seen[question.relation] = seen.get(question.relation, 0) + 1
        ranked.append((rank, question))
    return [question for _, question in sorted(ranked, key=lambda pair: pair[0])]


def _task(question: Question, family: Family, split: Split) -> Task:
    return Task.make(
        "searchqa",
        split,
        question.text,
        json.dumps(question.answers, ensure_ascii=False),
        family=family.name,
        relation=question.relation,
        anchor=question.anchor,
        country=question.country,
    )

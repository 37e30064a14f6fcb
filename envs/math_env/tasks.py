"""Maths tasks from the ``reasoning-gym`` generators: graded families, four disjoint splits, no downloads.

Every family gives the same number of tasks to every split. A question stands in one split only, whatever the
seed of its generator; a family too small to fill all splits is refused.
"""

from __future__ import annotations

import contextlib
import difflib
import io
from collections.abc import Iterator, Mapping

from pydantic import BaseModel, ConfigDict, Field

from envs.base import SPLITS, InputError, Split, Task
from envs.settings import Sizes, check_shares

RESERVED = frozenset({"State the final answer to the following arithmetic problem: 2 + 2 ="})
"""Questions that a starting harness quotes as its example; they are in no split."""
ATTEMPTS = 50
"""Generated items per wanted task before a family counts as too small."""


class Family(BaseModel):
    """One ``[[env.families]]`` entry of a profile."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    """What reports call it."""
    generator: str
    """Name of the reasoning-gym generator."""
    options: dict[str, int | float | str | bool | list[str]] = Field(default_factory=dict)
    """Difficulty, as the generator names it."""


def build(families: list[Family], sizes: Sizes, seed: int) -> dict[Split, list[Task]]:
    """All tasks by split, families alternating. Raises ``InputError`` for a bad family or size."""
    check_shares("families", [family.name for family in families], sizes, len(families))
    taken = set(RESERVED)
    per_family = {family.name: _fill(family, sizes, len(families), seed, taken) for family in families}
    return {
        split: [
            task
            for row in zip(*(per_family[family.name][split] for family in families), strict=True)
            for task in row
        ]
        for split in SPLITS
    }


def _fill(family: Family, sizes: Sizes, share: int, seed: int, taken: set[str]) -> dict[Split, list[Task]]:
    """One family's tasks. Test is filled first, so that changing another split's size leaves it alone."""
    items = _items(family, seed)
    filled: dict[Split, list[Task]] = {}
    for split in reversed(SPLITS):
        wanted = getattr(sizes, split) // share
        tasks: list[Task] = []
        for _ in range(wanted * ATTEMPTS):
            if len(tasks) == wanted:
                break
            item = next(items)
            question = " ".join(str(item["question"]).split())
            if question not in taken:
                taken.add(question)
                tasks.append(Task.make("math", split, question, str(item["answer"]), family=family.name))
        if len(tasks) < wanted:
            raise InputError(
                f"family {family.name!r} has too few distinct questions: {len(tasks)} of {wanted} for split "
                f"{split!r}; make its options wider or the splits smaller"
            )
        filled[split] = tasks
    return filled


def _items(family: Family, seed: int) -> Iterator[Mapping[str, object]]:
    """An endless stream of generated items."""
    with contextlib.redirect_stdout(io.StringIO()):
        import reasoning_gym
        from reasoning_gym.factory import DATASETS

    if family.generator not in DATASETS:
        near = difflib.get_close_matches(family.generator, DATASETS, 3)
        raise InputError(
            f"reasoning-gym has no generator {family.generator!r}; near names: {', '.join(near) or 'none'}; "
            f"all {len(DATASETS)} are listed by reasoning_gym.factory.DATASETS"
        )
    try:
        data = reasoning_gym.create_dataset(family.generator, seed=seed, size=10**9, **family.options)
    except (TypeError, ValueError, AssertionError) as error:
        raise InputError(
            f"family {family.name!r}: {family.generator} refuses {family.options}: {error}"
        ) from error
    index = 0
    while True:
        yield data[index]
        index += 1

"""Tasks from hub sets: four splits that share no question, in a fixed order, and a manifest of each.

Test has sets of its own; of the training sets the question's hash alone decides the split. What cannot be
used is dropped and counted: nothing disappears in silence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from envs.base import SPLITS, InputError, Split, Task, digests
from envs.hashing import fraction, split_by
from envs.hub.load import Loaded, load
from envs.hub.overlap import Overlap, normal, refuse_overlap
from envs.hub.records import Row
from envs.hub.sources import Source
from envs.settings import Sizes

SHARES: Mapping[Split, float] = {"weight": 0.96, "search": 0.02, "select": 0.02}
"""Part of the training questions that each split gets: 358 of DAPO's for a search of 256."""


@dataclass(frozen=True, slots=True)
class Item:
    """A row as its environment reads it."""

    question: str
    gold: str
    key: str
    """Normal form of the question: what makes two items one question."""


@dataclass(frozen=True, slots=True)
class Pool:
    """All items of one set."""

    family: str
    """What reports call it."""
    loaded: Loaded
    items: Sequence[Item]
    """No question twice."""
    dropped: Mapping[str, int]
    """Rows that gave no item, by reason: ``form``, ``repeated``, ``conflict`` (one question, two golds)."""

    def about(self) -> dict[str, object]:
        """What a manifest says of the set."""
        return about(self.loaded, self.dropped)


@dataclass(frozen=True, slots=True)
class Built:
    """What ``build`` made."""

    tasks: Mapping[Split, Sequence[Task]]
    manifest: Mapping[str, object]
    """By split: sources with their pins, number of tasks, families, a hash of the tasks, questions dropped."""


def pool(family: str, source: Source, convert: Callable[[Row], tuple[str, str] | None]) -> Pool:
    """Load a set and convert its rows to (question, gold); None is a row out of form. Raises ``InputError``."""
    loaded = load(source)
    dropped: Counter[str] = Counter()
    items: dict[str, Item] = {}
    conflicts: set[str] = set()
    for row in loaded.rows:
        if (pair := convert(row)) is None:
            dropped["form"] += 1
            continue
        item = Item(*pair, key=normal(pair[0]))
        if items.setdefault(item.key, item) is not item:
            dropped["repeated"] += 1
            if items[item.key].gold != item.gold:
                conflicts.add(item.key)
    dropped.update({"conflict": len(conflicts)} if conflicts else {})
    kept = tuple(item for item in items.values() if item.key not in conflicts)
    return Pool(family, loaded, kept, dict(dropped))


def build(
    env: str,
    train: Sequence[Pool],
    test: Sequence[Pool],
    sizes: Sizes,
    seed: int,
    usable: Callable[[str], str | None],
) -> Built:
    """All tasks by split, sets alternating and equally many; ``seed`` decides which of a split's questions.

    ``usable`` gives a gold in the form in which it passes its own verifier, None if it cannot. Test is filled
    first, and what a later split shares with an earlier one is dropped from the later. Raises ``InputError``
    for a size that the sets cannot share or fill.
    """
    pools: dict[Split, Sequence[Pool]] = {split: test if split == "test" else train for split in SPLITS}
    filling = _Filling(env, seed, usable)
    filled = {split: filling.split(split, pools[split], getattr(sizes, split)) for split in reversed(SPLITS)}
    tasks = {split: filled[split] for split in SPLITS}
    refuse_overlap(tasks)
    sources = {split: {one.loaded.source.name: one.about() for one in pools[split]} for split in SPLITS}
    return Built(tasks, manifest(tasks, sources, filling.dropped))


class _Filling:
    """Fills one split after another; each keeps clear of those before it."""

    def __init__(self, env: str, seed: int, usable: Callable[[str], str | None]) -> None:
        self._env, self._seed, self._usable = env, seed, usable
        self._earlier = Overlap()
        self.dropped: dict[Split, Counter[str]] = {split: Counter() for split in SPLITS}

    def split(self, split: Split, pools: Sequence[Pool], size: int) -> list[Task]:
        """All tasks of one split, sets alternating."""
        if size % len(pools):
            names = ", ".join(one.family for one in pools)
            raise InputError(
                f"[env.sizes] {split} = {size} is not a multiple of the {len(pools)} sets {names}"
            )
        taken: set[str] = set()
        columns = [self._column(split, one, size // len(pools), taken) for one in pools]
        tasks = [task for row in zip(*columns, strict=True) for task in row]
        for task in tasks if split != SPLITS[0] else ():  # the last one is in nobody's way
            self._earlier.add(task.question, split)
        return tasks

    def _column(self, split: Split, one: Pool, wanted: int, taken: set[str]) -> list[Task]:
        """One set's tasks of a split; ``taken``: keys of the split's questions so far, added to."""
        own = [item for item in one.items if split == "test" or split_by(SHARES, item.key) == split]
        tasks: list[Task] = []
        for item in sorted(own, key=lambda item: fraction("order", self._seed, item.key)):
            if len(tasks) == wanted:
                break
            if reason := self._unwanted(item, taken):
                self.dropped[split][reason] += 1
            elif (gold := self._usable(item.gold)) is None:
                self.dropped[split]["gold"] += 1
            else:
                taken.add(item.key)
                tasks.append(Task.make(self._env, split, item.question, gold, family=one.family))
        if len(tasks) < wanted:
            raise InputError(
                f"{one.loaded.source.name} has too few questions: {len(tasks)} of {wanted} for split {split!r} "
                f"(dropped there: {dict(self.dropped[split])}); make [env.sizes] {split} smaller"
            )
        return tasks

    def _unwanted(self, item: Item, taken: set[str]) -> str:
        """Why a question cannot be used, such as ``near test``; nothing if it can."""
        if item.key in taken:
            return "repeated"
        twin = self._earlier.find(item.question)
        return f"{twin.kind} {twin.owner}" if twin else ""


def about(loaded: Loaded, dropped: Mapping[str, int]) -> dict[str, object]:
    """What a manifest says of one set: its pin, and the rows that could not be read, by reason."""
    return {**loaded.pin.model_dump(), "dropped": dict(dropped)}


def manifest(
    tasks: Mapping[Split, Sequence[Task]],
    sources: Mapping[Split, Mapping[str, object]],
    dropped: Mapping[Split, Mapping[str, int]],
) -> dict[str, object]:
    """What identifies each split's data; goes into an environment's description."""
    hashes = digests(tasks)
    return {
        split: {
            "sources": dict(sources[split]),
            "tasks": len(tasks[split]),
            "families": dict(Counter(task.meta["family"] for task in tasks[split])),
            "hash": hashes[split],
            "dropped": dict(dropped[split]),
        }
        for split in SPLITS
    }

"""The overlap guard: which of two texts are the same question, or nearly the same.

Same: equal but for case, spacing and the punctuation around words. Nearly: long enough to have a wording of
their own, and most word runs of the shorter one stand in the other. A short question is a template with a
name in it, where one word makes it another question, so for those only "same" counts.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from envs.base import SPLITS, InputError, Split, Task

RUN = 5
"""Words of a run (a shingle)."""
FEWEST = 8
"""Distinct runs below which a text is too short to be nearly the same as another."""
SHARED = 0.6
"""Part of the shorter text's distinct runs that the other must have (containment)."""
_WORD = re.compile(r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+")
"""A word, or one Chinese character, since those stand without spaces."""
_BEFORE, _AFTER = '$"`“‘', '?.,;:$"`”’'
"""Signs around a word that say nothing; brackets, ! and ' do say something in a formula."""


@dataclass(frozen=True, slots=True)
class Twin:
    """What ``Overlap.find`` found."""

    kind: Literal["same", "near"]
    owner: str
    """What the text was added under."""
    text: str


def normal(text: str) -> str:
    """The form in which equal questions are equal; two formulas never become one by it."""
    return " ".join(word.rstrip(_AFTER).lstrip(_BEFORE) or word for word in _folded(text).split())


def runs(text: str) -> frozenset[int]:
    """Hashes of all runs of ``RUN`` words; valid in this process only. Empty for a text too short to have one."""
    words = _WORD.findall(_folded(text))
    return frozenset(hash(tuple(words[start : start + RUN])) for start in range(len(words) - RUN + 1))


def _folded(text: str) -> str:
    """Without differences of case and of Unicode spelling; folding twice changes nothing more."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


class Overlap:
    """Texts under their owners' names, and which of them a new text repeats. Time goes by shared runs only."""

    def __init__(self) -> None:
        self._same: dict[str, tuple[str, str]] = {}
        self._long: list[tuple[str, str, int]] = []
        self._places: defaultdict[int, list[int]] = defaultdict(list)

    def add(self, text: str, owner: str) -> None:
        """Add a text; of equal texts the first one stays."""
        self._same.setdefault(normal(text), (owner, text))
        found = runs(text)
        if len(found) >= FEWEST:
            for run in found:
                self._places[run].append(len(self._long))
            self._long.append((owner, text, len(found)))

    def find(self, text: str) -> Twin | None:
        """The equal text, else the one that shares most (of equals the first added), else None."""
        if same := self._same.get(normal(text)):
            return Twin("same", *same)
        found = runs(text)
        if len(found) < FEWEST:
            return None
        shared = Counter(place for run in found for place in self._places.get(run, ()))
        shares = [(count / min(len(found), self._long[place][2]), -place) for place, count in shared.items()]
        share, place = max(shares, default=(0.0, 0))
        if share < SHARED:
            return None
        owner, twin, _ = self._long[-place]
        return Twin("near", owner, twin)


def refuse_overlap(tasks: Mapping[Split, Sequence[Task]]) -> None:
    """Raise ``InputError`` if a question stands twice, or nearly the same one stands in two splits."""
    earlier, texts = Overlap(), set[str]()
    order = [
        split for split in reversed(SPLITS) if split in tasks
    ]  # from test to weight, so that the largest split is looked up only
    for split in order:
        for task in tasks[split]:
            twin = earlier.find(task.question)
            if twin is None and normal(task.question) in texts:
                twin = Twin("same", split, task.question)
            if twin:
                likeness = "the same" if twin.kind == "same" else "nearly the same"
                raise InputError(
                    f"task {task.id} ({split}) is {likeness} question as one of {twin.owner}: "
                    f"{task.question[:200]!r} and {twin.text[:200]!r}; splits must share no question, so remove one "
                    "of the two from the data"
                )
            texts.add(normal(task.question))
        for task in tasks[split] if split != order[-1] else ():
            earlier.add(task.question, split)

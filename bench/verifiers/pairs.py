"""A pair of gold and answer whose truth is known, what two judges say of it, and the count of both."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Pair:
    """One question to a judge."""

    group: str
    """Environment and library: ``math / math-verify``."""
    kind: str
    """What was varied; every kind has right and wrong answers."""
    gold: str
    answer: str
    """The answer alone, without box or tags."""
    right: bool
    """Whether the answer means the gold: known from how it was made."""
    extra: str = ""
    """What a judge needs besides, such as a position."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A pair with both verdicts."""

    pair: Pair
    ours: bool
    library: bool

    @property
    def sure(self) -> str:
        """Who is right by construction."""
        if self.ours == self.library:
            return "both" if self.ours == self.pair.right else "neither"
        return "ours" if self.ours == self.pair.right else "library"

    def line(self) -> str:
        """As one line of JSON."""
        return json.dumps({**asdict(self.pair), "ours": self.ours, "library": self.library, "who": self.sure})


Making = tuple[str, Iterable[str], Iterable[str]]
"""One draw: a gold, right answers, wrong answers."""


def draw(
    group: str, kinds: dict[str, Callable[[random.Random], Making]], pairs: int, seed: int
) -> list[Pair]:
    """At least ``pairs`` pairs, the kinds in equal shares; the same for the same seed. None appears twice.

    Raises ``ValueError`` for a kind with too few different pairs.
    """
    share = -(-pairs // len(kinds))
    drawn: list[Pair] = []
    for kind, make in kinds.items():
        rng = random.Random(f"{group}/{kind}/{seed}")
        found: dict[Pair, None] = {}
        for _ in range(10 * share):
            if len(found) >= share:
                break
            gold, rights, wrongs = make(rng)
            for right, answers in ((True, rights), (False, wrongs)):
                found.update(dict.fromkeys(Pair(group, kind, gold, answer, right) for answer in answers))
        if len(found) < share:
            raise ValueError(f"{group}, {kind}: only {len(found)} different pairs of {share}; ask for fewer")
        drawn += list(found)[:share]
    return drawn


def digest(pairs: Sequence[Pair]) -> str:
    """Identifies what was drawn: 16 hex digits."""
    body = "\n".join(json.dumps(asdict(pair)) for pair in pairs)
    return hashlib.sha256(body.encode()).hexdigest()[:16]


def counts(judged: Iterable[Judged]) -> dict[str, dict[str, int]]:
    """By kind, and in ``all``: pairs, and how often ``both``, ``ours``, ``library`` or ``neither`` is right."""
    table: dict[str, dict[str, int]] = {}
    for one in judged:
        for name in (one.pair.kind, "all"):
            row = table.setdefault(name, dict.fromkeys(("pairs", "both", "ours", "library", "neither"), 0))
            row["pairs"] += 1
            row[one.sure] += 1
    return table

"""Which starts of prompts are worth computing once: system text, worked examples, earlier turns, whole prompts.

Token ids only: the engine computes the starts, keeps them, and lets many rows read one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

WORTH = 64
"""Columns that a start must save, over all prompts that have it, to be kept apart."""
LONG = 128
"""Columns from which the whole prompt of several samples is a start: its columns are read once for all of them."""

Ids = tuple[int, ...]
"""Token ids."""
Chain = tuple[Ids, ...]
"""Starts of one prompt, each the beginning of the next."""


def last_of(chain: Chain) -> Ids:
    """The longest start of a chain, which holds the others; empty if there is none."""
    return chain[-1] if chain else ()


def choose_starts(prompts: Mapping[Ids, int], known: Iterable[Ids] = ()) -> dict[Ids, Chain]:
    """For every prompt (with its number of samples) the starts it shares; empty where none is worth it.

    First the longest start that is ``known`` (computed before). Then, greedily, what prompts have in common
    beyond that, the start that saves most columns first, and again among those that have it. Last, most of the
    prompt itself when it is long and has several samples. A start is always shorter than its prompts.
    """
    held = set(known)
    groups: dict[Ids, list[Ids]] = {}
    for prompt in sorted(prompts):
        groups.setdefault(longest(prompt, held), []).append(prompt)
    chains: dict[Ids, Chain] = {}
    for base, having in groups.items():
        for prompt, shared in _shared(having, len(base)).items():
            chain = [*([base] if base else []), *shared]
            most = prompt[:-1]
            if prompts[prompt] > 1 and len(most) - max(map(len, chain), default=0) >= LONG:
                chain.append(most)
            chains[prompt] = tuple(chain)
    return chains


def longest(prompt: Ids, starts: Iterable[Ids]) -> Ids:
    """The longest of the starts that the prompt begins with and goes on after; empty if there is none."""
    having = (one for one in starts if len(one) < len(prompt) and prompt[: len(one)] == one)
    return max(having, key=len, default=())


def common(first: Ids, second: Ids, known: int = 0) -> int:
    """How many tokens two prompts begin with alike, at least one of each left over; ``known`` of them are alike."""
    most = min(len(first), len(second)) - 1
    return next((at for at in range(known, most) if first[at] != second[at]), most)


def _shared(left: list[Ids], base: int) -> dict[Ids, Chain]:
    """What sorted prompts share beyond their first ``base`` columns, the start that saves most first."""
    chosen: dict[Ids, Chain] = dict.fromkeys(left, ())
    while left:
        fresh = {first[: common(first, second, base)] for first, second in pairwise(left)}
        saved, start = max(
            (((len(start) - base) * (len(_having(left, start)) - 1), start) for start in fresh),
            default=(0, ()),
        )
        if saved < WORTH:
            break
        having = _having(left, start)
        chosen |= {prompt: (start, *rest) for prompt, rest in _shared(having, len(start)).items()}
        gone = set(having)
        left = [prompt for prompt in left if prompt not in gone]
    return chosen


def _having(prompts: Sequence[Ids], start: Ids) -> list[Ids]:
    """Those of the sorted prompts that begin with ``start`` and go on."""
    found = prompts[bisect_left(prompts, start) : bisect_left(prompts, (*start, float("inf")))]
    return [prompt for prompt in found if len(prompt) > len(start)]

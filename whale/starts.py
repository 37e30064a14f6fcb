"""Which starts of prompts are worth computing once: system text, worked examples, earlier turns, whole prompts.

Token ids only: the engine computes the starts, keeps them, and lets many rows read one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby

WORTH = 64
"""Columns that a start must save, over all prompts that have it, to be kept apart."""
LONG = 64
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

    First the longest start that is ``known`` (computed before). Then what prompts have in common beyond that,
    and groups of them beyond that again. Last, most of the prompt itself when it is long and has several samples.
    A start is always shorter than its prompts.
    """
    held = set(known)
    groups: dict[Ids, list[Ids]] = {}
    for prompt in sorted(prompts):
        groups.setdefault(longest(prompt, held), []).append(prompt)
    chains: dict[Ids, Chain] = {}
    for base, having in groups.items():
        chains |= _shared(having, base)
    for prompt, chain in chains.items():
        most = prompt[:-1]
        if prompts[prompt] > 1 and len(most) - len(last_of(chain)) >= LONG:
            chains[prompt] = (*chain, most)
    return chains


def longest(prompt: Ids, starts: Iterable[Ids]) -> Ids:
    """The longest of the starts that the prompt begins with and goes on after; empty if there is none."""
    having = (one for one in starts if len(one) < len(prompt) and prompt[: len(one)] == one)
    return max(having, key=len, default=())


def alike(first: Ids, second: Ids, known: int = 0) -> int:
    """How many tokens two texts begin with alike; ``known`` of them are known to be."""
    most = min(len(first), len(second))
    return next((at for at in range(known, most) if first[at] != second[at]), most)


def common(first: Ids, second: Ids, known: int = 0) -> int:
    """How many tokens two prompts begin with alike, at least one of each left over; ``known`` as for ``alike``."""
    return min(alike(first, second, known), len(first) - 1, len(second) - 1)


def _shared(prompts: list[Ids], base: Ids) -> dict[Ids, Chain]:
    """``base`` and what sorted prompts share beyond it, wherever that saves ``WORTH`` columns or more."""
    chains: dict[Ids, Chain] = {}
    groups: list[tuple[list[Ids], Chain]] = [(prompts, (base,) if base else ())]
    while groups:
        group, chain = groups.pop()
        kept = len(last_of(chain))
        alike = common(group[0], group[-1], kept) if len(group) > 1 else 0
        if (alike - kept) * (len(group) - 1) >= WORTH:
            chain = (*chain, group[0][:alike])
        ending = alike + 1 if len(group) > 1 else len(group[0])
        chains |= {prompt: chain for prompt in group if len(prompt) <= ending}
        going = (prompt for prompt in group if len(prompt) > ending)
        groups += [(list(part), chain) for _, part in groupby(going, key=lambda one: one[:ending])]
    return chains

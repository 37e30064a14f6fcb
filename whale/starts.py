"""Which starts of prompts are worth computing once (system text, worked examples).

Token ids only: the engine computes the starts, keeps them, and lets many rows read one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import pairwise

WORTH = 64
"""Columns that a start must save, over all prompts that have it, to be kept apart."""

Ids = tuple[int, ...]
"""Token ids."""


def choose_starts(prompts: Iterable[Ids], known: Iterable[Ids] = ()) -> dict[Ids, Ids]:
    """For every prompt the start it shares with others; empty where none is worth it.

    Greedy: the start that saves most columns comes first. One that is ``known`` (computed before) saves them for
    all its prompts, a new one for all but one. A start is always shorter than its prompts.
    """
    left = sorted(set(prompts))
    starts = set(known)
    chosen: dict[Ids, Ids] = dict.fromkeys(left, ())
    while left:
        fresh = {first[: common(first, second)] for first, second in pairwise(left)}
        saved, start = max(
            [(len(start) * len(_having(left, start)), start) for start in starts]
            + [(len(start) * (len(_having(left, start)) - 1), start) for start in fresh - starts],
            default=(0, ()),
        )
        if saved < WORTH:
            break
        having = set(_having(left, start))
        chosen |= dict.fromkeys(having, start)
        left = [prompt for prompt in left if prompt not in having]
    return chosen


def common(first: Ids, second: Ids) -> int:
    """How many tokens two prompts begin with alike, at least one of each left over."""
    most = min(len(first), len(second)) - 1
    return next((at for at in range(most) if first[at] != second[at]), most)


def _having(prompts: Sequence[Ids], start: Ids) -> list[Ids]:
    """Those of the sorted prompts that begin with ``start`` and go on."""
    found = prompts[bisect_left(prompts, start) : bisect_left(prompts, (*start, float("inf")))]
    return [prompt for prompt in found if len(prompt) > len(start)]

"""Keys and values of the starts that prompts share: computed once, kept for later prompts, read by many rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

import torch
from torch import Tensor

from whale.kv import Rows
from whale.prefix_attention import Prefix, Shared
from whale.starts import Chain, Ids, longest

Prefill = Callable[[Sequence[tuple[Ids, Ids]]], tuple[Rows, Tensor]]
"""Computes what follows the start of each (start, whole prompt)."""


class StartCache:
    """The starts that are in use, and the latest of those that may be wanted again."""

    def __init__(self, prefill: Prefill, idle_columns: int) -> None:
        """``idle_columns``: what starts that no row reads may take together; the oldest go first."""
        self._prefill = prefill
        self._idle_columns = idle_columns
        self._starts: dict[Ids, Prefix] = {}

    @property
    def known(self) -> Collection[Ids]:
        """The starts that are here."""
        return self._starts.keys()

    def forget(self) -> None:
        """Drop them all."""
        self._starts = {}

    def keep(self, chains: Iterable[Chain], used: Iterable[Ids]) -> None:
        """Compute the starts that are missing, each on the longest one before it; forget old ones.

        ``used``: starts that rows of the batch read now.
        """
        wanted = sorted({start for chain in chains for start in chain}, key=len)
        for start in wanted:
            known = self._starts.pop(start, None)
            self._starts[start] = self._compute(start) if known is None else known
        busy = {*used, *wanted}
        idle = [start for start in self._starts if start not in busy]
        spare = self._idle_columns - sum(map(len, idle))
        for start in idle:
            if spare >= 0:
                break
            del self._starts[start]
            spare += len(start)

    def shared(self, starts: Sequence[Ids], device: torch.device) -> Shared:
        """Which rows read which start; ``starts``: each row's, empty for none."""
        places: dict[Ids, list[int]] = {}
        for row, start in enumerate(starts):
            if start:
                places.setdefault(start, []).append(row)
        return [(self._starts[start], torch.tensor(at, device=device)) for start, at in places.items()]

    def _compute(self, start: Ids) -> Prefix:
        before = longest(start, self._starts)
        rows, _ = self._prefill([(before, start)])
        if not before:
            return [(layer.keys, layer.values) for layer in rows.layers]
        return [
            (torch.cat((keys, layer.keys), dim=2), torch.cat((values, layer.values), dim=2))
            for (keys, values), layer in zip(self._starts[before], rows.layers, strict=True)
        ]

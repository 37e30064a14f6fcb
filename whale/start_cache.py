"""Keys and values of the starts that prompts share: computed once, kept for later prompts, read by many rows.

A start that continues another holds only its own columns, so what many starts have in common is kept once and
attended to once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from whale.batch import pieces
from whale.kv import Rows
from whale.prefix_attention import Prefix, Shared
from whale.starts import LONG, Chain, Ids, longest

Prefill = Callable[[Sequence[tuple[Ids, Ids]]], tuple[Rows, Tensor]]
"""Computes what follows the start of each (start, whole prompt)."""


@dataclass(frozen=True, slots=True)
class Start:
    """A start that has been computed."""

    before: Ids
    """The start that it continues; empty for none."""
    columns: Prefix
    """What it adds."""


class StartCache:
    """The starts that are in use, and the latest of those that may be wanted again."""

    def __init__(self, prefill: Prefill, idle_columns: int) -> None:
        """``idle_columns``: what starts that no row reads may take together; the oldest go first."""
        self._prefill = prefill
        self._idle_columns = idle_columns
        self._starts: dict[Ids, Start] = {}

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
            if start in self._starts:
                self._starts[start] = self._starts.pop(start)
        self._compute([start for start in wanted if start not in self._starts])
        busy = {part for start in (*used, *wanted) for part in self._parts(start)}
        idle = [start for start in self._starts if start not in busy]
        spare = self._idle_columns - sum(map(self._own, idle))
        for start in idle:
            if spare >= 0:
                break
            spare += self._drop(start)

    def offer(self, prompts: Sequence[tuple[Ids, Ids]], rows: Rows, used: Iterable[Ids]) -> None:
        """Keep also long prompts that rows have just computed: a harness often asks again or goes on from there.

        ``prompts``: (start, whole prompt) of each row; ``used``: as for ``keep``. What lies idle is not pushed out.
        """
        busy = {part for start in used for part in self._parts(start)}
        spare = self._idle_columns - sum(self._own(start) for start in self._starts if start not in busy)
        for row, (before, prompt) in enumerate(prompts):
            own = len(prompt) - 1 - len(before)
            if LONG <= own <= spare and prompt[:-1] not in self._starts:
                self._starts[prompt[:-1]] = Start(before, rows.of(row, own))
                spare -= own

    def shared(self, starts: Sequence[Ids], device: torch.device) -> Shared:
        """Which rows read which start's columns; ``starts``: each row's last start, empty for none."""
        levels: list[dict[Ids, list[int]]] = []
        for row, start in enumerate(starts):
            for depth, part in enumerate(reversed(list(self._parts(start)))):
                if depth == len(levels):
                    levels.append({})
                levels[depth].setdefault(part, []).append(row)
        return [
            (
                torch.tensor([row for rows in places.values() for row in rows], device=device),
                [(self._starts[part].columns, len(rows)) for part, rows in places.items()],
            )
            for places in levels
        ]

    def _parts(self, start: Ids) -> Iterator[Ids]:
        """A start and all that it continues."""
        while start:
            yield start
            start = self._starts[start].before

    def _own(self, start: Ids) -> int:
        return len(start) - len(self._starts[start].before)

    def _drop(self, start: Ids) -> int:
        """Forget a start and those that continue it; the columns that became free."""
        if start not in self._starts:
            return 0
        free = self._own(start)
        del self._starts[start]
        later = [one for one, held in self._starts.items() if held.before == start]
        return free + sum(map(self._drop, later))

    def _compute(self, missing: list[Ids]) -> None:
        """Compute starts together where none continues another; the others in the next round."""
        while missing:
            ready = [start for start in missing if not longest(start, missing)]
            for piece in pieces([(longest(start, self._starts), start) for start in ready]):
                rows, _ = self._prefill(piece)
                for row, (before, start) in enumerate(piece):
                    self._starts[start] = Start(before, rows.of(row, len(start) - len(before)))
            missing = [start for start in missing if start not in self._starts]

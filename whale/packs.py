"""Training rows packed so that what they begin with alike is computed once: examples, a question, earlier turns.

A pack is one sequence that holds a tree of rows. A token sees the tokens of its own row before it and nothing else, at
the positions they have in the row, so loss and gradient are those of the rows apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from whale.rows import Row
from whale.starts import Ids, alike


@dataclass(frozen=True, slots=True)
class Pack:
    """Rows as one sequence."""

    ids: tuple[int, ...]
    places: tuple[tuple[int, ...], ...]
    """Of every row: where its tokens stand in ``ids``, in their order."""
    weights: dict[tuple[int, int], int]
    """(Place of the token before, trained token) -> how many rows train it, multiplicity included."""

    def tensors(self) -> dict[str, Tensor]:
        """What the model and the loss need; ``rows`` is 1 and ``tokens`` the length of ``ids``.

        ``input_ids``, ``position_ids`` [rows, tokens]; ``attention_mask`` [rows, 1, tokens, tokens], true where a
        token (second to last axis) sees another; ``before``, ``labels``, ``weight`` [trained tokens].
        """
        size = len(self.ids)
        position = torch.zeros(1, size, dtype=torch.long)
        seen = torch.zeros(1, 1, size, size, dtype=torch.bool)
        for path in map(torch.tensor, self.places):
            position[0, path] = torch.arange(len(path))
            seen[0, 0, path[:, None], path] = torch.ones(len(path), len(path), dtype=torch.bool).tril()
        return {
            "input_ids": torch.tensor([self.ids]),
            "position_ids": position,
            "attention_mask": seen,
            "before": torch.tensor([place for place, _ in self.weights]),
            "labels": torch.tensor([token for _, token in self.weights]),
            "weight": torch.tensor([float(count) for count in self.weights.values()]),
        }


def packed(rows: Iterable[tuple[Row, int]], tokens: int) -> Iterator[Pack]:
    """Rows with their multiplicities in packs of at most ``tokens`` tokens; a longer row stands alone."""
    group: list[tuple[Row, int]] = []
    size = 0
    for row, count in sorted(rows, key=lambda item: (item[0].ids, item[0].mask)):
        more = len(row.ids) - (alike(group[-1][0].ids, row.ids) if group else 0)
        if group and size + more > tokens:
            yield pack(group)
            group, size, more = [], 0, len(row.ids)
        group.append((row, count))
        size += more
    if group:
        yield pack(group)


def pack(rows: Sequence[tuple[Row, int]]) -> Pack:
    """One pack of rows, each sharing with the row before it what both begin with; sorted rows share most."""
    ids: list[int] = []
    places: list[tuple[int, ...]] = []
    weights: Counter[tuple[int, int]] = Counter()
    last: Ids = ()
    path: Ids = ()
    for row, count in rows:
        shared = alike(last, row.ids)
        path = (*path[:shared], *range(len(ids), len(ids) + len(row.ids) - shared))
        ids += row.ids[shared:]
        places.append(path)
        for before, token, own in zip(path, row.ids[1:], row.mask[1:], strict=False):
            if own:
                weights[before, token] += count
        last = row.ids
    return Pack(tuple(ids), tuple(places), dict(weights))

"""Training rows packed so that what they begin with alike is computed once: examples, a question, earlier turns.

A pack is one sequence that holds a tree of rows. A token sees the tokens of its own row before it and nothing else, at
the positions they have in the row, so loss and gradient are those of the rows apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from whale.rows import Row
from whale.starts import Ids, alike

Weighted = tuple[Row, tuple[float, ...]]
"""A row, and how much each of its trained tokens weighs in every term of the loss."""


@dataclass(frozen=True, slots=True)
class Pack:
    """Rows as one sequence."""

    ids: tuple[int, ...]
    places: tuple[tuple[int, ...], ...]
    """Of every row: where its tokens stand in ``ids``, in their order."""
    weights: dict[tuple[int, int], tuple[float, ...]]
    """(Place of the token before, trained token) -> the sum of the weights of the rows that train it."""

    def tensors(self) -> dict[str, Tensor]:
        """What the model and the loss need; ``rows`` is 1 and ``tokens`` the length of ``ids``.

        ``input_ids``, ``position_ids`` [rows, tokens]; ``attention_mask`` [rows, 1, tokens, tokens], true where a
        token (second to last axis) sees another; ``before``, ``labels`` [trained tokens]; ``weight`` [terms of the
        loss, trained tokens].
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
            "weight": torch.tensor(list(self.weights.values())).T,
        }


def packed(rows: Iterable[Weighted], tokens: int) -> Iterator[Pack]:
    """Rows in packs of at most ``tokens`` tokens; a longer row stands alone."""
    group: list[Weighted] = []
    size = 0
    for row, weight in sorted(rows, key=lambda item: (item[0].ids, item[0].mask)):
        more = len(row.ids) - (alike(group[-1][0].ids, row.ids) if group else 0)
        if group and size + more > tokens:
            yield pack(group)
            group, size, more = [], 0, len(row.ids)
        group.append((row, weight))
        size += more
    if group:
        yield pack(group)


def pack(rows: Sequence[Weighted]) -> Pack:
    """One pack of rows, each sharing with the row before it what both begin with; sorted rows share most."""
    ids: list[int] = []
    places: list[tuple[int, ...]] = []
    weights: dict[tuple[int, int], tuple[float, ...]] = {}
    last: Ids = ()
    path: Ids = ()
    for row, weight in rows:
        shared = alike(last, row.ids)
        path = (*path[:shared], *range(len(ids), len(ids) + len(row.ids) - shared))
        ids += row.ids[shared:]
        places.append(path)
        for before, token, own in zip(path, row.ids[1:], row.mask[1:], strict=False):
            if own:
                held = weights.get((before, token), (0.0,) * len(weight))
                weights[before, token] = tuple(map(sum, zip(held, weight, strict=True)))
        last = row.ids
    return Pack(tuple(ids), tuple(places), weights)

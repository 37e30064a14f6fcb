"""Key-value caches of a batch whose rows come and go.

Rows of unequal length are aligned at their right end: row ``b`` has ``pad[b]`` unused columns on the left.
Rows can be selected, repeated, overwritten, joined and extended; nothing here samples or schedules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, DynamicLayer

GROWTH = 32
"""Columns added at a time, so that appending a token copies nothing but that token."""


class GrowingLayer(DynamicLayer):  # type: ignore[no-untyped-call]
    """A cache layer with spare room: ``torch.cat`` at every token would copy the whole cache."""

    keys: Tensor
    values: Tensor

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.room_keys: Tensor | None = None
        self.room_values: Tensor | None = None

    def put(self, keys: Tensor, values: Tensor) -> None:
        """Replace the contents. Shapes [rows, heads, columns, width]."""
        self.device = keys.device
        self.room_keys, self.room_values = None, None
        self.keys, self.values = keys, values
        self.is_initialized = True

    def take(self, other: GrowingLayer, cut: int, index: Tensor) -> None:
        """Copy the rows at ``index`` of another layer, without its first ``cut`` columns, leaving room."""
        self.device = other.device
        used = other.keys.shape[2] - cut
        self.room_keys, self.room_values = (
            old.new_empty((len(index), old.shape[1], used + GROWTH, old.shape[3]))
            for old in (other.keys, other.values)
        )
        self.keys, self.values = self.room_keys[:, :, :used], self.room_values[:, :, :used]
        self.keys.copy_(other.keys[:, :, cut:].index_select(0, index))
        self.values.copy_(other.values[:, :, cut:].index_select(0, index))
        self.is_initialized = True

    def empty(self) -> None:
        """Give the memory back."""
        self.room_keys, self.room_values = None, None
        self.keys, self.values = self.keys[:0].clone(), self.values[:0].clone()

    def copy(self, sources: Tensor, targets: Tensor) -> None:
        """Overwrite the rows ``targets`` with the rows ``sources``."""
        self.keys[targets] = self.keys[sources]
        self.values[targets] = self.values[sources]

    def update(self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        """Append columns and return the whole; called by the model."""
        if not self.is_initialized:
            self.put(key_states, value_states)
            return self.keys, self.values
        used = self.keys.shape[2]
        total = used + key_states.shape[2]
        if self.room_keys is None or self.room_keys.shape[2] < total:
            self.room_keys = _roomy(self.keys, total + GROWTH)
            self.room_values = _roomy(self.values, total + GROWTH)
        assert self.room_values is not None
        self.room_keys[:, :, used:total] = key_states
        self.room_values[:, :, used:total] = value_states
        self.keys, self.values = self.room_keys[:, :, :total], self.room_values[:, :, :total]
        return self.keys, self.values


class Rows:
    """The caches of a batch of sequences, and how far each is padded on the left."""

    def __init__(self, layers: int, pad: Tensor) -> None:
        self.layers = [GrowingLayer() for _ in range(layers)]
        self.cache = Cache(layers=list(self.layers))
        self.pad = pad
        """Unused columns at the left of each row. Shape [rows], int64."""

    def __len__(self) -> int:
        return self.pad.shape[0]

    @property
    def columns(self) -> int:
        """Columns in use, padding included."""
        layer = self.layers[0]
        return int(layer.keys.shape[2]) if layer.is_initialized else 0

    def select(self, index: Tensor) -> Rows:
        """The rows at ``index`` (repeats allowed), with columns that are padding in all of them cut off.

        These rows are empty afterwards: layer by layer, so that memory never holds both.
        """
        pad = self.pad[index]
        cut = int(pad.min())
        chosen = Rows(len(self.layers), pad - cut)
        for old, new in zip(self.layers, chosen.layers, strict=True):
            new.take(old, cut, index)
            old.empty()
        return chosen

    def copy(self, sources: Tensor, targets: Tensor) -> None:
        """Overwrite the rows ``targets`` with the rows ``sources``; no row may be in both."""
        self.pad[targets] = self.pad[sources]
        for layer in self.layers:
            layer.copy(sources, targets)

    def of(self, row: int, columns: int) -> list[tuple[Tensor, Tensor]]:
        """Copies of the first keys and values of one row, a pair a layer, each [1, heads, columns, width]."""
        first = int(self.pad[row])
        wanted = slice(row, row + 1), slice(None), slice(first, first + columns)
        return [(layer.keys[wanted].clone(), layer.values[wanted].clone()) for layer in self.layers]

    @staticmethod
    def join(parts: Sequence[Rows]) -> Rows:
        """The rows of all parts one after the other, aligned at the right end; the parts are empty afterwards."""
        if len(parts) == 1:
            return parts[0]
        width = max(rows.columns for rows in parts)
        pads = [rows.pad + (width - rows.columns) for rows in parts]
        joined = Rows(len(parts[0].layers), torch.cat(pads))
        for at, new in enumerate(joined.layers):
            old = [rows.layers[at] for rows in parts]
            keys, values = [layer.keys for layer in old], [layer.values for layer in old]
            new.put(_stack(keys, width), _stack(values, width))
            for layer in old:
                layer.empty()
        return joined

    def mask(self, queries: int) -> Tensor:
        """Who may look at whom for the next ``queries`` columns. Bool [rows, 1, queries, columns + queries].

        A column always sees itself, so that padding gives finite numbers (which nobody looks at).
        """
        column = torch.arange(self.columns + queries, device=self.pad.device)
        own = column[-queries:, None]
        seen = (column[None, :] <= own)[None] & (column[None, None, :] >= self.pad[:, None, None])
        return (seen | (column[None, :] == own)[None])[:, None]

    def positions(self, queries: int) -> Tensor:
        """Position ids of the next ``queries`` columns. Shape [rows, queries]; 0 where that is padding."""
        column = torch.arange(self.columns, self.columns + queries, device=self.pad.device)
        return (column[None, :] - self.pad[:, None]).clamp(min=0)


def _roomy(old: Tensor, columns: int) -> Tensor:
    new = old.new_empty((*old.shape[:2], columns, old.shape[3]))
    new[:, :, : old.shape[2]] = old
    return new


def _stack(parts: Sequence[Tensor], width: int) -> Tensor:
    rows, heads, depth = sum(len(part) for part in parts), parts[0].shape[1], parts[0].shape[3]
    stacked = parts[0].new_zeros((rows, heads, width, depth))
    done = 0
    for part in parts:
        stacked[done : done + len(part), :, width - part.shape[2] :] = part
        done += len(part)
    return stacked

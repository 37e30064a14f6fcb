"""The batch's caches against a plain reference: every row is just the list of its own columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from whale.kv import Rows

LAYERS, HEADS, WIDTH = 2, 2, 3


@dataclass
class Pair:
    """A batch and what each of its rows must hold: one number a column, padding left out."""

    rows: Rows
    plain: list[list[int]]


class Batches:
    """Makes batches whose columns are numbered one after the other, so that any mix-up shows."""

    def __init__(self) -> None:
        self.next = 1

    def fresh(self, pads: list[int], width: int) -> Pair:
        pair = Pair(Rows(LAYERS, torch.tensor(pads)), [[] for _ in pads])
        self.extend(pair, width)
        pair.plain = [row[pad:] for row, pad in zip(pair.plain, pads, strict=True)]
        return pair

    def extend(self, pair: Pair, columns: int) -> None:
        count = len(pair.plain)
        numbers = torch.arange(self.next, self.next + count * columns).view(count, columns)
        self.next += count * columns
        for layer, cache in enumerate(layers(pair.rows)):
            keys, values = cache.update(states(numbers, layer, 1), states(numbers, layer, -1))
            assert keys.shape == values.shape == (count, HEADS, pair.rows.columns, WIDTH)
        for row, new in zip(pair.plain, numbers.tolist(), strict=True):
            row += new


def layers(rows: Rows) -> list[Any]:
    return list(rows.cache.layers)


def states(numbers: Tensor, layer: int, sign: int) -> Tensor:
    """Keys (sign 1) or values (sign -1) of numbered columns; every entry of a column differs."""
    place = torch.arange(HEADS * WIDTH).view(1, HEADS, 1, WIDTH) + 10 * layer
    return sign * (100.0 * numbers[:, None, :, None] + place)


def check(pair: Pair) -> None:
    rows, plain = pair.rows, pair.plain
    assert len(rows) == len(plain)
    assert rows.pad.tolist() == [rows.columns - len(row) for row in plain]
    for layer, cache in enumerate(layers(rows)):
        for index, row in enumerate(plain):
            pad = rows.columns - len(row)
            numbers = torch.tensor([row], dtype=torch.int64)
            assert torch.equal(cache.keys[index : index + 1, :, pad:], states(numbers, layer, 1))
            assert torch.equal(cache.values[index : index + 1, :, pad:], states(numbers, layer, -1))
    for queries in (1, 3):
        mask, positions = rows.mask(queries), rows.positions(queries)
        assert mask.shape == (len(plain), 1, queries, rows.columns + queries)
        for index, row in enumerate(plain):
            pad = rows.columns - len(row)
            assert positions[index].tolist() == list(range(len(row), len(row) + queries))
            for query in range(queries):
                seen = [pad <= column <= rows.columns + query for column in range(rows.columns + queries)]
                assert mask[index, 0, query].tolist() == seen


@st.composite
def starts(draw: st.DrawFn) -> tuple[list[int], int]:
    """Padding of each row, and the width of the first columns (at least one of them is real)."""
    width = draw(st.integers(1, 6))
    return draw(st.lists(st.integers(0, width - 1), min_size=1, max_size=4)), width


@settings(max_examples=120)
@given(st.data())
def test_any_sequence_of_operations_keeps_every_row(data: st.DataObject) -> None:
    batches = Batches()
    pair = batches.fresh(*data.draw(starts()))
    for _ in range(data.draw(st.integers(1, 6))):
        step = data.draw(st.sampled_from(["select", "merge", "extend"]))
        if step == "extend":
            # Long enough, at times, to use up the spare room.
            batches.extend(pair, data.draw(st.sampled_from([1, 1, 2, 40])))
        elif step == "select":
            index = data.draw(st.lists(st.integers(0, len(pair.plain) - 1), min_size=1, max_size=6))
            pair = Pair(pair.rows.select(torch.tensor(index)), [list(pair.plain[row]) for row in index])
            assert int(pair.rows.pad.min()) == 0
        else:
            other = batches.fresh(*data.draw(starts()))
            pair = Pair(Rows.join([pair.rows, other.rows]), [list(row) for row in pair.plain + other.plain])
        check(pair)


def test_padding_inside_the_next_columns_is_masked_and_has_position_zero() -> None:
    rows = Rows(LAYERS, torch.tensor([0, 2]))
    assert (rows.columns, len(rows)) == (0, 2)
    assert rows.positions(3).tolist() == [[0, 1, 2], [0, 0, 0]]
    assert rows.mask(3)[1, 0].int().tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert rows.mask(3)[0, 0].int().tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]


def test_what_is_selected_or_joined_is_empty_afterwards() -> None:
    batches = Batches()
    origin, other = batches.fresh([0, 1], 3), batches.fresh([0], 2)
    chosen = origin.rows.select(torch.tensor([0]))
    assert [len(layer.keys) for layer in layers(origin.rows)] == [0] * LAYERS
    Rows.join([chosen, other.rows])
    assert [len(layer.values) for rows in (chosen, other.rows) for layer in layers(rows)] == [0] * 2 * LAYERS

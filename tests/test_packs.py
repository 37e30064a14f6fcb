"""Packs: every row can be read off, every token sees its own row and nothing else, no pack is too long."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from whale.packs import pack, packed
from whale.rows import Row

TOKENS = st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=2, max_size=9)
ROWS = st.lists(TOKENS.filter(lambda row: any(own for _, own in row[1:])), min_size=1, max_size=9)


def row_of(drawn: list[tuple[int, bool]]) -> Row:
    """The first token of a row is never the model's own."""
    return Row(tuple(token for token, _ in drawn), (0, *(int(own) for _, own in drawn[1:])))


@given(ROWS, st.integers(1, 30))
def test_rows_are_what_they_were(drawn: list[list[tuple[int, bool]]], tokens: int) -> None:
    rows = [(row_of(one), (float(count), 1.0)) for count, one in enumerate(drawn, start=1)]
    packs = list(packed(rows, tokens))
    found = [tuple(one.ids[place] for place in path) for one in packs for path in one.places]
    assert sorted(found) == sorted(row.ids for row, _ in rows)
    for term in range(2):
        trained = sum(row.trained * weight[term] for row, weight in rows)
        assert sum(weight[term] for one in packs for weight in one.weights.values()) == trained
    for one in packs:
        assert len(one.ids) <= tokens or len(one.places) == 1
        tensors = one.tensors()
        for path in one.places:
            assert tensors["position_ids"][0, list(path)].tolist() == list(range(len(path)))
            for at, place in enumerate(path):
                seen = tensors["attention_mask"][0, 0, place].nonzero().flatten().tolist()
                assert seen == list(path[: at + 1])


def test_what_rows_begin_with_stands_once() -> None:
    start = tuple(range(10, 60))
    rows = [(Row((*start, number, 5), (0,) * 51 + (1,)), (float(number),)) for number in (1, 2, 3)]
    one = pack(rows)
    assert len(one.ids) == 50 + 3 * 2
    assert sorted(one.weights.values()) == [(1.0,), (2.0,), (3.0,)]
    assert torch.equal(one.tensors()["weight"].sort().values, torch.tensor([[1.0, 2.0, 3.0]]))
    twice = pack([(Row((1, 2, 3), (0, 1, 1)), (1.0,)), (Row((1, 2, 4), (0, 1, 1)), (5.0,))])
    wanted = {(0, 2): (6.0,), (1, 3): (1.0,), (1, 4): (5.0,)}
    assert twice.weights == wanted, "a token that two rows train is computed once"

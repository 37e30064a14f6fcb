"""What a batch of the engine is made of: samples, the branches they share, and how much of a queue fits.

Counting only; no tensor is touched here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from whale.engine import Request
from whale.starts import Ids

PREFILL = 4096
"""Tokens of prompts, padding included, that go through the model at once."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A completion in the making, and the random numbers that are its own."""

    request: Request
    uniform: np.ndarray


@dataclass(frozen=True, slots=True)
class Branch:
    """A row of the batch: what has been drawn so far, and the samples that have drawn just that."""

    start: Ids
    """The start of its prompt that is kept apart."""
    ids: Ids
    samples: list[Sample]


def fitting_count(
    taken: Sequence[Request], starts: Mapping[Ids, Ids], held: Sequence[Branch | None], columns: int
) -> int:
    """How many of the requests, in order, have columns left beside what is held; one always fits an empty batch.

    A start is counted once, however many read it.
    """
    under_way = [(branch.start, sample.request) for branch in held if branch for sample in branch.samples]
    counted = {start for start, _ in under_way}
    room = columns - sum(map(len, counted)) - sum(columns_of(request, start) for start, request in under_way)
    for index, request in enumerate(taken):
        start = starts[request.prompt_ids]
        room -= columns_of(request, start) + (0 if start in counted else len(start))
        counted.add(start)
        if room < 0 and (index or under_way):
            return index
    return len(taken)


def columns_of(request: Request, start: Ids) -> int:
    """Columns of keys and values that a sample may come to need beside its start."""
    return len(request.prompt_ids) - len(start) + request.max_tokens


def pieces(prompts: Sequence[tuple[Ids, Ids]]) -> Iterator[list[tuple[Ids, Ids]]]:
    """(start, prompt) in their order, cut where more than ``PREFILL`` tokens, padding included, stand together."""
    piece: list[tuple[Ids, Ids]] = []
    width = 0
    for start, prompt in prompts:
        rest = len(prompt) - len(start)
        if piece and max(width, rest) * (len(piece) + 1) > PREFILL:
            yield piece
            piece, width = [], 0
        piece.append((start, prompt))
        width = max(width, rest)
    if piece:
        yield piece

"""What a batch of the engine is made of: samples, the branches they share, and how much of a queue fits.

Counting only; no tensor is touched here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from whale.engine import Request
from whale.starts import Chain, Ids, last_of

PREFILL = 4096
"""Tokens of prompts, padding included, that go through the model at once."""
PADDING = 64
"""How many of them may be padding; another pass costs about as much (the weights are read once more)."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A completion in the making, and the random numbers that are its own."""

    request: Request
    uniform: np.ndarray


@dataclass(frozen=True, slots=True)
class Branch:
    """A row of the batch: what has been drawn so far, and the samples that have drawn just that."""

    chain: Chain
    """The starts of its prompt that are kept apart."""
    ids: Ids
    samples: list[Sample]

    @property
    def start(self) -> Ids:
        """All that is kept apart of its prompt; empty for nothing."""
        return last_of(self.chain)


def fitting_count(
    taken: Sequence[Request], chains: Mapping[Ids, Chain], held: Sequence[Branch | None], columns: int
) -> int:
    """How many of the requests, in order, have columns left beside what is held; one always fits an empty batch.

    The columns of a start are counted once, however many read it. ``chains``: of every prompt.
    """
    counted: set[Ids] = set()

    def needs(request: Request, chain: Chain) -> int:
        """Columns that a sample may come to need, less those of starts that are counted already."""
        ends = [0, *map(len, chain), len(request.prompt_ids) + request.max_tokens]
        own = sum(
            end - begin
            for begin, end, start in zip(ends, ends[1:], chain, strict=False)
            if start not in counted
        )
        counted.update(chain)
        return own + ends[-1] - ends[-2]

    under_way = [(branch.chain, sample.request) for branch in held if branch for sample in branch.samples]
    room = columns - sum(needs(request, chain) for chain, request in under_way)
    for index, request in enumerate(taken):
        room -= needs(request, chains[request.prompt_ids])
        if room < 0 and (index or under_way):
            return index
    return len(taken)


def pieces(prompts: Sequence[tuple[Ids, Ids]]) -> list[list[tuple[Ids, Ids]]]:
    """(start, prompt) in parts that go through the model one after the other, the shortest rests first.

    Rests of like length stand together: a part has at most ``PREFILL`` tokens, ``PADDING`` of them padding.
    """
    made: list[list[tuple[Ids, Ids]]] = []
    real = 0
    for start, prompt in sorted(prompts, key=lambda pair: len(pair[1]) - len(pair[0])):
        rest = len(prompt) - len(start)
        whole = rest * (len(made[-1]) + 1) if made else 0
        if not made or whole > PREFILL or whole - real - rest > PADDING:
            made.append([])
            real = 0
        made[-1].append((start, prompt))
        real += rest
    return made

"""Drawing tokens: the right distribution under every filter, and the right ends of the interval."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from whale.engine import Sampling
from whale.sampling import draw, stream

LOGITS = np.array([0.3, 2.0, -1.0, 1.1, 0.0, 2.4, -3.0, 1.9, 0.7, -0.2])
DRAWS = 20_000
CASES = [
    Sampling(1.0, 1.0, 0),
    Sampling(0.5, 1.0, 0),
    Sampling(1.7, 1.0, 0),
    Sampling(1.0, 1.0, 4),
    Sampling(1.0, 0.7, 0),
    Sampling(0.8, 0.6, 5),
    Sampling(1.0, 1.0, 500),
    Sampling(1.0, 1e-6, 0),
]


def expected(sampling: Sampling) -> np.ndarray:
    """Probabilities by the book: temperature, then the k largest, then the smallest set that reaches p."""
    weight = np.exp(LOGITS / sampling.temperature)
    order = np.argsort(-LOGITS)
    if sampling.top_k:
        weight[order[sampling.top_k :]] = 0
    weight /= weight.sum()
    total = 0.0
    for index in order:
        if total >= sampling.top_p:
            weight[index] = 0
        total += weight[index]
    shares: np.ndarray = weight / weight.sum()
    return shares


def drawn(uniform: np.ndarray, sampling: Sampling) -> np.ndarray:
    logits = torch.tensor(LOGITS, dtype=torch.float32).expand(len(uniform), -1)
    return draw(logits, torch.arange(len(uniform)), torch.tensor(uniform), sampling).numpy()


@pytest.mark.parametrize("sampling", CASES, ids=str)
def test_frequencies_follow_the_distribution(sampling: Sampling) -> None:
    wanted = expected(sampling)
    # A grid of uniform numbers hits every token in exact proportion; streams do within chance.
    grid = np.bincount(drawn((np.arange(DRAWS) + 0.5) / DRAWS, sampling), minlength=len(LOGITS))
    assert np.abs(grid - DRAWS * wanted).max() <= 2
    counts = np.bincount(drawn(stream(12345, DRAWS), sampling), minlength=len(LOGITS))
    live = wanted > 0
    assert not counts[~live].any()
    if live.sum() > 1:
        assert chisquare(counts[live], DRAWS * wanted[live]).pvalue > 0.01


@pytest.mark.parametrize("sampling", [Sampling(0.0, 1.0, 20), Sampling(1.0, 1.0, 1), Sampling(0.0, 0.5, 0)])
def test_greedy_takes_the_largest(sampling: Sampling) -> None:
    assert set(drawn(stream(1, 200), sampling).tolist()) == {int(LOGITS.argmax())}


@pytest.mark.parametrize("sampling", CASES, ids=str)
def test_both_ends_of_the_interval_give_tokens_that_may_occur(sampling: Sampling) -> None:
    low, high = drawn(np.array([0.0, np.nextafter(1.0, 0.0)]), sampling).tolist()
    kept = np.flatnonzero(expected(sampling))
    assert low == kept[LOGITS[kept].argmax()]
    assert high == kept[LOGITS[kept].argmin()]


def test_a_token_without_probability_is_never_drawn() -> None:
    logits = torch.tensor([[0.0, -torch.inf, 200.0, -torch.inf]])
    for uniform in (0.0, 0.5, np.nextafter(1.0, 0.0)):
        assert draw(logits, torch.tensor([0]), torch.tensor([uniform]), Sampling(1.0, 1.0, 0)).tolist() == [2]


def test_rows_are_drawn_apart() -> None:
    rows = torch.randn(6, 30, generator=torch.Generator().manual_seed(0))
    uniform = torch.tensor(stream(3, 6))
    together = draw(rows, torch.arange(6), uniform, Sampling(0.9, 0.95, 12))
    alone = [
        draw(rows, torch.tensor([index]), uniform[index : index + 1], Sampling(0.9, 0.95, 12))
        for index in range(6)
    ]
    assert together.tolist() == [int(token) for token in alone]


def test_streams_repeat_and_begin_alike() -> None:
    assert np.array_equal(stream(7, 10), stream(7, 20)[:10])
    assert stream(2**64 - 1, 1000).max() < 1
    assert len({float(stream(seed, 1)[0]) for seed in range(100)}) == 100

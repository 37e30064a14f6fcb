"""Draw the next token of every row from its own stream of random numbers.

Each request owns a Philox generator keyed by its seed, so what one row draws never depends on its neighbours.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from whale.engine import Sampling


def stream(seed: int, count: int) -> np.ndarray:
    """``count`` uniform numbers in [0, 1) that belong to ``seed`` alone."""
    return np.random.Generator(np.random.Philox(key=seed)).random(count)


def draw(logits: Tensor, owner: Tensor, uniform: Tensor, sampling: Sampling) -> Tensor:
    """One token id a draw, by inverting the cumulative distribution of its row at its uniform number.

    ``logits`` [rows, vocabulary]; ``owner`` [draws], the row each draw is from (several may share one);
    ``uniform`` [draws] in [0, 1). Order of filters: temperature, top-k, top-p. Returns int64 [draws].
    """
    if sampling.temperature == 0:
        return logits.argmax(dim=-1)[owner]
    size = logits.shape[-1]
    count = min(sampling.top_k, size) if sampling.top_k > 0 else size
    kept, ids = logits.float().topk(count, dim=-1)
    probability = (kept / sampling.temperature).softmax(dim=-1)
    if sampling.top_p < 1:
        before = probability.cumsum(dim=-1) - probability
        probability = torch.where(before < sampling.top_p, probability, torch.zeros_like(probability))
    cumulative = probability.cumsum(dim=-1)[owner]
    target = uniform[:, None].to(cumulative) * cumulative[:, -1:]
    # In float32 a uniform number just below 1 rounds to 1, which lies behind the last token that may occur.
    last = (probability > 0).sum(dim=-1)[owner, None] - 1
    pick = torch.minimum(torch.searchsorted(cumulative, target, right=True), last)
    return ids[owner, pick[:, 0]]

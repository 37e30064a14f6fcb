"""Attention over starts that rows of a batch share, each kept once instead of once a row.

A query looks at the columns of each of its starts and at its own row's columns in parts, which are joined by their
log-sum-exp; the result is that of one softmax over all. Without the engine it is transformers' own SDPA.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

NAME = "shared_prefix"
"""What a model's ``attn_implementation`` is called."""

Prefix = list[tuple[Tensor, Tensor]]
"""Keys and values of the columns that a start adds to the one before it, one pair a layer, each
[1, key heads, columns, width]."""

Level = tuple[Tensor, list[tuple[Prefix, int]]]
"""Rows (int64), those of one start side by side, and the starts in that order with their numbers of rows."""

Shared = list[Level]
"""The starts that continue no other, then those that continue them, and so on; a row is in as many levels as it has
starts."""


def attention(
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    shared: Shared | None = None,
    **rest: Any,
) -> tuple[Tensor, None]:
    """Transformers' attention function; ``shared`` comes from the engine through the model's keyword arguments.

    ``query`` [rows, heads, queries, width]; ``key``, ``value`` [rows, key heads, columns, width];
    ``attention_mask`` additive, [rows, 1, queries, columns]. Returns [rows, queries, heads, width].
    """
    if shared is None:
        return sdpa_attention_forward(module, query, key, value, attention_mask, dropout, scaling, **rest)
    assert attention_mask is not None
    rows, heads, queries, width = query.shape
    groups = heads // key.shape[1]
    # All queries that use one key head stand side by side, so keys are never repeated.
    packed = query.reshape(rows, key.shape[1], groups * queries, width)
    mask = attention_mask[:, :, None].expand(-1, -1, groups, -1, -1).reshape(rows, 1, groups * queries, -1)
    own, own_lse = _part(packed, key, value, mask, scaling)
    layer = int(getattr(module, "layer_idx", 0))
    for index, starts in shared:
        flat = packed[index].transpose(0, 1).reshape(1, key.shape[1], -1, width)
        pieces = torch.split(flat, [count * groups * queries for _, count in starts], dim=2)
        parts = [
            _part(piece, *start[layer], None, scaling)
            for piece, (start, _) in zip(pieces, starts, strict=True)
        ]
        out, lse = (
            torch.cat(column, dim=2).reshape(key.shape[1], len(index), groups * queries, -1).transpose(0, 1)
            for column in zip(*parts, strict=True)
        )
        mine, mine_lse = own[index], own_lse[index]
        own[index] = mine + torch.sigmoid(lse - mine_lse) * (out - mine)
        own_lse[index] = torch.logaddexp(mine_lse, lse)
    return own.reshape(rows, heads, queries, width).transpose(1, 2).contiguous(), None


def _part(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scaling: float | None
) -> tuple[Tensor, Tensor]:
    """Attention and its log-sum-exp [..., queries, 1] over one set of columns."""
    if query.device.type == "cpu":
        out, lse = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
            query, key, value, attn_mask=mask, scale=scaling
        )
        return out, lse[..., None]
    scores = query @ key.transpose(-1, -2) * (scaling if scaling is not None else query.shape[-1] ** -0.5)
    if mask is not None:
        scores = scores + mask
    scores = scores.float()
    lse = scores.logsumexp(dim=-1, keepdim=True)
    return (scores - lse).exp().to(value.dtype) @ value, lse.to(value.dtype)


AttentionInterface.register(NAME, attention)
AttentionMaskInterface.register(NAME, sdpa_mask)

"""Low-rank adapters (LoRA, arXiv 2106.09685) in every linear layer of a model's decoder, the head left out.

They are put into the model object in place, so engine and learner still share it, and their parameters are the only
ones with a gradient. Until they are trained they change no output, for the second of each pair starts at zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

SEED = 0
"""Of the first of each pair, which starts at random: every run starts from the same adapters."""


def add_adapters(model: Any, rank: int, alpha: int) -> None:
    """Freeze a model's weights and add adapters of ``rank`` to it, whose product counts ``alpha / rank`` times.

    The engine may have changed the linear layers before (``whale.left_linear``): an adapter calls the layer that it
    finds. Its own two factors are so thin that torch's way is as fast.
    """
    # Takes seconds to load, and full weights need none of it.
    from peft import LoraConfig, inject_adapter_in_model

    model.requires_grad_(False)
    config = LoraConfig(r=rank, lora_alpha=alpha, lora_dropout=0.0, target_modules="all-linear")
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(SEED)  # adapters are drawn on the processor, then moved
        inject_adapter_in_model(config, model.get_decoder())
    for value in model.parameters():
        if value.requires_grad:
            value.data = value.data.float()  # small steps are lost in bfloat16


def rank_of(weights: Mapping[str, Tensor]) -> int:
    """Rank of the adapters among a learner's parameters; 0 when they are full weights."""
    return next((value.shape[0] for name, value in weights.items() if ".lora_A." in name), 0)


def alpha_of(model: Any) -> int | None:
    """What ``add_adapters`` was given; None for a model without adapters."""
    configs = getattr(model.get_decoder(), "peft_config", {})
    return next((int(config.lora_alpha) for config in configs.values()), None)

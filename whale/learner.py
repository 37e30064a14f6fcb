"""What every learner has in common: weights trained in place, one optimizer as old as they are, packs, saving."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from whale.lora import add_adapters, alpha_of, rank_of
from whale.settings import LearnerSettings


@dataclass(frozen=True, slots=True)
class StepReport:
    """What one weight step did."""

    accepted: int
    """Rollouts that were trained on."""
    truncated: int
    loss: float | None
    """The objective a learner minimises, each mini-batch measured before its own update; None when nothing was
    trained on."""


class Trainable:
    """Trains the engine's model object in place; owns the optimizer, which lives as long as the arm's weights.

    What is trained, kept, saved and reset is all weights, or with ``lora_rank`` the adapters alone.
    """

    def __init__(self, model: Any, tokenizer: Any, settings: LearnerSettings) -> None:
        """``model`` is shared with the engine; with ``lora_rank`` it gets its adapters here."""
        self.model, self.tokenizer, self.settings = model, tokenizer, settings
        if settings.lora_rank:
            add_adapters(model, settings.lora_rank, settings.lora_alpha)
        self.start = {name: value.detach().clone() for name, value in weights_of(model).items()}
        self.optimizer = self._fresh_optimizer()

    def reset(self) -> None:
        """Back to the starting weights and an empty optimizer."""
        put(self.model, self.start)
        self.optimizer = self._fresh_optimizer()

    def save(self, directory: Path) -> None:
        """Write weights and optimizer state into an existing directory."""
        weights = {name: value.detach().contiguous() for name, value in weights_of(self.model).items()}
        save_file(weights, directory / "model.safetensors")
        torch.save(self.optimizer.state_dict(), directory / "optimizer.pt")

    def load(self, directory: Path) -> str:
        """Read what ``save`` wrote; returns the weights id computed from the tensors.

        Raises ``RuntimeError`` for full weights where adapters are trained, and the other way round.
        """
        weights = load_file(directory / "model.safetensors")
        found, wanted = rank_of(weights), self.settings.lora_rank
        if found != wanted:
            raise RuntimeError(
                f"{directory} holds weights of lora_rank = {found}, but [learner] lora_rank = {wanted} (0 = full "
                f"weights); set lora_rank = {found}, or delete that directory and run the same command again, which "
                "trains them anew"
            )
        put(self.model, weights)
        self.optimizer = self._fresh_optimizer()
        self.optimizer.load_state_dict(torch.load(directory / "optimizer.pt", weights_only=True))
        return weights_id(self.model)

    def update(self, packs: Sequence[dict[str, Tensor]], objective: Any, warmth: float = 1.0) -> float:
        """One optimizer step through TRL's trainer (see ``whale.trl_step``); returns the loss before it.

        ``warmth``: share of the learning rate that counts, below 1 while an arm warms up.
        """
        from whale.trl_step import train_once

        with tempfile.TemporaryDirectory() as scratch:
            loss = train_once(
                self.model,
                self.tokenizer,
                self.optimizer,
                packs,
                objective,
                clip=self.settings.clip,
                warmth=warmth,
                scratch=scratch,
            )
        self.model.eval()
        self.optimizer.zero_grad(set_to_none=True)
        return loss

    def _fresh_optimizer(self) -> torch.optim.AdamW:
        return torch.optim.AdamW(
            weights_of(self.model).values(), lr=self.settings.rate, betas=(0.9, 0.999), weight_decay=0.0
        )


def weights_id(model: Any) -> str:
    """First 16 hex digits of a sha256 over all weights (names, shapes, bytes), frozen ones and adapters too."""
    digest = hashlib.sha256()
    if (alpha := alpha_of(model)) is not None:
        digest.update(f"lora_alpha {alpha}".encode())
    for name, value in sorted(model.named_parameters()):
        digest.update(f"{name}{tuple(value.shape)}{value.dtype}".encode())
        digest.update(value.detach().cpu().contiguous().view(torch.uint8).numpy().data)
    return digest.hexdigest()[:16]


def weights_of(model: Any) -> dict[str, Tensor]:
    """The parameters that are trained, by name; tied ones once."""
    return {name: value for name, value in model.named_parameters() if value.requires_grad}


@torch.no_grad()
def put(model: Any, weights: dict[str, Tensor]) -> None:
    """Copy weights over the trained parameters of a model, in place."""
    for name, value in weights_of(model).items():
        value.copy_(weights[name])

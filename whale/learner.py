"""What every learner has in common: weights trained in place, one optimizer as old as they are, packs, saving."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from whale.records import Rollout
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


class Learner(Protocol):
    """Turns rollouts into new weights."""

    def step(self, rollouts: Sequence[Rollout], seed: int) -> StepReport:
        """One weight step; ``seed`` decides the order. Nothing to learn from: nothing changes, and the loss is None."""
        ...


class Trainable:
    """Trains the engine's model object in place; owns the optimizer, which lives as long as the arm's weights."""

    def __init__(self, model: Any, tokenizer: Any, settings: LearnerSettings) -> None:
        """``model`` is shared with the engine."""
        self.model, self.tokenizer, self.settings = model, tokenizer, settings
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
        """Read what ``save`` wrote; returns the weights id computed from the tensors."""
        put(self.model, load_file(directory / "model.safetensors"))
        self.optimizer = self._fresh_optimizer()
        self.optimizer.load_state_dict(torch.load(directory / "optimizer.pt", weights_only=True))
        return weights_id(self.model)

    def update(self, packs: Sequence[dict[str, Tensor]], objective: Any) -> float:
        """One optimizer step through TRL's trainer (see ``whale.trl_step``); returns the loss before it."""
        from whale.trl_step import train_once

        with tempfile.TemporaryDirectory() as scratch:
            loss = train_once(
                self.model,
                self.tokenizer,
                self.optimizer,
                packs,
                objective,
                clip=self.settings.clip,
                scratch=scratch,
            )
        self.model.eval()
        self.optimizer.zero_grad(set_to_none=True)
        return loss

    def _fresh_optimizer(self) -> torch.optim.AdamW:
        return torch.optim.AdamW(
            self.model.parameters(), lr=self.settings.rate, betas=(0.9, 0.999), weight_decay=0.0
        )


def weights_id(model: Any) -> str:
    """First 16 hex digits of a sha256 over all weights (names, shapes, bytes)."""
    digest = hashlib.sha256()
    for name, value in sorted(weights_of(model).items()):
        digest.update(f"{name}{tuple(value.shape)}{value.dtype}".encode())
        digest.update(value.detach().cpu().contiguous().view(torch.uint8).numpy().data)
    return digest.hexdigest()[:16]


def weights_of(model: Any) -> dict[str, Tensor]:
    """Named parameters; tied ones once."""
    return dict(model.named_parameters())


@torch.no_grad()
def put(model: Any, weights: dict[str, Tensor]) -> None:
    """Copy weights into a model, in place."""
    for name, value in model.named_parameters():
        value.copy_(weights[name])

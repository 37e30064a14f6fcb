"""Online rejection-sampling fine-tuning (RSFT): one SFT epoch over the accepted rollouts of a weight step.

Source: WHALE (arXiv 2609.00196), weight update; RAFT-style. Mean negative log-likelihood of the model's own
tokens over each mini-batch, AdamW, constant rate, no warm-up, no KL. Runs on TRL's ``SFTTrainer`` with rows
that are tokenised already. Differs from the paper: what rows have in common is computed once (``packs``, the same
gradient), and the loss is divided by the tokens of the whole mini-batch, never per device.
"""

from __future__ import annotations

import hashlib
import random
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from whale.packs import packed
from whale.records import Rollout
from whale.rows import Row, accepted, counted, trained_tokens
from whale.settings import LearnerSettings as LearnerSettings


@dataclass(frozen=True, slots=True)
class StepReport:
    """What one weight step did."""

    accepted: int
    truncated: int
    loss: float | None
    """Mean negative log-likelihood per trained token, each mini-batch measured before its own update;
    None when nothing was accepted."""


class RsftLearner:
    """Trains the engine's model object in place; owns the optimizer, which lives as long as the arm's weights."""

    def __init__(self, model: Any, tokenizer: Any, settings: LearnerSettings) -> None:
        """``model`` is shared with the engine."""
        self.model, self.tokenizer, self.settings = model, tokenizer, settings
        self._start = {name: value.detach().clone() for name, value in _weights(model).items()}
        self.optimizer = self._fresh_optimizer()

    def reset(self) -> None:
        """Back to the starting weights and an empty optimizer."""
        _put(self.model, self._start)
        self.optimizer = self._fresh_optimizer()

    def save(self, directory: Path) -> None:
        """Write weights and optimizer state into an existing directory."""
        weights = {name: value.detach().contiguous() for name, value in _weights(self.model).items()}
        save_file(weights, directory / "model.safetensors")
        torch.save(self.optimizer.state_dict(), directory / "optimizer.pt")

    def load(self, directory: Path) -> str:
        """Read what ``save`` wrote; returns the weights id computed from the tensors."""
        _put(self.model, load_file(directory / "model.safetensors"))
        self.optimizer = self._fresh_optimizer()
        self.optimizer.load_state_dict(torch.load(directory / "optimizer.pt", weights_only=True))
        return weights_id(self.model)

    def step(self, rollouts: Sequence[Rollout], seed: int) -> StepReport:
        """One epoch over the accepted rollouts, in mini-batches, in an order that ``seed`` decides.

        Nothing accepted: nothing changes, and the loss is None.
        """
        keep = [rollout for rollout in rollouts if accepted(rollout)]
        cut = sum(rollout.cut for rollout in rollouts)
        random.Random(seed).shuffle(keep)
        losses: list[tuple[float, int]] = []
        for first in range(0, len(keep), self.settings.minibatch):
            rows = counted(keep[first : first + self.settings.minibatch])
            losses.append((self._update(rows), trained_tokens(rows)))
        total = sum(tokens for _, tokens in losses)
        mean = sum(loss * tokens for loss, tokens in losses) / total if total else None
        return StepReport(len(keep), cut, mean)

    def _update(self, rows: list[tuple[Row, int]]) -> float:
        """One optimizer step through TRL's trainer; returns the loss before it."""
        from whale.trl_step import train_once

        with tempfile.TemporaryDirectory() as scratch:
            loss = train_once(
                self.model,
                self.tokenizer,
                self.optimizer,
                list(packed(rows, self.settings.micro_tokens)),
                total_tokens=trained_tokens(rows),
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
    for name, value in sorted(_weights(model).items()):
        digest.update(f"{name}{tuple(value.shape)}{value.dtype}".encode())
        digest.update(value.detach().cpu().contiguous().view(torch.uint8).numpy().data)
    return digest.hexdigest()[:16]


def _weights(model: Any) -> dict[str, Tensor]:
    """Named parameters; tied ones once."""
    return dict(model.named_parameters())


@torch.no_grad()
def _put(model: Any, weights: dict[str, Tensor]) -> None:
    for name, value in model.named_parameters():
        value.copy_(weights[name])

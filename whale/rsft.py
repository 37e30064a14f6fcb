"""Online rejection-sampling fine-tuning (RSFT): one SFT epoch over the accepted rollouts of a weight step.

Source: WHALE (arXiv 2609.00196), weight update; RAFT-style. Mean negative log-likelihood of the model's own
tokens over each mini-batch, AdamW, constant rate, no warm-up, no KL. Runs on TRL's ``SFTTrainer`` with rows
that are tokenised already. Differs from the paper: what rows have in common is computed once (``packs``, the same
gradient), and the loss is divided by the tokens of the whole mini-batch, never per device.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from torch import Tensor

from whale.learner import StepReport, Trainable
from whale.packs import packed
from whale.records import Rollout
from whale.rows import Row, accepted, counted, trained_tokens


class RsftLearner(Trainable):
    """Negative log-likelihood of the rollouts that scored and were not cut."""

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
            losses.append((self._learn(rows), trained_tokens(rows)))
        total = sum(tokens for _, tokens in losses)
        mean = sum(loss * tokens for loss, tokens in losses) / total if total else None
        return StepReport(len(keep), cut, mean)

    def _learn(self, rows: list[tuple[Row, int]]) -> float:
        total = trained_tokens(rows)
        packs = packed([(row, (count / total,)) for row, count in rows], self.settings.micro_tokens)
        return self.update([pack.tensors() for pack in packs], likelihood)


def likelihood(log_p: Tensor, inputs: dict[str, Tensor]) -> Tensor:
    """Weighted negative log-likelihood."""
    return -(inputs["weight"][0] * log_p).sum()

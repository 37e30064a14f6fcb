"""Policy gradient with shared advantage groups: CISPO, and GRPO where every step is on-policy.

Source: Fast-Slow Training (arXiv 2605.12484), slow half. A group is all rollouts of one task, whatever prompt or
harness made them. Advantage A = (r - mean) / (std + eps) over the group; groups without variance are dropped. Loss,
averaged over groups, and in a group over its trained tokens: -stop_gradient(min(ratio, cap)) x A x log p + kl x KL,
with the ratio of the new to the sampling policy, and the divergence from the starting weights (estimator
exp(d) - d - 1 with d = log ref - log p).

Our choices, unpublished there: the standard deviation is the population's, eps is 1e-4; rollouts that were cut count
with their reward and are trained on; those whose verifier failed are left out.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from statistics import fmean, pstdev

import torch
from torch import Tensor

from envs.base import Verdict
from whale.learner import StepReport, Trainable, put, weights_of
from whale.packs import Weighted, packed
from whale.records import Rollout
from whale.rows import rows_of
from whale.settings import PolicySettings

EPSILON = 1e-4
"""Beside the standard deviation; our choice."""
Group = list[Rollout]


class PolicyGradientLearner:
    """A policy gradient on the weights and optimizer of ``base``."""

    def __init__(self, base: Trainable, settings: PolicySettings, done: int = 0) -> None:
        """``done``: weight steps before this one, for the warm-up."""
        self.base, self.settings = base, settings
        self.warmth = min(1.0, (done + 1) / settings.warmup) if settings.warmup else 1.0

    def step(self, rollouts: Sequence[Rollout], seed: int) -> StepReport:
        """One epoch over the groups that tell good from bad, in mini-batches of whole groups, ordered by ``seed``."""
        groups = list(telling_groups(rollouts))
        random.Random(seed).shuffle(groups)
        batches = [self._packs(batch) for batch in self._batches(groups)]
        if len(batches) > 1:
            for pack in (pack for batch in batches for pack in batch):
                pack["old"] = self._log_probabilities(pack)
        if self.settings.kl:
            self._add_reference([pack for batch in batches for pack in batch])
        losses = [self.base.update(batch, self._objective, self.warmth) for batch in batches]
        used = sum(len(group) for group in groups)
        cut = sum(rollout.cut for rollout in rollouts)
        return StepReport(used, cut, fmean(losses) if losses else None)

    def _batches(self, groups: Sequence[Group]) -> Iterator[list[Group]]:
        """Whole groups with at most ``minibatch`` rollouts together; a larger group stands alone."""
        batch: list[Group] = []
        for group in groups:
            if batch and sum(map(len, batch)) + len(group) > self.base.settings.minibatch:
                yield batch
                batch = []
            batch.append(group)
        if batch:
            yield batch

    def _packs(self, groups: Sequence[Group]) -> list[dict[str, Tensor]]:
        rows = [row for group in groups for row in weighted_rows(group, len(groups))]
        return [pack.tensors() for pack in packed(rows, self.base.settings.micro_tokens)]

    @torch.no_grad()
    def _log_probabilities(self, pack: dict[str, Tensor]) -> Tensor:
        from whale.trl_step import log_probabilities

        device = next(self.base.model.parameters()).device
        found: Tensor = log_probabilities(
            self.base.model, {name: part.to(device) for name, part in pack.items()}
        )
        return found

    def _add_reference(self, packs: Sequence[dict[str, Tensor]]) -> None:
        """Log-probabilities under the starting weights, which stand in the model meanwhile."""
        now = {name: value.detach().clone() for name, value in weights_of(self.base.model).items()}
        put(self.base.model, self.base.start)
        for pack in packs:
            pack["reference"] = self._log_probabilities(pack)
        put(self.base.model, now)

    def _objective(self, log_p: Tensor, inputs: dict[str, Tensor]) -> Tensor:
        """See the module's formula; without ``old`` the step is on-policy and the ratio 1."""
        advantage, share = inputs["weight"]
        loss: Tensor
        ratio = torch.exp(log_p - inputs["old"]) if "old" in inputs else torch.ones_like(log_p)
        loss = -(ratio.clamp(max=self.settings.cap).detach() * advantage * log_p).sum()
        if self.settings.kl:
            gap = inputs["reference"] - log_p
            loss = loss + self.settings.kl * (share * (torch.exp(gap) - gap - 1)).sum()
        return loss


def telling_groups(rollouts: Sequence[Rollout]) -> Iterator[Group]:
    """The rollouts of each task, where not all have the same reward."""
    groups: dict[str, Group] = {}
    for rollout in rollouts:
        if rollout.calls and rollout.score.verdict is not Verdict.VERIFIER_ERROR:
            groups.setdefault(rollout.task_id, []).append(rollout)
    return (group for group in groups.values() if len({rollout.score.value for rollout in group}) > 1)


def advantages(rewards: Sequence[float]) -> list[float]:
    """(r - mean) / (std + eps) over one group."""
    mean, spread = fmean(rewards), pstdev(rewards)
    return [(reward - mean) / (spread + EPSILON) for reward in rewards]


def weighted_rows(group: Group, groups: int) -> list[Weighted]:
    """A group's rows with their weights: advantage, and share in the average over tokens and ``groups``."""
    rows = [rows_of(rollout) for rollout in group]
    tokens = sum(row.trained for own in rows for row in own)
    share = 1 / (tokens * groups)
    gains = advantages([rollout.score.value for rollout in group])
    return [(row, (gain * share, share)) for own, gain in zip(rows, gains, strict=True) for row in own]

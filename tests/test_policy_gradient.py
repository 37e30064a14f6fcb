"""The policy-gradient learner against the formula, row by row in plain torch, and what it leaves out."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from envs.base import Verdict
from tests.small import call, rollout
from whale.learner import Trainable, weights_of
from whale.models import ModelSource
from whale.policy_gradient import PolicyGradientLearner, advantages, telling_groups, weighted_rows
from whale.records import Rollout
from whale.rows import rows_of
from whale.settings import LearnerSettings, PolicySettings

EOS = 0
RIGHT, WRONG = Verdict.CORRECT, Verdict.WRONG
MERGED = [call((5, 9), (40, 41, EOS)), call((5, 9, 40, 41, EOS, 30, 31), (50, EOS))]
"""Two calls of which the second goes on from the first: one row with a gap in its mask."""
CUT = call((5, 9), (40, 60), finish="length")
ROLLOUTS = [
    rollout(*MERGED, verdict=RIGHT, task="a", sample=0),
    rollout(CUT, verdict=Verdict.TRUNCATED, task="a", sample=1),
    rollout(call((5, 9), (61, EOS)), verdict=WRONG, task="a", sample=2),
    rollout(call((7,), (70, EOS)), verdict=RIGHT, task="b", sample=0),
    rollout(call((7,), (71, EOS)), verdict=WRONG, task="b", sample=1),
]
SURE = [rollout(call((8,), (80, EOS)), verdict=RIGHT, task="c", sample=sample) for sample in range(2)]
LOST = [
    rollout(call((8,), (80, EOS)), verdict=RIGHT, task="d", sample=0),
    rollout(call((8,), (81, EOS)), verdict=Verdict.VERIFIER_ERROR, task="d", sample=1),
]
"""A group without variance, and one that has none once what the verifier could not judge is left out."""


def fresh(source: ModelSource) -> Any:
    model: Any = AutoModelForCausalLM.from_pretrained(source.directory, dtype=torch.float32)
    return model.eval()


def learner_of(
    source: ModelSource, *, kl: float = 0.0, cap: float = 4.0, **changed: float
) -> PolicyGradientLearner:
    values = {"rate": 1e-3, "minibatch": 64, "micro_tokens": 64, "clip": 1e9, "lora_rank": 0, **changed}
    tokenizer = AutoTokenizer.from_pretrained(source.directory)
    base = Trainable(fresh(source), tokenizer, LearnerSettings.model_validate(values))
    return PolicyGradientLearner(base, PolicySettings(cap=cap, kl=kl, warmup=0))


def log_p(model: Any, ids: Sequence[int]) -> Any:
    return model(torch.tensor([ids])).logits[0].log_softmax(dim=-1)


def formula(model: Any, old: Any, start: Any, rollouts: Sequence[Rollout], *, kl: float, cap: float) -> Any:
    """The module's formula, group by group, row by row, token by token."""
    groups: dict[str, list[Rollout]] = {}
    for made in rollouts:
        groups.setdefault(made.task_id, []).append(made)
    total: Any = torch.zeros(())
    for group in groups.values():
        rewards = torch.tensor([made.score.value for made in group])
        gains = (rewards - rewards.mean()) / (rewards.std(correction=0) + 1e-4)
        part: Any = torch.zeros(())
        tokens = 0
        for made, gain in zip(group, gains, strict=True):
            for row in rows_of(made):
                now, then, first = (log_p(one, row.ids) for one in (model, old, start))
                for place in range(1, len(row.ids)):
                    if row.mask[place]:
                        at = place - 1, row.ids[place]
                        ratio = (now[at] - then[at]).exp().clamp(max=cap).detach()
                        gap = first[at].detach() - now[at]
                        part = part - ratio * gain * now[at] + kl * (gap.exp() - gap - 1)
                        tokens += 1
        total = total + part / tokens
    return total / len(groups)


def move(learner: PolicyGradientLearner) -> None:
    """Put other weights into the learner's model than it started from."""
    torch.manual_seed(0)
    with torch.no_grad():
        for value in learner.base.model.parameters():
            value.add_(0.02 * torch.randn_like(value))


@pytest.mark.parametrize(("warmup", "done", "share"), [(0, 0, 1.0), (4, 0, 0.25), (4, 2, 0.75), (4, 9, 1.0)])
def test_the_rate_rises_over_the_warm_up(
    random_model: ModelSource, warmup: int, done: int, share: float
) -> None:
    moved = []
    for steps in (warmup, 0):
        base = learner_of(random_model).base
        base.optimizer = torch.optim.SGD(base.model.parameters(), lr=1.0)  # type: ignore[assignment]
        before = {name: value.detach().clone() for name, value in weights_of(base.model).items()}
        PolicyGradientLearner(base, PolicySettings(cap=4.0, kl=0.0, warmup=steps), done).step(
            ROLLOUTS, seed=0
        )
        moved.append(
            torch.cat([(value - before[name]).flatten() for name, value in weights_of(base.model).items()])
        )
    warm, whole = moved
    assert whole.norm() > 0
    torch.testing.assert_close(warm, share * whole, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("kl", [0.0, 0.5])
@pytest.mark.parametrize("micro_tokens", [8, 64])
def test_loss_and_gradient_of_an_on_policy_step_are_the_formula(
    random_model: ModelSource, kl: float, micro_tokens: int
) -> None:
    learner = learner_of(random_model, kl=kl, micro_tokens=micro_tokens)
    move(learner)
    plain = fresh(random_model)
    plain.load_state_dict(learner.base.model.state_dict())
    wanted = formula(plain, plain, fresh(random_model), ROLLOUTS, kl=kl, cap=4.0)
    wanted.backward()
    # With plain SGD at rate 1 the weights move by exactly the gradient.
    learner.base.optimizer = torch.optim.SGD(learner.base.model.parameters(), lr=1.0)  # type: ignore[assignment]
    report = learner.step([*ROLLOUTS, *SURE, *LOST], seed=0)
    assert report.accepted == len(ROLLOUTS)
    assert report.truncated == 1
    assert report.loss == pytest.approx(wanted.item(), abs=1e-5)
    after = weights_of(learner.base.model)
    for name, before in plain.named_parameters():
        torch.testing.assert_close(before.data - after[name].data, before.grad, atol=1e-5, rtol=1e-4)


def test_the_second_step_of_a_batch_weighs_by_a_capped_ratio(random_model: ModelSource) -> None:
    learner = learner_of(random_model, minibatch=2, cap=1.05, rate=0.05)
    old = fresh(random_model)
    losses: list[tuple[float, float]] = []
    update = learner.base.update

    def watched(packs: Any, objective: Any, warmth: float = 1.0) -> float:
        plain = fresh(random_model)
        plain.load_state_dict(learner.base.model.state_dict())
        group = groups[len(losses)]
        wanted = formula(plain, old, old, group, kl=0.0, cap=1.05).item()
        losses.append((update(packs, objective), wanted))
        return losses[-1][0]

    groups = [group for key in ("b", "a") for group in [[made for made in ROLLOUTS if made.task_id == key]]]
    learner.base.update = watched  # type: ignore[method-assign]
    order = next(seed for seed in range(9) if first_of(seed) == "b")
    learner.step(ROLLOUTS, seed=order)
    assert [made for made, _ in losses] == pytest.approx([wanted for _, wanted in losses], abs=1e-5)
    unweighed = formula(learner.base.model, learner.base.model, old, groups[1], kl=0.0, cap=1.05).item()
    assert losses[1][1] != pytest.approx(unweighed, abs=1e-4), "the ratio is not 1 any more"


def first_of(seed: int) -> str:
    groups = list(telling_groups(ROLLOUTS))
    random.Random(seed).shuffle(groups)
    return groups[0][0].task_id


def test_groups_that_tell_nothing_change_nothing(random_model: ModelSource) -> None:
    learner = learner_of(random_model, kl=0.5)
    before = {name: value.clone() for name, value in weights_of(learner.base.model).items()}
    report = learner.step([*SURE, *LOST], seed=0)
    assert (report.accepted, report.loss) == (0, None)
    assert all(torch.equal(before[name], value) for name, value in weights_of(learner.base.model).items())


def test_advantages_and_shares_by_hand() -> None:
    assert advantages([1, 0, 0, 1]) == pytest.approx([1, -1, -1, 1], abs=1e-3)
    assert advantages([1, 0, 0, 0]) == pytest.approx([1.7321, -0.5774, -0.5774, -0.5774], abs=1e-3)
    rows = weighted_rows(ROLLOUTS[:3], groups=2)
    assert [row.trained for row, _ in rows] == [5, 2, 2]
    assert sum(row.trained * share for row, (_, share) in rows) == pytest.approx(1 / 2)
    assert [weight[0] > 0 for _, weight in rows] == [True, False, False]

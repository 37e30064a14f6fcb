"""The learner against plain torch: loss, gradient and step of a batch computed by hand, and what persists."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from envs.base import Verdict
from tests.small import Bench, PlainEnvironment, call, rollout
from whale.hosting import HarnessHost
from whale.learner import StepReport, weights_id
from whale.models import ModelSource
from whale.packs import pack
from whale.records import Rollout
from whale.rows import Row, counted, trained_tokens
from whale.rsft import RsftLearner, likelihood
from whale.settings import LearnerSettings
from whale.trl_step import train_once

EOS = 0
ROWS = [
    (Row((5, 9, 40, 41, EOS), (0, 0, 1, 1, 1)), 1),
    (Row((5, 11, 60, EOS), (0, 0, 1, 1)), 2),
    (Row((5, 11, 60, EOS, 12), (0, 0, 0, 0, 1)), 1),
    (Row((5, 11, 60, 61), (0, 0, 1, 1)), 3),
    (Row((7, 8, 70, EOS, 30, 31, 32, 80, 81, EOS), (0, 0, 1, 1, 0, 0, 0, 1, 1, 1)), 1),
]
"""A plain row, one that occurs twice, two that continue or leave it half way, one of two merged calls."""
TOKENS = 3 + 2 * 2 + 1 + 3 * 2 + 5
SPLITS = {"whole": [5], "two": [3, 2], "single": [1, 1, 1, 1, 1]}
NO_CLIP = 1e9


@pytest.fixture(scope="module")
def tokenizer(random_model: ModelSource) -> Any:
    return AutoTokenizer.from_pretrained(random_model.directory)


def fresh(source: ModelSource) -> Any:
    model: Any = AutoModelForCausalLM.from_pretrained(source.directory, dtype=torch.float32)
    return model.eval()


def learner_of(source: ModelSource, tokenizer: Any, **changed: float) -> RsftLearner:
    values = {"rate": 1e-3, "minibatch": 64, "micro_tokens": 64, "clip": 1.0, "lora_rank": 0, **changed}
    return RsftLearner(fresh(source), tokenizer, LearnerSettings.model_validate(values))


def formula(model: Any, rows: Sequence[tuple[Row, int]]) -> Any:
    """Sum over the model's own tokens of multiplicity x NLL, by the number of those tokens; row by row."""
    total: Any = torch.zeros(())
    for row, count in rows:
        log_p = model(torch.tensor([row.ids])).logits[0].log_softmax(dim=-1)
        for place in range(1, len(row.ids)):
            if row.mask[place]:
                total = total - count * log_p[place - 1, row.ids[place]]
    return total / sum(row.trained * count for row, count in rows)


def split(sizes: list[int]) -> list[list[tuple[Row, int]]]:
    ends = [sum(sizes[:index]) for index in range(len(sizes) + 1)]
    return [ROWS[first:last] for first, last in pairwise(ends)]


def train(model: Any, tokenizer: Any, optimizer: Any, sizes: list[int], scratch: Path, clip: float) -> float:
    return train_once(
        model,
        tokenizer,
        optimizer,
        [pack([(row, (count / TOKENS,)) for row, count in rows]).tensors() for rows in split(sizes)],
        likelihood,
        clip=clip,
        scratch=str(scratch),
    )


@pytest.mark.parametrize("sizes", SPLITS.values(), ids=SPLITS.keys())
def test_loss_and_gradient_are_the_formula_however_the_batch_is_split(
    random_model: ModelSource, tokenizer: Any, sizes: list[int], tmp_path: Path
) -> None:
    model, plain = fresh(random_model), fresh(random_model)
    wanted = formula(plain, ROWS)
    wanted.backward()
    # With plain SGD at rate 1 the weights move by exactly the gradient.
    loss = train(model, tokenizer, torch.optim.SGD(model.parameters(), lr=1.0), sizes, tmp_path, NO_CLIP)
    assert loss == pytest.approx(wanted.item(), abs=1e-5)
    moved = dict(model.named_parameters())
    largest = 0.0
    for name, before in plain.named_parameters():
        torch.testing.assert_close(before.data - moved[name].data, before.grad, atol=1e-5, rtol=0)
        largest = max(largest, float(before.grad.abs().max()))
    assert largest > 0.01


@pytest.mark.parametrize("sizes", [SPLITS["whole"], SPLITS["single"]], ids=["whole", "single"])
def test_two_steps_are_those_of_torchs_adamw(
    random_model: ModelSource, tokenizer: Any, sizes: list[int], tmp_path: Path
) -> None:
    learner = learner_of(random_model, tokenizer)
    plain = fresh(random_model)
    reference = torch.optim.AdamW(plain.parameters(), lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0)
    for _ in range(2):
        train(learner.model, tokenizer, learner.optimizer, sizes, tmp_path, NO_CLIP)
        learner.optimizer.zero_grad()
        reference.zero_grad()
        formula(plain, ROWS).backward()
        reference.step()
    for mine, other in zip(learner.model.parameters(), plain.parameters(), strict=True):
        # AdamW's first steps only see signs: entries whose gradient is rounding noise may go either way.
        clear = (other.grad == 0) | (other.grad.abs() > 1e-5)
        assert clear.float().mean() > 0.9
        torch.testing.assert_close(mine.data[clear], other.data[clear], atol=1e-5, rtol=0)


def test_the_gradient_is_clipped_over_the_whole_mini_batch(
    random_model: ModelSource, tokenizer: Any, tmp_path: Path
) -> None:
    model, plain = fresh(random_model), fresh(random_model)
    train(model, tokenizer, torch.optim.SGD(model.parameters(), lr=1.0), [1, 1, 1, 1, 1], tmp_path, 0.25)
    moved = zip(plain.parameters(), model.parameters(), strict=True)
    norm = torch.stack([(before - after).norm() for before, after in moved]).norm()
    assert float(norm) == pytest.approx(0.25, rel=1e-3)


def test_a_row_that_occurs_twice_is_two_rows(random_model: ModelSource) -> None:
    model = fresh(random_model)
    row = Row((5, 11, 60, EOS), (0, 0, 1, 1))
    other = ROWS[0]
    twice, apart = formula(model, [(row, 2), other]), formula(model, [(row, 1), (row, 1), other])
    assert twice.item() == pytest.approx(apart.item(), abs=1e-6)


ONE = [
    rollout(call([5, 9], [40, 41, EOS])),
    rollout(call([5, 11], [60, EOS])),
    rollout(call([5, 11], [60, EOS])),
]
TWO = [rollout(call([7, 8], [70, EOS])), rollout(call([5, 9], [33, EOS]), verdict=Verdict.WRONG)]


def test_a_step_reports_the_loss_of_what_it_accepted(random_model: ModelSource, tokenizer: Any) -> None:
    wrong = rollout(call([5, 9], [99, EOS]), verdict=Verdict.WRONG)
    cut = rollout(call([5, 9], [98, 97]), call([5, 9, 98], [97], finish="length"))
    learner = learner_of(random_model, tokenizer)
    wanted = formula(fresh(random_model), counted(ONE)).item()
    report = learner.step([wrong, *ONE, cut], seed=0)
    assert (report.accepted, report.truncated) == (3, 1)
    assert report.loss == pytest.approx(wanted, abs=1e-5)
    assert trained_tokens(counted(ONE)) == 7
    assert not learner.model.training


def test_mini_batches_each_take_a_step(random_model: ModelSource, tokenizer: Any) -> None:
    learner = learner_of(random_model, tokenizer, minibatch=2)
    rollouts = [rollout(call([5, 9 + index], [40, EOS])) for index in range(5)]
    learner.step(rollouts, seed=0)
    steps = {float(state["step"]) for state in learner.optimizer.state_dict()["state"].values()}
    assert steps == {3.0}
    other = learner_of(random_model, tokenizer, minibatch=2)
    other.step(rollouts, seed=1)
    assert weights_id(other.model) != weights_id(learner.model)


def test_nothing_accepted_changes_nothing(
    random_model: ModelSource, host: HarnessHost, tmp_path: Path
) -> None:
    agent = Bench(tmp_path, random_model, PlainEnvironment(), host).agent
    before = weights_id(agent.engine.model)
    for rollouts in (
        [],
        [rollout(call([5], [6]), verdict=Verdict.WRONG)],
        [rollout(call([5], [6], finish="length"))],
    ):
        report = agent.learn(rollouts, seed=0)
        cut = sum(item.cut for item in rollouts)
        assert report == StepReport(accepted=0, truncated=cut, loss=None)
        assert agent.engine.weights_id == agent.start_id
    assert weights_id(agent.engine.model) == before
    assert not agent.learner.optimizer.state_dict()["state"]
    agent.learn(ONE, seed=0)
    assert agent.engine.weights_id == weights_id(agent.engine.model) != before


def test_a_learner_that_was_saved_goes_on_as_if_it_had_not_been(
    random_model: ModelSource, tokenizer: Any, tmp_path: Path
) -> None:
    straight = learner_of(random_model, tokenizer)
    straight.step(ONE, seed=0)
    middle = weights_id(straight.model)
    straight.save(tmp_path)
    straight.step(TWO, seed=1)
    resumed = learner_of(random_model, tokenizer)
    assert resumed.load(tmp_path) == middle
    resumed.step(TWO, seed=1)
    assert weights_id(resumed.model) == weights_id(straight.model) != middle
    forgetful = learner_of(random_model, tokenizer)
    forgetful.load(tmp_path)
    forgetful.optimizer = torch.optim.AdamW(forgetful.model.parameters(), lr=1e-3, weight_decay=0.0)
    forgetful.step(TWO, seed=1)
    assert weights_id(forgetful.model) != weights_id(straight.model)


def test_reset_brings_back_the_start(random_model: ModelSource, tokenizer: Any) -> None:
    learner = learner_of(random_model, tokenizer)
    start = weights_id(learner.model)
    learner.step(ONE, seed=0)
    once = weights_id(learner.model)
    learner.reset()
    assert weights_id(learner.model) == start
    learner.step(ONE, seed=0)
    assert weights_id(learner.model) == once


def end_of_turn(model: Any, row: Sequence[int]) -> float:
    """Log-probability of the last id after the others."""
    with torch.no_grad():
        return float(model(torch.tensor([row[:-1]])).logits[0, -1].log_softmax(dim=-1)[row[-1]])


def test_the_end_of_turn_is_trained(random_model: ModelSource, tokenizer: Any) -> None:
    learner = learner_of(random_model, tokenizer, rate=1e-2)
    rollouts: list[Rollout] = [rollout(call([5, 9], [40, 41, EOS]))]
    before = end_of_turn(learner.model, (5, 9, 40, 41, EOS))
    for _ in range(3):
        learner.step(rollouts, seed=0)
    assert end_of_turn(learner.model, (5, 9, 40, 41, EOS)) > before + 1


def test_the_weights_id_sees_every_weight_and_only_weights(random_model: ModelSource) -> None:
    model = fresh(random_model)
    first = weights_id(model)
    assert weights_id(copy.deepcopy(model)) == first
    with torch.no_grad():
        model.get_output_embeddings().weight[3, 4] += 1e-6
    assert weights_id(model) != first

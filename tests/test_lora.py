"""Adapters against dense weights: what they start as, loss, gradient, what persists, and what the engine serves."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoTokenizer

from bench.config import load_profile
from envs.base import InputError
from tests import test_engine, test_policy_gradient, test_rsft
from tests.test_rsft import NO_CLIP, ONE, ROWS, SPLITS, TWO, fresh
from whale.agent import Agent, State
from whale.engine import Sampling
from whale.learner import weights_id, weights_of
from whale.lora import add_adapters
from whale.models import ModelSource
from whale.records import Harness
from whale.rsft import RsftLearner
from whale.settings import EngineSettings, LearnerSettings, PolicySettings

RANK, ALPHA = 4, 12
LORA: dict[str, float] = {"lora_rank": RANK, "lora_alpha": ALPHA}
IDS = torch.tensor([[5, 9, 40, 41, 0, 30, 31]])


@pytest.fixture(scope="module")
def tokenizer(random_model: ModelSource) -> Any:
    return AutoTokenizer.from_pretrained(random_model.directory)


def learner_of(source: ModelSource, tokenizer: Any, **changed: float) -> RsftLearner:
    return test_rsft.learner_of(source, tokenizer, **{**LORA, **changed})


def move(model: Any) -> None:
    """Give the adapters other values than those that they start with."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for value in weights_of(model).values():
            value.add_(0.2 * torch.randn(value.shape, generator=generator))


def pair(layer: str) -> list[str]:
    """Names of a layer's two factors."""
    return [f"{layer}.lora_{side}.default.weight" for side in "AB"]


@torch.no_grad()
def merged(source: ModelSource, model: Any) -> Any:
    """The plain model with the adapters of ``model`` added to its weights."""
    plain, trained = fresh(source), weights_of(model)
    for name, value in plain.named_parameters():
        first, second = pair(name.removesuffix(".weight"))
        if first in trained:
            value += ALPHA / RANK * trained[second] @ trained[first]
    return plain


def base_of(model: Any) -> dict[str, Any]:
    """The weights below the adapters, under the plain model's names."""
    trained = weights_of(model)
    named = model.named_parameters()
    return {name.replace(".base_layer", ""): value for name, value in named if name not in trained}


def test_every_linear_layer_of_the_decoder_has_one_and_the_head_none() -> None:
    from whale.tiny import _network

    model = _network(64)
    layers = [name for name, part in model.named_modules() if isinstance(part, torch.nn.Linear)]
    layers.remove("lm_head")
    add_adapters(model, RANK, ALPHA)
    assert len(layers) == 2 * 7
    assert set(weights_of(model)) == {name for layer in layers for name in pair(layer)}
    assert model.lm_head.weight is model.model.embed_tokens.weight


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_untrained_adapters_change_no_bit_and_no_random_number(
    random_model: ModelSource, dtype: torch.dtype
) -> None:
    model, other = fresh(random_model).to(dtype), fresh(random_model).to(dtype)
    before = model(IDS).logits
    torch.manual_seed(7)
    state = torch.get_rng_state()
    add_adapters(model, RANK, ALPHA)
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(8)
    add_adapters(other, RANK, ALPHA)
    assert weights_id(model) == weights_id(other)
    assert torch.equal(model(IDS).logits, before)
    assert {value.dtype for value in weights_of(model).values()} == {torch.float32}


def test_full_weights_need_no_peft(
    random_model: ModelSource, tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "peft", None)
    learner = test_rsft.learner_of(random_model, tokenizer)
    assert set(weights_of(learner.model)) == {name for name, _ in learner.model.named_parameters()}
    with pytest.raises(ImportError):
        learner_of(random_model, tokenizer)


@pytest.mark.parametrize("sizes", [SPLITS["whole"], SPLITS["single"]], ids=["whole", "single"])
def test_loss_and_gradient_are_those_of_the_dense_formula(
    random_model: ModelSource, tokenizer: Any, sizes: list[int], tmp_path: Path
) -> None:
    model = learner_of(random_model, tokenizer).model
    move(model)
    plain = merged(random_model, model)
    wanted = test_rsft.formula(plain, ROWS)
    wanted.backward()
    before = {name: value.detach().clone() for name, value in weights_of(model).items()}
    # With plain SGD at rate 1 the adapters move by exactly the gradient.
    sgd = torch.optim.SGD(weights_of(model).values(), lr=1.0)
    loss = test_rsft.train(model, tokenizer, sgd, sizes, tmp_path, NO_CLIP)
    assert loss == pytest.approx(wanted.item(), abs=1e-4)
    moved = {name: before[name] - value.detach() for name, value in weights_of(model).items()}
    largest = 0.0
    for name, value in plain.named_parameters():
        first, second = pair(name.removesuffix(".weight"))
        if first in moved:
            gradient = ALPHA / RANK * value.grad
            torch.testing.assert_close(moved[first], before[second].T @ gradient, atol=1e-4, rtol=1e-3)
            torch.testing.assert_close(moved[second], gradient @ before[first].T, atol=1e-4, rtol=1e-3)
            largest = max(largest, float(moved[first].abs().max()))
    assert largest > 0.01


def test_the_divergence_is_from_the_model_without_adapters(random_model: ModelSource) -> None:
    learner = test_policy_gradient.learner_of(random_model, kl=0.5, **LORA)
    move(learner.base.model)
    moved = weights_id(learner.base.model)
    plain, start = merged(random_model, learner.base.model), fresh(random_model)
    rollouts = test_policy_gradient.ROLLOUTS
    wanted = test_policy_gradient.formula(plain, plain, start, rollouts, kl=0.5, cap=4.0)
    without = test_policy_gradient.formula(plain, plain, start, rollouts, kl=0.0, cap=4.0)
    assert learner.step(rollouts, seed=0).loss == pytest.approx(wanted.item(), abs=1e-4)
    assert abs(wanted.item() - without.item()) > 0.01
    assert weights_id(learner.base.model) != moved


def test_a_step_moves_adapters_only(random_model: ModelSource, tokenizer: Any) -> None:
    learner = learner_of(random_model, tokenizer)
    start = {name: value.detach().clone() for name, value in weights_of(learner.model).items()}
    assert learner.step(ONE, seed=0).accepted == 3
    learner.step(TWO, seed=0)
    assert all(not torch.equal(start[name], value) for name, value in weights_of(learner.model).items())
    plain = dict(fresh(random_model).named_parameters())
    base = base_of(learner.model)
    assert base.keys() == plain.keys()
    assert all(torch.equal(base[name], value) for name, value in plain.items())
    assert not learner.model.training


def test_a_learner_that_was_saved_goes_on_as_if_it_had_not_been(
    random_model: ModelSource, tokenizer: Any, tmp_path: Path
) -> None:
    straight = learner_of(random_model, tokenizer)
    start = weights_id(straight.model)
    straight.step(ONE, seed=0)
    middle = weights_id(straight.model)
    straight.save(tmp_path)
    assert load_file(tmp_path / "model.safetensors").keys() == weights_of(straight.model).keys()
    straight.step(TWO, seed=1)
    resumed = learner_of(random_model, tokenizer)
    assert resumed.load(tmp_path) == middle != start
    resumed.step(TWO, seed=1)
    assert weights_id(resumed.model) == weights_id(straight.model) != middle
    resumed.reset()
    assert weights_id(resumed.model) == start
    resumed.step(ONE, seed=0)
    assert weights_id(resumed.model) == middle


def test_the_weights_id_sees_adapters_their_scale_and_what_is_below(
    random_model: ModelSource, tokenizer: Any
) -> None:
    first = learner_of(random_model, tokenizer).model
    other = learner_of(random_model, tokenizer, lora_alpha=ALPHA + 1).model
    assert len({weights_id(model) for model in (first, other, fresh(random_model))}) == 3
    seen = weights_id(first)
    with torch.no_grad():
        first.lm_head.weight[3, 4] += 1e-6
    assert weights_id(first) != seen


@pytest.mark.parametrize(("saved", "loaded"), [(0, RANK), (RANK, 0), (1, RANK)])
def test_weights_of_another_kind_are_refused(
    random_model: ModelSource, tokenizer: Any, tmp_path: Path, saved: int, loaded: int
) -> None:
    learner_of(random_model, tokenizer, lora_rank=saved).save(tmp_path)
    learner = learner_of(random_model, tokenizer, lora_rank=loaded)
    before = weights_id(learner.model)
    words = f"{tmp_path} holds weights of lora_rank = {saved}, but [learner] lora_rank = {loaded} (0 = full weights)"
    with pytest.raises(RuntimeError, match=re.escape(words)):
        learner.load(tmp_path)
    assert weights_id(learner.model) == before


def test_a_rank_needs_a_scale() -> None:
    words = "learner: lora_rank = 4 needs lora_alpha of 1 or more, got 0; lora_alpha = 8 is a usual choice"
    with pytest.raises(InputError, match=words):
        load_profile("smoke", "math", ["learner.lora_rank=4"])
    assert (
        load_profile("smoke", "math", ["learner.lora_rank=4", "learner.lora_alpha=8"]).learner.lora_alpha == 8
    )


def test_the_engine_serves_what_was_learned(random_model: ModelSource) -> None:
    sampling = Sampling()
    values = {"rate": 0.02, "minibatch": 4, "micro_tokens": 512, "clip": 1.0, **LORA}
    agent = Agent(
        random_model,
        sampling,
        EngineSettings(batch=8, refill=0.5, columns=2000, in_flight=8, device="cpu", threads=1),
        LearnerSettings.model_validate(values),
        PolicySettings.model_validate({"cap": 4.0, "kl": 0.001, "warmup": 0}),
    )
    engine = agent.engine
    requests = test_engine.requests_of(engine, test_engine.TALKS["everything"])
    before = test_engine.finish(engine, requests)
    assert agent.learner.model is engine.model
    assert test_engine.finish(engine, requests) == before, "adapters that nobody has trained"
    for seed in range(3):
        assert agent.learn(ONE, seed).accepted == 3
    assert engine.weights_id == weights_id(engine.model) != agent.start_id
    after = test_engine.finish(engine, requests)
    plain = merged(random_model, engine.model)
    torch.testing.assert_close(engine.model(IDS).logits, plain(IDS).logits, atol=1e-4, rtol=0)
    for request in requests:
        assert after[request.key].token_ids == test_engine.sampled(plain, request, sampling)
    assert sum(after[key].token_ids != before[key].token_ids for key in after) > len(after) // 2
    agent.load(State(agent.start_id, None, Harness("")))
    assert test_engine.finish(engine, requests) == before

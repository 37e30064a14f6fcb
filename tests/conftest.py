"""Fixtures for tests with a real model: one random, one trained, the jail and the maths environment.

Nothing heavy is imported before a test asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from envs.cache import cache_dir
from envs.math_env.env import MathEnvironment, MathSettings
from whale.hosting import HarnessHost
from whale.models import ModelSource

settings.register_profile("no time limits", deadline=None)
settings.load_profile("no time limits")


@pytest.fixture(scope="session")
def one_thread() -> None:
    """The models are so small that a second thread only costs time."""
    import torch

    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def tiny_source(one_thread: None) -> ModelSource:
    """The tiny model, which can add a little; trained once (45 s) into the user's cache."""
    from whale.tiny import tiny_model

    return tiny_model(cache_dir())


@pytest.fixture(scope="session")
def random_model(one_thread: None, tmp_path_factory: pytest.TempPathFactory) -> ModelSource:
    """A random model for tests that need no ability; every eighth token ends a turn, so lengths vary."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    from tests.small import tokenizer_of

    directory: Path = tmp_path_factory.mktemp("random-model")
    tokenizer = tokenizer_of()
    torch.manual_seed(1)
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        max_position_embeddings=512,
        initializer_range=0.4,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=0,
        pad_token_id=0,
    )
    model = Qwen3ForCausalLM(config)
    model.generation_config.eos_token_id = list(range(0, len(tokenizer), 8))
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return ModelSource(directory, "random", "random-0")


@pytest.fixture(scope="session")
def host() -> Iterator[HarnessHost]:
    """One jail for harnesses."""
    with HarnessHost() as opened:
        yield opened


@pytest.fixture(scope="session")
def math_env() -> Iterator[MathEnvironment]:
    """The maths environment of the ``smoke`` profile."""
    from bench.config import load_profile

    settings = load_profile("smoke", "math").env
    assert isinstance(settings, MathSettings)
    env = MathEnvironment(settings)
    yield env
    env.close()

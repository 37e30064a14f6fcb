"""Prompts that one sample had are kept: asking again, or going on from there, computes only what is new."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from whale import batch
from whale.batch import pieces
from whale.contract import Message, assistant, user
from whale.engine import Request, Sampling
from whale.models import ModelSource
from whale.starts import LONG
from whale.transformers_engine import TransformersEngine

FIRST = (user("9 - 5 =" + " please" * LONG),)
OTHERS = [(user(f"{number} + {number} =" + " word" * (LONG + number)),) for number in range(4)]


def loaded(source: ModelSource, columns: int = 10_000) -> TransformersEngine:
    engine = TransformersEngine(source.directory, Sampling(temperature=0), columns=columns, device="cpu")
    engine.use("w")
    return engine


def ask(engine: TransformersEngine, *talks: Sequence[Message]) -> list[tuple[int, ...]]:
    """The replies to some conversations, one sample each, all in one wave."""
    for key, talk in enumerate(talks):
        engine.submit(Request(str(key), engine.encode(talk), 5, key))
    made = {completion.key: completion.token_ids for _ in talks for completion in engine.poll()}
    return [made[str(key)] for key in range(len(talks))]


@pytest.fixture
def widths(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The columns that every pass through the model computes, in order; filled while a test runs."""
    seen: list[int] = []
    forward = TransformersEngine._forward

    def watched(engine: TransformersEngine, ids: torch.Tensor, *rest: object) -> torch.Tensor:
        seen.append(ids.shape[1])
        return forward(engine, ids, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(TransformersEngine, "_forward", watched)
    return seen


def test_asking_again_computes_one_token_and_gives_the_same(
    random_model: ModelSource, widths: list[int]
) -> None:
    engine = loaded(random_model)
    first = ask(engine, FIRST)
    assert widths[0] == len(engine.encode(FIRST)) > LONG
    widths.clear()
    assert ask(engine, FIRST) == first
    assert set(widths) == {1}


def test_going_on_computes_only_what_is_new_and_gives_the_same(
    random_model: ModelSource, widths: list[int]
) -> None:
    going = (*FIRST, assistant("4"), user("Are you sure?"))
    engine = loaded(random_model)
    ask(engine, FIRST)
    widths.clear()
    after = ask(engine, going)
    assert max(widths) == len(engine.encode(going)) - (len(engine.encode(FIRST)) - 1)
    assert ask(loaded(random_model), going) == after


@pytest.mark.parametrize("kept", [0, 2, 4])
def test_no_more_is_kept_than_may_lie_idle(random_model: ModelSource, kept: int) -> None:
    longest = max(len(loaded(random_model).encode(talk)) for talk in OTHERS)
    engine = loaded(random_model, columns=2 * kept * longest + 2 * LONG)
    replies = [ask(engine, talk) for talk in OTHERS]
    assert len(engine._starts.known) == kept
    assert sum(map(len, engine._starts.known)) <= engine.columns // 2
    assert [ask(engine, talk) for talk in OTHERS] == replies


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 300)), max_size=60))
def test_prompts_of_like_length_go_through_the_model_together(lengths: list[tuple[int, int]]) -> None:
    prompts = [((0,) * start, (0,) * (start + rest)) for start, rest in lengths]
    made = pieces(prompts)
    assert sorted(pair for piece in made for pair in piece) == sorted(prompts)
    for piece in made:
        rests = [len(prompt) - len(start) for start, prompt in piece]
        assert max(rests) * len(rests) <= batch.PREFILL or len(rests) == 1
        assert max(rests) * len(rests) - sum(rests) <= batch.PADDING

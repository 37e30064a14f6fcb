"""The engine against plain references: no batching, scheduling or caching may change what a request gets."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from whale.contract import Message, assistant, system, user
from whale.engine import Completion, EngineError, Request, Sampling, seed_of
from whale.models import ModelSource
from whale.sampling import draw, stream
from whale.transformers_engine import TransformersEngine

GREEDY = Sampling(temperature=0)
SHARED = (system("You are a careful assistant."), user("Example: 2 + 2 ="), assistant("2 + 2 = \\boxed{4}"))
# fmt: off
TALKS: dict[str, list[Sequence[Message]]] = {
    "lengths": [(user("3 + 4 =" + " one more" * (7 * number % 12)),) for number in range(9)],
    "shared start": [(*SHARED, user(f"{number} + {number * 7} =" + " ?" * number)) for number in range(9)],
    "repeated": [(user(f"{number % 2} - 5 ="),) for number in range(9)],
    "retries": [(*SHARED, user(f"{number // 3} + 5 =" + " please" * 40), assistant(f"{number}"), user("Again."))
                for number in range(9)],
    "alone": [(user("9 - 5 ="),)],
}
TALKS["everything"] = [talk for number in range(9) for name in ("lengths", "shared start", "repeated", "retries")
                       for talk in TALKS[name][number:number + 1]]
# fmt: on


def load(
    source: ModelSource,
    sampling: Sampling = GREEDY,
    *,
    batch: int = 4,
    refill: float = 0.5,
    columns: int = 40_000,
    name: str | None = "w",
) -> TransformersEngine:
    engine = TransformersEngine(
        source.directory, sampling, batch=batch, refill=refill, columns=columns, device="cpu"
    )
    engine.use(name)
    return engine


@pytest.fixture(scope="module")
def plain(random_model: ModelSource) -> Any:
    """The random model, loaded apart from any engine."""
    return load(random_model).model


def finish(engine: TransformersEngine, requests: Sequence[Request]) -> dict[str, Completion]:
    for request in requests:
        engine.submit(request)
    done: dict[str, Completion] = {}
    while made := engine.poll():
        for completion in made:
            assert completion.key not in done
            done[completion.key] = completion
    assert set(done) == {request.key for request in requests}
    return done


def requests_of(engine: TransformersEngine, talks: Sequence[Sequence[Message]]) -> list[Request]:
    rng = random.Random(0)
    return [
        Request(str(index), engine.encode(talk), rng.choice((1, 6, 17, 30)), seed_of(0, index))
        for index, talk in enumerate(talks)
    ]


@cache
def known(model: Any, prompt_ids: tuple[int, ...]) -> tuple[int, ...]:
    """The thirty tokens that follow a prompt; computed once for tests on the same weights."""
    return generated(model, Request("", prompt_ids, 30, 0))


def generated(model: Any, request: Request) -> tuple[int, ...]:
    """What transformers' own ``generate`` makes of one prompt alone."""
    prompt = torch.tensor([request.prompt_ids])
    out = model.generate(
        prompt, attention_mask=torch.ones_like(prompt), do_sample=False, max_new_tokens=request.max_tokens
    )
    return tuple(out[0, prompt.shape[1] :].tolist())


@cache
@torch.inference_mode()
def sampled(model: Any, request: Request, sampling: Sampling) -> tuple[int, ...]:
    """One request alone, the whole text computed anew for every token."""
    stops = model.generation_config.eos_token_id
    ids: list[int] = []
    for uniform in stream(request.seed, request.max_tokens):
        logits = model(torch.tensor([[*request.prompt_ids, *ids]])).logits[:, -1]
        ids.append(int(draw(logits, torch.tensor([0]), torch.tensor([uniform]), sampling)))
        if ids[-1] in stops:
            break
    return tuple(ids)


@pytest.mark.parametrize("refill", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("batch", [1, 4, 64])
def test_greedy_is_generate(random_model: ModelSource, plain: Any, batch: int, refill: float) -> None:
    engine = load(random_model, batch=batch, refill=refill)
    for name, talks in TALKS.items():
        if batch != 4 and name != "everything":
            continue
        requests = requests_of(engine, talks)
        done = finish(engine, requests)
        for request in requests:
            made = done[request.key]
            assert made.token_ids == known(plain, request.prompt_ids)[: request.max_tokens], (
                name,
                request.key,
            )
            stopped = made.token_ids[-1] in engine.model.generation_config.eos_token_id
            assert made.finish == ("stop" if stopped else "length")
            assert stopped or len(made.token_ids) == request.max_tokens
            assert made.prompt_tokens == len(request.prompt_ids)
            assert made.weights_id == "w"
    assert engine.poll() == []


def test_what_retries_share_is_kept_in_levels(random_model: ModelSource) -> None:
    engine = load(random_model, batch=64)
    for request in requests_of(engine, TALKS["retries"]):
        engine.submit(request)
    engine.poll()
    levels = engine._starts.shared([path.start for path in engine._paths if path], engine.device)
    assert [len(starts) for _, starts in levels][:2] == [1, 3], "the examples once, then each question once"


@pytest.mark.parametrize(("batch", "refill"), [(3, 0.5), (8, 0.0), (2, 1.0)])
def test_requests_that_come_while_others_run_are_served_alike(
    random_model: ModelSource, plain: Any, batch: int, refill: float
) -> None:
    engine = load(random_model, batch=batch, refill=refill)
    talks = requests_of(engine, TALKS["everything"])
    whole = engine.encode(TALKS["shared start"][3])
    # Prompts that are the start of one another, down to a single token.
    starts = [Request(f"start {size}", whole[:size], 12, size) for size in (1, 2, 9, 20, 21, len(whole))]
    waiting = [*talks[:3], *starts, *talks[3:]]
    done: dict[str, Completion] = {}
    wanted = {request.key: request for request in waiting}
    while waiting or len(done) < len(wanted):
        for request in waiting[:3]:
            engine.submit(request)
        waiting = waiting[3:]
        done |= {completion.key: completion for completion in engine.poll()}
    assert engine.poll() == []
    for key, request in wanted.items():
        assert done[key].token_ids == known(plain, request.prompt_ids)[: request.max_tokens], key


def test_both_ways_of_finishing_occur(random_model: ModelSource) -> None:
    engine = load(random_model)
    done = finish(engine, requests_of(engine, TALKS["everything"]))
    assert {made.finish for made in done.values()} == {"stop", "length"}
    assert len({len(made.token_ids) for made in done.values()}) > 4


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(0.7, 0.9, 0)], ids=["top-k", "top-p"])
@pytest.mark.parametrize(("batch", "refill"), [(3, 0.5), (64, 0.0), (5, 1.0)])
def test_a_sample_does_not_depend_on_its_neighbours(
    random_model: ModelSource, plain: Any, sampling: Sampling, batch: int, refill: float
) -> None:
    engine = load(random_model, sampling, batch=batch, refill=refill)
    requests = requests_of(engine, TALKS["everything"])
    done = finish(engine, requests)
    for request in requests:
        assert done[request.key].token_ids == sampled(plain, request, sampling)


@pytest.mark.parametrize(("columns", "refill"), [(1, 0.5), (150, 1.0), (400, 0.0), (400, 0.8)])
def test_few_columns_and_short_prefills_change_nothing(
    random_model: ModelSource, plain: Any, monkeypatch: pytest.MonkeyPatch, columns: int, refill: float
) -> None:
    monkeypatch.setattr("whale.batch.PREFILL", 70)
    engine = load(random_model, Sampling(), batch=64, refill=refill, columns=columns)
    requests = requests_of(engine, TALKS["everything"])
    most, step = 0, engine._step

    def watched() -> list[Completion]:
        nonlocal most
        under_way = [
            (path.start, sample.request) for path in engine._paths if path for sample in path.samples
        ]
        used = sum(len(one.prompt_ids) - len(start) + one.max_tokens for start, one in under_way)
        most = max(most, used if len(under_way) > 1 else 0)
        return step()

    monkeypatch.setattr(engine, "_step", watched)
    done = finish(engine, requests)
    assert most <= columns
    for request in requests:
        assert done[request.key].token_ids == sampled(plain, request, Sampling())


def test_eight_samples_differ_and_repeat_exactly(random_model: ModelSource) -> None:
    engine = load(random_model, Sampling(), batch=8)
    prompt = engine.encode([user("3 + 4 =")])
    requests = [Request(str(index), prompt, 20, seed_of("run", "w", "task", index)) for index in range(8)]
    first, second = finish(engine, requests), finish(engine, requests[::-1])
    assert first == second
    assert len({made.token_ids for made in first.values()}) == 8


def test_the_end_of_turn_is_kept_as_a_token_and_not_as_text(tiny_source: ModelSource) -> None:
    engine = load(tiny_source)
    prompt = engine.encode([user("State the final answer to the following arithmetic problem: 3 + 4 =")])
    whole, cut = finish(engine, [Request("whole", prompt, 40, 0), Request("cut", prompt, 3, 0)]).values()
    if whole.key == "cut":
        whole, cut = cut, whole
    assert whole.finish == "stop"
    assert whole.token_ids[-1] == engine.tokenizer.eos_token_id
    assert whole.text == engine.decode(whole.token_ids[:-1])
    assert engine.decode(whole.token_ids) == whole.text + "<|im_end|>"
    assert (cut.finish, cut.token_ids) == ("length", whole.token_ids[:3])


def test_a_conversation_becomes_the_templates_tokens(random_model: ModelSource) -> None:
    engine = load(random_model)
    talk = [system("be brief"), user("2 + 2"), assistant("4"), user("why?")]
    ids = engine.encode(talk)
    turns = [{"role": message.role, "content": message.content} for message in talk]
    assert list(ids) == engine.tokenizer.apply_chat_template(turns, add_generation_prompt=True)["input_ids"]
    assert engine.decode(ids).endswith("<|im_start|>user\nwhy?<|im_end|>\n<|im_start|>assistant\n")


@torch.no_grad()
def test_new_weights_are_used_at_once_and_no_old_cache_survives(random_model: ModelSource) -> None:
    engine = load(random_model, batch=64)
    requests = requests_of(engine, TALKS["shared start"])
    before = finish(engine, requests)
    assert finish(engine, requests) == before
    generator = torch.Generator().manual_seed(0)
    for weight in engine.model.parameters():
        weight += 0.2 * torch.randn(weight.shape, generator=generator)
    engine.use("other")
    after = finish(engine, requests)
    for request in requests:
        assert after[request.key].token_ids == generated(engine.model, request)
        assert after[request.key].weights_id == "other"
    assert sum(after[key].token_ids != before[key].token_ids for key in after) > len(after) // 2


def test_nothing_is_generated_without_named_weights(random_model: ModelSource) -> None:
    engine = load(random_model, name=None)
    request = Request("a", engine.encode([user("hello")]), 4, 0)
    with pytest.raises(EngineError, match="no weights are loaded"):
        engine.submit(request)
    engine.use("w")
    assert finish(engine, [request])["a"].weights_id == "w"
    engine.use(None)
    with pytest.raises(EngineError, match="no weights are loaded"):
        engine.submit(request)


def test_weights_cannot_change_under_unfinished_requests(random_model: ModelSource) -> None:
    engine = load(random_model, batch=1)
    prompt = engine.encode([user("hello")])
    for key in "ab":
        engine.submit(Request(key, prompt, 5, 0))
    with pytest.raises(EngineError, match="2 requests are unfinished"):
        engine.use("other")
    (first,) = engine.poll()
    with pytest.raises(EngineError, match="1 requests are unfinished"):
        engine.use("other")
    assert first.key == "a"
    assert [made.key for made in engine.poll()] == ["b"]
    engine.use("other")


def test_requests_that_cannot_fit_are_refused(random_model: ModelSource) -> None:
    engine = load(random_model)
    limit = engine.model.config.max_position_embeddings
    with pytest.raises(
        EngineError, match=f"request long: 500 prompt \\+ 13 new tokens exceed the model's {limit}"
    ):
        engine.submit(Request("long", (5,) * 500, 13, 0))
    with pytest.raises(EngineError, match="needs a prompt and at least one token"):
        engine.submit(Request("none", (5,), 0, 0))
    with pytest.raises(EngineError, match="needs a prompt and at least one token"):
        engine.submit(Request("empty", (), 3, 0))
    assert engine.poll() == []
    fits = Request("fits", (5,) * 500, 12, 0)
    assert finish(engine, [fits])["fits"].token_ids == generated(engine.model, fits)


def test_seeds_come_from_all_parts() -> None:
    parts = [
        (0, "w", "t", 0),
        (1, "w", "t", 0),
        (0, "x", "t", 0),
        (0, "w", "u", 0),
        (0, "w", "t", 1),
        (0, "wt", 0),
    ]
    seeds = {seed_of(*part) for part in parts}
    assert len(seeds) == len(parts)
    assert all(0 <= seed < 2**64 for seed in seeds)
    assert seed_of(0, "w", "t", 0) == 4642207089346540761
    assert not np.array_equal(stream(1, 4), stream(2, 4))

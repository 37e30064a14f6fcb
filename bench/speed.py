"""Rollouts a second: the suite's engine beside a plain ``model.generate`` loop in batches of 16.

Same prompts, sampling and processor; the two alternate so that a drifting machine hits both. Run it on a quiet
machine: ``python -m bench.speed --profile cpu``. Prints every round, the medians and their ratio.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

import torch

from bench.config import load_profile
from bench.profile_site import commit
from envs.base import Environment
from envs.table import environment_class
from whale.contract import Chat, Problem
from whale.engine import Request, Sampling, seed_of
from whale.models import resolve
from whale.store import write_json
from whale.transformers_engine import TransformersEngine

PLAIN_BATCH = 16


def prompts_of(env: Environment, engine: TransformersEngine, count: int) -> list[tuple[int, ...]]:
    """The first prompt that the starting harness makes of each of ``count`` training tasks."""
    from whale.harnesses.math_h0 import solve

    found = []
    for task in env.tasks("weight")[:count]:
        first = next(solve(Problem(task.question, env.tools)))
        assert isinstance(first, Chat)
        found.append(engine.encode(first.messages))
    return found


def suite(
    engine: TransformersEngine, prompts: Sequence[tuple[int, ...]], samples: int, tokens: int
) -> tuple[float, int]:
    """(seconds, generated tokens) of all samples through submit and poll."""
    began, made = time.perf_counter(), 0
    for index, prompt in enumerate(prompts):
        for sample in range(samples):
            engine.submit(Request(f"{index}/{sample}", prompt, tokens, seed_of(index, sample)))
    while finished := engine.poll():
        made += sum(len(completion.token_ids) for completion in finished)
    return time.perf_counter() - began, made


@torch.inference_mode()
def plain(
    engine: TransformersEngine, prompts: Sequence[tuple[int, ...]], samples: int, tokens: int
) -> tuple[float, int]:
    """The same with ``model.generate``: left-padded batches of 16, nothing shared."""
    began, made = time.perf_counter(), 0
    rows = [prompt for prompt in prompts for _ in range(samples)]
    stop = engine.tokenizer.eos_token_id
    for first in range(0, len(rows), PLAIN_BATCH):
        batch = rows[first : first + PLAIN_BATCH]
        width = max(map(len, batch))
        ids = torch.tensor([[stop] * (width - len(row)) + list(row) for row in batch])
        mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in batch])
        out = engine.model.generate(
            ids,
            attention_mask=mask,
            max_new_tokens=tokens,
            do_sample=True,
            temperature=engine.sampling.temperature,
            top_p=engine.sampling.top_p,
            top_k=engine.sampling.top_k,
            pad_token_id=stop,
        )
        for row in out[:, width:].tolist():
            made += row.index(stop) + 1 if stop in row else len(row)
    return time.perf_counter() - began, made


def main() -> None:
    """Run the comparison and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", default="cpu")
    parser.add_argument("--prompts", type=int, default=32)
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--refill", default="0,0.5,0.9", help="refill settings to try: 0 = whole waves")
    parser.add_argument("--batch", type=int, default=0, help="0: the profile's")
    parser.add_argument("--save", type=Path, help="also write rates and ratios to this JSON file")
    chosen = parser.parse_args()
    profile = load_profile(chosen.profile, "math")
    settings = profile.rollout
    sampling = Sampling(settings.temperature, settings.top_p, settings.top_k)
    env = environment_class("math")(profile.env)
    engine = TransformersEngine(
        resolve(profile.model.source).directory,
        sampling,
        batch=chosen.batch or profile.engine.batch,
        device=profile.engine.device,
    )
    engine.use("speed")
    prompts = prompts_of(env, engine, chosen.prompts)
    total = len(prompts) * chosen.samples
    print(
        f"{len(prompts)} prompts x {chosen.samples} samples, at most {settings.tokens} tokens, {engine.device}, "
        f"{torch.get_num_threads()} threads, load {os.getloadavg()[0]:.1f}"
    )
    rates: dict[str, list[float]] = {}
    for round_ in range(chosen.rounds):
        for refill in map(float, chosen.refill.split(",")):
            engine.refill = refill
            seconds, made = suite(engine, prompts, chosen.samples, settings.tokens)
            _tell(rates, f"suite, refill {refill:g}", round_, total, seconds, made)
        seconds, made = plain(engine, prompts, chosen.samples, settings.tokens)
        _tell(rates, f"generate, batches of {PLAIN_BATCH}", round_, total, seconds, made)
    base = statistics.median(rates[f"generate, batches of {PLAIN_BATCH}"])
    for name, row in rates.items():
        print(
            f"{name}: median {statistics.median(row):.2f} rollouts/s, ratio {statistics.median(row) / base:.2f}"
        )
    if chosen.save:
        setting = {"prompts": len(prompts), "samples": chosen.samples, "tokens": settings.tokens}
        medians = {name: round(statistics.median(row), 2) for name, row in rates.items()}
        ratios = {name: round(rate / base, 2) for name, rate in medians.items()}
        body = {"commit": commit(), "setting": setting, "rollouts_per_second": medians, "ratio": ratios}
        write_json(chosen.save, {**body, "threads": torch.get_num_threads(), "rounds": chosen.rounds})
    env.close()


def _tell(
    rates: dict[str, list[float]], name: str, round_: int, total: int, seconds: float, made: int
) -> None:
    rates.setdefault(name, []).append(total / seconds)
    print(
        f"round {round_}: {name}: {total / seconds:.2f} rollouts/s, {made / seconds:.0f} tokens/s", flush=True
    )


if __name__ == "__main__":
    main()

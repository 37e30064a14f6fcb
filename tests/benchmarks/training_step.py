"""One training step of the suite beside TRL's own trainer on the same rows: time and peak memory.

``python tests/benchmarks/training_step.py``: every way in processes of its own, by turns, on SmolLM2 and rows that the
starting harness makes of training tasks with their right answers. Run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.config import load_profile
from bench.profile_site import commit
from envs.table import environment_class
from whale.contract import Chat, Problem
from whale.rows import Row
from whale.store import write_json

WAYS = {
    "suite": "rows packed, logits for trained tokens only",
    "suite, all logits": "the same with logits for every token",
    "suite, rows apart": "no two rows in a pack",
    "trl": "SFTTrainer, padded micro-batches of 16 rows, about as many tokens as a pack",
}
TRL_ROWS = 16
TASKS, SAMPLES = 16, 4
"""Distinct questions, and how often each answer occurs, as when several samples of one task are right."""


def rows_for(engine: Any, profile: Any) -> list[Row]:
    """Every task's first prompt and its right answer, ``SAMPLES`` times with other words."""
    from whale.harnesses.math_h0 import solve

    env = environment_class("math")(profile.env)
    stop = engine.tokenizer.eos_token_id
    rows = []
    for task in env.tasks("weight")[:TASKS]:
        first = next(solve(Problem(task.question, env.tools)))
        assert isinstance(first, Chat)
        prompt = engine.encode(first.messages)
        for sample in range(SAMPLES):
            text = f"{'So ' * sample}\\boxed{{{task.gold}}}"
            reply = (*engine.tokenizer(text, add_special_tokens=False)["input_ids"], stop)
            rows.append(Row((*prompt, *reply), (*(False,) * len(prompt), *(True,) * len(reply))))
    env.close()
    return rows


def suite_step(engine: Any, profile: Any, rows: list[Row], way: str) -> float:
    """Seconds of one step of the suite's learner."""
    from whale import trl_step
    from whale.packs import packed
    from whale.rsft import RsftLearner, likelihood

    if way == "suite, all logits":
        trl_step.log_probabilities = _all_logits
    learner = RsftLearner(engine.model, engine.tokenizer, profile.learner)
    total = sum(row.trained for row in rows)
    size = 1 if way == "suite, rows apart" else profile.learner.micro_tokens
    began = time.perf_counter()
    packs = [pack.tensors() for pack in packed([(row, (1 / total,)) for row in rows], size)]
    learner.update(packs, likelihood)
    return time.perf_counter() - began


def _all_logits(model: Any, inputs: dict[str, Any]) -> Any:
    import torch

    hidden = model.get_decoder()(
        input_ids=inputs["input_ids"],
        attention_mask=inputs["attention_mask"],
        position_ids=inputs["position_ids"],
        use_cache=False,
    ).last_hidden_state[0]
    logits = model.get_output_embeddings()(hidden).float()[inputs["before"]]
    return -torch.nn.functional.cross_entropy(logits, inputs["labels"], reduction="none")


def trl_way(engine: Any, profile: Any, rows: list[Row]) -> float:
    """Seconds of the same step by TRL's trainer with its own loss on padded rows."""
    import torch
    from datasets import Dataset
    from transformers import PrinterCallback
    from trl.trainer.sft_config import SFTConfig
    from trl.trainer.sft_trainer import SFTTrainer

    labels = [[token if own else -100 for token, own in zip(row.ids, row.mask, strict=True)] for row in rows]
    data = Dataset.from_dict({"input_ids": [list(row.ids) for row in rows], "labels": labels})
    optimizer = torch.optim.AdamW(engine.model.parameters(), lr=profile.learner.rate, weight_decay=0.0)
    with tempfile.TemporaryDirectory() as scratch:
        config = SFTConfig(
            output_dir=scratch, per_device_train_batch_size=TRL_ROWS, gradient_accumulation_steps=len(rows) // TRL_ROWS,
            num_train_epochs=1, max_length=None, bf16=False, use_cpu=True, gradient_checkpointing=False,
            report_to="none", save_strategy="no", logging_strategy="no", disable_tqdm=True,
            max_grad_norm=profile.learner.clip, dataloader_pin_memory=False,
        )  # fmt: skip
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda _: 1.0)
        began = time.perf_counter()
        trainer = SFTTrainer(
            model=engine.model, args=config, train_dataset=data, processing_class=engine.tokenizer,
            optimizers=(optimizer, scheduler),
        )  # fmt: skip
        trainer.remove_callback(PrinterCallback)
        trainer.train()
        return time.perf_counter() - began


def measure(way: str) -> None:
    """One step in this process; prints seconds, peak and what was held before it, in JSON."""
    import trl.trainer.sft_trainer  # noqa: F401  (loading it is not part of a step)

    from whale.engine import Sampling
    from whale.models import resolve
    from whale.transformers_engine import TransformersEngine

    profile = load_profile("cpu", "math")
    engine = TransformersEngine(resolve(profile.model.source).directory, Sampling(), batch=8, device="cpu")
    engine.use("speed")
    rows = rows_for(engine, profile)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = trl_way(engine, profile, rows) if way == "trl" else suite_step(engine, profile, rows, way)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"seconds": seconds, "before": before / 2**20, "peak": peak / 2**20}))


def main() -> None:
    """Measure all ways by turns, print, and save if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--way", choices=WAYS, help="only this one, in this process")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--save", type=Path, help="also write the figures to this JSON file")
    chosen = parser.parse_args()
    if chosen.way:
        measure(chosen.way)
        return
    print(f"{TASKS} tasks x {SAMPLES} rows, load {os.getloadavg()[0]:.1f}")
    found: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    for _ in range(chosen.rounds):
        for way in WAYS:
            command = [sys.executable, __file__, "--way", way]
            out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            found[way].append(json.loads(out.strip().splitlines()[-1]))
            print(way, found[way][-1], flush=True)
    medians = {
        way: {key: round(statistics.median(row[key] for row in rows), 2) for key in ("seconds", "peak")}
        for way, rows in found.items()
    }
    for way, row in medians.items():
        print(f"{way} ({WAYS[way]}): {row['seconds']} s, {row['peak']} GiB; "
              f"{row['seconds'] / medians['trl']['seconds']:.2f} x TRL's time, "
              f"{row['peak'] / medians['trl']['peak']:.2f} x its memory")  # fmt: skip
    if chosen.save:
        body = {"commit": commit(), "tasks": TASKS, "rows": TASKS * SAMPLES, "rounds": chosen.rounds}
        write_json(chosen.save, {**body, "median": medians})


if __name__ == "__main__":
    main()

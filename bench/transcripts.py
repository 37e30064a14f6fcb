"""Read transcripts of a run's rollouts on the terminal. Reads files only; needs no model."""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter
from rich.console import Console

from bench.result_file import load
from envs.base import InputError, Verdict
from whale.records import Rollout
from whale.store import Log

_ROLLOUT = TypeAdapter(Rollout)


def show(
    console: Console, folder: Path, method: str, seed: int, *, verdict: str, block: str, count: int
) -> None:
    """Print up to ``count`` rollouts of a run, filtered by verdict and block purpose.

    Raises ``InputError`` when the run, the verdict or a matching rollout does not exist.
    """
    known = [item.value for item in Verdict]
    if verdict and verdict not in known:
        raise InputError(f"unknown verdict {verdict!r}; known: {', '.join(known)}")
    result_file = folder / method / f"s{seed}" / f"{method}-s{seed}.json"
    if not result_file.is_file():
        found = sorted(str(path.relative_to(folder)) for path in folder.glob("*/s*/*-s*.json"))
        raise InputError(
            f"no finished run {method} s{seed} in {folder}; there: {', '.join(found) or 'none'}. Give a folder that "
            "`python -m bench run` filled, such as runs/cpu/math"
        )
    result = load(result_file)
    weights = {point.weights_id for point in result.checkpoints}
    harnesses = {row.harness_id for row in result.checkpoints} | {row.harness_id for row in result.candidates}
    shown = 0
    part = f"*{block.replace(' ', '-')}" if block else ""
    for path in sorted((folder / "cache" / "rollouts").glob(f"{part}*-s{seed}-*.jsonl")):
        for line in Log(path).lines():
            rollout = _ROLLOUT.validate_json(line)
            ours = rollout.weights_id in weights and rollout.harness_id in harnesses
            if not ours or (verdict and rollout.score.verdict != verdict):
                continue
            _print(console, rollout, path.stem)
            shown += 1
            if shown == count:
                return
    if not shown:
        raise InputError(
            f"no rollout of {method} s{seed} matches verdict {verdict or 'any'}, block {block or 'any'}"
        )


def _print(console: Console, rollout: Rollout, purpose: str) -> None:
    console.rule(
        f"{purpose}  task {rollout.task_id} sample {rollout.sample}  weights {rollout.weights_id}  "
        f"harness {rollout.harness_id}",
        style="dim",
    )
    for call in rollout.calls:
        for message in call.messages:
            console.print(f"[{message.role}] {message.content}", markup=False, highlight=False)
        for text, finish in zip(call.texts, call.finishes, strict=True):
            console.print(f"[model, {finish}] {text}", markup=False, highlight=False, style="cyan")
    for tool in rollout.tools:
        console.print(f"[tool {tool.name}] {tool.arguments} -> {tool.result}", markup=False, highlight=False)
    score = rollout.score
    console.print(
        f"answer read: {score.answer!r}  verdict: {score.verdict.value} {score.detail}",
        markup=False,
        style="bold",
    )

"""Made-up result files for tests: plausible shapes and counts, no model behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bench.result_file import (
    CandidateRow,
    Checkpoint,
    Cross,
    HarnessRow,
    ResultFile,
    SpendRow,
    TrainRow,
)
from envs.base import Verdict

FAMILIES = ("chain_sum", "fractions", "gcd", "number_sequence")
H0 = "def solve(problem):\n    reply = yield Chat([user(problem.question)])\n    return reply.text\n"
H1 = H0.replace(
    "    return", "    if not reply.text:\n        reply = yield Chat([user('again')])\n    return"
)

GAINS: dict[str, Sequence[float]] = {
    "frozen": (0.0,),
    "harness_only": (0.0, 0.05, 0.06, 0.07),
    "weight_only": (0.0, 0.06, 0.11, 0.10),
    "whale": (0.0, 0.06, 0.16, 0.22),
}
"""Method -> gain in accuracy at each checkpoint."""

ARMS: dict[str, tuple[str, Sequence[float]]] = {
    "frozen": ("", (0.0,)),
    "attempts": ("aa", (0.0, 0.04, 0.07)),
    "refinement": ("r", (0.0, 0.02)),
    "weight_only": ("www", (0.0, 0.06, 0.11, 0.10)),
    "grpo": ("www", (0.0, 0.05, 0.12, 0.14)),
    "harness_only": ("hhh", (0.0, 0.09, 0.16, 0.25)),
    "stagewise_reversed": ("hww", (0.0, 0.09, 0.13, 0.15)),
    "stagewise": ("wwh", (0.0, 0.06, 0.11, 0.19)),
    "fst_control": ("whw", (0.0, 0.06, 0.08, 0.12)),
    "split_evidence": ("whw", (0.0, 0.06, 0.14, 0.18)),
    "fst": ("hwhw", (0.0, 0.03, 0.07, 0.10, 0.13)),
    "whale": ("whw", (0.0, 0.06, 0.16, 0.22)),
    "whale_adaptive": ("whw", (0.0, 0.08, 0.17, 0.24)),
}
"""Every method of the project -> its phases after the start (``LETTERS``), its gain at each checkpoint."""
LETTERS = {"w": "weight", "h": "search", "a": "attempts", "r": "refine"}


def counts(correct: int, samples: int, other: Verdict = Verdict.WRONG) -> dict[Verdict, int]:
    """Verdict counts of one question with ``correct`` of ``samples`` right."""
    return {Verdict.CORRECT: correct, other: samples - correct}


def one_result(
    method: str = "whale",
    seed: int = 0,
    *,
    select: Sequence[Sequence[int]] = ((0,), (1,)),
    test: Sequence[Sequence[int]] = ((0,), (1,)),
    samples: int = 8,
    step: int = 100,
    budget: int | None = None,
    prefix: str = "q",
) -> ResultFile:
    """A small file from correct counts, ``[checkpoint][question]``; other samples are wrong."""
    phases = ["start", *(["weight", "search"] * len(select))]
    points = [
        Checkpoint(
            index=i,
            phase=phases[i],  # type: ignore[arg-type]
            weights_id=f"w{i}",
            harness_id="h0",
            charged=SpendRow(rollouts=i * step, completion_tokens=i * step * 50),
            select={f"{prefix}s{j}": counts(c, samples) for j, c in enumerate(select[i])},
            test={f"{prefix}t{j}": counts(c, samples) for j, c in enumerate(test[i])},
        )
        for i in range(len(select))
    ]
    questions = [*points[0].select, *points[0].test]
    return ResultFile(
        profile="smoke", env="math", method=method, seed=seed, samples=samples,
        budget=(len(select) - 1) * step if budget is None else budget,
        switches={}, provenance={}, families={q: "chain_sum" for q in questions},
        checkpoints=points, ledger={}, training=[], candidates=[],
        harnesses={"h0": HarnessRow(source=H0, parent=None, edit="h0")},
    )  # fmt: skip


def many_results(
    seeds: Sequence[int] = (0, 1, 2),
    gains: Mapping[str, Sequence[float]] = GAINS,
    *,
    questions: int = 60,
    samples: int = 8,
) -> list[ResultFile]:
    """A whole benchmark: every method and seed, with families, training and search rows."""
    return [_run(method, seed, gains[method], questions, samples) for method in gains for seed in seeds]


def full_results(seeds: Sequence[int] = (0, 1, 2), arms: Sequence[str] = tuple(ARMS)) -> list[ResultFile]:
    """All methods of the project, with what only newer files hold: evaluation, prices, 2x2, overshoot."""
    return [_full(method, seed) for method in arms for seed in seeds]


def served(result: ResultFile, tokens: Sequence[int], attempts: Sequence[int] | None = None) -> ResultFile:
    """The file with what evaluation took: tokens and attempts a sample, for each checkpoint."""
    points = []
    for point, each, tries in zip(result.checkpoints, tokens, attempts or [1] * len(tokens), strict=True):
        samples = result.samples * (len(point.select) + len(point.test))
        spend = SpendRow(
            rollouts=tries * samples, model_calls=2 * tries * samples, completion_tokens=each * samples
        )
        points.append(point.model_copy(update={"evaluation": spend}))
    return result.model_copy(update={"checkpoints": points})


def _full(method: str, seed: int) -> ResultFile:
    letters, gain = ARMS[method]
    free = not set(letters) & set("wh")
    plain = _run(method, seed, gain, questions=60, samples=8)
    total, number = 1536, len(gain) - 1
    points = []
    for i, point in enumerate(plain.checkpoints):
        spend = 0 if free else total * i // number
        changed = {
            "phase": LETTERS[letters[i - 1]] if i else "start",
            "harness_id": "h1" if "h" in letters[:i] else "h0",
            "charged": SpendRow(rollouts=spend, completion_tokens=spend * (60 + 5 * seed)),
        }
        points.append(point.model_copy(update=changed))
    searches = letters.count("h")
    candidates = [
        row.model_copy(
            update={"phase": i, "iteration": row.iteration if method != "fst" else row.iteration * 2}
        )
        for i, letter in enumerate(letters, 1)
        if letter == "h"
        for row in _candidates("whale")
    ]
    update = {
        "budget": 0 if free else total,
        "checkpoints": points,
        "prices": {"step": 64, "examples": 24, "candidates": 2},
        "overshoot": 3 + seed if method == "fst" else 0,
        "ledger": {
            **plain.ledger,
            "search": SpendRow(rollouts=searches * 120),
            "confirm": SpendRow(rollouts=searches * 72),
        },
        "training": _training("whale", letters.count("w") + 1),
        "candidates": candidates,
        "cross": _cross(points) if {"w", "h"} <= set(letters) else [],
    }
    tries = [1, 2, 4] if method == "attempts" else [1] * len(gain)
    tokens = [14 * n for n in tries] if free else [14 + 9 * i for i in range(len(gain))]
    return served(plain.model_copy(update=update), tokens, tries)


def _cross(points: Sequence[Checkpoint]) -> list[Cross]:
    first, last = points[0], points[-1]
    return [
        Cross(weights_id=last.weights_id, harness_id=first.harness_id, test=points[1].test),
        Cross(weights_id=first.weights_id, harness_id=last.harness_id, test=points[2].test),
    ]


def _run(method: str, seed: int, gain: Sequence[float], questions: int, samples: int) -> ResultFile:
    ease_Q = np.random.default_rng(7).beta(0.8, 1.2, size=2 * questions)
    rng = np.random.default_rng([sum(method.encode()), seed])
    select = [f"select{i:03d}" for i in range(questions)]
    test = [f"test{i:03d}" for i in range(questions)]
    points, spend = [], SpendRow()
    for index, up in enumerate(gain):
        if index:
            spend = SpendRow(
                rollouts=spend.rollouts + 512,
                completion_tokens=spend.completion_tokens + 512 * int(rng.integers(60, 90)),
            )
        rows = {
            q: _sampled(rng, min(1.0, max(0.0, p + up + rng.normal(0, 0.05))), samples)
            for q, p in zip([*select, *test], ease_Q, strict=True)
        }
        searched = method in ("whale", "harness_only") and index >= 2
        points.append(
            Checkpoint(
                index=index,
                phase="start" if not index else ("search" if searched else "weight"),
                weights_id=f"{method}-w{index}", harness_id="h1" if searched else "h0", charged=spend,
                select={q: rows[q] for q in select}, test={q: rows[q] for q in test},
            )
        )  # fmt: skip
    return ResultFile(
        profile="cpu", env="math", method=method, seed=seed, samples=samples,
        budget=512 * (len(gain) - 1), switches={"accept": "confirm", "verifier": "robust"},
        provenance={"commit": "0123abc", "command": f"python -m bench run {method}", "model": "fake"},
        families={q: FAMILIES[i % len(FAMILIES)] for i, q in enumerate([*select, *test])},
        checkpoints=points,
        ledger={"train": spend, "eval": SpendRow(rollouts=2 * questions * samples * len(gain))},
        training=_training(method, len(gain)),
        candidates=_candidates(method),
        harnesses={
            "h0": HarnessRow(source=H0, parent=None, edit="h0"),
            "h1": HarnessRow(source=H1, parent="h0", edit="retry_on_empty"),
        },
    )  # fmt: skip


def _sampled(rng: np.random.Generator, p: float, samples: int) -> dict[Verdict, int]:
    correct = int(rng.binomial(samples, p))
    lost = int(rng.binomial(samples - correct, 0.2))
    return {
        Verdict.CORRECT: correct,
        Verdict.WRONG: samples - correct - lost,
        Verdict.NO_ANSWER: lost,
    }


def _training(method: str, steps: int) -> list[TrainRow]:
    if method not in ("whale", "weight_only"):
        return []
    return [
        TrainRow(step=i, rollouts=512, accepted=200 + i, truncated=3, reward=0.4, loss=0.9 - 0.1 * i)
        for i in range(steps - 1)
    ]


def _candidates(method: str) -> list[CandidateRow]:
    if method not in ("whale", "harness_only"):
        return []
    rows: list[tuple[str, str | None, str, float | None, float | None, bool]] = [
        ("h0", None, "h0", 0.40, 0.41, False),
        ("h1", "h0", "retry_on_empty", 0.47, 0.45, True),
        ("h2", "h0", "vote", None, None, False),
    ]
    return [
        CandidateRow(
            phase=2, iteration=i, harness_id=h, parent=parent, edit=edit, screen=screen, confirm=confirm,
            accepted=accepted,
        )
        for i, (h, parent, edit, screen, confirm, accepted) in enumerate(rows)
    ]  # fmt: skip

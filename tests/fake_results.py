"""Made-up result files for tests: plausible shapes and counts, no model behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bench.result_file import (
    CandidateRow,
    Checkpoint,
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

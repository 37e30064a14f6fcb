"""Paired comparisons of the methods of one profile and environment.

The declared family is: whale against every other method, whale_adaptive against whale, and every method
against frozen. All of it is adjusted by Holm. Nothing outside the result files is used; ``conclusion`` puts
it in words.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bench.budgets import CommonSpend, Unequal, at_spend, common_spend
from bench.result_file import ResultFile
from bench.selection import FloatArray, RunChoice, by_method, question_means
from bench.stats import (
    PairedDifference,
    RunTest,
    detectable_difference,
    hierarchical_interval,
    holm,
    paired_difference,
    sign_flip_over_runs,
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """``better`` minus ``reference`` on test (fractions, not points), at the selected checkpoints.

    Of a pair that was charged differently, both systems are those at the common spend instead.
    """

    better: str
    """The method whose advantage a positive difference shows."""
    reference: str
    seeds: tuple[int, ...]
    """Seeds that both methods ran; empty when they share none, and then nothing is defined."""
    question: PairedDifference
    """Over questions, each averaged over the shared seeds: about these trained systems."""
    run: RunTest
    """Over seeds: about the methods."""
    hierarchical: tuple[float, float] | None
    """95 % interval with runs and questions both varying."""
    detectable: float | None
    """Smallest difference that these questions show with 80 % power."""
    means: tuple[float, float] | None = None
    """Accuracies of the two that are compared, ``better`` first."""
    common: CommonSpend | None = None
    """Where the two were charged differently: the spend at which they are compared."""
    question_holm: float | None = None
    run_holm: float | None = None

    @property
    def label(self) -> str:
        """``better`` against ``reference``, as printed."""
        return f"{self.better} - {self.reference}"


def compare(
    results: Sequence[ResultFile], seed: int = 0, unequal: Unequal = "interpolate"
) -> list[Comparison]:
    """All declared comparisons, with Holm-adjusted p-values.

    ``seed`` starts one private generator per comparison, so a further method changes no other interval.
    ``unequal``: pairs that were charged differently are compared at a common spend, or refused. Raises
    ``InputError`` when the files cannot be compared.
    """
    methods = by_method(results)
    plain = [_compare(methods, a, b, seed, unequal) for a, b in declared(list(methods))]
    question = holm([c.question.p for c in plain])
    run = holm([c.run.p for c in plain])
    return [replace(c, question_holm=q, run_holm=r) for c, q, r in zip(plain, question, run, strict=True)]


def declared(methods: Sequence[str]) -> list[tuple[str, str]]:
    """The declared pairs among these methods, each as (better, reference)."""
    pairs = []
    if "whale" in methods:
        pairs += [("whale", m) for m in methods if m not in ("whale", "whale_adaptive", "frozen")]
        pairs += [("whale_adaptive", "whale")] if "whale_adaptive" in methods else []
    if "frozen" in methods:
        pairs += [(m, "frozen") for m in reversed(methods) if m != "frozen"]
    return pairs


def _compare(
    methods: Mapping[str, Sequence[RunChoice]], a: str, b: str, seed: int, unequal: Unequal
) -> Comparison:
    a_runs = {run.result.seed: run for run in methods[a]}
    b_runs = {run.result.seed: run for run in methods[b]}
    seeds = tuple(sorted(a_runs.keys() & b_runs.keys()))
    if not seeds:
        nothing = PairedDifference(0, None, None, None)
        return Comparison(a, b, (), nothing, sign_flip_over_runs([]), None, None)
    common = common_spend([a_runs[s] for s in seeds], [b_runs[s] for s in seeds], unequal)
    a_R_Q = np.array([_means(a_runs[s], common) for s in seeds])
    b_R_Q = np.array([_means(b_runs[s], common) for s in seeds])
    rng = np.random.default_rng([seed, zlib.crc32(f"{a}/{b}".encode())])
    return Comparison(
        better=a,
        reference=b,
        seeds=seeds,
        question=paired_difference(a_R_Q.mean(axis=0), b_R_Q.mean(axis=0), rng),
        run=sign_flip_over_runs((a_R_Q - b_R_Q).mean(axis=1)),
        hierarchical=hierarchical_interval(a_R_Q - b_R_Q, rng),
        detectable=detectable_difference(a_R_Q.mean(axis=0), b_R_Q.mean(axis=0)),
        means=(float(a_R_Q.mean()), float(b_R_Q.mean())),
        common=common,
    )


def _means(run: RunChoice, common: CommonSpend | None) -> FloatArray:
    if common is None:
        return question_means(run.result, run.selected, "test")
    return at_spend(run.result, common.spend)

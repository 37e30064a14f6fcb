"""Paired comparisons of the methods of one profile and environment, and what they allow one to say.

The declared family is: whale against every other method, and every method against frozen. All of it is
adjusted by Holm. Nothing outside the result files is used.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bench.result_file import ResultFile
from bench.selection import RunChoice, by_method, question_means
from bench.stats import (
    PairedDifference,
    RunTest,
    detectable_difference,
    hierarchical_interval,
    holm,
    paired_difference,
    sign_flip_over_runs,
    smallest_run_p,
)
from bench.wording import count, interval, p_value, percent, points, spread

ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Comparison:
    """``better`` minus ``reference`` on test, at the selected checkpoints (fractions, not points)."""

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
    question_holm: float | None = None
    run_holm: float | None = None

    @property
    def label(self) -> str:
        """``better`` against ``reference``, as printed."""
        return f"{self.better} - {self.reference}"


def compare(results: Sequence[ResultFile], seed: int = 0) -> list[Comparison]:
    """All declared comparisons, with Holm-adjusted p-values.

    ``seed`` starts one private generator per comparison, so a further method changes no other interval.
    Raises ``InputError`` when the files cannot be compared.
    """
    methods = by_method(results)
    plain = [_compare(methods, a, b, seed) for a, b in _declared(list(methods))]
    question = holm([c.question.p for c in plain])
    run = holm([c.run.p for c in plain])
    return [replace(c, question_holm=q, run_holm=r) for c, q, r in zip(plain, question, run, strict=True)]


def budget_notes(results: Sequence[ResultFile]) -> list[str]:
    """Sentences that say where allowed or charged rollouts differ between methods (frozen is exempt)."""
    methods = {name: runs for name, runs in by_method(results).items() if name != "frozen"}
    allowed = {name: sorted({run.result.budget for run in runs}) for name, runs in methods.items()}
    charged = {name: sorted({run.last.charged.rollouts for run in runs}) for name, runs in methods.items()}
    notes = []
    for what, table in (("allowed", allowed), ("charged", charged)):
        if len({number for numbers in table.values() for number in numbers}) > 1:
            each = "; ".join(f"{name} {spread([count(n) for n in row])}" for name, row in table.items())
            notes.append(
                f"Unequal {what} rollouts: {each}. Part of a difference may be a difference in spend."
            )
    return notes


def conclusion(comparisons: Sequence[Comparison], results: Sequence[ResultFile]) -> str:
    """What may and may not be concluded from this many seeds and questions, in plain sentences."""
    if not comparisons:
        return "Only one method ran, so nothing is compared and nothing about methods can be concluded."
    parts = [_about_methods(comparisons), *_about_systems(comparisons, results), *budget_notes(results)]
    return "\n\n".join(parts)


def _declared(methods: list[str]) -> list[tuple[str, str]]:
    pairs = [("whale", m) for m in methods if m not in ("whale", "frozen")] if "whale" in methods else []
    if "frozen" in methods:
        pairs += [(m, "frozen") for m in reversed(methods) if m != "frozen"]
    return pairs


def _compare(methods: dict[str, list[RunChoice]], a: str, b: str, seed: int) -> Comparison:
    a_runs = {run.result.seed: run for run in methods[a]}
    b_runs = {run.result.seed: run for run in methods[b]}
    seeds = tuple(sorted(a_runs.keys() & b_runs.keys()))
    if not seeds:
        nothing = PairedDifference(0, None, None, None)
        return Comparison(a, b, (), nothing, sign_flip_over_runs([]), None, None)
    a_R_Q = np.array([question_means(a_runs[s].result, a_runs[s].selected, "test") for s in seeds])
    b_R_Q = np.array([question_means(b_runs[s].result, b_runs[s].selected, "test") for s in seeds])
    rng = np.random.default_rng([seed, zlib.crc32(f"{a}/{b}".encode())])
    return Comparison(
        better=a,
        reference=b,
        seeds=seeds,
        question=paired_difference(a_R_Q.mean(axis=0), b_R_Q.mean(axis=0), rng),
        run=sign_flip_over_runs((a_R_Q - b_R_Q).mean(axis=1)),
        hierarchical=hierarchical_interval(a_R_Q - b_R_Q, rng),
        detectable=detectable_difference(a_R_Q.mean(axis=0), b_R_Q.mean(axis=0)),
    )


def _about_methods(comparisons: Sequence[Comparison]) -> str:
    runs = sorted({len(c.seeds) for c in comparisons})
    family, most = len(comparisons), runs[-1]
    smallest = smallest_run_p(most)
    if smallest is None:
        return "Methods: no two methods share a seed, so no comparison of methods is possible."
    floor = min(1.0, family * smallest)
    start = (
        f"Methods: with {spread([str(r) for r in runs])} paired run{'s' if most > 1 else ''} per comparison, "
        f"the smallest run-level p-value that can come out is {p_value(smallest)}"
    )
    if family > 1:
        start += f" ({p_value(floor)} after Holm over {family} comparisons)"
    if floor > ALPHA:
        needed = math.ceil(math.log2(2 * family / ALPHA))
        return (
            f"{start}. So no claim that one method is better than another is possible at the 5 % level, "
            f"whatever the results; it would take {needed} seeds."
        )
    found = [c for c in comparisons if c.run_holm is not None and c.run_holm <= ALPHA]
    if not found:
        return f"{start}. No method-level difference reaches the 5 % level."
    each = "; ".join(f"{c.label} {points(c.run.difference)} points (p {p_value(c.run_holm)})" for c in found)
    return f"{start}. Method-level differences at the 5 % level: {each}."


def _about_systems(comparisons: Sequence[Comparison], results: Sequence[ResultFile]) -> list[str]:
    questions = len(results[0].checkpoints[0].test)
    start = (
        f"Trained systems: the following holds for these particular trained systems, on questions like these "
        f"{count(questions)} ({results[0].samples} samples each), and not for the methods in general."
    )
    shown = [c for c in comparisons if c.question_holm is not None and c.question_holm <= ALPHA]
    lines = [
        f"- {c.label}: {points(c.question.difference)} points (95 % interval "
        f"{interval(c.question.interval)}, p {p_value(c.question_holm)} after Holm)."
        for c in shown
    ]
    lines += [f"- {c.label}: {_not_shown(c)}" for c in comparisons if c not in shown]
    return [start, "\n".join(lines)]


def _not_shown(c: Comparison) -> str:
    if not c.seeds:
        return "not compared, the two share no seed."
    if c.question.p is None:
        return f"{c.question.questions} question, too few for a test."
    if c.detectable is None:
        same = points(c.question.difference)
        return f"the same difference on every question ({same} points), so it has no standard error."
    return (
        f"no difference shown ({points(c.question.difference)} points, p {p_value(c.question_holm)} after "
        f"Holm); one under about {percent(c.detectable)} points would be missed more than one time in "
        f"five, so this is not evidence of equality."
    )

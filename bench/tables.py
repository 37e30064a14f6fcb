"""The report's tables of results: methods, runs, comparisons, verdicts, task families.

Every figure comes from the result files; formatting is left to ``wording``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bench.budgets import spends
from bench.compare import Comparison
from bench.grid import Grid
from bench.result_file import ResultFile, counts_of
from bench.selection import (
    RunChoice,
    by_method,
    family_change,
    family_names,
    family_questions,
    mean_of,
    question_means,
)
from bench.stats import area_under_steps, pass_at_k, question_se
from bench.wording import DASH, count, interval, p_value, percent, points, spread
from envs.base import InputError, Verdict


def main_table(results: Sequence[ResultFile]) -> Grid:
    """One row per method, averaged over its seeds."""
    k = results[0].samples
    heads = ["method", "seeds", f"select mean@{k} (%)", "test, selected (%)", "± SE (points)",
             "test, last (%)", "best on test (%)", "optimism (points)", f"test pass@{k} (%)",
             "mean over spend (%)", "charged rollouts", "generated tokens"]  # fmt: skip
    methods = by_method(results)
    budget = common_budget(results)
    return Grid(heads, [_main_row(name, runs, budget) for name, runs in methods.items()])


def seed_table(results: Sequence[ResultFile]) -> Grid:
    """One row per run: which checkpoint was chosen and what it scored."""
    rows = [
        [
            name,
            str(run.result.seed),
            f"{run.selected.index} ({run.selected.phase})",
            percent(mean_of(run.result, run.selected, "select")),
            percent(mean_of(run.result, run.selected, "test")),
            percent(mean_of(run.result, run.last, "test")),
            percent(mean_of(run.result, run.best, "test")),
            points(run.optimism),
        ]
        for name, runs in by_method(results).items()
        for run in runs
    ]
    heads = ["method", "seed", "selected checkpoint", "select (%)", "test, selected (%)", "test, last (%)",
             "best on test (%)", "optimism (points)"]  # fmt: skip
    return Grid(heads, rows)


def comparison_table(comparisons: Sequence[Comparison]) -> Grid:
    """One row per declared comparison, question level and run level side by side."""
    rows = [
        [
            c.label,
            str(len(c.seeds)),
            _compared_at(c),
            points(c.question.difference),
            interval(c.question.interval),
            p_value(c.question.p),
            p_value(c.question_holm),
            percent(c.detectable),
            interval(c.hierarchical),
            p_value(c.run.p),
            p_value(c.run_holm),
            p_value(c.run.smallest_p),
        ]
        for c in comparisons
    ]
    heads = ["comparison", "shared seeds", "compared at", "difference (points)", "95 %, questions",
             "p, questions", "Holm", "detectable (points)", "95 %, runs and questions", "p, runs",
             "Holm, runs", "smallest p, runs"]  # fmt: skip
    return Grid(heads, rows)


def verdict_table(results: Sequence[ResultFile]) -> Grid:
    """What became of all test samples at the selected checkpoints; the six verdicts sum to the total."""
    rows = []
    for name, runs in by_method(results).items():
        mix = verdict_mix(runs)
        rows.append([name, *[count(mix[verdict]) for verdict in Verdict], count(sum(mix.values()))])
    return Grid(["method", *[verdict.value for verdict in Verdict], "total"], rows)


def verdict_mix(runs: Sequence[RunChoice]) -> dict[Verdict, int]:
    """Counts of all six verdicts on test at the selected checkpoints, over all seeds.

    Raises ``InputError`` unless they sum to questions x samples x seeds.
    """
    mix = dict.fromkeys(Verdict, 0)
    for run in runs:
        for counts in run.selected.test.values():
            for verdict, number in counts.items():
                mix[verdict] += number
    total = sum(len(run.selected.test) * run.result.samples for run in runs)
    if sum(mix.values()) != total:
        raise InputError(f"{sum(mix.values())} verdicts for {total} samples; check the result files")
    return mix


def family_table(results: Sequence[ResultFile]) -> Grid:
    """Test mean@k by task family: start, then selected checkpoint, averaged over seeds."""
    families = family_names(results)
    rows = []
    for name, runs in by_method(results).items():
        pairs = [family_change(runs, family) for family in families]
        rows.append([name, *[f"{percent(start)} → {percent(selected)}" for start, selected in pairs]])
    sizes = [count(family_questions(results[0], family)) for family in families]
    heads = [f"{family}, {size} questions (%)" for family, size in zip(families, sizes, strict=True)]
    return Grid(["method", *heads], rows)


def common_budget(results: Sequence[ResultFile]) -> int:
    """The most rollouts that every run with a training budget was charged: where curves are compared."""
    methods = [runs for runs in by_method(results).values() if spends(runs)]
    return min((run.last.charged.rollouts for runs in methods for run in runs), default=0)


def _compared_at(comparison: Comparison) -> str:
    if not comparison.seeds:
        return DASH
    common = comparison.common
    return f"{count(common.spend)} rollouts" if common else "selected"


def _main_row(name: str, runs: Sequence[RunChoice], budget: int) -> list[str]:
    p_R_Q = np.array([question_means(run.result, run.selected, "test") for run in runs])
    select = np.mean([mean_of(run.result, run.selected, "select") for run in runs])
    return [
        name,
        ", ".join(str(run.result.seed) for run in runs),
        percent(float(select)),
        percent(float(p_R_Q.mean())),
        percent(question_se(p_R_Q.mean(axis=0))),
        percent(float(np.mean([mean_of(run.result, run.last, "test") for run in runs]))),
        percent(float(np.mean([mean_of(run.result, run.best, "test") for run in runs]))),
        points(float(np.mean([run.optimism for run in runs]))),
        percent(_pass_at_all(runs)),
        percent(_mean_over_spend(runs, budget)),
        spread([count(n) for n in sorted({run.last.charged.rollouts for run in runs})]),
        spread([count(n) for n in sorted({run.last.charged.completion_tokens for run in runs})]),
    ]


def _pass_at_all(runs: Sequence[RunChoice]) -> float | None:
    values = []
    for run in runs:
        for counts in run.selected.test.values():
            correct, n = counts_of(counts)
            values.append(pass_at_k(n, correct, run.result.samples))
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if len(known) == len(values) and known else None


def _mean_over_spend(runs: Sequence[RunChoice], budget: int) -> float | None:
    if not spends(runs):  # in force from the start, whatever others spend
        return float(np.mean([mean_of(run.result, run.selected, "test") for run in runs]))
    areas = [
        area_under_steps(
            [point.charged.rollouts for point in run.result.checkpoints],
            [mean_of(run.result, point, "test") for point in run.result.checkpoints],
            budget,
        )
        for run in runs
    ]
    known = [area for area in areas if area is not None]
    return float(np.mean(known)) if known else None

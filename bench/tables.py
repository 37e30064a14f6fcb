"""The report's tables as plain rows of text, used by the Markdown report and by the terminal table.

Every figure comes from the result files; formatting is left to ``wording``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.compare import Comparison
from bench.curves import family_change
from bench.result_file import CandidateRow, ResultFile, counts_of
from bench.selection import (
    RunChoice,
    by_method,
    family_names,
    family_questions,
    mean_of,
    question_means,
)
from bench.stats import area_under_steps, pass_at_k, question_se
from bench.wording import DASH, count, interval, p_value, percent, points, spread
from envs.base import InputError, Verdict


@dataclass(frozen=True, slots=True)
class Grid:
    """A table: column heads and rows of cells, all text."""

    heads: list[str]
    rows: list[list[str]]

    def markdown(self) -> str:
        """The table in Markdown, figures aligned right; bars and line breaks in cells are made harmless."""
        lines = [self.heads, ["---", *["--:"] * (len(self.heads) - 1)], *self.rows]
        return "\n".join("| " + " | ".join(_cell(cell) for cell in row) + " |" for row in lines)


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
    heads = ["comparison", "shared seeds", "difference (points)", "95 %, questions", "p, questions",
             "Holm", "detectable (points)", "95 %, runs and questions", "p, runs", "Holm, runs",
             "smallest p, runs"]  # fmt: skip
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
    methods = by_method(results)
    rows = []
    for family in family_names(results):
        row = [family, count(family_questions(results[0], family))]
        for runs in methods.values():
            start, selected = family_change(runs, family)
            row.append(f"{percent(start)} → {percent(selected)}")
        rows.append(row)
    return Grid(["family", "questions", *[f"{name} (%)" for name in methods]], rows)


def search_table(results: Sequence[ResultFile]) -> Grid:
    """Per run: rollouts accepted for training, candidates by fate."""
    rows = []
    for name, runs in by_method(results).items():
        for result in (run.result for run in runs):
            seen = [row for row in result.candidates if row.iteration > 0]
            invalid = sum(row.screen is None for row in seen)
            losses = [row.loss for row in result.training if row.loss is not None]
            rows.append(
                [
                    name,
                    str(result.seed),
                    count(len(result.training)),
                    count(sum(row.rollouts for row in result.training)),
                    count(sum(row.accepted for row in result.training)),
                    count(sum(row.truncated for row in result.training)),
                    f"{losses[0]:.3f} → {losses[-1]:.3f}" if losses else DASH,
                    count(len(seen)),
                    count(invalid),
                    count(sum(row.accepted for row in seen)),
                ]
            )
    heads = ["method", "seed", "weight steps", "training rollouts", "accepted rollouts", "truncated",
             "loss, first → last", "candidates", "invalid", "accepted harnesses"]  # fmt: skip
    return Grid(heads, rows)


def edit_table(results: Sequence[ResultFile]) -> Grid:
    """Per method and edit: how often it was tried, and what became of it (rejected ones included)."""
    rows = []
    for name, runs in by_method(results).items():
        tried: dict[str, list[tuple[CandidateRow, float | None]]] = {}
        for result in (run.result for run in runs):
            base = {row.phase: row.screen for row in result.candidates if row.iteration == 0}
            for row in result.candidates:
                if row.iteration > 0:
                    tried.setdefault(row.edit, []).append((row, base.get(row.phase)))
        for edit, pairs in sorted(tried.items()):
            gains = [row.screen - b for row, b in pairs if row.screen is not None and b is not None]
            rows.append(
                [
                    f"{name}: {edit}",
                    count(len(pairs)),
                    count(sum(row.screen is None for row, _ in pairs)),
                    count(sum(row.confirm is not None for row, _ in pairs)),
                    count(sum(row.accepted for row, _ in pairs)),
                    points(float(np.mean(gains)) if gains else None),
                ]
            )
    heads = ["method: edit", "tried", "invalid", "confirmed", "accepted", "screen gain (points)"]
    return Grid(heads, rows)


def common_budget(results: Sequence[ResultFile]) -> int:
    """The most rollouts that every run (``frozen`` apart) was charged: where curves are compared."""
    spent = [r.checkpoints[-1].charged.rollouts for r in results if r.method != "frozen"]
    return min(spent, default=0)


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


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")

"""The report of one profile and environment: report.md with its figures, and a table for the terminal.

Everything is computed from the result files; writing it twice gives the same bytes. No number is
rounded before it is formatted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill

from rich.box import SIMPLE_HEAD
from rich.console import JustifyMethod
from rich.table import Table

from bench import tables
from bench.budgets import Unequal, budget_notes
from bench.compare import compare
from bench.conclusion import conclusion
from bench.curves import draw_curves, draw_families
from bench.grid import Grid
from bench.harness_texts import harness_texts, in_force
from bench.matched_attempts import recorded, serving_table
from bench.result_file import ResultFile
from bench.search_tables import accounting_table, edit_table, search_table
from bench.selection import by_method, check_comparable
from bench.two_by_two import two_by_two_table
from bench.wording import count, spread


@dataclass(frozen=True, slots=True)
class Report:
    """Where the parts of a report were written."""

    markdown: Path
    curves_png: Path
    curves_svg: Path
    families_png: Path


def write_report(folder: Path, results: Sequence[ResultFile], unequal: Unequal = "interpolate") -> Report:
    """Write the report and its figures into ``folder`` (made if missing) and return their paths.

    Raises ``InputError`` when the files cannot stand in one report, or under ``unequal="refuse"`` when arms
    that are compared were charged differently.
    """
    check_comparable(results)
    ordered = [run.result for runs in by_method(results).values() for run in runs]
    text = render(ordered, unequal)
    folder.mkdir(parents=True, exist_ok=True)
    png, svg = draw_curves(ordered, folder)
    families = draw_families(ordered, folder)
    path = folder / "report.md"
    path.write_text(text, encoding="utf-8", newline="\n")
    return Report(path, png, svg, families)


def render(results: Sequence[ResultFile], unequal: Unequal = "interpolate") -> str:
    """The report's Markdown text; raises ``InputError`` as ``write_report`` does."""
    first = results[0]
    comparisons = compare(results, unequal=unequal)
    questions = len(first.checkpoints[0].test)
    sections = [
        f"# {first.env}, profile {first.profile}: harness and weights, compared",
        _what_was_run(results),
        f"## Result\n\n{tables.main_table(results).markdown()}",
        *budget_notes(results),
        _how_to_read(results, questions),
        "![Accuracy against cost](curves.png)",
        f"## What may be concluded\n\n{conclusion(comparisons, results)}",
        f"## Comparisons\n\n{tables.comparison_table(comparisons).markdown()}\n\n{COMPARISON_NOTE}",
        *_section("Weights and harness, alone and together", two_by_two_table(results), TWO_BY_TWO_NOTE),
        "## What the systems take at test time",
        *([serving_table(results).markdown(), SERVING_NOTE] if recorded(results) else [NOT_RECORDED]),
        f"## Single runs\n\n{tables.seed_table(results).markdown()}",
        f"## Task families (start → selected checkpoint)\n\n{tables.family_table(results).markdown()}",
        "![Task families](families.png)",
        f"## Verdicts\n\n{tables.verdict_table(results).markdown()}\n\n{VERDICT_NOTE}",
        *_section("Training and search", search_table(results)),
        *_section("Search, counted both ways", accounting_table(results), ACCOUNTING_NOTE),
        *_section("Edits", edit_table(results), EDIT_NOTE),
        f"## Harnesses in force\n\n{in_force(results).markdown()}",
        *harness_texts(results),
    ]
    return "\n\n".join(sections) + "\n"


def screen_table(results: Sequence[ResultFile]) -> Table:
    """The main table for the terminal: the columns that fit into 80 characters without cutting a number."""
    grid = tables.main_table(results)
    shown = [0, 1, 2, 3, 4, 5, 6, 10]
    title = f"{results[0].env}, profile {results[0].profile}"
    table = Table(title=title, box=SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for column in shown:
        head, justify = grid.heads[column], JUSTIFY[column > 0]
        table.add_column(fill(head, max(map(len, head.split()))), justify=justify, overflow="fold")
    for row in grid.rows:
        table.add_row(*[row[column] for column in shown])
    return table


JUSTIFY: tuple[JustifyMethod, JustifyMethod] = ("left", "right")
"""Of the first column, and of the others."""
COMPARISON_NOTE = (
    "Positive differences favour the method named first. Compared at: the selected checkpoints, or a common "
    "spend where the two were charged differently. Questions: paired per question, averaged over the shared "
    "seeds, bootstrap interval and sign-flip p-value; this is about these trained systems. Runs: exact sign "
    "flips over seeds; this is about the methods. Holm adjusts over all rows. Detectable: the smallest "
    "difference that these questions show with 80 % power at the two-sided 5 % level."
)
TWO_BY_TWO_NOTE = (
    "Test, the first and the last weights each with the first and the last harness (the last checkpoint, "
    "not the selected one); means over seeds, single seeds in brackets. The side whose change alone comes "
    "closest to the last system carries the gain. Interaction: what both changes together add beyond the "
    "sum of what each adds alone; below zero, they overlap or get in each other's way. A mixed system that "
    "never was in force is evaluated for this table alone, at no charge."
)
SERVING_NOTE = (
    "Means a sample of `select` and `test`, at the selected checkpoint. Attempts: the fewest attempts of "
    "the starting system, one picked by a blind vote, that generate at least as many tokens as the method's "
    "system; where no number of attempts does, the most there are, marked (fewer tokens). Compared over the "
    "seeds that both ran; a positive difference favours the method. Test-time spend is shown and never "
    "charged."
)
NOT_RECORDED = "Not recorded in these result files; it is in those of newer runs."
ACCOUNTING_NOTE = (
    "Rollouts of all searches of a run; a range where seeds differ. Both counts stand here because the "
    "published text and the published launcher disagree: with I iterations (the incoming harness is the "
    "first), M candidates and D examples the text counts I x M x D rollouts, while the launcher spends D + "
    "(I - 1) x M x D, since the incoming harness is a single candidate. What is charged here is what was "
    "really spent. A dash: not recorded, or (fst) the search is an evolution of prompts, without such "
    "iterations."
)
EDIT_NOTE = (
    "Edits tried by the searches, over all seeds and phases. Screen gain: mean advantage over the incoming "
    "harness of the same phase on the search examples; the maximum of many noisy scores is optimistic."
)
VERDICT_NOTE = (
    "Test samples at the selected checkpoints, over all seeds. Every sample has exactly one verdict and all "
    "of them stand in the denominator of every accuracy; only `correct` scores 1."
)


def _section(title: str, grid: Grid, note: str = "") -> list[str]:
    """A table with its heading and its note; nothing at all where it has no rows."""
    if not grid.rows:
        return []
    return [f"## {title}", grid.markdown(), *([note] if note else [])]


def _what_was_run(results: Sequence[ResultFile]) -> str:
    methods = by_method(results)
    lines = ["## What was run", ""]
    for name, runs in methods.items():
        seeds = ", ".join(str(run.result.seed) for run in runs)
        budgets = [count(n) for n in sorted({run.result.budget for run in runs})]
        allowed = "no training budget" if budgets == ["0"] else f"{spread(budgets)} rollouts allowed"
        lines.append(f"- {name}: seeds {seeds}; {allowed}")
    for title, per_run in (
        ("switch ", [result.switches for result in results]),
        ("", [result.provenance for result in results]),
    ):
        for key in sorted({key for table in per_run for key in table}):
            values = sorted({table.get(key, "not recorded") for table in per_run})
            shown = "; ".join(f"`{value}`" for value in values)
            lines.append(f"- {title}{key}: {shown}")
    return "\n".join(lines)


def _how_to_read(results: Sequence[ResultFile], questions: int) -> str:
    budget = tables.common_budget(results)
    return (
        f"Means over seeds, {count(questions)} test questions with {results[0].samples} samples each. The "
        f"checkpoint is chosen on `select` alone (the earlier one on a tie). Best on test is the maximum "
        f"over checkpoints measured on the test set, as it is often reported; optimism is what that choice "
        f"would add. SE: standard error over questions. Mean over spend: average of the system in force "
        f"over the first {count(budget)} charged rollouts; without a training budget, the selected "
        f"checkpoint. Evaluation is never charged."
    )

"""The report of one profile and environment: report.md with its figures, and a table for the terminal.

Everything is computed from the result files; writing it twice gives the same bytes. No number is
rounded before it is formatted.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from bench import tables
from bench.compare import compare, conclusion
from bench.curves import draw_curves, draw_families
from bench.result_file import HarnessRow, ResultFile
from bench.selection import by_method, check_comparable, name_of
from bench.wording import count, spread


@dataclass(frozen=True, slots=True)
class Report:
    """Where the parts of a report were written."""

    markdown: Path
    curves_png: Path
    curves_svg: Path
    families_png: Path


def write_report(folder: Path, results: Sequence[ResultFile]) -> Report:
    """Write the report and its figures into ``folder`` (made if missing) and return their paths.

    Raises ``InputError`` when the files cannot stand in one report.
    """
    check_comparable(results)
    ordered = [run.result for runs in by_method(results).values() for run in runs]
    folder.mkdir(parents=True, exist_ok=True)
    png, svg = draw_curves(ordered, folder)
    families = draw_families(ordered, folder)
    path = folder / "report.md"
    path.write_text(render(ordered), encoding="utf-8", newline="\n")
    return Report(path, png, svg, families)


def render(results: Sequence[ResultFile]) -> str:
    """The report's Markdown text."""
    first = results[0]
    comparisons = compare(results)
    questions = len(first.checkpoints[0].test)
    sections = [
        f"# {first.env}, profile {first.profile}: harness and weights, compared",
        _what_was_run(results),
        f"## Result\n\n{tables.main_table(results).markdown()}",
        _how_to_read(results, questions),
        "![Accuracy against cost](curves.png)",
        f"## What may be concluded\n\n{conclusion(comparisons, results)}",
        f"## Comparisons\n\n{tables.comparison_table(comparisons).markdown()}\n\n{COMPARISON_NOTE}",
        f"## Single runs\n\n{tables.seed_table(results).markdown()}",
        f"## Task families (start → selected checkpoint)\n\n{tables.family_table(results).markdown()}",
        "![Task families](families.png)",
        f"## Verdicts\n\n{tables.verdict_table(results).markdown()}\n\n{VERDICT_NOTE}",
        f"## Training and search\n\n{tables.search_table(results).markdown()}",
        f"{EDIT_NOTE}\n\n{tables.edit_table(results).markdown()}",
        f"## Harnesses in force\n\n{_in_force(results).markdown()}",
        *_harness_texts(results),
    ]
    return "\n\n".join(sections) + "\n"


def screen_table(results: Sequence[ResultFile]) -> Table:
    """The main table for the terminal."""
    grid = tables.main_table(results)
    shown = [0, 1, 2, 3, 4, 5, 6, 7, 10, 11]
    table = Table(title=f"{results[0].env}, profile {results[0].profile}")
    for column in shown:
        table.add_column(grid.heads[column], justify="right" if column else "left", no_wrap=not column)
    for row in grid.rows:
        table.add_row(*[row[column] for column in shown])
    return table


COMPARISON_NOTE = (
    "Positive differences favour the method named first. Questions: paired per question, averaged over the "
    "shared seeds, bootstrap interval and sign-flip p-value; this is about these trained systems. Runs: "
    "exact sign flips over seeds; this is about the methods. Holm adjusts over all rows. Detectable: the "
    "smallest difference that these questions show with 80 % power at the two-sided 5 % level."
)
EDIT_NOTE = (
    "Edits tried by the searches, over all seeds and phases. Screen gain: mean advantage over the incoming "
    "harness of the same phase on the search examples; the maximum of many noisy scores is optimistic."
)
VERDICT_NOTE = (
    "Test samples at the selected checkpoints, over all seeds. Every sample has exactly one verdict and all "
    "of them stand in the denominator of every accuracy; only `correct` scores 1."
)


def _what_was_run(results: Sequence[ResultFile]) -> str:
    methods = by_method(results)
    lines = ["## What was run", ""]
    for name, runs in methods.items():
        seeds = ", ".join(str(run.result.seed) for run in runs)
        allowed = spread([count(n) for n in sorted({run.result.budget for run in runs})])
        lines.append(f"- {name}: seeds {seeds}; {allowed} rollouts allowed")
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
        f"over the first {count(budget)} charged rollouts. Evaluation is never charged."
    )


def _in_force(results: Sequence[ResultFile]) -> tables.Grid:
    rows = []
    for result in results:
        previous = None
        for point in result.checkpoints:
            if point.harness_id != previous:
                known = result.harnesses.get(point.harness_id)
                rows.append(
                    [
                        name_of(result),
                        str(point.index),
                        point.harness_id[:12],
                        known.edit if known else "not recorded",
                        (known.parent or "none")[:12] if known else "not recorded",
                    ]
                )
            previous = point.harness_id
    return tables.Grid(["run", "from checkpoint", "harness", "edit", "parent"], rows)


def _harness_texts(results: Sequence[ResultFile]) -> list[str]:
    known: dict[str, HarnessRow] = {}
    used: list[str] = []
    for result in results:
        known.update(result.harnesses)
        used += [point.harness_id for point in result.checkpoints]
    return [_harness_text(name, known) for name in dict.fromkeys(used) if name in known]


def _harness_text(name: str, known: dict[str, HarnessRow]) -> str:
    row = known[name]
    parent = known.get(row.parent) if row.parent else None
    if parent is None:
        kind, body = "python", row.source
    else:
        kind = "diff"
        changed = difflib.unified_diff(
            parent.source.splitlines(), row.source.splitlines(), "parent", "this", lineterm="", n=2
        )
        body = "\n".join(changed)
    fence = "~" * (3 + _longest_run(body, "~"))
    against = f", changes against {str(row.parent)[:12]}" if parent else ""
    return f"Harness {name[:12]} ({row.edit}{against}):\n\n{fence}{kind}\n{body.rstrip()}\n{fence}"


def _longest_run(text: str, sign: str) -> int:
    longest = run = 0
    for letter in text:
        run = run + 1 if letter == sign else 0
        longest = max(longest, run)
    return longest

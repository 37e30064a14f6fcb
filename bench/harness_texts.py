"""The part of the report that shows harnesses: which were in force where, and what they say."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from bench.grid import Grid
from bench.result_file import HarnessRow, ResultFile
from bench.selection import name_of


def in_force(results: Sequence[ResultFile]) -> Grid:
    """One row for every run and harness: from which checkpoint on, made by which edit from which parent."""
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
    return Grid(["run", "from checkpoint", "harness", "edit", "parent"], rows)


def harness_texts(results: Sequence[ResultFile]) -> list[str]:
    """Every harness that was in force, once, in Markdown: its text, or its changes against its parent."""
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

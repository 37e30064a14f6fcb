"""Tables about training and search: what became of rollouts and candidates, and what a search costs.

Iterations of a search are counted in two ways. Ours counts those that propose; the published text counts the
incoming harness as the first one, so that a search of I iterations here is one of I + 1 there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from bench.grid import Grid
from bench.result_file import CandidateRow, ResultFile
from bench.selection import RunChoice, by_method
from bench.wording import DASH, count, points, spread

EVOLVING = ("fst",)
"""Methods whose searches are evolutions by a library: their candidates have no iterations."""


def search_table(results: Sequence[ResultFile]) -> Grid:
    """Per run that trained or searched: rollouts accepted for training, candidates by fate."""
    rows = []
    for name, runs in by_method(results).items():
        for result in (run.result for run in runs):
            if not result.training and not result.candidates:
                continue
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


def accounting_table(results: Sequence[ResultFile]) -> Grid:
    """Per method that searched: iterations and rollouts, counted both ways; a range where seeds differ."""
    rows = []
    for name, runs in by_method(results).items():
        if any(searches(run.result) for run in runs):
            figures: list[Callable[[ResultFile], int | None]] = [
                searches, iterations, with_incoming, screening, published_price, confirming,
            ]  # fmt: skip
            rows.append([name, *[_over_seeds(runs, figure) for figure in figures]])
    heads = ["method", "searches", "proposing iterations", "iterations with the incoming harness",
             "charged for screening", "published price of screening", "charged for confirmation"]  # fmt: skip
    return Grid(heads, rows)


def searches(result: ResultFile) -> int:
    """How many search phases a run had."""
    return sum(point.phase == "search" for point in result.checkpoints)


def iterations(result: ResultFile) -> int | None:
    """Iterations that proposed, over all searches; None where candidates are not counted by iteration."""
    if result.method in EVOLVING:
        return None
    longest: dict[int, int] = {}
    for row in result.candidates:
        longest[row.phase] = max(row.iteration, longest.get(row.phase, 0))
    phases = {point.index for point in result.checkpoints if point.phase == "search"}
    return sum(longest.values()) if phases == longest.keys() else None


def with_incoming(result: ResultFile) -> int | None:
    """Iterations as the published text counts them: the incoming harness is the first of every search."""
    proposing = iterations(result)
    return None if proposing is None else proposing + searches(result)


def screening(result: ResultFile) -> int | None:
    """Rollouts really charged for scoring candidates on the search examples."""
    spent = result.ledger.get("search")
    return None if spent is None else spent.rollouts


def published_price(result: ResultFile) -> int | None:
    """I x M x D, the price in the published text: iterations with the incoming one, candidates, examples."""
    counted, prices = with_incoming(result), result.prices
    if counted is None or not {"candidates", "examples"} <= prices.keys():
        return None
    return counted * prices["candidates"] * prices["examples"]


def confirming(result: ResultFile) -> int | None:
    """Rollouts charged for confirming the best few on fresh samples."""
    spent = result.ledger.get("confirm")
    return None if spent is None else spent.rollouts


def _over_seeds(runs: Sequence[RunChoice], figure: Callable[[ResultFile], int | None]) -> str:
    values = [figure(run.result) for run in runs]
    known = sorted(value for value in values if value is not None)
    return spread([count(value) for value in known]) if len(known) == len(values) else DASH

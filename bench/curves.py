"""Figures: test mean@k of the system in force against what was spent, and start against selected by family.

PNG and SVG bytes depend on the result files alone (no date, fixed ids). How a method is drawn stands in
``looks``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure, FigureBase
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, MaxNLocator

from bench.budgets import spends
from bench.looks import Look, looks, panel_rows
from bench.result_file import ResultFile, SpendRow
from bench.selection import RunChoice, by_method, family_change, family_names, family_questions, mean_of

FloatArray = npt.NDArray[np.float64]
Spend = Callable[[SpendRow], int]
COLUMNS = 4
"""Of a legend."""


def mean_steps(
    runs: Sequence[RunChoice], spend: Spend, end: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Step curves of one method's runs on one grid: ``(x_G, acc_R_G, mean_G)``, accuracies in percent.

    ``acc_R_G[r, g]`` is run r's system in force at spend ``x_G[g]``, which need not be its best so far.
    """
    x_R = [np.array([spend(point.charged) for point in run.result.checkpoints], float) for run in runs]
    y_R = [np.array([100 * mean_of(r.result, p, "test") for p in r.result.checkpoints]) for r in runs]
    x_G = np.unique(np.concatenate([*x_R, [0.0, end]]))
    acc_R_G = np.array(
        [y[np.maximum(np.searchsorted(x, x_G, side="right") - 1, 0)] for x, y in zip(x_R, y_R, strict=True)]
    )
    return x_G, acc_R_G, acc_R_G.mean(axis=0)


def draw_curves(results: Sequence[ResultFile], folder: Path) -> tuple[Path, Path]:
    """Write ``curves.png`` and ``curves.svg``: charged rollouts and charged generated tokens.

    Many methods stand in two rows of panels on one scale (``panel_rows``).
    """
    methods = by_method(results)
    styles, rows = looks(list(methods)), panel_rows(list(methods))
    figure = Figure(figsize=(10.5, sum(_height(names) for _, names in rows) + 0.3), layout="constrained")
    figure.suptitle(f"{results[0].env}, profile {results[0].profile}: accuracy against cost")
    parts = figure.subfigures(
        len(rows), 1, height_ratios=[_height(names) for _, names in rows], squeeze=False
    )
    axes: list[Axes] = []
    for part, (title, names) in zip(parts[:, 0], rows, strict=True):
        axes += _curve_row(part, {name: methods[name] for name in names}, styles, results[0].samples)
        if title:
            part.suptitle(title, fontsize=10)
    bounds = [axis.get_ylim() for axis in axes]
    for axis in axes:
        axis.set_ylim(min(low for low, _ in bounds), max(high for _, high in bounds))
    png, svg = folder / "curves.png", folder / "curves.svg"
    _save(figure, png)
    _save(figure, svg)
    return png, svg


def draw_families(results: Sequence[ResultFile], folder: Path) -> Path:
    """Write ``families.png``: per task family, start (open) against selected checkpoint (filled)."""
    methods = by_method(results)
    styles = looks(list(methods))
    families = family_names(results)
    columns = min(4, math.ceil(math.sqrt(len(families))))
    rows = -(-len(families) // columns)
    size = (3.6 * columns + 1.2, rows * (0.28 * len(methods) + 1.1) + 0.8)
    figure = Figure(figsize=size, layout="constrained")
    panels = list(figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).flat)
    for axis, family in zip(panels, families, strict=False):
        _family_panel(axis, methods, styles, family)
        axis.set_title(f"{family} ({family_questions(results[0], family)} questions)", fontsize=9)
        axis.tick_params(labelbottom=True)  # the panel below may be empty
    for axis in panels[len(families) :]:
        axis.set_axis_off()
    figure.supxlabel(f"test mean@{results[0].samples} (%): open = start, filled = selected checkpoint")
    path = folder / "families.png"
    _save(figure, path)
    return path


def _rollouts(spend: SpendRow) -> int:
    return spend.rollouts


def _tokens(spend: SpendRow) -> int:
    return spend.completion_tokens


def _height(methods: Sequence[str]) -> float:
    """Inches of a row of panels with its legend."""
    return 3.8 + 0.22 * -(-len(methods) // COLUMNS)


def _curve_row(
    part: FigureBase, methods: dict[str, list[RunChoice]], styles: dict[str, Look], samples: int
) -> list[Axes]:
    axes = list(part.subplots(1, 2, sharey=True))
    for axis, spend, label in (
        (axes[0], _rollouts, "charged rollouts"),
        (axes[1], _tokens, "charged generated tokens"),
    ):
        _cost_panel(axis, methods, styles, spend)
        axis.set_xlabel(label)
    axes[0].set_ylabel(f"test mean@{samples}, system in force (%)")
    _legend(part, methods, styles)
    return axes


def _cost_panel(
    axis: Axes, methods: dict[str, list[RunChoice]], styles: dict[str, Look], spend: Spend
) -> None:
    spent = [spend(run.last.charged) for runs in methods.values() for run in runs]
    end = 1.1 * max([*spent, 1])
    levels = [name for name, runs in methods.items() if not spends(runs)]
    for name, runs in methods.items():
        if name in levels:
            _level(axis, runs, styles[name], end, levels.index(name))
        else:
            _steps(axis, runs, styles[name], spend, end)
    axis.set_xlim(0, end)
    axis.xaxis.set_major_formatter(EngFormatter(sep=""))
    axis.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axis.grid(alpha=0.25)
    axis.spines[["top", "right"]].set_visible(False)


def _level(axis: Axes, runs: Sequence[RunChoice], look: Look, end: float, shift: int) -> None:
    """A method without a training budget: its selected checkpoint, whatever others spend."""
    level = 100 * float(np.mean([mean_of(run.result, run.selected, "test") for run in runs]))
    x = end * (np.array([0.15, 0.45, 0.75]) + 0.04 * shift)  # shifted, so that equal levels show both markers
    axis.axhline(level, color=look.colour, linestyle=look.dash, linewidth=1.8)
    axis.plot(
        x, np.full(len(x), level), color=look.colour, linestyle="none", marker=look.marker, markersize=6
    )


def _steps(axis: Axes, runs: Sequence[RunChoice], look: Look, spend: Spend, end: float) -> None:
    x_G, acc_R_G, mean_G = mean_steps(runs, spend, end)
    for acc_G in acc_R_G if len(runs) > 1 else ():
        axis.step(x_G, acc_G, where="post", color=look.colour, alpha=0.35, linewidth=0.7)
    # Seeds differ a little in tokens: one marker per checkpoint is enough.
    every = max(1, round((len(x_G) - 1) / len(runs[0].result.checkpoints)))
    axis.step(
        x_G, mean_G, where="post", color=look.colour, linestyle=look.dash, linewidth=2.2,
        marker=look.marker, markersize=6, markevery=slice(0, len(x_G) - 1, every),
    )  # fmt: skip


def _family_panel(
    axis: Axes, methods: dict[str, list[RunChoice]], styles: dict[str, Look], family: str
) -> None:
    for row, (name, runs) in enumerate(methods.items()):
        start, selected = family_change(runs, family)
        colour, marker = styles[name].colour, styles[name].marker
        axis.plot([100 * start, 100 * selected], [row, row], color=colour, linewidth=1.6)
        axis.plot(100 * start, row, marker="o", color=colour, markerfacecolor="white", markersize=7)
        axis.plot(100 * selected, row, marker=marker if marker != "x" else "o", color=colour, markersize=6)
    axis.set_yticks(range(len(methods)), list(methods), fontsize=8)
    axis.set_ylim(len(methods) - 0.4, -0.6)  # from top to bottom in the order of the tables
    axis.grid(axis="x", alpha=0.25)
    axis.spines[["top", "right"]].set_visible(False)


def _legend(part: FigureBase, methods: dict[str, list[RunChoice]], styles: dict[str, Look]) -> None:
    lines = []
    for name, runs in methods.items():
        look = styles[name]
        seeds = f"{len(runs)} seed{'s' if len(runs) > 1 else ''}"
        lines.append(
            Line2D([], [], color=look.colour, linestyle=look.dash, marker=look.marker, linewidth=2.2,
                   label=f"{name} ({seeds})")
        )  # fmt: skip
    part.legend(
        handles=lines, loc="outside lower center", ncols=min(COLUMNS, len(lines)), frameon=False,
        handlelength=5, columnspacing=1.2,
        title="thick: mean over seeds; thin: single seeds; level: no training budget, selected checkpoint",
    )  # fmt: skip


def _save(figure: Figure, path: Path) -> None:
    if path.suffix == ".svg":
        with mpl.rc_context({"svg.hashsalt": "bench", "svg.fonttype": "path"}):
            figure.savefig(path, metadata={"Date": None, "Creator": None})
        return
    FigureCanvasAgg(figure)
    figure.savefig(path, dpi=150, metadata={"Software": None})

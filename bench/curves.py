"""Figures: test mean@k of the system in force against what was spent, and start against selected by family.

PNG and SVG bytes depend on the result files alone (no date, fixed ids). Colours are those of Okabe and
Ito; line style and marker differ too, so that no method is known by its colour alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, MaxNLocator
from matplotlib.typing import LineStyleType

from bench.result_file import ResultFile, SpendRow
from bench.selection import RunChoice, by_method, family_names, family_questions, mean_of

FloatArray = npt.NDArray[np.float64]
Spend = Callable[[SpendRow], int]


class Look(NamedTuple):
    """How a method is drawn, everywhere."""

    colour: str
    dash: LineStyleType
    marker: str


FROZEN = Look("#000000", ":", "x")
WHALE = Look("#D55E00", "-", "o")
COLOURS = ("#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#777777")
DASHES: tuple[LineStyleType, ...] = ("--", "-.", (0, (6, 1, 1, 1, 1, 1)), (0, (8, 2)))
MARKERS = ("s", "^", "D", "v", "P", "X")


def looks(methods: Sequence[str]) -> dict[str, Look]:
    """One look per method; ``whale`` and ``frozen`` always have the same one."""
    table = {"whale": WHALE, "frozen": FROZEN}
    others = [method for method in methods if method not in table]
    for i, method in enumerate(others):
        table[method] = Look(COLOURS[i % len(COLOURS)], DASHES[i % len(DASHES)], MARKERS[i % len(MARKERS)])
    return {method: table[method] for method in methods}


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
    """Write ``curves.png`` and ``curves.svg``: charged rollouts and charged generated tokens."""
    methods = by_method(results)
    styles = looks(list(methods))
    figure = Figure(figsize=(10.5, 4.8), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for axis, spend, label in (
        (axes[0], _rollouts, "charged rollouts"),
        (axes[1], _tokens, "charged generated tokens"),
    ):
        _cost_panel(axis, methods, styles, spend)
        axis.set_xlabel(label)
    k = results[0].samples
    axes[0].set_ylabel(f"test mean@{k} of the system in force (%)")
    figure.suptitle(f"{results[0].env}, profile {results[0].profile}: accuracy against cost")
    _legend(figure, methods, styles)
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


def _cost_panel(
    axis: Axes, methods: dict[str, list[RunChoice]], styles: dict[str, Look], spend: Spend
) -> None:
    spent = [spend(run.last.charged) for runs in methods.values() for run in runs]
    end = 1.05 * max([*spent, 1])
    for name, runs in methods.items():
        look = styles[name]
        x_G, acc_R_G, mean_G = mean_steps(runs, spend, end)
        if name == "frozen":
            axis.axhline(float(mean_G[0]), color=look.colour, linestyle=look.dash, linewidth=1.8)
            continue
        for acc_G in acc_R_G if len(runs) > 1 else ():
            axis.step(x_G, acc_G, where="post", color=look.colour, alpha=0.35, linewidth=0.7)
        # Seeds differ a little in tokens: one marker per checkpoint is enough.
        every = max(1, round((len(x_G) - 1) / len(runs[0].result.checkpoints)))
        axis.step(
            x_G, mean_G, where="post", color=look.colour, linestyle=look.dash, linewidth=2.2,
            marker=look.marker, markersize=5, markevery=slice(0, len(x_G) - 1, every),
        )  # fmt: skip
    axis.set_xlim(0, end)
    axis.xaxis.set_major_formatter(EngFormatter(sep=""))
    axis.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axis.grid(alpha=0.25)
    axis.spines[["top", "right"]].set_visible(False)


def _family_panel(
    axis: Axes, methods: dict[str, list[RunChoice]], styles: dict[str, Look], family: str
) -> None:
    for row, (name, runs) in enumerate(methods.items()):
        start, selected = family_change(runs, family)
        colour, marker = styles[name].colour, styles[name].marker
        axis.plot([100 * start, 100 * selected], [row, row], color=colour, linewidth=1.6)
        axis.plot(100 * start, row, marker="o", color=colour, markerfacecolor="white", markersize=6)
        axis.plot(100 * selected, row, marker=marker if marker != "x" else "o", color=colour, markersize=6)
    axis.set_yticks(range(len(methods)), list(methods), fontsize=8)
    axis.set_ylim(-0.6, len(methods) - 0.4)
    axis.grid(axis="x", alpha=0.25)
    axis.spines[["top", "right"]].set_visible(False)


def family_change(runs: Sequence[RunChoice], family: str) -> tuple[float, float]:
    """Test mean@k of one family at the start and at the selected checkpoint, averaged over seeds."""
    start = [mean_of(run.result, run.result.checkpoints[0], "test", family) for run in runs]
    selected = [mean_of(run.result, run.selected, "test", family) for run in runs]
    return float(np.mean(start)), float(np.mean(selected))


def _legend(figure: Figure, methods: dict[str, list[RunChoice]], styles: dict[str, Look]) -> None:
    lines = []
    for name, runs in methods.items():
        look = styles[name]
        marker = "" if name == "frozen" else look.marker
        seeds = f"{len(runs)} seed{'s' if len(runs) > 1 else ''}"
        lines.append(
            Line2D([], [], color=look.colour, linestyle=look.dash, marker=marker, linewidth=2.2,
                   label=f"{name} ({seeds})")
        )  # fmt: skip
    figure.legend(
        handles=lines, loc="outside lower center", ncols=min(4, len(lines)), frameon=False, handlelength=4,
        title="thick: mean over seeds; thin: single seeds",
    )  # fmt: skip


def _save(figure: Figure, path: Path) -> None:
    if path.suffix == ".svg":
        with mpl.rc_context({"svg.hashsalt": "bench", "svg.fonttype": "path"}):
            figure.savefig(path, metadata={"Date": None, "Creator": None})
        return
    FigureCanvasAgg(figure)
    figure.savefig(path, dpi=150, metadata={"Software": None})

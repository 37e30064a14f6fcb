"""How each method is drawn in every figure, and which methods share a row of panels.

Colours are those of Okabe and Ito with two greys. Dash and marker together are different for every method, so
that none is known by its colour alone; colours come back only in another row of panels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.typing import LineStyleType

from baselines import MAIN


class Look(NamedTuple):
    """How a method is drawn."""

    colour: str
    dash: LineStyleType
    marker: str


BLACK, VERMILION, BLUE, GREEN = "#000000", "#D55E00", "#0072B2", "#009E73"
PURPLE, ORANGE, SKY, GREY, DARK = "#CC79A7", "#E69F00", "#56B4E9", "#8A8A8A", "#4D4D4D"
SHORT: LineStyleType = (0, (2.5, 1))
LONG: LineStyleType = (0, (7, 1.5))
DASH_DOT_DOT: LineStyleType = (0, (5, 1, 1, 1, 1, 1))
LONG_DOT: LineStyleType = (0, (7, 1.5, 2, 1.5))
LOOKS = {
    "frozen": Look(BLACK, ":", "x"),
    "weight_only": Look(BLUE, "--", "s"),
    "harness_only": Look(GREEN, "-.", "^"),
    "stagewise": Look(PURPLE, DASH_DOT_DOT, "D"),
    "whale": Look(VERMILION, "-", "o"),
    "whale_adaptive": Look(SKY, LONG, "P"),
    "attempts": Look(GREY, (0, (1, 1)), "*"),
    "refinement": Look(DARK, (0, (3, 1.5, 1, 1.5)), "p"),
    "grpo": Look(BLUE, "--", "v"),
    "stagewise_reversed": Look(PURPLE, "-.", "D"),
    "fst_control": Look(ORANGE, LONG, "s"),
    "split_evidence": Look(GREEN, SHORT, "^"),
    "fst": Look(SKY, LONG_DOT, "X"),
}
COLOURS = (BLUE, GREEN, PURPLE, ORANGE, SKY, GREY)
DASHES: tuple[LineStyleType, ...] = ((0, (4, 2)), (0, (4, 1, 1, 1)), (0, (9, 3)), (0, (9, 1, 1, 1, 1, 1)))
MARKERS = ("h", "d", "<", ">", "8", "H")
ONE_ROW = 6
"""Up to so many methods are drawn in one row of panels."""


def looks(methods: Sequence[str]) -> dict[str, Look]:
    """One look per method, always the same one for a method of the project."""
    table = dict(LOOKS)
    for i, method in enumerate(method for method in methods if method not in LOOKS):
        table[method] = Look(COLOURS[i % len(COLOURS)], DASHES[i % len(DASHES)], MARKERS[i % len(MARKERS)])
    return {method: table[method] for method in methods}


def panel_rows(methods: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Title and methods of each row of panels: main methods, then the others beside ``frozen`` and ``whale``.

    One row without a title where the methods are few, or all of one kind.
    """
    main = [method for method in methods if method in (*MAIN, "whale_adaptive")]
    others = [method for method in methods if method not in main]
    if len(methods) <= ONE_ROW or not main or not others:
        return [("", list(methods))]
    beside = [method for method in methods if method in others or method in ("frozen", "whale")]
    return [("main methods", main), ("controls and variants, beside frozen and whale", beside)]

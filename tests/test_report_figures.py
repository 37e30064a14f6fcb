"""Figures of many methods: looks that differ without colour, rows of panels, level lines, and one scale."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from baselines import MAIN, METHODS
from bench import curves
from bench.curves import mean_steps
from bench.looks import LOOKS, looks, panel_rows
from bench.selection import by_method, mean_of
from tests.fake_results import full_results, many_results, one_result

FREE = ("frozen", "attempts", "refinement")


def test_every_method_has_a_look_that_differs_without_colour() -> None:
    assert set(LOOKS) == set(METHODS)
    table = looks([*METHODS, "other", "another"])
    assert len({(str(look.dash), look.marker) for look in table.values()}) == len(METHODS) + 2


def test_unknown_methods_are_told_apart_without_colour() -> None:
    table = looks(["frozen", *[f"m{i}" for i in range(9)], "whale"])
    assert len({(str(look.dash), look.marker) for look in table.values()}) == 11


def test_no_colour_and_no_marker_comes_twice_in_a_row_of_panels() -> None:
    for _, names in panel_rows(list(METHODS)):
        assert Counter(LOOKS[name].colour for name in names).most_common(1)[0][1] == 1
        assert Counter(LOOKS[name].marker for name in names).most_common(1)[0][1] == 1


def test_the_other_methods_stand_in_a_row_of_their_own_beside_frozen_and_whale() -> None:
    (_, main), (_, others) = panel_rows(list(METHODS))
    assert main == [*MAIN, "whale_adaptive"]
    assert set(main) | set(others) == set(METHODS)
    assert set(main) & set(others) == {"frozen", "whale"}


@pytest.mark.parametrize("names", [["frozen", "fst", "whale"], list(MAIN), [f"m{i}" for i in range(9)]])
def test_few_methods_or_one_kind_stand_in_one_row(names: list[str]) -> None:
    assert panel_rows(names) == [("", names)]


def test_all_methods_are_drawn_on_one_scale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figures: list[Figure] = []
    monkeypatch.setattr(curves, "_save", lambda figure, path: figures.append(figure))
    results = full_results(seeds=(0, 1))
    curves.draw_curves(results, tmp_path)
    axes = figures[0].get_axes()
    assert len(axes) == 4
    assert len({axis.get_ylim() for axis in axes}) == 1
    named = [text.get_text() for part in figures[0].subfigs for text in part.legends[0].get_texts()]
    assert {name.split()[0] for name in named} == set(METHODS)
    runs = by_method(results)
    for name in FREE:
        level = 100 * np.mean([mean_of(run.result, run.selected, "test") for run in runs[name]])
        heights = [line.get_ydata() for line in axes[2].get_lines()]
        assert any(np.allclose(np.asarray(height, float), level) for height in heights), name


def test_families_stand_from_top_to_bottom_in_the_order_of_the_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures: list[Figure] = []
    monkeypatch.setattr(curves, "_save", lambda figure, path: figures.append(figure))
    curves.draw_families(many_results(seeds=(0,)), tmp_path)
    axis = figures[0].get_axes()[0]
    assert axis.get_yticklabels()[0].get_text() == "frozen"
    low, high = axis.get_ylim()
    assert low > high


def test_curves_are_steps_of_the_system_in_force() -> None:
    runs = by_method(
        [
            one_result("whale", 0, select=[[0], [0], [0]], test=[[2], [8], [4]]),
            one_result("whale", 1, select=[[0], [0], [0]], test=[[2], [4], [6]], step=50),
        ]
    )["whale"]
    x_G, acc_R_G, mean_G = mean_steps(runs, lambda spend: spend.rollouts, 300)
    assert x_G.tolist() == [0, 50, 100, 200, 300]
    assert acc_R_G.tolist() == [[25, 25, 100, 50, 50], [25, 50, 75, 75, 75]]
    assert mean_G.tolist() == np.mean(acc_R_G, axis=0).tolist()

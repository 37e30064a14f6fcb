"""The adaptive rule: made-up rewards, and the step at which a phase must stop."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whale.patience import Patience

# (what happens, rule, what has to be beaten, value after every step, the step after which it stops; 0: it does not)
CASES: list[tuple[str, Patience, float, list[float], int]] = [
    ("a plateau from the start", Patience(window=1, minimum=1, patience=2), -1, [0.5, 0.5, 0.5, 0.5], 3),
    ("a tie is not better", Patience(window=1, minimum=1, patience=1), -1, [0.2, 0.4, 0.4, 0.9], 3),
    ("it rises to the end", Patience(window=1, minimum=1, patience=1), -1, [0.1, 0.2, 0.3, 0.4], 0),
    ("the minimum holds it", Patience(window=1, minimum=4, patience=1), -1, [0.5, 0.4, 0.3, 0.2, 0.1], 4),
    ("a gain after that resets", Patience(window=1, minimum=2, patience=2), -1, [0.1, 0.1, 0.2, 0.1, 0.1, 0.3], 5),
    ("a late gain comes too late", Patience(window=1, minimum=1, patience=2), -1, [0.3, 0.2, 0.2, 0.9], 3),
    ("a late gain in time", Patience(window=1, minimum=1, patience=3), -1, [0.3, 0.2, 0.2, 0.9, 0.1, 0.1, 0.1], 7),
    ("a lucky first step, averaged", Patience(window=2, minimum=2, patience=1), -1, [0.9, 0.1, 0.6, 0.7, 0.8], 3),
    ("a lucky first step leaves the window", Patience(window=2, minimum=2, patience=2), -1,
     [0.9, 0.1, 0.6, 0.7, 0.8, 0.8], 0),
    ("no mean before the window is full", Patience(window=3, minimum=1, patience=1), -1, [0.9, 0.0, 0.0, 0.0], 4),
    ("the same rewards in another order tie", Patience(window=3, minimum=3, patience=1), -1,
     [0.1, 0.2, 0.3, 0.1], 4),
    ("a tie with a third is a tie", Patience(window=1, minimum=1, patience=1), 2 / 3, [2 / 3, 0.9], 1),
    ("the incoming harness is not beaten", Patience(window=1, minimum=1, patience=2), 0.6, [0.6, 0.5, 0.9], 2),
    ("the incoming one is beaten, then nothing", Patience(window=1, minimum=1, patience=2), 0.1, [0.2, 0.2, 0.2], 3),
    ("the published search rule", Patience(window=1, minimum=5, patience=2), 0.1, [0.2, 0.2, 0.2, 0.2, 0.2, 0.3], 5),
    ("the published search rule, a gain in time", Patience(window=1, minimum=5, patience=2), 0.1,
     [0.2, 0.2, 0.2, 0.3, 0.3, 0.3], 6),
]  # fmt: skip


def stop(rule: Patience, before: float, values: Sequence[float]) -> int:
    return next((end for end in range(1, len(values) + 1) if rule.enough(values[:end], before)), 0)


@pytest.mark.parametrize(
    ("rule", "before", "values", "wanted"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_where_a_phase_stops(rule: Patience, before: float, values: list[float], wanted: int) -> None:
    assert stop(rule, before, values) == wanted


@given(
    st.builds(Patience, window=st.integers(1, 4), minimum=st.integers(1, 6), patience=st.integers(1, 4)),
    st.lists(st.integers(0, 8).map(lambda count: count / 8), max_size=24),
)
def test_it_never_stops_early_and_never_overstays(rule: Patience, values: list[float]) -> None:
    end = stop(rule, -1.0, values)
    if end:
        assert end >= max(rule.minimum, rule.window + rule.patience)
    flat = [*values, *[0.0] * (rule.minimum + rule.window + rule.patience)]
    assert stop(rule, -1.0, flat), "values that no longer rise end every phase"

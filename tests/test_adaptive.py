"""The adaptive schedule: what it does with phases that end early, and that it spends what there is."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bench.config import load_profile
from tests.test_schedule import plans
from whale.adaptive import METHOD
from whale.phases import Phase, Search, Train
from whale.schedule import Plan


def walked(plan: Plan, lengths: list[int]) -> list[Phase]:
    """The phases as carried out when the n-th stops after ``lengths[n]`` steps or iterations, or at its end."""
    done: list[Phase] = []

    def carry_out(phase: Phase) -> int:
        wanted = lengths[len(done)] if len(done) < len(lengths) else 10**9
        match phase:
            case Train():
                spent = min(phase.rollouts, wanted * plan.weight.step_cost) if phase.until else phase.rollouts
                done.append(replace(phase, rollouts=spent))
            case Search():
                done.append(replace(phase, iterations=min(phase.iterations, wanted)))
        return plan.cost(done[-1])

    METHOD.walk(plan, carry_out)
    return done


@given(plans, st.lists(st.integers(1, 9), max_size=12))
def test_weights_come_first_and_last_and_the_budget_is_spent(plan: Plan, lengths: list[int]) -> None:
    assume(plan.adaptive.cap >= plan.adaptive.search.minimum)
    phases = walked(plan, lengths)
    assert sum(map(plan.cost, phases)) == plan.total
    assert isinstance(phases[0], Train)
    assert isinstance(phases[-1], Train)
    for before, after in pairwise(phases):
        assert isinstance(before, Train) or isinstance(after, Train), "two searches never follow each other"
    for phase in phases:
        if isinstance(phase, Search):
            assert phase.iterations <= plan.adaptive.cap
            assert not phase.continued


def test_it_searches_when_the_first_steps_have_stopped_helping() -> None:
    plan = load_profile("cpu", "math").plan
    first, second, *rest = walked(plan, [2, 1, 1, 1, 1, 1])
    assert isinstance(first, Train)
    assert isinstance(second, Search)
    assert (first.rollouts, second.iterations) == (2 * plan.weight.step_cost, 1)
    assert len(rest) >= 1


def test_without_a_stop_it_is_weight_only() -> None:
    plan = load_profile("cpu", "math").plan
    (only,) = walked(plan, [10_000])
    assert isinstance(only, Train)
    assert only.rollouts == plan.total


@pytest.mark.parametrize("name", ["math", "searchqa", "chess"])
def test_the_profiles_pay_for_at_least_one_search(name: str) -> None:
    plan = load_profile("cpu", name).plan
    assert any(isinstance(phase, Search) for phase in walked(plan, [1] * 20))

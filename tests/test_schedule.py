"""Schedules: every method spends the same budget, and never a rollout more."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baselines import METHODS
from bench.config import load_profile, profile_names
from envs.base import InputError
from whale.patience import Patience
from whale.schedule import (
    AdaptiveSettings,
    BudgetSettings,
    Method,
    Plan,
    Schedule,
    Search,
    SearchSettings,
    Train,
    WeightSettings,
)

SPENDING = [name for name in METHODS if name != "frozen"]
small = st.integers(1, 9)
patience = st.builds(Patience, window=small, minimum=small, patience=small)
plans = st.builds(
    Plan,
    st.builds(WeightSettings, prompts=small, samples=small),
    st.builds(
        SearchSettings,
        examples=small,
        candidates=small,
        accept=st.sampled_from(["confirm", "argmax"]),
        finalists=small,
        confirm_samples=small,
    ),
    st.builds(BudgetSettings, steps=small, iterations=small, cycles=small),
    st.builds(AdaptiveSettings, weight=patience, search=patience, cap=small),
)


def spent(name: str, plan: Plan) -> int:
    return sum(plan.cost(phase) for phase in METHODS[name].phases(plan))


@pytest.mark.parametrize("name", profile_names())
@pytest.mark.parametrize("method", METHODS)
def test_every_method_spends_exactly_the_budget_of_a_profile(name: str, method: str) -> None:
    plan = load_profile(name, "math").plan
    assert spent(method, plan) == (plan.total if method != "frozen" else 0)


@pytest.mark.parametrize("name", profile_names())
def test_methods_of_a_profile_share_their_first_weight_phase(name: str) -> None:
    plan = load_profile(name, "math").plan
    first = {method: METHODS[method].phases(plan)[0] for method in ("weight_only", "stagewise", "whale")}
    assert set(first.values()) == {plan.train}


@given(plans)
def test_no_method_exceeds_the_budget(plan: Plan) -> None:
    for name in METHODS:
        assert spent(name, plan) <= plan.total
    assert spent("frozen", plan) == 0


@given(plans)
def test_the_alternating_method_defines_the_budget(plan: Plan) -> None:
    assert spent("whale", plan) == plan.total
    phases = METHODS["whale"].phases(plan)
    assert phases[::2] == [plan.train] * (plan.budget.cycles + 1)
    assert phases[1::2] == [Search(plan.budget.iterations)] * plan.budget.cycles


@given(plans)
def test_what_the_baselines_leave_would_not_pay_for_anything_more(plan: Plan) -> None:
    assert 0 <= plan.total - spent("weight_only", plan) < plan.weight.step_cost
    assert 0 <= plan.total - spent("harness_only", plan) < plan.cost(plan.searching)
    assert spent("stagewise", plan) == plan.total


@given(plans)
def test_weight_phases_of_weight_only_have_the_length_of_the_alternating_ones(plan: Plan) -> None:
    *whole, last = METHODS["weight_only"].phases(plan)
    assert whole == [plan.train] * len(whole)
    assert isinstance(last, Train)
    assert 0 < last.steps <= plan.budget.steps


@given(plans)
def test_only_searches_under_the_same_weights_continue_an_archive(plan: Plan) -> None:
    for method in METHODS.values():
        before: object = None
        for phase in method.phases(plan):
            if isinstance(phase, Search):
                assert phase.continued == isinstance(before, Search)
            before = phase


@given(plans)
def test_stagewise_trains_first_with_the_split_of_the_alternating_method(plan: Plan) -> None:
    phases = METHODS["stagewise"].phases(plan)
    kinds = [isinstance(phase, Train) for phase in phases]
    assert kinds == sorted(kinds, reverse=True)
    steps = sum(phase.steps for phase in phases if isinstance(phase, Train))
    assert steps == (plan.budget.cycles + 1) * plan.budget.steps
    assert kinds.count(False) == plan.budget.cycles


def test_the_price_of_a_search_in_numbers() -> None:
    settings = {"examples": 10, "candidates": 3, "finalists": 2, "confirm_samples": 4}
    confirm = SearchSettings.model_validate({**settings, "accept": "confirm"})
    argmax = SearchSettings.model_validate({**settings, "accept": "argmax"})
    assert argmax.cost(5) == 10 * (1 + 3 * 5)
    assert confirm.cost(5) == argmax.cost(5) + 3 * 10 * 4


def test_a_method_that_overspends_is_refused() -> None:
    plan = load_profile("smoke", "math").plan

    def endless(plan: Plan) -> Schedule:
        for _ in range(100):
            yield plan.train

    greedy = Method("greedy", endless)
    with pytest.raises(
        InputError, match=rf"greedy would spend \d+ rollouts of a budget of {plan.total}; lower"
    ):
        greedy.phases(plan)

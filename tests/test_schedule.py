"""Schedules: every method spends the same budget, and never a rollout more."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from baselines import METHODS
from bench.config import load_profile, profile_names
from envs.base import InputError
from whale.budget import (
    AdaptiveSettings,
    AttemptSettings,
    BudgetSettings,
    FstSettings,
    SearchSettings,
    WeightSettings,
)
from whale.patience import Patience
from whale.phases import Evolve, Search, Train
from whale.schedule import Method, Plan, Schedule

FREE = ("frozen", "attempts", "refinement")
"""They learn nothing and spend nothing."""
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
    st.builds(
        FstSettings, prompts=small, calls=st.integers(2, 9), minibatch=small, reflector=st.just("offline")
    ),
    st.just(AttemptSettings(counts=(2, 4))),
)


def spent(name: str, plan: Plan) -> int:
    """Rollouts of the method's phases; the whole budget where it refuses to be another method."""
    refuses = (
        plan.evolving.calls < plan.least_calls
        or plan.total < plan.evolving.calls + plan.slack + plan.weight.step_cost
        if name == "fst"
        else name == "whale_adaptive" and plan.adaptive.cap < plan.adaptive.search.minimum
    )
    return plan.total if refuses else sum(plan.cost(phase) for phase in METHODS[name].phases(plan))


@pytest.mark.parametrize("name", profile_names())
@pytest.mark.parametrize("method", METHODS)
def test_every_method_spends_exactly_the_budget_of_a_profile(name: str, method: str) -> None:
    plan = load_profile(name, "math").plan
    assert spent(method, plan) == (0 if method in FREE else plan.total)


@pytest.mark.parametrize("name", profile_names())
def test_methods_of_a_profile_share_their_first_weight_phase(name: str) -> None:
    plan = load_profile(name, "math").plan
    first = {method: METHODS[method].phases(plan)[0] for method in ("weight_only", "stagewise", "whale")}
    assert set(first.values()) == {plan.train}


@given(plans)
def test_no_method_exceeds_the_budget(plan: Plan) -> None:
    for name in METHODS:
        assert spent(name, plan) <= plan.total
    assert [spent(name, plan) for name in FREE] == [0, 0, 0]


@given(plans)
def test_the_alternating_method_defines_the_budget(plan: Plan) -> None:
    assert spent("whale", plan) == plan.total
    phases = METHODS["whale"].phases(plan)
    assert phases[::2] == [plan.train] * (plan.budget.cycles + 1)
    assert phases[1::2] == [Search(plan.budget.iterations)] * plan.budget.cycles


@given(plans)
def test_what_the_baselines_leave_would_not_pay_for_anything_more(plan: Plan) -> None:
    assert spent("weight_only", plan) == spent("grpo", plan) == spent("fst", plan) == plan.total
    assert spent("fst_control", plan) == spent("split_evidence", plan) == plan.total
    left = plan.total - spent("harness_only", plan)
    assert plan.search.iterations_for(left) == 0
    for name in ("stagewise", "stagewise_reversed"):
        assert plan.search.iterations_for(plan.total - spent(name, plan)) == 0


@given(plans)
def test_weight_phases_of_weight_only_have_the_length_of_the_alternating_ones(plan: Plan) -> None:
    *whole, last = METHODS["weight_only"].phases(plan)
    assert whole == [plan.train] * len(whole)
    assert isinstance(last, Train)
    assert 0 < last.rollouts <= plan.train.rollouts


@given(plans)
def test_only_searches_under_the_same_weights_continue_an_archive(plan: Plan) -> None:
    for name, method in METHODS.items():
        before: object = None
        for phase in method.phases(plan) if name not in ("fst", "whale_adaptive") else ():
            if isinstance(phase, Search):
                assert phase.continued == isinstance(before, Search)
            before = phase


@given(plans)
def test_stagewise_trains_first_with_the_split_of_the_alternating_method(plan: Plan) -> None:
    phases = METHODS["stagewise"].phases(plan)
    kinds = [isinstance(phase, Train) for phase in phases]
    assert kinds == sorted(kinds, reverse=True)
    assert sum(phase.rollouts for phase in phases if isinstance(phase, Train)) == plan.training
    assert phases[::-1] != phases


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


@given(plans, st.integers(0, 30))
def test_fast_slow_training_takes_an_overshoot_from_its_last_weight_phase(plan: Plan, beyond: int) -> None:
    charged: list[int] = []

    def carry_out(phase: object) -> int:
        assert isinstance(phase, Train | Evolve)
        charged.append(plan.cost(phase) + (min(beyond, plan.slack) if isinstance(phase, Evolve) else 0))
        return charged[-1]

    try:
        METHODS["fst"].walk(plan, carry_out)
    except InputError:
        assume(False)
    assert sum(charged) == plan.total


@pytest.mark.parametrize(
    ("method", "changes", "message"),
    [
        ("fst", ["fst.calls=2"], "the smallest calls that works is 3, or lower [fst] prompts"),
        ("fst", ["fst.calls=9"], "a budget of 384 rollouts does not pay for 288 metric calls and a weight step; the "
         "smallest that works is 453"),
        ("whale_adaptive", ["adaptive.search.minimum=4"], "the smallest cap that works is 4"),
    ],
)  # fmt: skip
def test_what_would_be_another_method_is_refused(method: str, changes: list[str], message: str) -> None:
    plan = load_profile("smoke", "math", changes).plan
    with pytest.raises(InputError) as caught:
        METHODS[method].phases(plan)
    assert message in str(caught.value)
    METHODS["whale"].phases(plan)


@pytest.mark.parametrize("counts", [[], [1, 2], [4, 2], [2, 2]])
def test_counts_of_attempts_must_rise_from_two(counts: list[int]) -> None:
    with pytest.raises(ValueError, match=r"must rise|at least 1"):
        AttemptSettings.model_validate({"counts": counts})

"""What ``plan`` promises: charged in full for every method, computed once where a prefix is shared."""

from __future__ import annotations

import pytest

from baselines import METHODS
from bench.config import Profile, load_profile
from bench.planning import costs, short
from tests.test_arms import JOINT
from whale.phases import Attempt, Evolve, Refine, Search, Train


@pytest.fixture
def profile() -> Profile:
    return load_profile("smoke", "math")


def evaluation(profile: Profile) -> int:
    return (profile.env.sizes.select + profile.env.sizes.test) * profile.eval.samples


def test_alone_every_method_computes_its_charge_and_all_its_evaluations(profile: Profile) -> None:
    for method in METHODS.values():
        (row,) = costs(profile, [method])
        phases = method.phases(profile.plan, brief=True)
        blocks = 1 + sum(2 if phase == Attempt(4) else 1 for phase in phases)
        corners = 2 * profile.env.sizes.test * profile.eval.samples if method.name in JOINT else 0
        assert row.computed == row.charged + blocks * evaluation(profile) + corners
        assert row.charged == sum(map(profile.plan.cost, phases))


def test_a_shared_prefix_is_computed_once_and_charged_twice(profile: Profile) -> None:
    first, second = costs(profile, [METHODS["weight_only"], METHODS["whale"]])
    (alone,) = costs(profile, [METHODS["whale"]])
    shared = profile.plan.cost(profile.plan.train)
    assert second.computed == alone.computed - shared - 2 * evaluation(profile)
    assert first.charged == second.charged == profile.plan.total


def test_the_same_method_again_costs_nothing_but_is_charged(profile: Profile) -> None:
    _, again = costs(profile, [METHODS["whale"], METHODS["whale"]])
    assert again.computed == 0
    assert again.charged == profile.plan.total


def test_the_order_of_methods_does_not_change_the_sum(profile: Profile) -> None:
    forward = costs(profile, list(METHODS.values()))
    backward = costs(profile, list(reversed(METHODS.values())))
    assert sum(row.computed for row in forward) == sum(row.computed for row in backward)


def test_a_schedule_in_short(profile: Profile) -> None:
    plan = profile.plan
    step = plan.weight.step_cost
    phases = (Train(2 * step), Train(step // 2), Search(3), Evolve(60, 2), Attempt(4), Refine())
    assert [short(phase, plan) for phase in phases] == ["W2", "W0.5", "H3", "P60", "x4", "refine"]
    rows = {row.name: row.phases for row in costs(profile, list(METHODS.values()))}
    assert rows["frozen"] == "-"
    assert rows["whale"] == "W1 H2 W1"

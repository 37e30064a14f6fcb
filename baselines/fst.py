"""Fast-Slow Training as published (arXiv 2605.12484): GEPA evolves K prompts, a policy gradient trains the weights.

A cycle evolves the carried prompts on the tasks of the weight steps to come (the anchors), then takes those steps with
each task's samples split evenly over the prompts, in one advantage group. GEPA's rollouts are charged like any other.
Differs from the source: T is the E of the profile (published 6); what evolves is the instruction of the starting
harness; the last cycle has what is left, maybe weight steps alone. Unpublished, so ours: the prompt in force is the
one with the best mean on the anchors, the learning rate, GEPA's minibatch. ``fst_control`` is the WHALE paper's FST.
"""

from __future__ import annotations

from dataclasses import replace

from envs.base import InputError
from whale.phases import Train
from whale.schedule import Method, Plan, Schedule


def _schedule(plan: Plan) -> Schedule:
    _check(plan)
    left = plan.total
    while left > 0:
        calls = min(plan.evolving.calls, left - plan.slack - plan.weight.step_cost)
        if calls >= plan.least_calls:
            left -= yield replace(plan.evolving, calls=calls)
        left -= yield Train(min(left, plan.train.rollouts), learner="policy_gradient")


def _check(plan: Plan) -> None:
    """Raise ``InputError`` where this would not be Fast-Slow Training."""
    calls, needed = plan.evolving.calls, plan.evolving.calls + plan.slack + plan.weight.step_cost
    if calls < plan.least_calls:
        raise InputError(
            f"fst: [fst] calls = {plan.fst.calls} makes {calls} metric calls on {plan.anchors} anchors, but carrying "
            f"{plan.fst.prompts} prompts takes {plan.least_calls - 1} and something must be left to try; the smallest "
            f"calls that works is {-(-plan.least_calls // plan.anchors)}, or lower [fst] prompts"
        )
    if plan.total < needed:
        raise InputError(
            f"fst: a budget of {plan.total} rollouts does not pay for {calls} metric calls and a weight step; the "
            f"smallest that works is {needed}: lower [fst] calls, or raise [budget] cycles"
        )


METHOD = Method("fst", _schedule)

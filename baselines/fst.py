"""Fast-Slow Training as published (arXiv 2605.12484): GEPA evolves K prompts, a policy gradient trains the weights.

A cycle evolves the carried prompts on the tasks of the weight steps to come (the anchors), then takes those steps with
each task's samples split evenly over the prompts, in one advantage group. GEPA's rollouts are charged like any other.
Differs from the source: T is the E of the profile (published 6); what evolves is the instruction of the starting
harness; the last cycle has what is left, maybe weight steps alone. Unpublished, so ours: the prompt in force is the
one with the best mean on the anchors, the learning rate, GEPA's minibatch. ``fst_control`` is the WHALE paper's FST.
"""

from __future__ import annotations

from dataclasses import replace

from whale.phases import Train
from whale.schedule import Method, Plan, Schedule


def _schedule(plan: Plan) -> Schedule:
    left = plan.total
    while left > 0:
        calls = min(plan.evolving.calls, left - plan.slack - plan.weight.step_cost)
        if calls >= plan.least_calls:
            left -= yield replace(plan.evolving, calls=calls)
        left -= yield Train(min(left, plan.train.rollouts), learner="policy_gradient")


METHOD = Method("fst", _schedule)

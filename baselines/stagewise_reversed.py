"""All harness search first, then all weight updates, with the alternating method's own split of the budget.

The mirror of ``stagewise``: the harness is found for the starting weights, and the weights are trained under it.
"""

from __future__ import annotations

from whale.schedule import Method, Plan, Schedule


def _schedule(plan: Plan) -> Schedule:
    yield from plan.searches(plan.total - plan.training)
    yield from plan.trains(plan.training)


METHOD = Method("stagewise_reversed", _schedule)

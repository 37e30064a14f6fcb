"""All weight updates first, then all harness search, with the alternating method's own split of the budget.

The split is fixed in advance; choosing it by looking at test results would be an oracle.
"""

from __future__ import annotations

from whale.schedule import Method, Plan, Schedule


def _schedule(plan: Plan) -> Schedule:
    yield from plan.trains(plan.training)
    yield from plan.searches(plan.total - plan.training)


METHOD = Method("stagewise", _schedule)

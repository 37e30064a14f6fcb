"""All weight updates first, then all harness search, with the alternating method's own split of the budget.

The split is fixed in advance; choosing it by looking at test results would be an oracle.
"""

from __future__ import annotations

from collections.abc import Iterator

from whale.schedule import Method, Phase, Plan


def _schedule(plan: Plan) -> Iterator[Phase]:
    training = (plan.budget.cycles + 1) * plan.cost(plan.train)
    yield from plan.trains(training)
    yield from plan.searches(plan.total - training)


METHOD = Method("stagewise", _schedule)

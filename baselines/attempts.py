"""The starting system with several attempts a question: does anything beat simply trying more often?

Attempts are independent rollouts; a blind selector, which sees no verdict, takes the answer that most of them give, the
first of equals. One checkpoint for every number of attempts (``[attempts]``), so that the report can set beside each
arm the number whose test-time spend is no smaller. After "Rethinking the Evaluation of Harness Evolution" (arXiv
2607.12227). Differs from the source: the selector is a vote. Learns nothing and spends no budget.
"""

from __future__ import annotations

from whale.phases import Attempt
from whale.schedule import Method, Plan, Schedule


def _schedule(plan: Plan) -> Schedule:
    for count in plan.attempts.counts:
        yield Attempt(count)


METHOD = Method("attempts", _schedule)

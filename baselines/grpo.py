"""Policy gradient with group advantages (GRPO) under the starting harness until the whole budget is spent.

The control for ``weight_only``: RAFT-type methods are usually compared with it (DeepSeekMath, arXiv 2402.03300).
Differs from the source as ``whale.policy_gradient`` says; where a step is one mini-batch the ratio is 1 and the cap
plays no part.
"""

from __future__ import annotations

from whale.schedule import Method, Plan, Schedule


def _schedule(plan: Plan) -> Schedule:
    yield from plan.trains(plan.total, "policy_gradient")


METHOD = Method("grpo", _schedule)

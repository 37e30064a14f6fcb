"""WHALE with a fixed schedule (arXiv 2609.00196): W(E) then H(I), repeated; the last phase is a weight phase.

Differs from the paper: by default a search accepts by confirmation on fresh samples (``accept = confirm``).
"""

from __future__ import annotations

from whale.schedule import Method, Plan, Schedule


def _schedule(plan: Plan) -> Schedule:
    return plan.alternating(plan.searching)


METHOD = Method("whale", _schedule)

"""Harness search on the starting weights until the whole budget is spent, in one growing archive.

Differs from Meta-Harness's single long search: the harness in force changes after every I iterations, each
time by confirmation on fresh samples, so the method has points on its cost curve.
"""

from __future__ import annotations

from whale.schedule import Method, Plan, Schedule


def _schedule(plan: Plan) -> Schedule:
    yield from plan.searches(plan.total)


METHOD = Method("harness_only", _schedule)

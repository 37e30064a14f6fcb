"""Rejection-sampling fine-tuning under the starting harness until the whole budget is spent."""

from __future__ import annotations

from whale.schedule import Method, Plan, Schedule


def _schedule(plan: Plan) -> Schedule:
    yield from plan.trains(plan.total)


METHOD = Method("weight_only", _schedule)

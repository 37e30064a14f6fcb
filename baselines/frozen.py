"""The starting weights under the starting harness: what everything is measured against. Spends nothing."""

from __future__ import annotations

from whale.schedule import Method, Plan, Schedule


def _schedule(_: Plan) -> Schedule:
    yield from ()


METHOD = Method("frozen", _schedule)

"""Rejection-sampling fine-tuning under the starting harness until the whole budget is spent."""

from __future__ import annotations

from collections.abc import Iterator

from whale.schedule import Method, Phase, Plan


def _schedule(plan: Plan) -> Iterator[Phase]:
    yield from plan.trains(plan.total)


METHOD = Method("weight_only", _schedule)

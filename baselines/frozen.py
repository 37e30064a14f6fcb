"""The starting weights under the starting harness: what everything is measured against. Spends nothing."""

from __future__ import annotations

from collections.abc import Iterator

from whale.schedule import Method, Phase, Plan


def _schedule(_: Plan) -> Iterator[Phase]:
    yield from ()


METHOD = Method("frozen", _schedule)

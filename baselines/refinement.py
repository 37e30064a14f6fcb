"""The starting weights with sequential attempts: the model is shown its answer and asked to check it.

The other simple way to spend more at test time (arXiv 2607.12227), as a hand-made harness for each environment
(``[harness] refine``) within the token limit of a rollout. Learns nothing and spends no budget.
"""

from __future__ import annotations

from whale.phases import Refine
from whale.schedule import Method, Plan, Schedule


def _schedule(_: Plan) -> Schedule:
    yield Refine()


METHOD = Method("refinement", _schedule)

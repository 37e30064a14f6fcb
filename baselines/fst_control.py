"""What the WHALE paper (arXiv 2609.00196) calls Fast-Slow Training: WHALE with its search confined to prompt text.

Schedule and learner are WHALE's own; every candidate's syntax tree must equal its parent's apart from string constants
(``whale.prompt_text``), so the difference to ``whale`` is what code adds. The published method of that name is ``fst``;
numbers of one never stand for the other. Differs from the source: the starting harness may hold worked examples, whose
texts count as prompt text too.
"""

from __future__ import annotations

from dataclasses import replace

from whale.schedule import Method, Plan, Schedule


def _schedule(plan: Plan) -> Schedule:
    return plan.alternating(replace(plan.searching, space="text"))


METHOD = Method("fst_control", _schedule)

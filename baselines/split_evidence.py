"""Successes train the weights, failures drive the harness, from the same rollouts (after Co-Harness, arXiv 2607.22688).

WHALE's schedule and learner; a proposer sees the failed rollouts of the weight phase before its search, and of the
candidates it proposed their failures, never a success. Differs from the source: candidates are scored and confirmed on
the search split like those of every other arm here, and the rollouts come from weights up to E steps older than those
that the search works with.
"""

from __future__ import annotations

from dataclasses import replace

from whale.schedule import Method, Plan, Schedule


def _schedule(plan: Plan) -> Schedule:
    return plan.alternating(replace(plan.searching, evidence="failures"))


METHOD = Method("split_evidence", _schedule)

"""WHALE with an adaptive schedule (arXiv 2609.00196): a phase goes on for as long as it still helps.

A weight phase stops on the sliding mean of its training reward, a search on the best score of its archive
(``[adaptive]``); weights come first, and no search follows the last weight phase. Differs from the paper: the budget is
that of all rollouts, not of weight steps alone, so that the arms stay comparable; a search starts only if it and one
weight step after it can be paid, and what is left when none can goes into weight steps without the rule.
"""

from __future__ import annotations

from envs.base import InputError
from whale.phases import Search, Train
from whale.schedule import Method, Plan, Schedule


def _schedule(plan: Plan) -> Schedule:
    rule, left = plan.adaptive, plan.total
    if rule.cap < rule.search.minimum:
        raise InputError(
            f"whale_adaptive: [adaptive] cap = {rule.cap} is below search.minimum = {rule.search.minimum}, so that no "
            f"search could start; the smallest cap that works is {rule.search.minimum}"
        )
    while left > 0:
        left -= yield Train(left, rule.weight)
        iterations = min(rule.cap, plan.search.iterations_for(left - plan.weight.step_cost))
        if iterations < rule.search.minimum:
            yield from plan.trains(left)
            return
        left -= yield Search(iterations, until=rule.search)


METHOD = Method("whale_adaptive", _schedule)

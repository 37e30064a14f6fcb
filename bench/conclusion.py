"""What the comparisons allow one to say, and what they do not, in plain sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bench.budgets import pair_note
from bench.compare import Comparison
from bench.result_file import ResultFile
from bench.stats import smallest_run_p
from bench.wording import count, interval, p_value, percent, points, spread

ALPHA = 0.05


def conclusion(comparisons: Sequence[Comparison], results: Sequence[ResultFile]) -> str:
    """What may and may not be concluded from this many seeds and questions."""
    if not comparisons:
        return f"{_why_nothing(results)}, so nothing is compared and nothing about methods can be concluded."
    parts = [_about_methods(comparisons), *_about_systems(comparisons, results), *_about_spend(comparisons)]
    return "\n\n".join(parts)


def _why_nothing(results: Sequence[ResultFile]) -> str:
    if len({result.method for result in results}) == 1:
        return "Only one method ran"
    return "Neither whale nor frozen ran with a method that is compared with it"


def _about_methods(comparisons: Sequence[Comparison]) -> str:
    runs = sorted({len(c.seeds) for c in comparisons})
    family, most = len(comparisons), runs[-1]
    smallest = smallest_run_p(most)
    if smallest is None:
        return "Methods: no two methods share a seed, so no comparison of methods is possible."
    floor = min(1.0, family * smallest)
    start = (
        f"Methods: with {spread([str(r) for r in runs])} paired run{'s' if most > 1 else ''} per comparison, "
        f"the smallest run-level p-value that can come out is {p_value(smallest)}"
    )
    if family > 1:
        start += f" ({p_value(floor)} after Holm over {family} comparisons)"
    if floor > ALPHA:
        needed = math.ceil(math.log2(2 * family / ALPHA))
        return (
            f"{start}. So no claim that one method is better than another is possible at the 5 % level, "
            f"whatever the results; it would take {needed} seeds."
        )
    found = [c for c in comparisons if c.run_holm is not None and c.run_holm <= ALPHA]
    if not found:
        return f"{start}. No method-level difference reaches the 5 % level."
    each = "; ".join(f"{c.label} {points(c.run.difference)} points (p {p_value(c.run_holm)})" for c in found)
    return f"{start}. Method-level differences at the 5 % level: {each}."


def _about_systems(comparisons: Sequence[Comparison], results: Sequence[ResultFile]) -> list[str]:
    questions = len(results[0].checkpoints[0].test)
    start = (
        f"Trained systems: the following holds for these particular trained systems, on questions like these "
        f"{count(questions)} ({results[0].samples} samples each), and not for the methods in general."
    )
    shown = [c for c in comparisons if c.question_holm is not None and c.question_holm <= ALPHA]
    lines = [
        f"- {c.label}: {points(c.question.difference)} points (95 % interval "
        f"{interval(c.question.interval)}, p {p_value(c.question_holm)} after Holm)."
        for c in shown
    ]
    lines += [f"- {c.label}: {_not_shown(c)}" for c in comparisons if c not in shown]
    return [start, "\n".join(lines)]


def _not_shown(c: Comparison) -> str:
    if not c.seeds:
        return "not compared, the two share no seed."
    if c.question.p is None:
        return f"{c.question.questions} question, too few for a test."
    if c.detectable is None:
        same = points(c.question.difference)
        return f"the same difference on every question ({same} points), so it has no standard error."
    return (
        f"no difference shown ({points(c.question.difference)} points, p {p_value(c.question_holm)} after "
        f"Holm); one under about {percent(c.detectable)} points would be missed more than one time in "
        f"five, so this is not evidence of equality."
    )


def _about_spend(comparisons: Sequence[Comparison]) -> list[str]:
    lines = [f"- {pair_note(c.label, c.common, *c.means)}" for c in comparisons if c.common and c.means]
    if not lines:
        return []
    start = (
        "Unequal spend: the two arms of each pair below were charged differently, so they are compared at "
        "the smallest final charge of the two, and not at their selected checkpoints. An arm that ends there "
        "counts with its last system, one that goes on with a straight line, question by question, between "
        "its checkpoints before and after that spend."
    )
    return [start, "\n".join(lines)]

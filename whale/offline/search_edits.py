"""Edits of how a harness searches: which queries, how many passages, and what of them the model sees."""

from __future__ import annotations

import re
from collections.abc import Callable

from whale.offline.edit import Edit, percent
from whale.offline.evidence import Evidence
from whale.offline.example_edits import place
from whale.offline.wording_edits import put, unless

MORE = r'''
def searched(request, problem):
    """More passages for the same query."""
    return (yield Tool("search", {**request.arguments, "k": PASSAGES}))
'''

QUESTION = r'''
def searched(request, problem):
    """Search with the question itself instead of the model's query."""
    return (yield Tool("search", {"query": problem.question, "k": PASSAGES}))
'''

BOTH = r'''
def searched(request, problem):
    """Search with the model's query and with the question: each finds what the other misses."""
    first = yield Tool("search", {"query": problem.question, "k": PASSAGES})
    second = yield Tool("search", {**request.arguments, "k": PASSAGES})
    return first if first == second else first + "\n\n" + second
'''

HOP = r'''
def searched(request, problem):
    """Two steps: what the best passage is about is searched again together with the question."""
    first = yield Tool("search", {"query": problem.question, "k": 1})
    subject = re.search(r"\[1\] (.*?) - ", first)
    if subject is None:
        return first
    second = yield Tool("search", {"query": subject.group(1) + " " + problem.question, "k": PASSAGES})
    return first if first == second else first + "\n\n" + second
'''

NARROWED = r'''
def narrowed(text, problem):
    """Titles, and of the other lines the two that share most words with the question."""
    asked = set(re.findall(r"\w{3,}", problem.question.lower()))
    lines = text.split("\n")
    shared = [len(asked & set(re.findall(r"\w{3,}", line.lower()))) for line in lines]
    plain = [at for at, line in enumerate(lines) if line and not line.startswith("[")]
    best = sorted(plain, key=lambda at: (-shared[at], at))[:2]
    return "\n".join(line for at, line in enumerate(lines) if at in best or line.startswith("["))
'''

LAST_LINE = r'''
def finished(answer):
    """An answer without the form gets it around the last line that the model wrote."""
    lines = [line.strip(" .") for line in (answer or "").splitlines() if line.strip(" .")]
    if answer_in(answer) or not lines:
        return answer
    return answer + "\n" + <<before>> + lines[-1] + <<after>>
'''


def passages(evidence: Evidence) -> int:
    """Passages a query that a harness asks for; 1 when no edit has set it."""
    found = re.search(r"\d+", evidence.pieces.get("PASSAGES", ""))
    return int(found.group()) if found else 1


def _missed(e: Evidence) -> str:
    return (
        f"{percent(1 - e.share('correct'))} of {e.rollouts} rollouts fail with {passages(e)} passage a query"
    )


def _searching(name: str, body: str, count: int, weight: float, what: str) -> Edit:
    def apply(source: str, evidence: Evidence) -> str:
        return place(source, evidence, searched=body, PASSAGES=f"PASSAGES = {count}").render()

    def applies(e: Evidence) -> float:
        same = e.pieces.get("searched") == body.strip() and passages(e) == count
        return 0.0 if same else weight * (1 - e.share("correct"))

    return Edit(name, applies, apply, lambda e: f"{_missed(e)}: {what}", slot="search")


def _always(weight: float, piece: str, body: str) -> Callable[[Evidence], float]:
    return lambda e: unless(piece, body, e, weight * (1 - e.share("correct")))


MORE_3 = _searching("passages_3", MORE, 3, 0.5, "read three")
MORE_5 = _searching("passages_5", MORE, 5, 0.4, "read five")
QUESTION_1 = _searching("question_query", QUESTION, 1, 0.5, "search with the question itself")
QUESTION_3 = _searching("question_query_3", QUESTION, 3, 0.6, "search with the question, read three")
BOTH_2 = _searching("both_queries", BOTH, 2, 0.4, "search with the model's query and with the question")
HOP_1 = _searching("hop", HOP, 1, 0.5, "search again for what the best passage is about")
HOP_2 = _searching("hop_2", HOP, 2, 0.4, "search again for what the best passage is about, read two")

NARROW = Edit(
    name="narrow",
    applies=_always(0.5, "narrowed", NARROWED),
    apply=put(narrowed=NARROWED),
    why=lambda e: (
        f"{percent(e.share('wrong'))} of {e.rollouts} answers are wrong: show only lines near the question"
    ),
)

WRAP = Edit(
    name="last_line",
    applies=lambda e: unless("finished", LAST_LINE, e, e.bare_words),
    apply=put(finished=LAST_LINE),
    why=lambda e: (
        f"{percent(e.bare_words)} of {e.rollouts} answers are words without {e.form.noun}: take the last line"
    ),
)

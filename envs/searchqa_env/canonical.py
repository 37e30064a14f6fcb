"""The published SearchQA verifier, exact match after SQuAD's normalisation, and its companion for reports, F1.

Its known weaknesses are kept on purpose: ``A`` equals ``The`` (both vanish), ``3.14`` equals ``314``.
``robust`` is the one without them.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

from envs.base import Score, Verdict
from envs.searchqa_env.answer import last_answer, unanswered

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def canonical(golds: Sequence[str], text: str, *, truncated: bool) -> Score:
    """Judge a text by exact match with any gold; ``truncated``: the model was cut by its length limit."""
    answer = last_answer(text)
    score = unanswered(answer, truncated=truncated)
    if score is not None or answer is None:
        return score or Score.of(Verdict.NO_ANSWER)
    return Score.of(Verdict.CORRECT if exact_match(golds, answer) else Verdict.WRONG, answer)


def squad_normal(text: str) -> str:
    """SQuAD v1.1's form: lower case, no ASCII punctuation, no articles, single spaces."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(golds: Sequence[str], answer: str) -> bool:
    """SQuAD's EM: whether the answer equals any gold in that form."""
    form = squad_normal(answer)
    return any(form == squad_normal(gold) for gold in golds)


def token_f1(golds: Sequence[str], answer: str) -> float:
    """SQuAD's F1, in 0 to 1: the best over the golds of the overlap of tokens, repeats counted.

    Between two texts without tokens it is 1.0. For reports only: no verdict depends on it.
    """
    given = Counter(squad_normal(answer).split())
    return max((_f1(given, Counter(squad_normal(gold).split())) for gold in golds), default=0.0)


def _f1(given: Counter[str], wanted: Counter[str]) -> float:
    if not given or not wanted:
        return float(given == wanted)
    return 2 * (given & wanted).total() / (given.total() + wanted.total())

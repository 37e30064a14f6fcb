"""The robust SearchQA verifier: exact match in a normal form that forgives spelling and never value.

Other names of the same thing (a currency in the singular, a surname) are no matter of spelling: they stand in
the gold, where they can be checked, and no rule here guesses at them. Only a person's title is forgiven.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from envs.base import Score, Verdict
from envs.searchqa_env.answer import last_answer, unanswered
from envs.searchqa_env.normal import normal

_TITLE = re.compile(
    r"(?:(?:mr|mrs|ms|dr|sir|dame|president|prime minister|premier|chancellor|king|queen|emperor|sultan|emir|pope"
    r"|his majesty|her majesty|his excellency|her excellency) )+(?=.)"
)
_SPACED = re.compile(r"(?<![\w.,])\d{1,3}(?:[ _]\d{3})+(?![\d,])")
"""Thousands with spaces: joined or left in the answer, since a gold may be written either way."""
_form = functools.lru_cache(maxsize=1 << 14)(normal)


def robust(golds: Sequence[str], text: str, *, truncated: bool) -> Score:
    """Judge a text against the golds; ``truncated``: the model was cut by its length limit.

    - The last pair of tags holds the answer; nothing outside it counts.
    - Case, accents, quotes, other punctuation, white space and unseen characters do not matter; nor do
      thousands separators, a leading article, and ``the`` anywhere.
    - Decimals, signs and units matter: 3.14 is not 314, -40 is not 40, $5 is neither 5 nor €5.
    - A gold without any visible character matches nothing.
    - A title before the answer (President, King) may be left out of the gold, but not added to it.
    """
    answer = last_answer(text)
    score = unanswered(answer, truncated=truncated)
    if score is not None or answer is None:
        return score or Score.of(Verdict.NO_ANSWER)
    joined = normal(_SPACED.sub(lambda number: re.sub("[ _]", "", number.group()), answer))
    wanted = {form for form in map(_form, golds) if form}
    forms = {joined, normal(answer)}
    right = not wanted.isdisjoint(forms | {_TITLE.sub("", form, count=1) for form in forms})
    return Score.of(Verdict.CORRECT if right else Verdict.WRONG, answer)

r"""Number rules of the robust verifier: reading plain numbers exactly, and the policy on percentages.

Strings in, fractions out; nothing here knows algebra, and nothing uses floating point.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from envs.math_env.spelling import tidy

_UNSIGNED = r"(?:\d{1,3}(?:,\d{3})+|\d{1,3}(?: \d{3})+|\d+)(?:\.\d*)?|\.\d+"
_ARG = r" ?(?:\{{ ?(?P<{0}s>[-+]?) ?(?P<{0}>\d+) ?\}}|(?P<{0}1>\d))"
_PLAIN = re.compile(
    r"(?P<sign>[-+]?) ?(?:"
    r"(?P<whole>\d+) ?\\frac ?\{ ?(?P<mt>\d+) ?\} ?\{ ?(?P<mb>\d+) ?\}"
    r"|(?P<spaced>\d+) (?P<st>\d+)/(?P<sb>\d+)"
    rf"|\\frac{_ARG.format('top')}{_ARG.format('bot')}"
    r"|(?P<num>\d+) ?/ ?(?P<den>\d+)"
    rf"|(?P<dec>{_UNSIGNED})(?:\\overline ?\{{(?P<rep>\d+)\}})?"
    r") ?(?P<pct>\\?%)?"
)
_PERCENT = r"(?:percentage|percent|per cent|pct)"
_PERCENT_WORD = re.compile(rf" ?(?:\\(?:text|mathrm) ?\{{ ?{_PERCENT}\.? ?\}}|{_PERCENT}\.?)$", re.IGNORECASE)
LONGEST_PLAIN = 400
"""Characters of a number that is compared in the parent process; longer ones go to the worker."""


@dataclass(frozen=True, slots=True)
class Plain:
    """A plain rational number as written."""

    value: Fraction
    """The number before any percent sign: 28 for ``28\\%``."""
    percent: bool = False


def ungroup(number: str) -> str:
    """Digits without their thousands separators (the caller has checked the groups)."""
    return number.replace(",", "").replace(" ", "")


@lru_cache(maxsize=4096)
def plain_number(text: str) -> Plain | None:
    """Read an integer, decimal, fraction or mixed number exactly; None for anything else.

    ``text`` may be untidied. Commas count as thousands separators only in complete groups of three
    after one to three digits not led by 0: ``0,1`` and ``1,23`` are not numbers.
    """
    if len(text) > LONGEST_PLAIN:
        return None
    text = text.strip()
    if text.isascii() and text.isdigit():
        return Plain(Fraction(int(text)))
    match = _PLAIN.fullmatch(_PERCENT_WORD.sub(r"\\%", tidy(text)))
    return _value(match) if match else None


def _value(match: re.Match[str]) -> Plain | None:
    part = {name: text or "" for name, text in match.groupdict().items()}
    top = part["mt"] or part["st"] or part["top"] or part["top1"] or part["num"]
    bottom = part["mb"] or part["sb"] or part["bot"] or part["bot1"] or part["den"]
    if top:
        if not int(bottom):
            return None
        value = int(part["whole"] or part["spaced"] or 0) + Fraction(int(top), int(bottom))
    else:
        if re.match(r"0\d*[, ]", part["dec"]):
            return None
        value = _decimal(ungroup(part["dec"]), part["rep"])
    negative = [part["sign"], part["tops"], part["bots"]].count("-") % 2
    return Plain(-value if negative else value, bool(part["pct"]))


def _decimal(digits: str, repeating: str) -> Fraction:
    if not repeating:
        return Fraction(digits)
    places = len(digits.partition(".")[2])
    return Fraction(digits) + Fraction(int(repeating), 10**places * (10 ** len(repeating) - 1))


def percent_pairs(gold_percent: bool, answer_percent: bool, *, below_one: bool) -> list[Fraction]:
    """Factors f for which ``answer * f == gold`` counts as right.

    Both or neither a percentage: 1. Gold ``28\\%`` takes 28 and 0.28. A gold without a sign takes the
    answer ``p\\%`` by value and, unless it is ``below_one`` (a proportion), also as the bare p.
    """
    if gold_percent == answer_percent:
        return [Fraction(1)]
    if gold_percent:
        return [Fraction(1), Fraction(100)]
    return [Fraction(1, 100)] if below_one else [Fraction(1, 100), Fraction(1)]


def same_plain(gold: Plain, answer: Plain) -> bool:
    """Exact equality of two plain numbers under the percent policy."""
    factors = percent_pairs(gold.percent, answer.percent, below_one=abs(gold.value) < 1)
    return any(answer.value * factor == gold.value for factor in factors)

r"""Spelling rules of the robust verifier: tidying LaTeX, reading plain numbers exactly, naming units.

Strings in, strings and fractions out; nothing here knows algebra, and nothing uses floating point.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

_STYLE = r"(?:text(?:bf|it|rm|normal|sf)?|math(?:bf|it|rm|sf|bb)?|mbox|boldsymbol|bm|operatorname\*?)"
_WORDS = {
    "\u2212": "-",
    "\u2013": "-",
    "\u00d7": r"\times ",
    "·": r"\cdot ",
    "÷": r"\div ",
    "≤": r"\le ",
    "≥": r"\ge ",
    "≠": r"\ne ",
    "∞": r"\infty ",
    "π": r"\pi ",
    "√": r"\sqrt ",
    "°": r"^\circ ",
    "±": r"\pm ",
    "\u222a": r"\cup ",
    "∈": r"\in ",
    "\uff05": r"\%",
}
_REWRITES: list[tuple[re.Pattern[str], str]] = [
    (re.compile(pattern), new)
    for pattern, new in [
        (r"\\(?:left|right|[bB]igg?[lr]?)(?![A-Za-z])\.?", ""),
        (r"\\(?:displaystyle|textstyle|limits|nolimits|!)(?![A-Za-z])|\\!", ""),
        (r"\\[dtc]frac(?![A-Za-z])", r"\\frac"),
        (r"\\lbrace(?![A-Za-z])", r"\\{"),
        (r"\\rbrace(?![A-Za-z])", r"\\}"),
        (r"\\langle(?![A-Za-z])", "("),
        (r"\\rangle(?![A-Za-z])", ")"),
        (r"\\[lr]vert(?![A-Za-z])", "|"),
        (r"\{\s*,\s*\}", ","),
        (r"(?<=\d)(?:\\[,;: ]|~)(?=\d{3}(?!\d))", ""),
        (r"\\[,;: ]|~|\\q?quad(?![A-Za-z])|\s", " "),
        (r"\\(?:leq(?:slant)?|le)(?![A-Za-z])", r"\\le "),
        (r"\\(?:geq(?:slant)?|ge)(?![A-Za-z])", r"\\ge "),
        (r"<=", r"\\le "),
        (r">=", r"\\ge "),
        (r"\\neq?(?![A-Za-z])|!=", r"\\ne "),
        (r"\\lt(?![A-Za-z])", "<"),
        (r"\\gt(?![A-Za-z])", ">"),
        (r"\\degree(?![A-Za-z])", r"^\\circ "),
        (r"\\text\s*\{\s*(,?\s*(?:and|or)\s*,?)\s*\}", r" \1 "),
        (r"(?<![A-Za-z\\])(sqrt|sin|cos|tan|ln|log|pi|infty)(?![A-Za-z])", r"\\\1"),
        (r"(?<![A-Za-z\\])(?:infinity|oo)(?![A-Za-z])", r"\\infty"),
        (r" {2,}", " "),
    ]
]
_WRAPPED = re.compile(rf"\\{_STYLE}\s*\{{((?:[^{{}}\\]|\\.)*)\}}")
_NUMERIC = re.compile(r"[-+]?[\d.,/ ]+(?:\\?%)?")
_DELIMITERS = (("\\(", "\\)"), ("\\[", "\\]"), ("**", "**"))


def tidy(text: str) -> str:
    r"""One spelling for one meaning: drops delimiters, sizes, styles and spacing; keeps ``\text`` units."""
    for symbol, word in _WORDS.items():
        text = text.replace(symbol, word)
    text = text.strip()
    for opening, closing in _DELIMITERS:
        if text.startswith(opening) and text.endswith(closing) and len(text) > len(opening + closing):
            text = text[len(opening) : -len(closing)]
    text = _drop_dollars(text)
    for pattern, new in _REWRITES:
        text = pattern.sub(new, text)
    text = _unwrap_styles(text.strip())
    text = text.removesuffix("\\\\").strip()
    return text[:-1].rstrip() if text.endswith((".", ",", ";")) and not text.endswith("\\,") else text


def _drop_dollars(text: str) -> str:
    """Paired dollars are math delimiters; a single one before a number is money."""
    bare = re.findall(r"(?<!\\)\$", text)
    return text if len(bare) % 2 and text.startswith("$") else re.sub(r"(?<!\\)\$", "", text)


def _unwrap_styles(text: str) -> str:
    """Drop a style around the whole text, and around plain numbers and single letters anywhere."""
    whole = _WRAPPED.fullmatch(text)
    if whole and not text.startswith("\\mathbb"):
        return whole.group(1).strip()

    def inner(match: re.Match[str]) -> str:
        content = match.group(1).strip()
        number = _NUMERIC.fullmatch(content) and match.start() == 0
        bold = match.group().startswith(("\\mathbf", "\\boldsymbol", "\\bm", "\\mathit"))
        return content if number or bold else match.group()

    return _WRAPPED.sub(inner, text)


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
        if re.match(r"0+[, ]", part["dec"]):
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

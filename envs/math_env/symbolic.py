"""Decides exactly whether an answer means the gold; runs inside the killable worker process.

No numeric tolerance anywhere: numbers are rationals or proven equal by algebra. It neither reads boxes
nor limits its own time.
"""

from __future__ import annotations

import re
import sys

import sympy
from sympy.core.evalf import PrecisionExhausted

from envs.math_env.latex import WORD, value_of
from envs.math_env.reading import Group, Leaf, Reading, Relation, read
from envs.math_env.regions import is_region, same_region
from envs.math_env.robust_rules import percent_pairs

sys.set_int_max_str_digits(0)  # the caller's time limit is the limit

_NAME = re.compile(
    r"(?:m ?)?\\angle ?[A-Z]+"
    r"|\\?[A-Za-z]+(?:_\{?\w+\}?)?'*(?: ?\([A-Za-z, ]+\))?|\\text ?\{[^{}]*\}|\([A-Za-z](?: ?, ?[A-Za-z])+\)"
)

_LABEL = re.compile(r"[A-Z]{3,}")
"""``ABC`` and ``CBA`` are names or sequences, not products."""


def same_answer(gold: str, answer: str) -> bool:
    """Whether ``answer`` is right for ``gold`` (both raw box contents).

    Raises ``ValueError`` when the gold has no finite value, or when equality can be neither proven nor
    refuted.
    """
    reading = read(gold)
    if isinstance(reading, Leaf):
        value = value_of(reading.text)
        if value is not None and value.has(sympy.nan, sympy.zoo):
            raise ValueError(f"the gold {gold!r} has no value")
    return _same(reading, read(answer))


def _same(gold: Reading, answer: Reading) -> bool:
    if gold == answer:
        return True
    if isinstance(gold, Relation) and isinstance(answer, Relation) and _same_equations(gold, answer):
        return True
    if is_region(gold) or is_region(answer):
        return same_region(gold, answer)
    named, value = _named(gold), _named(answer)
    if named or value:
        if named and value and named[0] != value[0]:
            return False
        return _same(named[1] if named else gold, value[1] if value else answer)
    if isinstance(gold, Leaf) and isinstance(answer, Leaf):
        return _same_leaf(gold, answer)
    if isinstance(gold, Group) or isinstance(answer, Group):
        return _same_group(_as_group(gold, answer), _as_group(answer, gold))
    return False


def _as_group(reading: Reading, other: Reading) -> Group:
    """One value is a list of one; ``100,200`` beside a real list is a list too."""
    if isinstance(reading, Group):
        return reading
    if isinstance(reading, Leaf) and reading.pair and isinstance(other, Group) and len(other.items) > 1:
        return Group("", "", tuple(Leaf(part) for part in reading.pair))
    return Group("", "", (reading,))


def _same_group(gold: Group, answer: Group) -> bool:
    """Order counts as soon as one side is a tuple; a set drops repeats; ends of a pair must agree."""
    brackets = {gold.open, answer.open}
    if brackets == {"", "{"} or brackets in ({""}, {"{"}):
        return _same_unordered(gold, answer, distinct="{" in brackets)
    if "{" in brackets or (any(mark.startswith("m") for mark in brackets) and len(brackets) > 1):
        return False
    if len(gold.items) != len(answer.items):
        return False
    written = "" not in brackets
    if len(gold.items) == 2 and written and (gold.open, gold.close) != (answer.open, answer.close):
        return False
    return all(_same(left, right) for left, right in zip(gold.items, answer.items, strict=True))


def _same_unordered(gold: Group, answer: Group, *, distinct: bool) -> bool:
    wanted, given = list(gold.items), list(answer.items)
    if distinct:
        wanted, given = _distinct(wanted), _distinct(given)
    if len(wanted) != len(given):
        return False
    for item in wanted:
        match = next((other for other in given if _same(item, other)), None)
        if match is None:
            return False
        given.remove(match)
    return True


def _distinct(items: list[Reading]) -> list[Reading]:
    kept: list[Reading] = []
    for item in items:
        if not any(_same(item, other) for other in kept):
            kept.append(item)
    return kept


def _same_leaf(gold: Leaf, answer: Leaf) -> bool:
    if "%" in (gold.unit, answer.unit) and {gold.unit, answer.unit} <= {"%", ""}:
        return _same_percent(gold, answer)
    if gold.unit and answer.unit and gold.unit != answer.unit:
        return False
    return _same_text(gold.text, answer.text)


def _same_percent(gold: Leaf, answer: Leaf) -> bool:
    left, right = value_of(gold.text), value_of(answer.text)
    if left is None or right is None or not left.is_number or not right.is_number:
        return gold.text == answer.text
    small = bool(abs(left) < 1)
    factors = percent_pairs(gold.unit == "%", answer.unit == "%", below_one=small)
    return any(equal(left, right * sympy.Rational(f.numerator, f.denominator)) for f in factors)


def _same_text(gold: str, answer: str) -> bool:
    if _plain_words(gold) == _plain_words(answer):
        return True
    if _LABEL.fullmatch(gold) and _LABEL.fullmatch(answer):
        return False
    left, right = value_of(gold), value_of(answer)
    return left is not None and right is not None and equal(left, right)


def _plain_words(text: str) -> str:
    """Spelling without style: case is dropped for words, kept for symbols."""
    bare = " ".join(re.sub(r"\\(?:text|mathrm|textbf|mathbf) ?\{([^{}]*)\}", r"\1", text).split()).strip(" .")
    bare = re.sub(r"(?<!\d) | (?!\d)", "", bare) if not WORD.fullmatch(bare) else bare
    return bare.casefold() if WORD.fullmatch(bare) else bare


def equal(left: sympy.Expr, right: sympy.Expr) -> bool:
    """Exact equality; False when either has no value. Raises ``ValueError`` when it cannot be decided."""
    if left.has(sympy.nan, sympy.zoo) or right.has(sympy.nan, sympy.zoo):
        return False
    if left == right:
        return True
    if (left.is_Rational and right.is_Rational) or left.is_infinite or right.is_infinite:
        return False
    difference = left - right
    if _refuted(difference):
        return False
    verdict = difference.equals(0)
    if verdict is None and sympy.simplify(difference) == 0:
        return True
    if verdict is None:
        raise ValueError(f"cannot decide whether {left} equals {right}")
    return bool(verdict)


def _refuted(difference: sympy.Expr) -> bool:
    """A quick proof that something is not zero: its value at one point, with a guaranteed error bound."""
    symbols = sorted(difference.free_symbols, key=str)
    point = {symbol: sympy.Rational(17 + 6 * place, 13) for place, symbol in enumerate(symbols)}
    try:
        value = difference.subs(point).evalf(15, maxn=400, strict=True)
    except PrecisionExhausted:  # too near 0 to tell numerically: algebra decides
        return False
    return bool(value.is_number and value.is_finite and value != 0)


def _named(reading: Reading) -> tuple[str, Reading] | None:
    """(name, value) of ``x = value``, where every further member of a chain says the same."""
    if not isinstance(reading, Relation) or set(reading.signs) != {"="}:
        return None
    texts = list(reading.texts)
    if not _NAME.fullmatch(texts[0]) and _NAME.fullmatch(texts[-1]):
        texts.reverse()
    if not _NAME.fullmatch(texts[0]):
        return None
    values = [read(text) for text in texts[1:]]
    if any(not _same(values[-1], value) for value in values[:-1]):
        return None
    return texts[0].replace(" ", ""), values[-1]


def _difference(relation: Relation) -> sympy.Expr | None:
    left, right = value_of(relation.texts[0]), value_of(relation.texts[-1])
    return None if left is None or right is None else left - right


def _same_equations(gold: Relation, answer: Relation) -> bool:
    """Single relations that say the same up to a constant factor (``2x=4y`` and ``x-2y=0``)."""
    flip = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
    if len(gold.signs) != 1 or len(answer.signs) != 1:
        return False
    left, right = _difference(gold), _difference(answer)
    if left is None or right is None or left.has(sympy.nan, sympy.zoo) or right.has(sympy.nan, sympy.zoo):
        return False
    left, right = sympy.expand(left), sympy.expand(right)
    if left == 0 or right == 0:
        return bool(left == right and gold.signs == answer.signs)
    ratio = sympy.cancel(left / right)
    if not ratio.is_number or not ratio.is_real:
        return False
    sign = answer.signs[0] if ratio > 0 else flip.get(answer.signs[0], answer.signs[0])
    return gold.signs[0] == sign

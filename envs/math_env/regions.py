"""Intervals, inequalities and their unions as exact sets of reals, so that spelling does not matter.

Only regions of one variable are solved; it knows nothing of lists, units or words.
"""

from __future__ import annotations

import re

import sympy
from sympy.solvers.inequalities import solve_univariate_inequality

from envs.math_env.latex import value_of
from envs.math_env.reading import Group, Join, Leaf, Reading, Relation

_SETS = {"\\mathbb{R}": sympy.S.Reals, "\\R": sympy.S.Reals, "\\mathbbR": sympy.S.Reals,
         "\\emptyset": sympy.S.EmptySet, "\\varnothing": sympy.S.EmptySet,
         "\\mathbb{Z}": sympy.S.Integers, "\\mathbb{N}": sympy.S.Naturals}  # fmt: skip


def is_region(reading: Reading) -> bool:
    """Whether the reading can only be a set of reals (an interval alone may also be a tuple)."""
    if isinstance(reading, Relation):
        return bool(set(reading.signs) & {"<", ">", "<=", ">=", "!="})
    return isinstance(reading, Join) or (isinstance(reading, Leaf) and _set_name(reading.text) is not None)


def _set_name(text: str) -> sympy.Set | None:
    words = re.sub(r"\\text ?\{([^{}]*)\}", r"\1", text).lower().strip()
    if words in ("all real numbers", "all reals", "real numbers"):
        return sympy.S.Reals
    if words in ("empty set", "the empty set"):
        return sympy.S.EmptySet
    return _SETS.get(text.replace(" ", ""))


def same_region(gold: Reading, answer: Reading) -> bool:
    """Exact equality of two regions of one variable; different variable names are different."""
    left, right = _region(gold), _region(answer)
    if left is None or right is None:
        return False
    if left[0] and right[0] and left[0] != right[0]:
        return False
    return bool(left[1] == right[1] or sympy.SymmetricDifference(left[1], right[1]).is_empty)


def _region(reading: Reading) -> tuple[str, sympy.Set] | None:
    """(variable or "", set of reals); None when the reading is no region of one variable."""
    if isinstance(reading, Relation):
        return _solved(reading)
    if isinstance(reading, Leaf):
        named = _set_name(reading.text)
        return None if named is None else ("", named)
    if isinstance(reading, Group):
        intervals = [item for item in reading.items if isinstance(item, Group) and item.open in ("(", "[")]
        if len(intervals) > 1 and len(intervals) == len(reading.items) and not reading.open:
            return _region(Join("or", reading.items))
        interval = _interval(reading)
        return None if interval is None else ("", interval)
    parts = [_region(part) for part in reading.parts]
    known = [part for part in parts if part is not None]
    names = {name for name, _ in known if name}
    if len(known) != len(parts) or len(names) > 1:
        return None
    sets = [part for _, part in known]
    if reading.how == "minus":
        return "".join(names), sympy.Complement(sets[0], sympy.Union(*sets[1:]))
    return "".join(names), sympy.Union(*sets) if reading.how == "or" else sympy.Intersection(*sets)


def _interval(group: Group) -> sympy.Set | None:
    values = [value_of(item.text) if isinstance(item, Leaf) else None for item in group.items]
    known = [value for value in values if value is not None and value.is_extended_real]
    if len(known) != len(values):
        return None
    if group.open == "{":
        return sympy.FiniteSet(*known)
    if len(known) != 2 or group.open not in ("(", "["):
        return None
    return sympy.Interval(known[0], known[1], group.open == "(", group.close == ")")


def _solved(relation: Relation) -> tuple[str, sympy.Set] | None:
    make = {"<": sympy.Lt, ">": sympy.Gt, "<=": sympy.Le, ">=": sympy.Ge, "!=": sympy.Ne, "=": sympy.Eq}
    values = [value_of(text) for text in relation.texts]
    members = [value for value in values if value is not None]
    symbols = set().union(*(member.free_symbols for member in members))
    if len(members) != len(values) or len(symbols) != 1:
        return None
    symbol = symbols.pop()
    region: sympy.Set = sympy.S.Reals
    for left, sign, right in zip(members, relation.signs, members[1:], strict=False):
        if sign not in make:
            return None
        condition = make[sign](left, right)
        if condition == sympy.false:
            return symbol.name, sympy.S.EmptySet
        if condition != sympy.true:
            region &= _half_line(condition, symbol)
    return symbol.name, region


def _half_line(condition: sympy.Rel, symbol: sympy.Symbol) -> sympy.Set:
    """The reals that satisfy one condition; the usual ``x < 3`` needs no solver."""
    if condition.lhs == symbol and condition.rhs.is_number and condition.rhs.is_extended_real:
        bound = condition.rhs
        simple = {
            sympy.Lt: sympy.Interval.open(-sympy.oo, bound),
            sympy.Gt: sympy.Interval.open(bound, sympy.oo),
            sympy.Le: sympy.Interval(-sympy.oo, bound),
            sympy.Ge: sympy.Interval(bound, sympy.oo),
            sympy.Ne: sympy.Complement(sympy.S.Reals, sympy.FiniteSet(bound)),
        }
        if condition.func in simple:
            return simple[condition.func]
    if condition.rhs == symbol and condition.lhs.is_number:
        return _half_line(condition.reversed, symbol)
    return solve_univariate_inequality(condition, symbol, relational=False)

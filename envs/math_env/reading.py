r"""Reads an answer's outer structure: lists, tuples, intervals, relations, unions, matrices, quantities.

The leaves stay text; ``latex`` turns them into algebra. Deciding whether two readings mean the same is
``symbolic``'s work.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from envs.math_env.robust_rules import ungroup
from envs.math_env.spelling import tidy
from envs.math_env.units import compound, split_unit


@dataclass(frozen=True, slots=True)
class Leaf:
    """One value or word."""

    text: str
    unit: str = ""
    """Standard name; ``%`` for a percentage; "" when none is written."""
    pair: tuple[str, ...] = ()
    """``100,200`` is a number that could also be a list: its parts, else empty."""


@dataclass(frozen=True, slots=True)
class Group:
    """Several values. ``open`` and ``close`` are the brackets: "", "(", "[", "{", or "m2x3" for a matrix."""

    open: str
    close: str
    items: tuple[Reading, ...]


@dataclass(frozen=True, slots=True)
class Relation:
    """A chain ``a < x <= b``; always one sign fewer than members. ``texts`` are the members as written."""

    signs: tuple[str, ...]
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Join:
    """Regions joined by "or", "and" or "minus"."""

    how: str
    parts: tuple[Reading, ...]


Reading = Leaf | Group | Relation | Join

_TOKEN = re.compile(r"\\(?:begin|end)\s*\{[a-z]+\*?\}|\\[A-Za-z]+|\\.|.", re.DOTALL)
_OPEN = {"(", "[", "{", "\\{", "\\lfloor", "\\lceil"}
_CLOSE = {")", "]", "}", "\\}", "\\rfloor", "\\rceil"}
_SIGNS = {"=": "=", "<": "<", ">": ">", "\\le": "<=", "\\ge": ">=", "\\ne": "!=", "\\approx": "~"}
_THOUSANDS = re.compile(r"(?<![\d,.])[1-9]\d{0,2}(?:,\d{3})+(?!\d|,\d)")
_MATRIX = re.compile(r"\\begin ?\{([pb]?matrix|array)\}(?:\{[lcr|]*\})?(.*)\\end ?\{\1\}", re.DOTALL)
_BUILDER = re.compile(
    r"\\\{ ?[A-Za-z](?: ?\\in ?\\mathbb ?\{?R\}?)? ?(?:\||:|\\mid|\\vert) ?(?P<rule>.+)\\\}"
)
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,0\d+")
"""``0,05`` is no list; what it is depends on the country, so it only equals itself."""
_JOINS = (
    ("or", {" or "}), ("or", {"\\cup"}), ("and", {"\\cap"}), ("minus", {"\\setminus", "\\backslash"}),
)  # fmt: skip
_FRENCH = re.compile(r"([\[\]])([^\[\]]+)([\[\]])")


def read(text: str) -> Reading:
    """The structure of one boxed answer or gold (raw text)."""
    return _read(_mixed(tidy(text)))


def _mixed(text: str) -> str:
    """``1 1/2`` is one and a half."""
    return re.sub(r"(?<![\d.^_])(\d+) (\d+) ?/ ?(\d+)(?![\d.])", r"(\1+\2/\3)", text)


def _read(text: str, *, inside: bool = False) -> Reading:
    """``inside`` brackets, ``1,000`` alone is two items."""
    text = text.strip()
    if text.startswith("{") and _matching(text) == len(text) - 1:
        return _read(text[1:-1], inside=inside)
    for how, separators in _JOINS:
        parts, _ = _split(text, separators)
        if len(parts) > 1:
            return _joined(how, [_read(part) for part in parts], words=separators == {" or "})
    if quantity := compound(text):
        return Group("(", ")", tuple(Leaf(value, unit) for value, unit in quantity))
    parts, _ = _split(text, {" and "})
    if len(parts) > 1:
        return _joined("and", [_read(part) for part in parts if part.strip(" ,")], words=True)
    ungrouped = _ungrouped(text, inside)
    if not inside and _DECIMAL_COMMA.fullmatch(ungrouped):
        return Leaf(text)
    parts, _ = _split(ungrouped, {",", ";"})
    parts = [part for part in parts if part.strip()]
    if len(parts) > 1:
        return _bare([_read(part, inside=True) for part in parts])
    reading = _single(ungrouped)
    exact = _THOUSANDS.fullmatch(text)
    if isinstance(reading, Leaf) and exact and not re.search(r",0\d", text):
        return replace(reading, pair=tuple(text.split(",")))
    return reading


def _single(text: str) -> Reading:
    """A text without separators at its top level."""
    text = text.strip(" ,;")
    if "\\pm" in text or "\\mp" in text:
        upper = text.replace("\\pm", "+").replace("\\mp", "-")
        lower = text.replace("\\pm", "-").replace("\\mp", "+")
        return _bare([_read(upper), _read(lower)])
    member, _ = _split(text, {"\\in"})
    if len(member) == 2:
        return _read(member[1])
    members, signs = _split(text, set(_SIGNS))
    if signs and all(member.strip() for member in members):
        return _relation([member.strip() for member in members], [_SIGNS[sign] for sign in signs])
    return _bracketed(text) or Leaf(*split_unit(text))


def _bracketed(text: str) -> Reading | None:
    if builder := _BUILDER.fullmatch(text):
        return _read(builder["rule"])
    if matrix := _MATRIX.fullmatch(text):
        return _matrix(matrix[2])
    if (french := _FRENCH.fullmatch(text)) and (french[1] == "]" or french[3] == "["):
        items = _items(french[2])
        return Group("(" if french[1] == "]" else "[", ")" if french[3] == "[" else "]", items)
    opening = "\\{" if text.startswith("\\{") else text[:1]
    closing = "\\}" if text.endswith("\\}") else text[-1:]
    if opening not in ("(", "[", "\\{") or closing not in (")", "]", "\\}"):
        return None
    if _matching(text) != len(text) - len(closing):
        return None
    items = _items(text[len(opening) : -len(closing)])
    if len(items) == 1 and opening != "\\{":
        return items[0]
    return Group(opening[-1], closing[-1], items)


def _items(content: str) -> tuple[Reading, ...]:
    inner = _read(content, inside=True) if content.strip() else Group("", "", ())
    return inner.items if isinstance(inner, Group) and not inner.open else (inner,)


def _matrix(body: str) -> Group:
    rows = [row.split("&") for row in body.split("\\\\") if row.strip()]
    shape = f"m{len(rows)}x{len(rows[0]) if rows else 0}"
    return Group(shape, shape, tuple(_read(cell) for row in rows for cell in row))


def _relation(members: list[str], signs: list[str]) -> Reading:
    """An approximation adds nothing exact: keep what stands before it, or what follows a bare name."""
    if "~" in signs:
        at = signs.index("~")
        if at == 0 and re.fullmatch(r"[A-Za-z]", members[0]):
            return _read(members[1])
        members, signs = members[: at + 1], signs[:at]
        if not signs:
            return _read(members[0])
    return Relation(tuple(signs), tuple(members))


def _joined(how: str, parts: list[Reading], *, words: bool) -> Reading:
    """An "or"/"and" between inequalities joins regions; between anything else it makes a list."""
    equation = ("=",)
    regions = all(isinstance(p, Join) or (isinstance(p, Relation) and p.signs != equation) for p in parts)
    return Join(how, tuple(parts)) if regions or not words else _bare(parts)


def _bare(parts: list[Reading]) -> Reading:
    """A list without brackets; lists inside it (as in ``1, 2 and 3``) are flattened."""
    items: list[Reading] = []
    for part in parts:
        items.extend(part.items if isinstance(part, Group) and not part.open else [part])
    return items[0] if len(items) == 1 else Group("", "", tuple(items))


def _ungrouped(text: str, inside: bool) -> str:
    """Drop thousands separators where the text cannot be a list, or lists with ", " around them."""
    plain = _THOUSANDS.sub(lambda number: ungroup(number.group()), text)
    commas, _ = _split(plain, {",", ";"})
    if len(commas) == len(_split(text, {",", ";"})[0]):
        return text
    spaced = all(part.startswith(" ") for part in commas[1:])
    return plain if spaced and (len(commas) > 1 or not inside) else text


def _split(text: str, separators: set[str]) -> tuple[list[str], list[str]]:
    """(parts, separators between them) at bracket depth 0."""
    parts, found, depth, start, skip = [], [], 0, 0, 0
    words = [word for word in separators if word.startswith(" ")]
    for token in _TOKEN.finditer(text):
        piece = token.group()
        if token.start() < skip:
            continue
        depth += piece in _OPEN or piece.startswith("\\begin")
        depth -= piece in _CLOSE or piece.startswith("\\end")
        word = next((word for word in words if text.startswith(word, token.start())), piece)
        if depth == 0 and word in separators:
            parts.append(text[start : token.start()])
            found.append(word)
            start = skip = token.start() + len(word)
    return [*parts, text[start:]], found


def _matching(text: str) -> int:
    """Position of the bracket that closes the one at the start; -1 when it is never closed."""
    depth = 0
    for token in _TOKEN.finditer(text):
        piece = token.group()
        depth += (piece in _OPEN) - (piece in _CLOSE)
        if depth == 0:
            return token.start()
    return -1

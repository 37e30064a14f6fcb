"""Reads office holders: ``President Denis SASSOU-Nguesso (since 1997)``, family names in capitals.

Whoever cannot be told apart from the office (a council, a vacancy, a person with a long title) is dropped.
"""

from __future__ import annotations

import re

from envs.searchqa_env.cleaning import Answers, accepted

TITLES = (
    "Acting", "Interim", "Transition", "Transitional", "State Affairs Commission", "Federal", "President",
    "Prime Minister", "Premier", "Chancellor", "Governor", "Governor General", "Governor-General",
    "Lieutenant Governor", "Chief Minister", "Minister-President", "Minister of State", "Administrator",
    "Chief Executive", "Chairman", "Mayor and", "Taoiseach", "Supreme Leader", "Commissioner", "King", "Queen",
    "Emperor", "Sultan", "Amir", "Emir", "Pope", "Prince", "Grand Duke", "General", "Gen.", "Sr. Gen.", "Col.",
    "Capt.", "Lt.", "Brig.", "Air Vice-Marshal", "Field Marshal", "Dr.", "Sir", "Dame",
)  # fmt: skip
"""What may stand before a name and is no part of it."""
_TITLE = rf"(?P<title>(?:(?:{'|'.join(map(re.escape, TITLES))}) )*)"
_PERSON = re.compile(rf"{_TITLE}(?P<name>[^(;,]+?) \((?:since )?\d?")
_OFFICE = re.compile(
    r"\b(?:of|the|and|to|chair\w*|council|leader|commission|minister|secretary|chief|vice|deputy|co-prince)\b",
    re.IGNORECASE,
)
_CAPITALS = re.compile(r"[^\W\d_a-zß-ÿ][^\W\d_a-z]+(?:[-'’][^\W\d_a-z]{2,})*")
_ROMAN = re.compile(r"[IVX]+")


def person(value: str) -> Answers:
    """Full name, name with title, family name; () when it is not clearly one person."""
    match = _PERSON.match(value)
    if not match or _OFFICE.search(match["name"]) or "vacant" in value.lower()[:60]:
        return ()
    name, title = _proper(match["name"]), match["title"].strip()
    family = " ".join(
        proper for word, proper in zip(match["name"].split(), name.split(), strict=True) if _stands_out(word)
    )
    return accepted(name, f"{title} {name}" if title else "", family, words=5) if family else ()


def _stands_out(word: str) -> bool:
    """Whether a word belongs to the family name, or to what a monarch is called by."""
    return bool(_CAPITALS.search(word) or _ROMAN.fullmatch(word))


def _proper(name: str) -> str:
    """``Ismail Omar GUELLEH`` as ``Ismail Omar Guelleh``; the numerals of monarchs stay."""
    first, *rest = name.split() or [""]
    return " ".join([first.title() if first.isupper() else first, *map(_proper_word, rest)])


def _proper_word(word: str) -> str:
    return word if _ROMAN.fullmatch(word) else _CAPITALS.sub(lambda match: match.group().title(), word)

"""Generated SearchQA answers: spellings of real golds that keep the answer, and changes that do not."""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Callable
from functools import cache

from bench.verifiers.pairs import Making
from envs.searchqa_env.facts import facts
from envs.searchqa_env.normal import normal

Rng = random.Random


@cache
def _names() -> tuple[str, ...]:
    """Golds of letters only, in a fixed order."""
    golds = {fact.answers[0] for fact in facts() if fact.answers}
    return tuple(sorted(gold for gold in golds if gold.replace(" ", "").isalpha() and len(gold) > 3))


def _name(rng: Rng) -> tuple[str, str]:
    """A gold and another one."""
    gold, other = rng.sample(_names(), 2)
    while normal(gold) == normal(other):
        other = rng.choice(_names())
    return gold, other


def _case(rng: Rng) -> Making:
    gold, other = _name(rng)
    return gold, [gold, gold.upper(), gold.lower(), gold.swapcase()], [other, other.upper(), gold[::-1] + "q"]


def _article(rng: Rng) -> Making:
    gold, other = _name(rng)
    return (
        gold,
        [f"the {gold}", f"The {gold}", f"THE {gold}"],
        [f"the {other}", "the", f"a {other}", f"not {gold}"],
    )


def _marks(rng: Rng) -> Making:
    gold, other = _name(rng)
    rights = [
        f"{gold}.",
        f'"{gold}"',
        f"“{gold}”",
        f"**{gold}**",
        f"({gold})",
        f"«{gold}»",
        f"{gold}!",
        f"{gold}…",
    ]
    return gold, rights, [f"{other}.", f"“{other}”", f"{gold} or {other}", f"{gold}, {other}"]


def _space(rng: Rng) -> Making:
    gold, other = _name(rng)
    rights = [
        f"{gold} \n",
        f"\n\t{gold}",
        gold.replace(" ", "  "),
        gold.replace(" ", "\u00a0"),
        f"\u3000{gold}",
    ]
    return gold, rights, [f" {other} ", f"{gold}\n{other}", f"{gold[:2]} {gold[2:]} {other}"]


def _unseen(rng: Rng) -> Making:
    gold, other = _name(rng)
    rights = [f"\u200b{gold}", f"\u202d{gold}\u202c", f"{gold[:2]}\u00ad{gold[2:]}", f"\ufeff{gold}"]
    return gold, rights, [f"\u200b{other}", f"{other}\u00ad"]


def _accents(rng: Rng) -> Making:
    gold, other = _name(rng)
    plain = "".join(one for one in unicodedata.normalize("NFKD", gold) if not unicodedata.combining(one))
    accented = plain.replace("a", "á", 1).replace("o", "õ", 1).replace("e", "è", 1)
    rights = [plain, accented, unicodedata.normalize("NFD", accented), accented.upper()]
    return gold, rights if normal(plain) == normal(gold) else [gold], [other, accented + "x", plain[1:] + "z"]


def _apostrophe(rng: Rng) -> Making:
    first, second = _name(rng)
    gold = f"{first[:3]}'{second.lower()}"
    rights = [gold.replace("'", mark) for mark in "’‘ʻ`´"] + [gold.replace("'", "")]
    return gold, rights, [gold + "s", f"{first[:3]} d'{second.lower()}", first[:3]]


def _thousands(rng: Rng) -> Making:
    n = rng.randint(1000, 99_999_999)
    rights = [
        f"{n}",
        f"{n:,}".replace(",", "\u202f"),
        f"{n:,}".replace(",", " "),
        f"{n:,}.",
        f"{n:,}".replace(",", "'"),
    ]
    return f"{n:,}", rights, [f"{n + 1:,}", f"{n}0", f"{n:,}"[:-1], f"{n:,}".replace(",", "."), f"-{n:,}"]


def _decimal(rng: Rng) -> Making:
    whole, part = rng.randint(1, 99), rng.randint(1, 99)
    gold = f"{whole}.{part:02}"
    rights = [f"({gold})", f"{gold}.", f"“{gold}”", f"{gold}\n"]
    return (
        gold,
        rights,
        [gold.replace(".", ""), f"{whole}", f"-{gold}", gold.replace(".", ","), f"{gold}1", f"{gold}%"],
    )


def _negative(rng: Rng) -> Making:
    n, unit = rng.randint(1, 999), rng.choice(["m", "km", "sq km"])
    gold = f"-{n} {unit}"
    return (
        gold,
        [f"−{n} {unit}", f"–{n} {unit}", f"-{n} {unit}."],
        [f"{n} {unit}", f"-{n + 1} {unit}", f"-{n}"],
    )


def _unit(rng: Rng) -> Making:
    n = rng.randint(1000, 99_999)
    unit, other = rng.choice([("km", "mi"), ("sq km", "sq mi"), ("m", "ft"), ("%", "")])
    gold = f"{n:,} {unit}"
    rights = [f"{n} {unit}", f"{n:,} {unit.upper()}", f"{n:,}\u00a0{unit}"]
    return gold, rights, [f"{n:,} {other}", f"{n:,}", f"{n + 1:,} {unit}", f"${n:,}"]


def _percent(rng: Rng) -> Making:
    n = rng.randint(2, 99)
    return (
        f"{n}%",
        [f"{n} %", f"{n} percent", f"{n} per cent", f"{n}%."],
        [f"{n}", f"{n + 1}%", f"0.{n:02}", f"-{n}%"],
    )


def _short(rng: Rng) -> Making:
    letter = rng.choice("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    name = rng.choice(["Vitamin", "Group", "Hepatitis", "Type", "Plan", "Zone"])
    others = [one for one in ("The", "a", "an", "B") if one.lower() != letter.lower()]
    if rng.random() < 0.5:
        return letter, [letter, letter.lower(), f"({letter})", f"{letter}."], [*others, f"{letter}{letter}"]
    return (
        f"{name} {letter}",
        [f"{name.lower()} {letter}", f"the {name} {letter}"],
        [name, f"{name} {letter}Z", letter],
    )


KINDS: dict[str, Callable[[Rng], Making]] = {
    "case": _case, "article": _article, "punctuation": _marks, "white space": _space,
    "unseen characters": _unseen, "accents": _accents, "apostrophe": _apostrophe, "thousands": _thousands,
    "decimal": _decimal, "negative": _negative, "unit": _unit, "percent": _percent, "single letters": _short,
}  # fmt: skip
"""What is varied, by the name that reports give it."""

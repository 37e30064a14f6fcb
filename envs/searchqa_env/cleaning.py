"""Turns a Factbook value into the short answers that count as right, the canonical one first.

A rule returns () for what has no short, certain answer (notes, "none", several values): such a fact is
dropped rather than guessed at. The canonical answer is a piece of the value, so a passage can prove it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from envs.searchqa_env.names import spellings_of

Answers = tuple[str, ...]
Rule = Callable[[str], Answers]

_NOTHING = re.compile(r"(?:none|na|n/a|no|not|unnamed|unknown|note|see|various|several)\b", re.IGNORECASE)
_NAME = re.compile(r"[A-Z][\w'’.-]*(?: (?:[A-Z][\w'’.-]*|d[aeio]l?|du|bin|al|es|an|ad|y))*")
_UNITS = {
    "km": ("kilometers", "kilometres"),
    "sq km": ("square kilometers", "square kilometres", "km²", "km2"),
    "m": ("meters", "metres"),
}
_SINGULAR = {
    "kroner": "krone", "kronor": "krona", "kronur": "krona", "koruny": "koruna", "zlotych": "zloty",
    "leva": "lev", "lei": "leu", "leke": "lek", "maloti": "loti", "emalangeni": "lilangeni",
    "meticais": "metical", "colones": "colon", "quetzales": "quetzal", "reals": "real", "markas": "marka",
    "leones": "leone",
}  # fmt: skip
_BY_CODE = {"XOF": "CFA franc", "XAF": "CFA franc", "XPF": "CFP franc", "GBP": "pound sterling"}


def accepted(canonical: str, *others: str, words: int) -> Answers:
    """The canonical answer and its other spellings without repeats; () if it is nothing or too long."""
    canonical = canonical.strip(" ,;.:-")
    if not canonical or _NOTHING.match(canonical) or len(canonical.split()) > words:
        return ()
    return tuple(dict.fromkeys((canonical, *(other.strip() for other in others if other.strip()))))


def _in_brackets(inside: str) -> Answers:
    """Other names that a bracket gives, such as (Lefkosia/Lefkosa); explanations are no names."""
    if spoken := re.match(r"([A-Z]\w+) is the transliteration", inside):
        return (spoken[1],)
    inside = re.sub(r"^(?:aka|also|alternatively|or) ", "", inside)
    parts = [part.strip() for part in re.split(r"[,/;]| or ", inside)]
    return tuple(part for part in parts if _NAME.fullmatch(part))


def place(value: str) -> Answers:
    """A town or mountain: ``Nicosia (Lefkosia/Lefkosa)``, ``Washington, D.C.``; not one of several."""
    if re.search(r"capital\)|; (?!note)", value):
        return ()
    if value.startswith("Washington, D"):
        return ("Washington, D.C.", "Washington DC", "Washington, District of Columbia", "Washington")
    match = re.fullmatch(r"([^(;,]+?)(?: in Romanian)?(?: \(([^()]*)\)?.*)?(?:; note.*)?", value)
    if not match:
        return ()
    first, *rest = match[1].split("/")
    return accepted(first, *rest, *_in_brackets(match[2] or ""), words=4)


def summit(value: str) -> Answers:
    """The name in ``Loma Mansa (Bintimani) 1,948 m``; ``Mount`` may be left out or abbreviated."""
    match = re.match(r"([A-Z][^(\d;,]*?)(?: \(([^()]*)\))? -?\d[\d,.]*(?: m\b|$)", value)
    if not match or re.search(r"\b(?:on|in|location|elevation|and|junction|range|more)\b", match[1]):
        return ()
    first, *rest = match[1].split("/")
    others = [*rest, *_in_brackets(match[2] or "")]
    if mount := re.fullmatch(r"(?:Mount|Mt\.) (.+)", first):
        others += [mount[1], f"Mt. {mount[1]}", f"Mount {mount[1]}"]
    return accepted(first, *others, words=4)


def low_place(value: str) -> Answers:
    """Like ``summit``, but not at sea level, where half the world would share a handful of answers."""
    return () if re.search(r"\b(?:Oceans?|Seas?|Gulf|Bay|Channel|Strait)\b|^near ", value) else summit(value)


def measure(value: str) -> Answers:
    """``2,381,740 sq km``, with or without its unit."""
    return _measured(re.match(r"(-?\d[\d,]*(?:\.\d+)?) (sq km|km)\b(?! ?;)", value))


def height(value: str) -> Answers:
    """The height in ``Tahat 2,908 m``."""
    return () if ";" in value else _measured(re.search(r" (-?\d[\d,]*(?:\.\d+)?) (m)\b", value))


def _measured(match: re.Match[str] | None) -> Answers:
    if not match or match[1] == "0":
        return ()
    number, unit = match[1], match[2]
    return accepted(f"{number} {unit}", number, *(f"{number} {name}" for name in _UNITS[unit]), words=3)


def count(value: str) -> Answers:
    """The number that a value begins with."""
    match = re.match(r"(\d[\d,]*)\b(?![.\d])", value)
    return accepted(match[1], words=1) if match else ()


def currency(value: str) -> Answers:
    """``euros (EUR) per US dollar -``: as written, in the singular, and its code."""
    match = re.match(r"([^()/]+?)(?: \(([A-Z]{3})\))? per US dollar", value)
    if not match or " or " in match[1]:
        return ()
    *before, last = match[1].split()
    single = _SINGULAR.get(last) or (last[:-1] if last.endswith("s") and not last.endswith("ss") else last)
    return accepted(
        match[1], " ".join([*before, single]), match[2] or "", _BY_CODE.get(match[2], ""), words=4
    )


def quoted(value: str) -> Answers:
    """``"Kassaman" (We Pledge)``: the title without quotes, or its translation."""
    match = re.match(r"[\"“]([^\"”]+)[\"”](?: \(([^()]+)\))?", value)
    return accepted(match[1], match[2] or "", words=8) if match and value.count('"') <= 2 else ()


def internet_code(value: str) -> Answers:
    """``.dz``, the dot optional; not one of several."""
    match = re.match(r"(\.[a-z]{2})(?![a-z.])", value)
    return (match[1], match[1][1:]) if match and value.count(".") == 1 else ()


def letters_and_digits(value: str) -> Answers:
    """A registration prefix such as ``7T``."""
    return (value,) if re.fullmatch(r"[A-Z0-9]{1,3}", value) else ()


_INDEPENDENCE = re.compile(
    r"(?P<date>(?:\d{1,2} )?(?:[A-Z][a-z]+ )?(?P<year>\d{4})) \(from (?:the )?(?P<ruler>[^();,]+)\)(?P<rest>.*)"
)


def independence_year(value: str) -> Answers:
    """The year in ``5 July 1962 (from France)``, or that whole date."""
    match = _INDEPENDENCE.match(value)
    return accepted(match["year"], match["date"], words=1) if match and "(from" not in match["rest"] else ()


def independence_from(value: str) -> Answers:
    """The ruler in ``5 July 1962 (from France)``."""
    match = _INDEPENDENCE.match(value)
    return country(match["ruler"]) if match and "(from" not in match["rest"] else ()


def country(name: str) -> Answers:
    """A country's name with its other spellings (UK, United Kingdom, Britain)."""
    others = spellings_of(name)
    return accepted(name, *others, words=3) if others or _NAME.fullmatch(name) else ()


def first_share(value: str) -> Answers:
    """The largest of ``Oromo 35.8%, Amhara 24.1%``; () when the list is not in falling order."""
    parts = [
        re.match(r"([A-Z][^\d%(]*?)(?: \([^()]*\))? (\d+(?:\.\d+)?)%", part.strip())
        for part in _commas(value)
    ]
    if not parts or not parts[0]:
        return ()
    shares = [float(part[2]) for part in parts if part]
    if shares[0] < max(shares) or shares.count(shares[0]) > 1:
        return ()
    first = parts[0][1]
    return () if re.search(r"/| (?:at|and|or) ", first) else accepted(first, words=3)


def first_partner(value: str) -> Answers:
    """Like ``first_share``, for countries."""
    first = first_share(value)
    return country(first[0]) if first else ()


def first_item(value: str) -> Answers:
    """The first of ``natural gas, crude petroleum (2023)``."""
    first = re.sub(r" \([^()]*\)?$", "", _commas(value)[0])
    return () if re.search(r"[;:/]|\d", first) else accepted(first, words=3)


def only_item(value: str) -> Answers:
    """A value that is the only one: ``lion``, ``quetzal (bird)``."""
    match = re.fullmatch(r"([a-zA-Z' -]+?)(?: \([^()]*\))?", value)
    return accepted(match[1], words=4) if match and " and " not in match[1] else ()


def first_phrase(value: str) -> Answers:
    """What stands before the first bracket or semicolon, if that is short."""
    first = re.split(r" ?[(;]", value)[0]
    return () if re.search(r",|:| - ", first) else accepted(first, words=6)


def long_form(value: str) -> Answers:
    """An official name: one only, without comment."""
    return () if re.search(r"[;(]|\bnote\b", value) else accepted(value, words=8)


def adjective(value: str) -> Answers:
    """``Lao or Laotian``: every one that is named."""
    first, *rest = re.split(r",? or |[,;/] ?", re.sub(r" ?\([^()]*\)", "", value))
    return accepted(first, *(other for other in rest if not other.startswith("note")), words=3)


def assembly(value: str) -> Answers:
    """``Parliament (Stortinget)``, ``National Assembly - Assemblée nationale``: English or own name."""
    match = re.fullmatch(r"([A-Z][^(;,/]+?)(?: \(([^()]+)\)| [-–] ([^()]+))?", value)
    if not match:
        return ()
    own = (match[2] or match[3] or "").split("/")
    return accepted(match[1], *(name.strip() for name in own), words=5)


def official_language(value: str) -> Answers:
    """The one language marked official; () when there are several or none."""
    marked = [part for part in _commas(value) if "(official" in part]
    if len(marked) != 1 or value.count("official") != 1:
        return ()
    if " only" in marked[0]:
        return ()
    first, *rest = re.sub(r" \d.*", "", marked[0].split(" (")[0]).strip().replace("/", " or ").split(" or ")
    return accepted(first, *rest, words=3) if first[:1].isupper() else ()


def largest_city(value: str) -> Answers:
    """The most populous of ``1.852 million Matola, 1.163 million MAPUTO (capital)``.

    () for a list of one, which the Factbook gives for small countries: it names the capital, not the largest.
    """
    found = re.findall(r"(\d[\d.,]*)( million)? ([^\d(),]+?)(?= \(|,|$)", value)
    if len(found) < 2:
        return ()
    sizes = [float(number.replace(",", "")) * (1e6 if million else 1) for number, million, _ in found]
    name = found[sizes.index(max(sizes))][2].strip()
    return accepted(name.title().replace("'S", "'s") if name.isupper() else name, words=4)


def _commas(value: str) -> list[str]:
    """Split at commas that stand outside brackets."""
    return re.split(r", (?![^()]*\))", value)

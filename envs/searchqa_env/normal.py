"""The normal form under which the robust verifier compares answers, and evidence is looked up in passages.

Differences of spelling go (case, accents, quotes, thousands separators, a leading article); differences of
value stay (decimals, signs, currencies, ``<``, ``C`` and ``C++``, ``Vitamin A`` and ``Vitamin``).
"""

from __future__ import annotations

import functools
import re
import unicodedata

ARTICLES = frozenset({"a", "an", "the"})
_LETTERS = {
    "ø": "o",
    "ł": "l",
    "đ": "d",
    "ð": "d",
    "þ": "th",
    "æ": "ae",
    "œ": "oe",
    "ı": "i",
    "ħ": "h",
    "ŧ": "t",
    "٫": ".",
    "٬": ",",
}
_QUOTES = "'’‘‛ʼʻʾʿ`´′ʹ＇"
_MINUS = "-−﹣－‐‑‒–"
_KEPT_AS_DRAWN = ("<super>", "<sub>", "<fraction>")
"""Compatibility forms that change a value when they are unfolded: ``10²`` is not 102."""
_NARROW = re.compile("[\u00a0\u2007\u2009\u202f](?<=\\d.)(?=\\d{3}(?!\\d))")
_THOUSANDS = re.compile(r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?![\d,])")
_INITIALS = re.compile(r"\.(?<=[^\W\d_]\.)")
_POINT = re.compile(r"\.(?=\d)(?<![^\W_]\.)(?<![.,]\.)")
"""The point of ``.5``, which stays a half."""
_PER_CENT = re.compile(r"\bper cent\b")
_TOKEN = re.compile(
    r"(?<!\S)[^\W\d_]{1,2}-(?!\S)|(?:(?<!\S)-(?=\d))?[^\s.+#-]+(?:(?<=\d)\.(?=\d)[^\s.+#-]+)*[+#]*"
)


def normal(text: str) -> str:
    """The normal form: words with single spaces. Never raises; takes time linear in the length.

    A text of articles only stays as it is, and one without any letter or digit keeps its signs, so that
    nothing but blank text has an empty normal form.
    """
    folded = (text if text.isascii() else _unfold(_NARROW.sub("", text))).casefold()
    if not folded.isascii():
        folded = unicodedata.normalize("NFC", _unfold(folded).casefold())
    plain = _INITIALS.sub("", folded.translate(_SIGNS))
    if "," in plain:
        plain = _THOUSANDS.sub(_joined, plain)
    plain = _POINT.sub("0.", plain).replace(",", " ")
    words = _TOKEN.findall(_PER_CENT.sub("percent", plain) if "per cent" in plain else plain)
    return _without_articles(words) if words else " ".join("".join(filter(str.isprintable, folded)).split())


def _joined(match: re.Match[str]) -> str:
    return match.group().replace(",", "")


def _without_articles(words: list[str]) -> str:
    """``the`` goes everywhere, ``a`` and ``an`` at the start only: ``Vitamin A`` keeps its letter."""
    if ARTICLES.issuperset(words):
        return " ".join(words)
    kept = [word for word in words if word != "the"]
    while kept[0] in ARTICLES and not ARTICLES.issuperset(kept):
        kept = kept[1:]
    return " ".join(kept)


def _unfold(text: str) -> str:
    return "".join(map(_letter, text))


@functools.lru_cache(maxsize=4096)
def _letter(char: str) -> str:
    """One character without accents and compatibility forms; "" for what cannot be seen."""
    if unicodedata.decomposition(char).startswith(_KEPT_AS_DRAWN):
        return char
    if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Cn", "Co"):
        return " " if char.isspace() else ""
    if char in _QUOTES:
        return "'"
    if "VARIATION SELECTOR" in unicodedata.name(char, ""):
        return ""
    if (digit := unicodedata.decimal(char, None)) is not None:
        return str(digit)
    plain = "".join(part for part in unicodedata.normalize("NFKD", char) if not "\u0300" <= part <= "\u036f")
    return "".join(_LETTERS.get(part, _LETTERS.get(part.lower(), part)) for part in plain)


class _Signs(dict[int, str]):
    """What becomes of each character of a folded text, filled as characters turn up."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        if char in _QUOTES:
            new = ""
        elif char in _MINUS:
            new = "-"
        elif char in ".,+#" or unicodedata.category(char)[0] in "LMN":
            new = char
        elif char.isspace():
            new = " "
        elif unicodedata.category(char) == "Sc" or char in "<>≤≥≠±√":
            new = f" {char} "
        else:
            new = {"&": " and ", "%": " percent "}.get(
                char, "" if unicodedata.category(char)[0] == "C" else " "
            )
        self[code] = new
        return new


_SIGNS = _Signs()

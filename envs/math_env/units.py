r"""Splits a quantity into value and unit: ``35\text{ cm}``, ``35 cm``, ``\$35``, ``90^\circ``, ``52_8``.

Only names are compared: there is no conversion, so 1 m is not 100 cm.
"""

from __future__ import annotations

import re

_SAME = {
    "centimeter": "cm", "millimeter": "mm", "kilometer": "km", "meter": "m", "inche": "in", "inch": "in",
    "foot": "ft", "feet": "ft", "yard": "yd", "mile": "mi", "gram": "g", "kilogram": "kg", "milligram": "mg",
    "pound": "lb", "ounce": "oz", "ton": "t", "second": "s", "sec": "s", "minute": "min", "hour": "h",
    "hr": "h", "liter": "L", "l": "L", "milliliter": "mL", "ml": "mL", "degree": "°", "deg": "°",
    "dollar": "$", "usd": "$", "euro": "€", "cent": "¢", "mph": "mi/h", "kph": "km/h", "kmh": "km/h",
    "newton": "N", "joule": "J", "watt": "W", "volt": "V", "day": "day", "week": "week", "month": "month",
    "year": "year", "yr": "year", "percent": "%", "pct": "%", "percentage": "%", "unit": "unit",
    "people": "person", "men": "man", "women": "woman", "children": "child", "radian": "rad",
    "eur": "€", "gbp": "£", "rupee": "₹", "celsius": "C", "fahrenheit": "F", "kelvin": "K",
    "cm": "cm", "mm": "mm", "km": "km", "kg": "kg", "lb": "lb", "oz": "oz", "ft": "ft", "in": "in",
}  # fmt: skip
_SHORT = (
    "[mM][mM]|[cC][mM]|dm|[kK][mM]|nm|in|ft|yd|mi|mg|[kK][gG]|[lL][bB]s?|oz|min|hrs?|sec|mL|ml|cc|mph|kph|kmh|rad|deg"
    "|Hz|Pa|kPa|mol|USD|EUR|GBP|pct"
)
_SINGLE = "m|s|g|h|L|l|N|J|W|V|A|K|C|F|t"
_EXPONENT = r"(?:\^ ?\{? ?-?\d ?\}?)"
_POWER = f"{_EXPONENT}?"
_STYLE = r"\\(?:text|mathrm|mbox|textrm|operatorname|textbf|textit|mathit|mathsf) ?"
_BOX = rf"{_STYLE}\{{[^{{}}]*\}}{_POWER}"
_LONG = r"[A-Za-z]{4,}(?: [A-Za-z]+)*|(?:sq|cu)\.? [a-z]+"
_NAME = rf"(?:(?<=[\d}}) ])(?:{_SHORT})(?: per [a-z]+)?|(?<= )(?:(?:{_SINGLE})(?: per [a-z]+)?|{_LONG}))"
_TAIL = re.compile(
    rf"(?P<value>.*?[\d}})a-z|!]) ?(?P<unit>(?:\\?%|\\?[$€£¥₹]|\\(?:pounds|euro)"
    rf"|\^ ?\{{? ?\\circ ?\}}?(?: ?(?:[CF]|{_BOX}))?"
    rf"|{_BOX}(?: ?(?:/|\\cdot)? ?{_BOX})*|{_NAME}{_POWER}(?: ?/ ?[A-Za-z]+{_POWER})?))"
)
_MONEY = re.compile(r"(?P<sign>[-+]?) ?(?P<unit>\\\$|\$|€|£|¥|₹|\\pounds|\\euro) ?(?P<value>[-+\d.\\].*)")
_BASE = re.compile(r"\(?(?P<value>[0-9A-F]+)\)? ?_ ?\{? ?(?:\\text ?\{ ?)?(?P<unit>\d+|[a-z]{3,})(?: ?\})*")
_FUNCTION = re.compile(r"\\(?:sin|cos|tan|cot|sec|csc|log|ln|exp)(?![A-Za-z])")
_NO_UNIT = re.compile(
    r"[\d!*+=<>]|\b(?:or|plus|minus|times|divided|multiplied|mod|modulo|factorial|dozen|percent of"
    r"|half|halves|(?:third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|hundredth|thousandth)s?"
    r"|(?:hundred|thousand|million|billion|trillion)s?)\b|\A\W*(?:squared|cubed)\W*\Z"
)
"""What makes of the words behind a number another number, or a second answer."""
_EXPONENTS = re.compile(_EXPONENT)
_STRIP_BOX = re.compile(rf"{_STYLE}\{{([^{{}}]*)\}}")
_MARKS = {"\\$": "$", "\\pounds": "£", "\\euro": "€"}
_CURRENCY = {*_MARKS, "$", "€", "£", "¥", "₹"}
_PART = rf"(\d[\d.]*) ?({_BOX}|[A-Za-z]+)"
_COMPOUND = re.compile(rf"{_PART} ?,? ?(?:and )?{_PART}")


def split_unit(text: str) -> tuple[str, str]:
    """(value, unit) of a tidied expression; the unit is its standard name, or "" when there is none.

    A lone letter is a unit only after a space and a number (``35 m``; ``35m`` is a product).
    """
    if money := _MONEY.fullmatch(text):
        value, unit = split_unit(money["value"])
        mark = _MARKS.get(money["unit"], money["unit"])
        return money["sign"] + value, mark if unit in ("", mark) else f"{mark} {unit}"
    if base := _BASE.fullmatch(text):
        return base["value"], f"base {base['unit']}"
    tail = _TAIL.fullmatch(text)
    if not tail or (tail["unit"].startswith("^") and _FUNCTION.search(text)):
        return text, ""
    if tail["unit"] in _CURRENCY:
        return tail["value"].strip(), _MARKS.get(tail["unit"], tail["unit"])
    value = tail["value"].strip()
    lone = tail["unit"][0].isalpha()
    if _NO_UNIT.search(_EXPONENTS.sub("", _STRIP_BOX.sub(r" \1 ", tail["unit"]))):
        return text, ""
    if (lone and not re.search(r"[\d}]$", value)) or value.count("{") != value.count("}"):
        return text, ""
    return value, standard_unit(tail["unit"])


def compound(text: str) -> list[tuple[str, str]]:
    """``5 ft 3 in`` as its (value, unit) parts, largest first as written; [] for anything else."""
    found = _COMPOUND.fullmatch(text)
    parts = [(found[1], standard_unit(found[2])), (found[3], standard_unit(found[4]))] if found else []
    return parts if all(unit in _SAME.values() for _, unit in parts) else []


def standard_unit(unit: str) -> str:
    """One spelling of a unit's name: abbreviations, singular, ``^2`` for squares, ``/`` for per."""
    unit = _STRIP_BOX.sub(r" \1 ", unit)
    unit = re.sub(r"\^ ?\{? ?(-?\d) ?\}?", r"^\1", unit).replace("\\circ", "°").replace("\\%", "%")
    unit = re.sub(r"\^ ?\{? ?° ?\}?", "°", unit).strip("() ")
    unit = re.sub(r"(?:sq|square)\.? +([A-Za-z]+)", r"\1^2", unit)
    unit = re.sub(r"(?:cu|cubic)\.? +([A-Za-z]+)", r"\1^3", unit)
    unit = re.sub(r"([A-Za-z]+) +squared", r"\1^2", re.sub(r"([A-Za-z]+) +cubed", r"\1^3", unit))
    unit = re.sub(r"\bper +cent\b", "%", unit)
    unit = re.sub(r" +per +| */ *", "/", unit)
    unit = re.sub(r" *\^", "^", " ".join(unit.split()))
    unit = re.sub(r"(?:\\cdot| )+([A-Za-z]+)\^-(\d)", r"/\1^\2", unit).replace("^1", "")
    return re.sub(r"[A-Za-z]+", _standard_word, unit).rstrip(".").replace("° ", "°")


def _standard_word(match: re.Match[str]) -> str:
    word = match.group()
    low = word.lower().replace("metre", "meter").replace("litre", "liter")
    single = low[:-1] if len(low) > 2 and low.endswith("s") and not low.endswith("ss") else low
    if low in _SAME:
        return _SAME[low]
    if single in _SAME:
        return _SAME[single]
    return word if len(word) <= 2 else single

r"""Generated answers that are one number: integers, fractions, decimals, powers and roots."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction

from bench.verifiers.pairs import Making

Rng = random.Random


def fraction_text(value: Fraction, command: str = "frac") -> str:
    """A fraction in LaTeX, its sign in front."""
    sign = "-" if value < 0 else ""
    return f"{sign}\\{command}{{{abs(value.numerator)}}}{{{value.denominator}}}"


def _integer(rng: Rng) -> Making:
    n = rng.randint(-9999, 9999)
    sign, size = ("-" if n < 0 else ""), abs(n)
    rights = [
        f"{n}",
        f"{n}.0",
        f" {n} ",
        f"\\text{{{n}}}",
        f"${n}$",
        f"\\mathbf{{{n}}}",
        f"{sign}0{size}",
        f"{n}.",
    ]
    return f"{n}", rights, [f"{n + 1}", f"{n}.5", f"{n}0", f"{-n - 1}", f"{n}x"]


def _thousands(rng: Rng) -> Making:
    n = rng.randint(1000, 99_999_999)
    groups = f"{n:,}"
    rights = [groups, groups.replace(",", "{,}"), groups.replace(",", "\\,"), groups.replace(",", " ")]
    return f"{n}", rights, [groups.replace(",", "."), f"{n + 1:,}", groups[:-1], f"({groups})"]


def _unseen(rng: Rng) -> Making:
    n = rng.randint(2, 999)
    wide = "".join(chr(0xFF10 + int(digit)) for digit in str(n))
    rights = [wide, f"\u200b{n}", f"\u202d{n}\u202c", f"\ufeff{n}", f"−{n}".replace("−", "+")]
    return f"{n}", rights, [f"−{n}", f"\uff0d{wide}", f"\u200b{n}\u200b1", f"{n}²"]


def _fraction(rng: Rng) -> Making:
    value = Fraction(rng.randint(-30, 30), rng.randint(2, 30)) + Fraction(1, 31)
    top, bottom, k = value.numerator, value.denominator, rng.randint(2, 9)
    rights = [
        fraction_text(value, "dfrac"),
        fraction_text(value, "tfrac"),
        f"{top}/{bottom}",
        f"\\frac{{{k * top}}}{{{k * bottom}}}",
    ]
    wrongs = [
        fraction_text(1 / value),
        f"{float(value):.6f}",
        fraction_text(-value),
        f"{top + 1}/{bottom}",
        f"{float(value):.15f}",
    ]
    return fraction_text(value), rights, wrongs


def _mixed(rng: Rng) -> Making:
    whole, bottom = rng.randint(1, 20), rng.randint(2, 9)
    top = rng.randint(1, bottom - 1)
    value = whole + Fraction(top, bottom)
    rights = [
        f"{whole}\\frac{{{top}}}{{{bottom}}}",
        f"{whole} {top}/{bottom}",
        f"{whole}+\\frac{{{top}}}{{{bottom}}}",
    ]
    return (
        fraction_text(value),
        rights,
        [f"{whole}{top}/{bottom}", f"{whole + 1}\\frac{{{top}}}{{{bottom}}}", f"{whole}"],
    )


def _decimal(rng: Rng) -> Making:
    value = Fraction(rng.randrange(1, 100_000, 2), 2 ** rng.randint(1, 4) * 10)
    text = f"{float(value):.10f}".rstrip("0").rstrip(".")
    rights = [fraction_text(value), f"{text}0", f"0{text}", f"+{text}"]
    return text, rights, [f"{text}1", f"-{text}", text.replace(".", ""), text.replace(".", ",")]


def _repeating(rng: Rng) -> Making:
    block = f"{rng.randint(1, 98):02}"
    value = Fraction(int(block), 99)
    rights = [
        f"0.\\overline{{{block}}}",
        f"0.({block})",
        f"0.\\bar{{{block}}}",
        f"0.{block}\\overline{{{block}}}",
    ]
    return fraction_text(value), rights, [f"0.{block}", f"0.{block * 3}", f"0.{block * 10}"]


def _scientific(rng: Rng) -> Making:
    a, b, e = rng.randint(1, 9), rng.randint(1, 9), rng.randint(2, 8)
    n = (10 * a + b) * 10 ** (e - 1)
    mantissa = f"{a}.{b}"
    rights = [
        f"{mantissa}\\times 10^{{{e}}}",
        f"{mantissa}\\cdot10^{e}",
        f"{mantissa}e{e}",
        f"{mantissa} \\times 10^{e}",
    ]
    return f"{n}", rights, [f"{mantissa}\\times 10^{{{e + 1}}}", f"{mantissa}e{e - 1}", mantissa]


def _tiny(rng: Rng) -> Making:
    n = rng.randint(15, 300)
    power = f"10^{{-{n}}}"
    rights = [f"\\frac{{1}}{{10^{{{n}}}}}", f"\\frac{{10}}{{10^{{{n + 1}}}}}", f"0.1\\cdot 10^{{-{n - 1}}}"]
    return power, rights, ["0", f"10^{{-{n + 1}}}", f"2\\cdot 10^{{-{n}}}"]


def _factorial(rng: Rng) -> Making:
    n = rng.randint(20, 300)
    rights = [f"\\frac{{{n + 1}}}{{{n + 1}!}}", f"({n}!)^{{-1}}"]
    return f"\\frac{{1}}{{{n}!}}", rights, [f"\\frac{{1}}{{{n + 1}!}}", "0", f"{n}!"]


def _surd(rng: Rng) -> Making:
    a, b = rng.randint(2, 9), rng.choice([2, 3, 5, 7])
    rights = [
        f"\\sqrt{{{a * a * b}}}",
        f"\\sqrt{b}\\cdot {a}",
        f"\\frac{{{a * b}}}{{\\sqrt{{{b}}}}}",
        f"{a}*sqrt({b})",
    ]
    wrongs = [f"{a * b**0.5:.6f}", f"{a + 1}\\sqrt{{{b}}}", f"\\sqrt{{{a * b}}}", f"{a * b**0.5:.14f}"]
    return f"{a}\\sqrt{{{b}}}", rights, wrongs


KINDS: dict[str, Callable[[Rng], Making]] = {
    "integer": _integer,
    "thousands": _thousands,
    "unseen and full-width characters": _unseen,
    "fraction": _fraction,
    "mixed number": _mixed,
    "decimal": _decimal,
    "repeating decimal": _repeating,
    "scientific": _scientific,
    "tiny": _tiny,
    "factorial": _factorial,
    "root": _surd,
}
"""What is varied, by the name that reports give it."""

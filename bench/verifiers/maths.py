r"""Generated maths answers: lists, regions, equations and quantities in right and wrong spellings.

Those that are one number are drawn in ``numbers``.
The truth is that of values: what a percent sign, a unit or a comma means is the policy of ``RobustVerifier``.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction

from bench.verifiers import numbers
from bench.verifiers.numbers import fraction_text
from bench.verifiers.pairs import Making

Rng = random.Random


def _polynomial(rng: Rng) -> Making:
    a, b = rng.randint(1, 9), rng.randint(1, 9)
    gold = f"x^2+{a + b}x+{a * b}"
    rights = [f"(x+{a})(x+{b})", f"{a * b}+{a + b}x+x^2", f"x(x+{a + b})+{a * b}", f"(x+{b})\\cdot(x+{a})"]
    return (
        gold,
        rights,
        [f"(x+{a})(x-{b})", f"x^2+{a * b}x+{a + b + 1}", f"x^2+{a + b}x", f"y^2+{a + b}y+{a * b}"],
    )


def _percent(rng: Rng) -> Making:
    p = rng.randint(2, 99)
    value = Fraction(p, 100)
    rights = [
        f"{p}",
        f"{p} percent",
        f"{p}\\text{{ percent}}",
        f"0.{p:02}",
        fraction_text(value),
        f"{p}%",
        f"{p}\\ \\%",
    ]
    return f"{p}\\%", rights, [f"{p + 1}\\%", f"{p}0", f"0.0{p:02}", f"{p}00\\%", f"-{p}\\%"]


def _list(rng: Rng) -> Making:
    a, b = rng.sample(range(2, 2000), 2)
    rights = [f"{b} and {a}", f"{a}, {b}", f"\\{{{b}, {a}\\}}", f"{a}\\text{{ and }}{b}"]
    return (
        f"{a}\\text{{ and }}{b}",
        rights,
        [f"{a}", f"{b}", f"{a}, {b}, {b + 1}", f"{a} and {b + 1}", f"{a}{b}"],
    )


def _tuple(rng: Rng) -> Making:
    a, b = rng.sample(range(-9, 10), 2)
    rights = [f"\\left({a}, {b}\\right)", f"({a},{b}.0)", f"({a}, \\frac{{{2 * b}}}{{2}})", f"{a}, {b}"]
    return f"({a},{b})", rights, [f"({b},{a})", f"({a},{b},0)", f"({a},{b + 1})", f"{a}{abs(b)}", f"{a}"]


def _set(rng: Rng) -> Making:
    a, b, c = rng.sample(range(1, 50), 3)
    rights = [
        f"\\left\\{{{c}, {a}, {b}\\right\\}}",
        f"{a}, {b}, {c}",
        f"\\{{{a},{b},{c},{c}\\}}",
        f"{c}, {b} and {a}",
    ]
    return (
        f"\\{{{a},{b},{c}\\}}",
        rights,
        [f"\\{{{a},{b}\\}}", f"\\{{{a},{b},{c + 50}\\}}", f"{a}", f"{a}{b}{c}"],
    )


def _interval(rng: Rng) -> Making:
    a = rng.randint(-9, 8)
    b = a + rng.randint(1, 9)
    rights = [
        f"{a}\\le x<{b}",
        f"\\left[{a}, {b}\\right)",
        f"[{a},{b}.0)",
        f"{b}>x\\ge {a}",
        f"x\\in[{a},{b})",
    ]
    return f"[{a},{b})", rights, [f"[{a},{b}]", f"({a},{b})", f"({a},{b}]", f"{a}<x<{b}", f"[{a},{b + 1})"]


def _inequality(rng: Rng) -> Making:
    a = rng.randint(-9, 9)
    rights = [
        f"(-\\infty,{a})",
        f"{a}>x",
        f"x-{a}<0" if a > 0 else f"x+{-a}<0",
        f"-\\infty<x<{a}",
        f"2x<{2 * a}",
    ]
    return f"x<{a}", rights, [f"x\\le {a}", f"x>{a}", f"(-\\infty,{a}]", f"y<{a}", f"{a}", f"x<{a + 1}"]


def _union(rng: Rng) -> Making:
    a = rng.randint(-9, 0)
    b = a + rng.randint(1, 9)
    gold = f"(-\\infty,{a})\\cup({b},\\infty)"
    rights = [
        f"({b},\\infty)\\cup(-\\infty,{a})",
        f"x<{a}\\text{{ or }}x>{b}",
        f"\\mathbb{{R}}\\setminus[{a},{b}]",
    ]
    return (
        gold,
        rights,
        [f"({a},{b})", f"(-\\infty,{a}]\\cup({b},\\infty)", f"x<{a}", f"(-\\infty,{b})\\cup({a},\\infty)"],
    )


def _equation(rng: Rng) -> Making:
    a, b, c = rng.randint(1, 9), rng.randint(2, 9), rng.randint(1, 20)
    rights = [f"{2 * a}x+{2 * b}y={2 * c}", f"{b}y={c}-{a}x", f"{a}x+{b}y-{c}=0", f"{c}={a}x+{b}y"]
    return (
        f"{a}x+{b}y={c}",
        rights,
        [f"{c}", f"{a}x+{b}y={c + 1}", f"{a}x-{b}y={c}", f"{a}x+{b}y", f"{a + 1}x+{b}y={c}"],
    )


def _assignment(rng: Rng) -> Making:
    n = rng.randint(-99, 99)
    rights = [f"{n}", f"x = {n}", f"{n}=x", f"x={n}.0"]
    return f"x={n}", rights, [f"y={n}", f"x={n + 1}", f"{n + 1}", f"x+1={n}", f"x>{n}"]


def _unit(rng: Rng) -> Making:
    n = rng.randint(2, 99)
    short, long, other = rng.choice(
        [("cm", "centimeters", "m"), ("kg", "kilograms", "g"), ("km", "kilometers", "mi")]
    )
    rights = [f"{n} \\text{{ {short}}}", f"{n}\\,\\mathrm{{{short}}}", f"{n} {long}", f"{n}"]
    wrongs = [
        f"{n}\\text{{ {other}}}",
        f"{n + 1}\\text{{ {short}}}",
        f"{n}\\text{{ {short}}}^2",
        f"{n} {other}",
    ]
    return f"{n}\\text{{ {short}}}", rights, wrongs


def _degrees(rng: Rng) -> Making:
    n = rng.randint(2, 359)
    rights = [f"{n}", f"{n}°", f"{n}^{{\\circ}}", f"{n} degrees", f"{n}\\text{{ degrees}}"]
    return f"{n}^\\circ", rights, [f"{n + 1}^\\circ", f"{n}\\text{{ radians}}", f"{n}0^\\circ"]


def _money(rng: Rng) -> Making:
    n, cents = rng.randint(2, 9999), rng.randint(10, 99)
    rights = [f"{n}.{cents}", f"\\${n:,}.{cents}", f"{n}.{cents} dollars", f"{n}.{cents}\\text{{ dollars}}"]
    return (
        f"\\${n}.{cents}",
        rights,
        [f"€{n}.{cents}", f"\\${n}", f"\\${n + 1}.{cents}", f"{n}.{cents}\\text{{ euros}}"],
    )


def _complex(rng: Rng) -> Making:
    a, b = rng.randint(1, 9), rng.randint(2, 9)
    rights = [f"{b}i+{a}", f"{a} + {b}i", f"({a}+{b}i)", f"{a}+{b}\\cdot i"]
    return f"{a}+{b}i", rights, [f"{a}-{b}i", f"{b}+{a}i" if a != b else f"{a}", f"{a + b}", f"{a}+{b}"]


def _matrix(rng: Rng) -> Making:
    a, b, c, d = rng.sample(range(10), 4)
    gold = f"\\begin{{pmatrix}}{a}&{b}\\\\{c}&{d}\\end{{pmatrix}}"
    rights = [
        gold.replace("pmatrix", "bmatrix"),
        f"\\begin{{pmatrix}} {a} & {b} \\\\ {c} & {d} \\end{{pmatrix}}",
    ]
    wrongs = [f"\\begin{{pmatrix}}{a}&{c}\\\\{b}&{d}\\end{{pmatrix}}", f"{a},{b},{c},{d}", f"{a * d - b * c}"]
    return gold, rights, wrongs


def _wrapper(rng: Rng) -> Making:
    value = fraction_text(Fraction(rng.randint(1, 40), 41))
    rights = [
        f"\\text{{{value}}}",
        f"\\mathbf{{{value}}}",
        f"\\boldsymbol{{{value}}}",
        f"\\displaystyle {value}",
    ]
    other = value.replace("{41}", "{43}")
    return value, rights, [f"\\text{{{other}}}", f"\\mathbf{{-{value}}}", f"\\boldsymbol{{{other}}}"]


def _word(rng: Rng) -> Making:
    word, other = rng.sample(
        ["Monday", "triangle", "Alice", "odd", "no solution", "true", "Friday", "circle"], 2
    )
    rights = [f"\\text{{{word}}}", word.lower(), word.upper(), f"\\text{{{word}.}}"]
    return f"\\text{{{word}}}", rights, [other, f"\\text{{{other}}}", f"not {word}", f"{word}x"]


KINDS: dict[str, Callable[[Rng], Making]] = {
    **numbers.KINDS,
    "polynomial": _polynomial,
    "percent": _percent,
    "list": _list,
    "tuple": _tuple,
    "set": _set,
    "interval": _interval,
    "inequality": _inequality,
    "union": _union,
    "equation": _equation,
    "assignment": _assignment,
    "unit": _unit,
    "degrees": _degrees,
    "money": _money,
    "complex": _complex,
    "matrix": _matrix,
    "wrapper": _wrapper,
    "word": _word,
}
"""What is varied, by the name that reports give it."""

r"""Turns a LaTeX expression into exact sympy algebra: decimals become fractions, never floats.

It reads what answers consist of (arithmetic, roots, powers, functions, binomials). Integrals, sums and
limits go to the latex2sympy2 grammar. Whatever neither can read raises ``Unreadable``.
"""

from __future__ import annotations

import re
from fractions import Fraction

import sympy
from latex2sympy2_extended.latex2sympy2 import ConversionConfig, latex2sympy


class Unreadable(ValueError):
    """The text is no expression that can be compared by algebra."""


WORD = re.compile(r"(?:[A-Za-z]+[ '-])*[A-Za-z]{4,}(?:[ '-][A-Za-z]+)*|yes|no|odd|DNE", re.IGNORECASE)
"""A word or phrase, as opposed to a product of letters."""
_TOKEN = re.compile(r"\s*(\\operatorname ?\{[a-z]+\}|\\[A-Za-z]+|\\.|\d+(?:\.\d*)?|\.\d+|\*\*|\S)")
_GREEK = {
    "alpha", "beta", "gamma", "delta", "epsilon", "varepsilon", "zeta", "eta", "theta", "vartheta", "iota",
    "kappa", "lambda", "mu", "nu", "xi", "rho", "sigma", "tau", "phi", "varphi", "chi", "psi", "omega", "ell",
    "Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Phi", "Psi", "Omega", "hbar",
}  # fmt: skip
_FUNCTIONS = {
    name: getattr(sympy, target)
    for name, target in {
        "sin": "sin", "cos": "cos", "tan": "tan", "cot": "cot", "sec": "sec", "csc": "csc", "arcsin": "asin",
        "arccos": "acos", "arctan": "atan", "arccot": "acot", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh",
        "exp": "exp", "ln": "log", "log": "log", "lg": "log",
    }.items()
}  # fmt: skip
_INVERSE = {"sin": sympy.asin, "cos": sympy.acos, "tan": sympy.atan, "cot": sympy.acot}
_HARD = re.compile(r"\\(?:int|sum|prod|lim|max|min|gcd|lcm|det)(?![A-Za-z])")
_PAIRS = {"(": ")", "[": "]", "\\{": "\\}", "|": "|", "\\lfloor": "\\rfloor", "\\lceil": "\\rceil"}


def expression(text: str) -> sympy.Expr:
    """Parse a tidied expression; raises ``Unreadable``."""
    if _HARD.search(text):
        return _grammar(text)
    parser = _Parser(text)
    value = parser.sum()
    if parser.peek():
        raise Unreadable(f"cannot read {text!r} from {parser.peek()!r} on")
    return value


def value_of(text: str) -> sympy.Expr | None:
    """The expression, or None for words and whatever cannot be read."""
    if WORD.fullmatch(text):
        return None
    try:
        return expression(text)
    except Unreadable:
        return None


def _grammar(text: str) -> sympy.Expr:
    try:
        config = ConversionConfig(lowercase_symbols=False)
        value = latex2sympy(text, is_real=True, normalization_config=None, conversion_config=config).doit()
    except Exception as error:  # the grammar raises plain Exception for every syntax error
        raise Unreadable(f"cannot read {text!r}: {error}") from error
    if not isinstance(value, sympy.Expr) or value.has(sympy.Float):
        raise Unreadable(f"{text!r} does not read as an exact expression")
    return value


class _Parser:
    """Recursive descent, one method per level of binding strength."""

    def __init__(self, text: str) -> None:
        self._tokens = _TOKEN.findall(text.strip())[::-1]

    def peek(self) -> str:
        return self._tokens[-1] if self._tokens else ""

    def _next(self) -> str:
        if not self._tokens:
            raise Unreadable("the expression ends too early")
        return str(self._tokens.pop())

    def _accept(self, *tokens: str) -> str:
        return self._next() if self.peek() in tokens and self._tokens else ""

    def _expect(self, token: str) -> None:
        if self._next() != token:
            raise Unreadable(f"expected {token!r}")

    def sum(self) -> sympy.Expr:
        value = self._product()
        while sign := self._accept("+", "-"):
            term = self._product()
            value = value + term if sign == "+" else value - term
        return value

    def _product(self) -> sympy.Expr:
        value = self._signed()
        while True:
            if self._accept("*", "\\cdot", "\\times", "\\ast"):
                value = value * self._signed()
            elif self._accept("/", "\\div"):
                value = value / self._signed()
            elif self._starts_factor():
                value = value * self._power()
            else:
                return value

    def _starts_factor(self) -> bool:
        token = self.peek()
        if token in ("(", "[", "{", "\\{", "\\lfloor", "\\lceil") or token[:1].isalpha():
            return True
        name = token[1:]
        known = name in _GREEK or name in _FUNCTIONS or name in ("frac", "sqrt", "binom", "pi", "infty")
        return token.startswith("\\") and (known or name.startswith("operatorname"))

    def _signed(self) -> sympy.Expr:
        if self._accept("-"):
            return -self._signed()
        if self._accept("+"):
            return self._signed()
        return self._power()

    def _power(self) -> sympy.Expr:
        value = self._postfix(self._atom())
        if self._accept("^", "**"):
            if self._accept("\\circ"):
                return value * sympy.pi / 180
            exponent = self._argument()
            if exponent == sympy.Symbol("\\circ"):
                return value * sympy.pi / 180
            value = self._postfix(value**exponent)
        return value

    def _postfix(self, value: sympy.Expr) -> sympy.Expr:
        if self._accept("!"):
            if self.peek() == "!":
                raise Unreadable("a double factorial is not supported")
            return sympy.factorial(value)
        return value

    def _argument(self) -> sympy.Expr:
        """What follows ``^``: a group, or a signed atom (``x^-1``, ``x^10``)."""
        return -self._atom() if self._accept("-") else self._atom()

    def _digit_or_group(self) -> sympy.Expr:
        r"""An argument in the TeX sense: ``\frac12`` takes one digit at a time."""
        token = self.peek()
        if token[:1].isdigit() and len(token) > 1:
            self._next()
            self._tokens.append(token[1:])
            return sympy.Integer(token[0])
        return self._atom()

    def _atom(self) -> sympy.Expr:
        token = self._next()
        if token in _PAIRS or token == "{":
            return self._enclosed(token)
        if token[0].isdigit() or token[0] == ".":
            return self._number(token)
        if token.startswith("\\operatorname") and token.endswith("}"):
            token = "\\" + token[token.index("{") + 1 : -1]
        if (token.isalpha() and token.isascii()) or token[1:] in _GREEK:
            return self._name(token)
        return self._command(token[1:] if token.startswith("\\") else token)

    def _enclosed(self, opening: str) -> sympy.Expr:
        if opening == "{" and self.peek() == "\\circ":
            self._next()
            value: sympy.Expr = sympy.Symbol("\\circ")
        else:
            value = self.sum()
        self._expect("}" if opening == "{" else _PAIRS[opening])
        wrap = {"|": sympy.Abs, "\\lfloor": sympy.floor, "\\lceil": sympy.ceiling}.get(opening)
        return wrap(value) if wrap else value

    def _number(self, token: str) -> sympy.Expr:
        value = Fraction(token)
        if self.peek() == "\\overline":
            self._next()
            places = len(token.partition(".")[2])
            self._expect("{")
            block = self._next()
            self._expect("}")
            value += Fraction(int(block), 10**places * (10 ** len(block) - 1))
        number = sympy.Rational(value.numerator, value.denominator)
        mixed = token.isdigit() and "".join(self._tokens[:-8:-1])
        if mixed and re.match(r"\\frac(?:\{\d+\}\{\d+\}|\d\d|\d{2})", mixed):
            return number + self._atom()
        return number

    def _name(self, token: str) -> sympy.Expr:
        constants = {"e": sympy.E, "i": sympy.I}
        if token in constants and self.peek() != "_":
            return constants[token]
        name = token
        if self._accept("_"):
            name += f"_{self._subscript()}"
        while self._accept("'"):
            name += "'"
        return sympy.Symbol(name, real=True)

    def _subscript(self) -> str:
        if not self._accept("{"):
            return self._next()
        parts = []
        while self.peek() != "}":
            parts.append(self._next())
        self._next()
        return "".join(parts)

    def _command(self, name: str) -> sympy.Expr:
        if name == "frac":
            top = self._digit_or_group()
            return top / self._digit_or_group()
        if name in ("binom", "dbinom", "tbinom"):
            top = self._digit_or_group()
            return sympy.binomial(top, self._digit_or_group())
        if name == "sqrt":
            root = self._enclosed("[") if self._accept("[") else sympy.Integer(2)
            return sympy.root(self._digit_or_group(), root)
        if name == "pi":
            return sympy.pi
        if name == "infty":
            return sympy.oo
        if name in _FUNCTIONS:
            return self._function(name)
        raise Unreadable(f"unknown symbol {name!r}")

    def _function(self, name: str) -> sympy.Expr:
        function, power, base = _FUNCTIONS[name], sympy.Integer(1), None
        if self._accept("_"):
            base = self._digit_or_group()
        if self._accept("^"):
            power = self._argument()
        if power == -1 and name in _INVERSE:
            function, power = _INVERSE[name], sympy.Integer(1)
        argument = self._operand()
        if base is not None or name in ("log", "lg"):
            return (sympy.log(argument) / sympy.log(base if base is not None else 10)) ** power
        return function(argument) ** power

    def _operand(self) -> sympy.Expr:
        r"""``\sin(x)y`` is a product; ``\sin 2x`` takes the 2x."""
        if self.peek() in ("(", "[", "{"):
            return self._power()
        value = -self._power() if self._accept("-") else self._power()
        while self._starts_factor() and self.peek()[1:] not in _FUNCTIONS and self.peek() not in ("(", "["):
            value = value * self._power()
        return value

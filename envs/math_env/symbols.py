r"""Unicode to LaTeX: what people and models type instead of commands, and signs that nobody can see.

Only characters are replaced, one spelling for one meaning. Look-alike letters of other alphabets stay what they are.
"""

from __future__ import annotations

import re
import unicodedata

_SYMBOLS = {
    "−": "-", "‐": "-", "‑": "-", "‒": "-", "–": "-", "—": "-", "―": "-", "﹣": "-", "－": "-",
    "×": r"\times ", "·": r"\cdot ", "⋅": r"\cdot ", "∙": r"\cdot ", "•": r"\cdot ", "∗": "*",
    "÷": r"\div ", "⁄": "/", "∕": "/", "∶": ":", "±": r"\pm ", "∓": r"\mp ", "√": r"\sqrt ", "∞": r"\infty ",
    "≤": r"\le ", "⩽": r"\le ", "≦": r"\le ", "≥": r"\ge ", "⩾": r"\ge ", "≧": r"\ge ", "≠": r"\ne ",
    "≈": r"\approx ", "≃": r"\approx ", "≅": r"\approx ", "∈": r"\in ", "∪": r"\cup ", "∩": r"\cap ",
    "∖": r"\setminus ", "∅": r"\emptyset ", "⌀": r"\emptyset ", "∧": r"\land ", "∨": r"\lor ",
    "ℝ": r"\mathbb{R}", "ℤ": r"\mathbb{Z}", "ℕ": r"\mathbb{N}", "ℚ": r"\mathbb{Q}", "ℂ": r"\mathbb{C}",
    "⟨": "(", "⟩": ")", "〈": "(", "〉": ")", "⌊": r"\lfloor ", "⌋": r"\rfloor ", "⌈": r"\lceil ", "⌉": r"\rceil ",
    "°": r"^\circ ", "º": r"^\circ ", "˚": r"^\circ ", "∘": r"\circ ", "∠": r"\angle ",
    "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "‛": "'", "′": "'",
    "、": ",", "。": ".", "…": r"\ldots ", "⋯": r"\ldots ", "％": r"\%", "＄": r"\$",
    "\u2062": r"\cdot ", "\u2063": ",", "\u2064": "+",
}  # fmt: skip
_GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "ζ": "zeta", "η": "eta", "θ": "theta",
    "ι": "iota", "κ": "kappa", "λ": "lambda", "μ": "mu", "ν": "nu", "ξ": "xi", "π": "pi", "ρ": "rho", "σ": "sigma",
    "τ": "tau", "φ": "phi", "χ": "chi", "ψ": "psi", "ω": "omega", "ϕ": "phi", "ϵ": "epsilon", "ϑ": "vartheta",
    "∆": "Delta", "Γ": "Gamma", "Δ": "Delta", "Θ": "Theta", "Λ": "Lambda", "Ξ": "Xi", "Π": "Pi", "Σ": "Sigma",
    "Φ": "Phi", "Ψ": "Psi", "Ω": "Omega",
}  # fmt: skip
_RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿⁱˣ", "0123456789+-()nix", strict=True))
_LOWERED = dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋₍₎ₙᵢₓ", "0123456789+-()nix", strict=True))
_ROOT = re.compile(r"√\s*([\d.]+)")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")


def to_latex(text: str) -> str:
    """The text in ASCII as far as that keeps its meaning: ``√12``, ``x²``, ``1½``, ``５`` and ``−5`` as LaTeX.

    Direction marks, zero-width and control characters are dropped: they cannot be seen.
    """
    if text.isascii():
        return _CONTROL.sub("", text)
    text = unicodedata.normalize("NFC", text)
    text = _ROOT.sub(r"\\sqrt{\1}", text)
    for mark, signs in (("^", _RAISED), ("_", _LOWERED)):
        text = re.sub(f"[{''.join(signs)}]+", lambda run: _script(mark, signs, run), text)  # noqa: B023
    return text.translate(_TABLE)


def _script(mark: str, signs: dict[str, str], run: re.Match[str]) -> str:
    """A single sign needs no braces, unless a digit follows that would join it."""
    plain = "".join(map(signs.__getitem__, run.group()))
    alone = len(plain) == 1 and not run.string[run.end() : run.end() + 1].isdigit()
    return mark + (plain if alone else f"{{{plain}}}")


class _Table(dict[int, str]):
    """What becomes of each character, filled as characters turn up."""

    def __missing__(self, code: int) -> str:
        self[code] = new = self._new(chr(code))
        return new

    def _new(self, char: str) -> str:
        if char.isascii() or char in _SYMBOLS:
            return _CONTROL.sub("", char) if char.isascii() else _SYMBOLS[char]
        if char in _GREEK:
            return f"\\{_GREEK[char]} "
        if char.isspace():
            return " "
        if (digit := unicodedata.decimal(char, None)) is not None:
            return str(digit)
        if unicodedata.category(char) in ("Cf", "Cc", "Cs") or "VARIATION SELECTOR" in unicodedata.name(
            char, ""
        ):
            return ""
        kind, *codes = unicodedata.decomposition(char).split() or [""]
        if kind == "<fraction>":
            top, _, bottom = unicodedata.normalize("NFKD", char).partition("⁄")
            return f"\\frac{{{top}}}{{{bottom}}}" if bottom else char
        if kind in ("<wide>", "<narrow>", "<font>", "<square>", "<compat>", "<small>"):
            return to_latex("".join(chr(int(part, 16)) for part in codes))
        return char


_TABLE = _Table()

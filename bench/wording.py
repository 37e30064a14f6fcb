"""Numbers as readers see them: fractions as percent, differences in points, p-values, counts.

Rounding happens here and nowhere else; nothing is ever computed from a formatted number.
"""

from __future__ import annotations

DASH = "–"


def percent(fraction: float | None) -> str:
    """A fraction as a percent figure with one decimal, without the sign; a dash when undefined."""
    return DASH if fraction is None else f"{100 * fraction:.1f}"


def points(fraction: float | None) -> str:
    """A difference of fractions in percent points, always signed; a dash when undefined."""
    if fraction is None:
        return DASH
    text = f"{100 * fraction:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text


def interval(bounds: tuple[float, float] | None) -> str:
    """An interval in percent points; a dash when undefined."""
    return DASH if bounds is None else f"{points(bounds[0])} to {points(bounds[1])}"


def p_value(p: float | None) -> str:
    """Up to four decimals, without trailing zeros; ``<0.001`` below that, never 0."""
    if p is None:
        return DASH
    return "<0.001" if p < 0.001 else f"{p:.4f}".rstrip("0").rstrip(".")


def count(number: float | None) -> str:
    """A whole number with thousands separators; a dash when undefined."""
    return DASH if number is None else f"{number:,.0f}"


def decimal(number: float | None) -> str:
    """A mean of counts with one decimal and thousands separators; a dash when undefined."""
    return DASH if number is None else f"{number:,.1f}"


def spread(values: list[str]) -> str:
    """``low to high``, or the single value when all are equal."""
    return values[0] if values[0] == values[-1] else f"{values[0]} to {values[-1]}"


def with_seeds(mean: str, singles: list[str]) -> str:
    """A mean with the single seeds behind it, such as ``37.0 (23, 22, 66)``; alone for one seed."""
    return mean if len(singles) < 2 else f"{mean} ({', '.join(singles)})"


def short_percent(fraction: float) -> str:
    """A fraction as a whole percent figure, for the values of single seeds."""
    return f"{100 * fraction:.0f}"


def short_points(fraction: float) -> str:
    """A difference of fractions in whole percent points, signed, for the values of single seeds."""
    text = f"{100 * fraction:+.0f}"
    return "0" if text in ("+0", "-0") else text

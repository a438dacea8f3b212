"""How numbers are said in this room's sentences.

Invariant: a number that is undefined is never written as one.
"""

from __future__ import annotations


def number(value: float, *, digits: int = 3) -> str:
    """Write a value: three decimals, a true minus sign, no -0."""
    text = f"{abs(value):.{digits}f}"
    return f"\N{MINUS SIGN}{text}" if value < 0.0 and float(text) != 0.0 else text


def bracket(low: float, high: float, *, digits: int = 3) -> str:
    """Write an interval."""
    return f"[{number(low, digits=digits)}, {number(high, digits=digits)}]"


def p_value(p: float) -> str:
    """Write a p-value with two figures and without the leading 0: p=.012, p<.0001."""
    if p < 0.0001:
        return "p<.0001"
    if p >= 0.995:
        return "p=1"
    return "p=" + f"{p:.{2 if p >= 0.1 else 3 if p >= 0.01 else 4}f}".removeprefix("0")


def flip(chance: float, *, exact: bool) -> str:
    """Say with what chance another run is judged otherwise, and whether that is an approximation."""
    shown = "below 0.01" if chance < 0.01 else "above 0.99" if chance > 0.99 else f"{chance:.2f}"
    shown = shown if exact else f"about {shown}" if 0.01 <= chance <= 0.99 else f"probably {shown}"
    return f"another run would say otherwise with chance {shown}"


def percent(share: float) -> str:
    """Write a share as a percentage, as short as it is exact to a tenth."""
    return f"{100.0 * share:.1f}".removesuffix(".0") + "%"


def span(trials: tuple[int, int]) -> str:
    """Write the number of trials a task: n=8, or n=8 to 16."""
    low, high = trials
    return f"n={low}" if low == high else f"n={low} to {high}"


def about(many: int) -> str:
    """Write a number that is no more than a hint in two figures: 58, 340, 22,000."""
    digits = max(0, len(str(many)) - 2)
    return f"{round(many, -digits):,}"


def counted(many: int, noun: str) -> str:
    """Write a number of things."""
    return f"{many:,} {noun}" if many == 1 else f"{many:,} {noun}s"

"""How numbers are written, in the terminal and on the page alike.

Invariant: a rounded number never claims more than the number does. What is undefined is `UNDEFINED` and never 0,
and only an exact 0 or 1 is written as one: 0.9997 is `>0.999`.
"""

from __future__ import annotations

import math

UNDEFINED = "–"
MINUS = "\N{MINUS SIGN}"


def known(value: float | None) -> bool:
    """True where there is a number: neither None nor NaN nor infinite."""
    return value is not None and math.isfinite(value)


def rate(value: float | None) -> str:
    """Write a share between 0 and 1 with three digits: `0.412`."""
    if value is None or not math.isfinite(value):
        return UNDEFINED
    if value in (0, 1):
        return f"{value:.3f}"
    if 0 < value < 0.0005:
        return "<0.001"
    if 0.9995 <= value < 1:
        return ">0.999"
    return f"{value:.3f}".replace("-", MINUS)


def percent(value: float | None) -> str:
    """Write a share as a percentage of three digits at most: `5.21%`, `12.5%`, `100%`."""
    if value is None or not math.isfinite(value):
        return UNDEFINED
    hundred = value * 100
    if 0 < hundred < 0.005:
        return "<0.01%"
    if 99.95 <= hundred < 100:
        return ">99.9%"
    if hundred in (0, 100):
        return f"{hundred:.0f}%"
    return f"{hundred:.{2 if hundred < 9.995 else 1}f}%"


def interval(low: float | None, high: float | None) -> str:
    """Write an interval of rates: `0.119–0.644`, with `to` between signed ends."""
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return UNDEFINED
    if low < 0:
        return f"{difference(low)} to {difference(high)}"
    return f"{rate(low)}–{rate(high)}"


def difference(value: float | None) -> str:
    """Write a difference of rates with its sign: `+0.083`, `−0.250`, `0.000`."""
    if value is None or not math.isfinite(value):
        return UNDEFINED
    if value == 0:
        return "0.000"
    sign = "+" if value > 0 else MINUS
    size = abs(value)
    return f"{sign}<0.001" if size < 0.0005 else f"{sign}{size:.3f}"


def p_value(value: float | None) -> str:
    """Write a p-value with three digits; the smallest are `<0.001`."""
    if value is None or not math.isfinite(value):
        return UNDEFINED
    return "<0.001" if value < 0.0005 else f"{value:.3f}"


def dollars(value: float | None) -> str:
    """Write US dollars, finer where they are few: `$0.0123`, `$0.412`, `$12.40`, `$1,235`; what is too small is `<$0.0001`."""
    if value is None or not math.isfinite(value):
        return UNDEFINED
    sign, size = (MINUS, -value) if value < 0 else ("", value)
    if size == 0:
        return "$0"
    if size < 0.00005:
        return f"{sign}<$0.0001"
    digits = 4 if size < 0.09995 else 3 if size < 0.9995 else 2 if size < 999.995 else 0
    return f"{sign}${size:,.{digits}f}"


def duration(value: float | None) -> str:
    """Write seconds as people say them: `0.39 ms`, `421 ms`, `1.42 s`, `12.3 s`, `4 min 05 s`, `2 h 03 min`."""
    if value is None or not math.isfinite(value):
        return UNDEFINED
    if value < 0.9995:
        return _instant(1000 * value)
    if value < 9.995:
        return f"{value:.2f} s"
    if value < 59.95:
        return f"{value:.1f} s"
    whole = round(value)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    minutes = round(value / 60)
    return f"{minutes // 60:,} h {minutes % 60:02d} min"


def _instant(thousandths: float) -> str:
    """Write less than a second."""
    if thousandths == 0:
        return "0 s"
    return "<0.01 ms" if thousandths < 0.005 else f"{thousandths:.{2 if thousandths < 99.5 else 3}g} ms"


def count(value: float | None) -> str:
    """Write a number of things: `12,345`; a median between two of them keeps its half."""
    if value is None or not math.isfinite(value):
        return UNDEFINED
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def amount(value: float | None) -> str:
    """Write a large number of things in three digits: `812`, `12.3k`, `1.20M`."""
    if value is None or not math.isfinite(value):
        return UNDEFINED
    if value < 999.5:
        return count(value) if value == int(value) else f"{value:.0f}"
    for size, letter in ((1e3, "k"), (1e6, "M"), (1e9, "G")):
        scaled = value / size
        if scaled < 999.5:
            digits = 2 if scaled < 9.995 else 1 if scaled < 99.95 else 0
            return f"{scaled:.{digits}f}{letter}"
    return f"{value:.2e}"


def times(number: int, noun: str) -> str:
    """Write a count with its noun: `1 trial`, `8 trials`, `2 retries`."""
    plural = noun[:-1] + "ies" if noun.endswith("y") and noun[-2] not in "aeiou" else noun + "s"
    return f"{number:,} {noun if number == 1 else plural}"


def share(part: int, whole: int) -> str:
    """Write a part of a whole as a percentage; of nothing it is undefined."""
    return percent(part / whole) if whole else UNDEFINED


def metric(value: float | None, name: str, *, change: bool = False) -> str:
    """Write the value of a metric by its name: dollars where it is in `usd`, else a rate, with its sign where it is a `change`."""
    if name.startswith("usd"):
        return dollars(value)
    return difference(value) if change else rate(value)

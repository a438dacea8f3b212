"""The writing of numbers, by table."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from evalkit.report import numbers

NAN = math.nan

TABLE: list[tuple[Callable[[float | None], str], float | None, str]] = [
    (numbers.rate, 0.4123, "0.412"),
    (numbers.rate, 0, "0.000"),
    (numbers.rate, 1, "1.000"),
    (numbers.rate, 0.99961, ">0.999"),
    (numbers.rate, 0.9994, "0.999"),
    (numbers.rate, 0.0004, "<0.001"),
    (numbers.rate, 0.0006, "0.001"),
    (numbers.rate, -0.05, "−0.050"),
    (numbers.rate, None, "–"),
    (numbers.rate, NAN, "–"),
    (numbers.rate, math.inf, "–"),
    (numbers.percent, 0.0521, "5.21%"),
    (numbers.percent, 0.125, "12.5%"),
    (numbers.percent, 0.0996, "9.96%"),
    (numbers.percent, 0.09996, "10.0%"),
    (numbers.percent, 0, "0%"),
    (numbers.percent, 1, "100%"),
    (numbers.percent, 0.9998, ">99.9%"),
    (numbers.percent, 0.00002, "<0.01%"),
    (numbers.percent, None, "–"),
    (numbers.difference, 0.0833, "+0.083"),
    (numbers.difference, -0.25, "−0.250"),
    (numbers.difference, 0, "0.000"),
    (numbers.difference, 0.0001, "+<0.001"),
    (numbers.difference, None, "–"),
    (numbers.p_value, 0.0312, "0.031"),
    (numbers.p_value, 0.0002, "<0.001"),
    (numbers.p_value, 1, "1.000"),
    (numbers.p_value, NAN, "–"),
    (numbers.dollars, 0, "$0"),
    (numbers.dollars, 0.00001, "<$0.0001"),
    (numbers.dollars, 0.0123, "$0.0123"),
    (numbers.dollars, 0.4123, "$0.412"),
    (numbers.dollars, 12.4, "$12.40"),
    (numbers.dollars, 999.994, "$999.99"),
    (numbers.dollars, 1234.6, "$1,235"),
    (numbers.dollars, -0.5, "−$0.500"),
    (numbers.dollars, None, "–"),
    (numbers.duration, 0, "0 s"),
    (numbers.duration, 0.000004, "<0.01 ms"),
    (numbers.duration, 0.00039, "0.39 ms"),
    (numbers.duration, 0.0996, "99.6 ms"),
    (numbers.duration, 0.421, "421 ms"),
    (numbers.duration, 0.9996, "1.00 s"),
    (numbers.duration, 1.421, "1.42 s"),
    (numbers.duration, 12.34, "12.3 s"),
    (numbers.duration, 59.96, "1 min 00 s"),
    (numbers.duration, 245, "4 min 05 s"),
    (numbers.duration, 3599.7, "1 h 00 min"),
    (numbers.duration, 7384, "2 h 03 min"),
    (numbers.duration, None, "–"),
    (numbers.count, 12345, "12,345"),
    (numbers.count, 4.0, "4"),
    (numbers.count, 4.5, "4.5"),
    (numbers.count, None, "–"),
    (numbers.amount, 812, "812"),
    (numbers.amount, 999.7, "1.00k"),
    (numbers.amount, 12_345, "12.3k"),
    (numbers.amount, 999_600, "1.00M"),
    (numbers.amount, 1.2e6, "1.20M"),
    (numbers.amount, 5e12, "5.00e+12"),
    (numbers.amount, None, "–"),
]


@pytest.mark.parametrize(("write", "value", "shown"), TABLE)
def test_a_number_is_written_so(write: Callable[[float | None], str], value: float | None, shown: str) -> None:
    assert write(value) == shown


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (0.1187, 0.6441, "0.119–0.644"),
        (0, 1, "0.000–1.000"),
        (-0.3, 0.1, "−0.300 to +0.100"),
        (None, 0.5, "–"),
        (0.5, NAN, "–"),
    ],
)
def test_an_interval_is_written_so(low: float | None, high: float | None, shown: str) -> None:
    assert numbers.interval(low, high) == shown


@pytest.mark.parametrize(
    ("number", "noun", "shown"),
    [(1, "trial", "1 trial"), (1200, "trial", "1,200 trials"), (2, "retry", "2 retries"), (0, "day", "0 days")],
)
def test_a_count_has_its_noun(number: int, noun: str, shown: str) -> None:
    assert numbers.times(number, noun) == shown


def test_a_share_of_nothing_is_undefined() -> None:
    assert numbers.share(0, 0) == "–"
    assert numbers.share(1, 4) == "25.0%"


@pytest.mark.parametrize(
    ("name", "shown"),
    [("usd_per_reliable_success", "$0.412"), ("cap_rate(turns)", "0.412"), ("pass^8", "0.412"), ("pass@1", "0.412")],
)
def test_a_metric_is_written_in_its_unit(name: str, shown: str) -> None:
    assert numbers.metric(0.412, name) == shown
    assert numbers.metric(0.412, "pass^8", change=True) == "+0.412"


def test_known_is_neither_none_nor_nan() -> None:
    assert numbers.known(0.0)
    assert not any(numbers.known(value) for value in (None, NAN, math.inf))

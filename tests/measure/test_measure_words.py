"""How numbers are written."""

from __future__ import annotations

import pytest

from evalkit.measure.words import bracket, counted, flip, number, p_value, percent, span


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (0.012, "p=.012"),
        (0.00781, "p=.0078"),
        (0.5, "p=.50"),
        (1.0, "p=1"),
        (0.99, "p=.99"),
        (1e-9, "p<.0001"),
        (0.0999, "p=.100"),
    ],
)
def test_p_values(p: float, text: str) -> None:
    assert p_value(p) == text


def test_numbers() -> None:
    assert number(-0.2345) == "−0.234"
    assert number(-0.0001) == "0.000"
    assert number(0.25, digits=1) == "0.2"
    assert bracket(-0.35, 0.05, digits=2) == "[−0.35, 0.05]"
    assert (percent(0.95), percent(0.125), percent(1.0)) == ("95%", "12.5%", "100%")
    assert (span((8, 8)), span((8, 16))) == ("n=8", "n=8 to 16")
    assert (counted(1, "task"), counted(1200, "task")) == ("1 task", "1,200 tasks")


def test_a_chance_is_never_said_to_be_none_or_all() -> None:
    assert flip(0.0, exact=True).endswith("chance below 0.01")
    assert flip(1.0, exact=True).endswith("chance above 0.99")
    assert flip(0.128, exact=True).endswith("chance 0.13")
    assert flip(0.128, exact=False).endswith("chance about 0.13")
    assert flip(0.0, exact=False).endswith("chance probably below 0.01")

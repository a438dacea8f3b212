"""Lines fit their width, whatever stands in them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from evalkit.report.clean import clean, clean_line
from evalkit.report.layout import Cell, Column, Ink, columns, fit, table, wrap

PLAIN, COLOURED = Ink(on=False), Ink(on=True)


def test_ink_that_is_off_writes_plain_text() -> None:
    assert PLAIN("x", "bad") == "x"
    assert COLOURED("x", "bad") == "\x1b[31mx\x1b[0m"
    assert COLOURED("", "bad") == ""


def test_wide_and_combining_characters_are_counted_as_they_show() -> None:
    assert columns("abc") == 3
    assert columns("日本") == 4
    assert columns("e\u0301") == 1


@given(st.text(max_size=400), st.integers(min_value=10, max_value=60))
def test_wrapped_lines_fit_and_lose_nothing_but_blanks(text: str, width: int) -> None:
    shown = clean(text)
    lines = wrap(shown, width)
    assert all(columns(line) <= max(8, width) for line in lines)
    assert "".join("".join(lines).split()) == "".join(shown.split())


def test_lines_are_broken_at_blanks_and_indented() -> None:
    assert wrap("one two three\nfour", 9, "  ") == ["  one two", "  three", "  four"]
    assert wrap("x" * 20, 10) == ["x" * 10, "x" * 10]
    assert wrap("", 10) == [""]


@given(st.text(max_size=100), st.integers(min_value=1, max_value=40))
def test_a_fitted_line_fits(text: str, width: int) -> None:
    assert columns(fit(clean_line(text), width)) <= width


def test_a_table_aligns_and_squeezes_only_what_may_be_squeezed() -> None:
    header = [Column(header="name", right=False, least=6), Column(header="number")]
    rows = [[Cell(text="a-long-name-of-a-task"), Cell(text="1,234")], [Cell(text="b"), Cell(text="5")]]
    assert table(header, rows, 80, PLAIN) == [
        "name                   number",
        "a-long-name-of-a-task   1,234",
        "b                           5",
    ]
    narrow = table(header, rows, 20, PLAIN)
    assert all(columns(line) <= 20 for line in narrow)
    assert narrow[1] == "a-long…a-task  1,234"


def test_colour_does_not_change_the_layout() -> None:
    header = [Column(header="n"), Column(header="m")]
    rows = [[Cell(text="1", style="good"), Cell(text="22", style="bad")]]
    coloured = "\n".join(table(header, rows, 80, COLOURED))
    for code in ("32", "31", "2", "0"):
        coloured = coloured.replace(f"\x1b[{code}m", "")
    assert coloured == "\n".join(table(header, rows, 80, PLAIN))

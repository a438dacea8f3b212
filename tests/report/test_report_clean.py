"""Hostile text is shown, never obeyed."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.report.clean import NAME, clean, clean_line, clean_name, excerpt, squeeze

ATTACKS = {
    "title": ("\x1b]0;owned\x07", "\\e]0;owned\\x07"),
    "link": ("\x1b]8;;http://evil\x1b\\text\x1b]8;;\x1b\\", "\\e]8;;http://evil\\e\\text\\e]8;;\\e\\"),
    "clipboard": ("\x1b]52;c;ZXZpbA==\x07", "\\e]52;c;ZXZpbA==\\x07"),
    "clear": ("\x1b[2J\x1b[H", "\\e[2J\\e[H"),
    "overwrite": ("FAILED\rPASSED", "FAILED\\rPASSED"),
    "8-bit CSI": ("\x9b31m", "\\x9b31m"),
    "8-bit OSC": ("\x9d0;owned\x9c", "\\x9d0;owned\\x9c"),
    "backspace": ("no\b\byes", "no\\x08\\x08yes"),
    "nul": ("a\x00b", "a\\x00b"),
    "delete": ("a\x7fb", "a\\x7fb"),
    "bidi override": ("\u202egnp.exe", "\\u202egnp.exe"),
    "bidi isolate": ("\u2066x\u2069", "\\u2066x\\u2069"),
    "bidi mark": ("a\u200fb\u061c", "a\\u200fb\\u061c"),
    "zero width": ("re\u200bact\ufeff", "re\\u200bact\\ufeff"),
    "line separator": ("a\u2028b\u2029c", "a\\u2028b\\u2029c"),
    "surrogate": ("\ud800x\udfff", "\\ud800x\\udfff"),
    "tags": ("\U000e0041", "\\U000e0041"),
}


@pytest.mark.parametrize("attack", sorted(ATTACKS))
def test_a_control_sequence_is_shown_instead_of_obeyed(attack: str) -> None:
    hostile, shown = ATTACKS[attack]
    assert clean(hostile) == shown
    assert clean_line(hostile) == shown


@pytest.mark.parametrize("text", ["naïve café", "日本語", "👩\u200d💻", "שלום", "a\tb\nc", "x² ≤ 1"])
def test_plain_text_of_any_script_stays_as_it_is(text: str) -> None:
    assert clean(text) == text


def test_a_line_has_no_line_ends_and_text_keeps_its_own() -> None:
    assert clean("a\r\nb\n\tc") == "a\nb\n\tc"
    assert clean_line("a\r\nb\n\tc") == "a\\r\\nb\\n\\tc"


@given(st.text(alphabet=st.characters(), max_size=80))
def test_whatever_comes_in_what_goes_out_is_printable_and_encodable(text: str) -> None:
    shown = clean_line(text)
    assert shown.encode("utf-8").decode("utf-8") == shown
    assert not [letter for letter in shown if unicodedata.category(letter) in {"Cc", "Cs", "Zl", "Zp"}]


def test_a_name_is_bounded_keeps_both_ends_and_is_never_empty() -> None:
    shown = clean_name("start-" + "x" * 300 + "-end")
    assert len(shown) == NAME
    assert shown.startswith("start-")
    assert shown.endswith("-end")
    assert "…" in shown
    assert clean_name("") == "(empty)"
    assert len(clean_name("\x1b" * 5_000_000)) == NAME


@pytest.mark.parametrize(("limit", "shown"), [(10, "0123456789"), (5, "01…89"), (4, "01…9"), (1, "…"), (0, "…")])
def test_the_middle_is_left_out(limit: int, shown: str) -> None:
    assert squeeze("0123456789", limit) == shown


def test_an_excerpt_keeps_head_and_tail_and_says_how_much_is_between() -> None:
    text = "a" * 1000 + "b" * 1000
    shown = excerpt(text, 30)
    assert shown == "a" * 20 + "\n… 1,970 characters left out …\n" + "b" * 10
    assert excerpt(text, None) == text
    assert excerpt(text, 2000) == text

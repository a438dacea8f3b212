"""Durations: a number and a unit, in files and in the options of parts."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ConfigDict, TypeAdapter

from evalkit.parts._duration import LONGEST, PATTERN, Duration, seconds


@pytest.mark.parametrize(
    ("written", "length"),
    [("500ms", 0.5), ("90s", 90.0), ("5m", 300.0), ("1.5h", 5400.0), ("0s", 0.0), ("007s", 7.0), ("8784h", LONGEST)],
)
def test_what_a_duration_is_in_seconds(written: str, length: float) -> None:
    assert seconds(written) == pytest.approx(length)


@pytest.mark.parametrize(
    ("written", "told"),
    [
        (90, "a duration wants a unit: write 90s, 90m or 90h"),
        (1.5, "a duration wants a unit: write 1.5s, 1.5m or 1.5h"),
        ("", "not a duration"),
        ("s", "not a duration"),
        ("90", "not a duration"),
        ("90 s", "not a duration"),
        ("-1s", "not a duration"),
        ("1e3s", "not a duration"),
        ("1h30m", "not a duration"),
        ("5d", "not a duration"),
        ("5S", "not a duration"),
        ("٣s", "not a duration"),
        ("1s\n", "not a duration"),
        (None, "not a duration"),
        (True, "not a duration"),
        ([], "not a duration"),
        ("8785h", "a duration of more than a year"),
        ("9" * 39 + "s", "not a duration"),
        ("9" * 38 + "s", "a duration of more than a year"),
    ],
)
def test_what_is_no_duration(written: Any, told: str) -> None:
    with pytest.raises(ValueError, match=re.escape(told)):
        seconds(written)


@given(st.text(max_size=8) | st.from_regex(PATTERN))
def test_any_text_is_a_duration_or_a_value_error(written: str) -> None:
    try:
        assert 0.0 <= seconds(written) <= LONGEST
    except ValueError:
        return


def test_the_type_reads_a_strict_json_text_and_tells_editors_its_form() -> None:
    adapter = TypeAdapter(tuple[Duration], config=ConfigDict(strict=True))
    assert adapter.validate_json('["90s"]') == (90.0,)
    assert TypeAdapter(Duration).json_schema()["pattern"] == PATTERN

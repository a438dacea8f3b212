"""What importers share: names, numbers, stamps and texts of others, made safe and never guessed."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from evalkit.core.errors import ConfigurationError
from evalkit.parts.importers._rows import (
    between,
    count_of,
    digest_of,
    named,
    number_of,
    numbered,
    part,
    plainly,
    reward_of,
    settings_of,
    shown,
    stamp_of,
    text_of,
    total,
)
from evalkit.parts.importers._stops import stop_of

FILE = Path("file.json")


@pytest.mark.parametrize(
    ("value", "name"),
    [("a", "a"), (7, "7"), (7.0, "7"), (0.5, "0.5"), (" x ", " x "), ("\ud800", "\\ud800"), ("a" * 5000, "a" * 5000)],
)
def test_names_are_text(value: Any, name: str) -> None:
    assert named(FILE, "row 1", "the id", value) == name


@pytest.mark.parametrize("value", [None, True, [], {}, "", "a" * 10_001, 10**5000], ids=lambda one: type(one).__name__)
def test_what_can_be_no_name_is_a_sentence(value: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"file\.json: row 1: "):
        named(FILE, "row 1", "the id", value)


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (3, 3),
        ("3", 3),
        (" 3 ", 3),
        (3.0, 3),
        ("x", "x"),
        (None, None),
        (True, None),
        ("", None),
        (2.5, None),
        (10**30, None),
        ("²", "²"),
        ("1" * 30, "1" * 30),
        (-1, -1),
    ],
)
def test_a_trial_has_a_number_or_a_name_or_neither(value: Any, number: Any) -> None:
    assert numbered(value) == number


def test_quantities_are_numbers_or_unknown() -> None:
    assert [number_of(one) for one in (1, 0.5, 0)] == [1.0, 0.5, 0.0]
    unknown: tuple[object, ...] = (None, "1", True, -1, math.nan, math.inf, 10**400, [])
    assert [number_of(one) for one in unknown] == [None] * 8
    assert [count_of(one) for one in (3, 3.0, 2.5, -1, 1e300, True)] == [3, 3, None, None, None, None]
    assert [reward_of(one) for one in (True, 0, 0.5, -1, None, "1")] == [1.0, 0.0, 0.5, -1.0, None, None]
    assert reward_of(10**400) == math.inf
    assert math.isnan(reward_of(math.nan) or 0)
    assert (total([1, 2]), total([1, None]), total([])) == (3, None, None)


def test_stamps_are_read_with_and_without_a_zone() -> None:
    assert (
        stamp_of("1970-01-01T00:01:00Z")
        == stamp_of("1970-01-01T00:01:00")
        == stamp_of("1970-01-01T01:01:00+01:00")
        == 60
    )
    assert [stamp_of(one) for one in ("yesterday", "", None, 5, "0001-01-01T00:00:00", "x" * 1000)] == [None] * 6
    assert between("1970-01-01T00:01:00", "1970-01-01T00:01:30.5") == 30.5
    assert between("1970-01-01T00:01:00", None) is between("1970-01-01T00:02:00", "1970-01-01T00:01:00") is None


def test_text_is_bounded_and_can_be_written() -> None:
    assert text_of("a\ud800") == "a\\ud800"
    assert text_of(None) == text_of(3) == ""
    long = text_of("a" * 30 + "b" * 30, 20)
    assert long.startswith("a" * 14)
    assert long.endswith("b" * 6)
    assert "40 characters left out" in long


def test_what_is_shown_in_a_message_is_harmless() -> None:
    hostile = "\x1b[2J\u202e\n=1+1"
    assert plainly(hostile).isprintable()
    assert shown(hostile).isprintable()
    assert shown("x" * 1000) == "'" + "x" * 58 + "…"
    assert (shown([1]), shown(None), shown(0.5)) == ("a list", "None", "0.5")


def test_settings_are_plain_values() -> None:
    kept = settings_of(model="m", n=3, t=0.5, on=True, nan=math.nan, none=None, deep={"a": 1}, empty="", below=-1)
    assert kept == {"model": "m", "n": 3, "t": 0.5, "on": True}


def test_a_path_of_keys_ends_early_without_harm() -> None:
    assert part({"a": {"b": 1}}, "a", "b") == 1
    assert part({"a": [1]}, "a", "b") is part(None, "a") is part({"a": 1}, "b") is None


def test_an_input_is_known_by_its_content() -> None:
    assert (
        digest_of(FILE, "", {"a": 1, "b": 2}) == digest_of(FILE, "", {"b": 2, "a": 1}) != digest_of(FILE, "", {"a": 2})
    )
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ConfigurationError, match=r"nested too deep"):
        digest_of(FILE, "row 1", deep)


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("agent_stop", "finished"),
        ("Max Steps", "cap:turns"),
        ("timeout", "cap:seconds"),
        ("cap:usd", "cap:usd"),
        ("context-window-exceeded", "context_overflow"),
        ("too_many_errors", "tool_error"),
        ("error:provider", "error:provider"),
        ("transfer", "other:transfer"),
        ("none", ""),
        ("", ""),
        (None, ""),
        (5, ""),
    ],
)
def test_stops_are_translated_or_kept(word: Any, reason: str) -> None:
    assert stop_of(word) == reason

"""Checks of the answer's text: equals, contains, regex, number."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from evidence_makers import evidence, judge

from evalkit.core.errors import GraderBroke
from evalkit.core.protocols import CheckResult
from evalkit.engine.ground import TrialGround
from evalkit.parts import faults

Ask = Callable[..., CheckResult]


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Ask]:
    """Ask a check about an answer, beside which a file lies."""
    with TrialGround(tmp_path) as ground:

        def asked(kind: str, answer: str, **options: Any) -> CheckResult:
            world = {"kind": "workspace", "files": {"out.txt": "The total is 12.\n", "sub/x.txt": "x"}}
            return judge(kind, evidence(ground, answer, world), **options)

        yield asked


@pytest.mark.parametrize(
    ("kind", "options", "answer", "verdict"),
    [
        ("equals", {"text": "42"}, " 42\n", "pass"),
        ("equals", {"text": "42", "strip": False}, "42\n", "fail"),
        ("equals", {"text": "Yes"}, "yes", "fail"),
        ("equals", {"text": "Straße", "case_sensitive": False}, "STRASSE", "pass"),
        ("equals", {"text": ""}, "", "pass"),
        ("contains", {"text": "forty"}, "It is Forty two", "pass"),
        ("contains", {"text": "forty", "case_sensitive": True}, "It is Forty two", "fail"),
        ("contains", {"all": ["a", "b"]}, "a and b", "pass"),
        ("contains", {"all": ["a", "z"]}, "a and b", "fail"),
        ("contains", {"any": ["z", "b"]}, "a and b", "pass"),
        ("contains", {"any": ["z", "y"]}, "a and b", "fail"),
        ("contains", {"none": ["z"]}, "a and b", "pass"),
        ("contains", {"text": "a", "none": ["b"]}, "a and b", "fail"),
        ("regex", {"pattern": r"^\d{4}-\d\d$"}, "2026-03\n", "pass"),
        ("regex", {"pattern": r"\d+"}, "none", "fail"),
        ("regex", {"pattern": "YES", "case_sensitive": False}, "well, yes", "pass"),
        ("regex", {"pattern": "yes", "whole": True}, "well, yes", "fail"),
        ("regex", {"pattern": "end$"}, "x" * 5_000 + "end", "pass"),
        ("number", {"equals": 42}, "It is 42.", "pass"),
        ("number", {"equals": 42}, "no number, only A42 and x42y", "fail"),
        ("number", {"equals": 3.14, "within": 0.01}, "about 3.15", "pass"),
        ("number", {"equals": 3.14, "within": 0.01}, "about 3.1501", "fail"),
        ("number", {"equals": 0.3}, f"{0.1 + 0.2}", "pass"),
        ("number", {"equals": 1234567.5}, "1,234,567.5", "pass"),
        ("number", {"equals": 2}, "1, 2", "pass"),
        ("number", {"equals": -5}, "x = -5", "pass"),
        ("number", {"equals": -5}, "x = −5", "pass"),
        ("number", {"equals": 5}, "10-5", "pass"),
        ("number", {"equals": 1.5e-3}, "1.5e-3", "pass"),
        ("number", {"equals": 1}, "1 of 3", "fail"),
        ("number", {"equals": 1, "which": "first"}, "1 of 3", "pass"),
        ("number", {"equals": 2, "which": "any"}, "1 2 3", "pass"),
        ("number", {"equals": 12, "unit": "EUR"}, "12 EUR for 3 days", "pass"),
        ("number", {"equals": 12, "unit": "$"}, "$12 for 3 days", "pass"),
        ("number", {"equals": 3, "unit": "EUR"}, "12 EUR for 3 days", "fail"),
        ("number", {"equals": 12, "unit": "EUR"}, "12 EUROS", "fail"),
        ("number", {"equals": 7}, "9" * 400, "fail"),
    ],
)
def test_what_passes_and_what_does_not(ask: Ask, kind: str, options: dict[str, Any], answer: str, verdict: str) -> None:
    result = ask(kind, answer, **options)
    assert result.verdict == verdict, result.reason
    assert result.reason


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("equals", {"text": "The total is 12."}),
        ("contains", {"text": "total"}),
        ("regex", {"pattern": r"is \d+"}),
        ("number", {"equals": 12}),
    ],
)
def test_a_file_can_be_looked_at_instead(ask: Ask, kind: str, options: dict[str, Any]) -> None:
    assert ask(kind, "nothing", file="out.txt", **options).verdict == "pass"
    for file in ("none.txt", "sub", "../out.txt", "/etc/passwd"):
        missing = ask(kind, "The total is 12.", file=file, **options)
        assert missing.verdict == "fail"
        assert file.strip("./") in missing.reason


def test_a_reason_says_what_was_expected_and_what_was_found_and_is_bounded(ask: Ask) -> None:
    for kind, options in (
        ("equals", {"text": "wanted"}),
        ("contains", {"text": "wanted"}),
        ("regex", {"pattern": "wanted"}),
        ("number", {"equals": 4321}),
    ):
        short = ask(kind, "had 17", **options).reason
        assert ("wanted" in short or "4321" in short) and "had 17" in short
        assert len(ask(kind, "z" * 1_000_000, **options).reason) < 1_000


def test_a_pattern_that_takes_for_ever_breaks_the_check_not_the_run(ask: Ask) -> None:
    with pytest.raises(GraderBroke, match="takes longer"):
        ask("regex", "a" * 40 + "b", pattern="(a+)+$")


@pytest.mark.parametrize(
    ("kind", "options", "words"),
    [
        ("contains", {}, "wants a text"),
        ("contains", {"all": [""]}, "empty text"),
        ("regex", {"pattern": "("}, "no regular expression"),
        ("number", {"equals": 1, "within": -1}, "greater than or equal"),
        ("number", {"equals": 1, "unit": " "}, "unit is empty"),
        ("equals", {}, "required"),
        ("equals", {"text": 1}, "string"),
    ],
)
def test_mistakes_are_found_before_a_trial(kind: str, options: dict[str, Any], words: str) -> None:
    assert words in str(faults("checks", kind, options)).lower()

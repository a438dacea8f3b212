"""The check that asks a function of the suite."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from evidence_makers import Left, evidence, judge

from evalkit.core.errors import ConfigurationError, GraderBroke
from evalkit.engine.ground import TrialGround

FILE = """
from evalkit.core.protocols import CheckResult
def yes(evidence): return evidence.answer == "42"
def pair(evidence): return False, "because"
def result(evidence): return CheckResult(verdict="unknown", reason="unsure")
def looks(evidence): return (evidence.copy() / "a.txt").read_text() == "a"
def number(evidence): return 1
def nothing(evidence): return None
def odd_pair(evidence): return True, 1
def odd_result(evidence): return CheckResult(verdict="maybe")
def breaks(evidence): return 1 / 0
"""


@pytest.fixture
def given(tmp_path: Path) -> Iterator[Left]:
    """An answer, and a file."""
    (tmp_path / "graders.py").write_text(FILE)
    with TrialGround(tmp_path) as ground:
        yield evidence(ground, "42", {"kind": "workspace", "files": {"a.txt": "a"}})


@pytest.mark.parametrize(
    ("name", "verdict", "reason"),
    [("yes", "pass", "True"), ("pair", "fail", "because"), ("result", "unknown", "unsure"), ("looks", "pass", "True")],
)
def test_the_function_decides(given: Left, name: str, verdict: str, reason: str) -> None:
    result = judge("python", given, function=f"graders.py:{name}")
    assert result.verdict == verdict
    assert reason in result.reason


@pytest.mark.parametrize("name", ["number", "nothing", "odd_pair", "odd_result"])
def test_what_is_no_answer_breaks_the_check(given: Left, name: str) -> None:
    with pytest.raises(GraderBroke, match="has to give true or false"):
        judge("python", given, function=f"graders.py:{name}")


def test_what_it_raises_is_raised(given: Left) -> None:
    """The engine holds whatever a check raises, and makes the trial an error."""
    with pytest.raises(ZeroDivisionError):
        judge("python", given, function="graders.py:breaks")


def test_a_function_that_is_not_there_is_a_mistake_in_the_suite(given: Left) -> None:
    with pytest.raises(ConfigurationError, match="defines no 'none'"):
        judge("python", given, function="graders.py:none")
    with pytest.raises(ConfigurationError, match="names none"):
        judge("python", given, function="graders.py")

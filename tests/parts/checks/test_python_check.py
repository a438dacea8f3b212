"""The check that asks a function of the suite."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from evidence_makers import evidence, judge

from evalkit.core.clock import ManualClock
from evalkit.core.errors import ConfigurationError, GraderBroke
from evalkit.core.plan import Spec
from evalkit.engine.grading import FinalEvidence, grade
from evalkit.engine.ground import TrialGround
from evalkit.parts import build

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
def given(tmp_path: Path) -> Iterator[FinalEvidence]:
    """An answer, and a file."""
    (tmp_path / "graders.py").write_text(FILE)
    with TrialGround(tmp_path) as ground:
        yield evidence(ground, "42", {"kind": "workspace", "files": {"a.txt": "a"}})


@pytest.mark.parametrize(
    ("name", "verdict", "reason"),
    [("yes", "pass", "True"), ("pair", "fail", "because"), ("result", "unknown", "unsure"), ("looks", "pass", "True")],
)
def test_the_function_decides(given: FinalEvidence, name: str, verdict: str, reason: str) -> None:
    result = judge("python", given, function=f"graders.py:{name}")
    assert result.verdict == verdict
    assert reason in result.reason


@pytest.mark.parametrize("name", ["number", "nothing", "odd_pair", "odd_result"])
def test_what_is_no_answer_breaks_the_check(given: FinalEvidence, name: str) -> None:
    with pytest.raises(GraderBroke, match="has to give true or false"):
        judge("python", given, function=f"graders.py:{name}")


def test_what_it_raises_makes_the_trial_an_error(given: FinalEvidence) -> None:
    spec = Spec(kind="python", options={"function": "graders.py:breaks"})
    graded = grade((spec,), (build("checks", spec),), given, ManualClock(), 1)
    assert graded.verdict == "unknown"
    assert "ZeroDivisionError" in graded.error


def test_a_function_that_is_not_there_is_a_mistake_in_the_suite(given: FinalEvidence) -> None:
    with pytest.raises(ConfigurationError, match="defines no 'none'"):
        judge("python", given, function="graders.py:none")
    with pytest.raises(ConfigurationError, match="names none"):
        judge("python", given, function="graders.py")

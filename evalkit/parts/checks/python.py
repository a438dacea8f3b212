"""A Python function decides."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from evalkit.core.errors import GraderBroke
from evalkit.core.protocols import CheckResult, Evidence
from evalkit.parts._function import load_function


@dataclass(frozen=True, slots=True, kw_only=True)
class Python:
    """Passes where `function`, given the evidence, says so: with True or False, a pair of that and a reason, or a `CheckResult`."""

    function: str
    FUNCTIONS: ClassVar[tuple[str, ...]] = ("function",)
    COST: ClassVar[int] = 4

    def judge(self, evidence: Evidence) -> CheckResult:
        """Ask it; anything else than an answer is a broken grader, and so is an exception."""
        answer = load_function(self.function, Path(evidence.task.base))(evidence)
        if isinstance(answer, CheckResult):
            return answer
        if isinstance(answer, bool):
            return CheckResult(verdict="pass" if answer else "fail", reason=f"{self.function} said {answer}")
        if isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[0], bool):
            return CheckResult(verdict="pass" if answer[0] else "fail", reason=str(answer[1]))
        raise GraderBroke(
            f"{self.function} gave {answer!r}, which is no answer: give True or False, with a reason if you like"
        )

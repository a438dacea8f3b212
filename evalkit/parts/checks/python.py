"""A function of the suite decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evalkit.core.errors import GraderBroke
from evalkit.core.protocols import CheckResult, Evidence
from evalkit.parts._function import load_function
from evalkit.parts.checks._subject import shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Python:
    """Asks `function`, written `file.py:name` (relative to the suite) or `module:name`, with the evidence as its argument.

    It gives true or false, a pair of that and a reason, or a `CheckResult`. Anything else, and anything that it raises, breaks the
    check: the trial is then an error, neither a pass nor a failure. It runs in the runner's own process.
    """

    FUNCTIONS: ClassVar[tuple[str, ...]] = ("function",)
    COST: ClassVar[int] = 4

    function: str

    def __post_init__(self) -> None:
        """Refuse what names no function."""
        if ":" not in self.function:
            raise ValueError(f"function {self.function!r} names none: write file.py:name, or module:name")

    def judge(self, evidence: Evidence) -> CheckResult:
        """Ask the function."""
        answer = load_function(self.function, evidence.task.base)(evidence)
        if isinstance(answer, CheckResult) and answer.verdict in ("pass", "fail", "unknown"):
            return answer
        if isinstance(answer, bool):
            return CheckResult(verdict="pass" if answer else "fail", reason=f"{self.function} said {answer}")
        if (
            isinstance(answer, tuple)
            and len(answer) == 2
            and isinstance(answer[0], bool)
            and isinstance(answer[1], str)
        ):
            return CheckResult(verdict="pass" if answer[0] else "fail", reason=answer[1][:2000])
        raise GraderBroke(
            f"{self.function} gave {shown(repr(answer))}; it has to give true or false, a pair of that and a reason, or a CheckResult"
        )

"""The answer, or a file, matches a regular expression."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from evalkit.core.errors import GraderBroke
from evalkit.core.protocols import CheckResult, Evidence
from evalkit.parts._match import PatternError, compiled_pattern, search
from evalkit.parts.checks._subject import failed, passed, shown, subject

LONGEST = 200_000
"""Characters that are looked at; what a longer text holds beyond them is not found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Regex:
    """Passes where `pattern` (Python's) is found in the text; with `whole` it has to be all of it, blanks around it left out.

    `file` looks at a file that the agent left instead of its answer. A pattern that takes longer than ten seconds breaks the check.
    """

    pattern: str
    file: str | None = None
    whole: bool = False
    case_sensitive: bool = True
    COST: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse what is no pattern."""
        try:
            compiled_pattern(self.pattern)
        except re.error as error:
            raise ValueError(f"pattern {self.pattern!r} is no regular expression of Python: {error}") from None

    def judge(self, evidence: Evidence) -> CheckResult:
        """Search."""
        found = subject(evidence, self.file)
        if isinstance(found, CheckResult):
            return found
        flags = 0 if self.case_sensitive else int(re.IGNORECASE)
        try:
            matches = search(self.pattern, [("", found.strip()[:LONGEST])], flags=flags, whole=self.whole)
        except PatternError as error:
            raise GraderBroke(str(error)) from error
        if matches:
            return passed("matches")
        return failed(wanted=f"a match of {shown(self.pattern)}", found=shown(found))

"""The answer, or a file, is a given text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evalkit.core.protocols import CheckResult, Evidence
from evalkit.parts.checks._subject import failed, passed, shown, subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Equals:
    """Passes where the text is `text`: blanks around it count not (`strip`), upper and lower case do (`case_sensitive`).

    `file` looks at a file that the agent left instead of its answer.
    """

    text: str
    file: str | None = None
    case_sensitive: bool = True
    strip: bool = True
    COST: ClassVar[int] = 1

    def judge(self, evidence: Evidence) -> CheckResult:
        """Compare."""
        found = subject(evidence, self.file)
        if isinstance(found, CheckResult):
            return found
        if self._plain(found) == self._plain(self.text):
            return passed("equal")
        return failed(wanted=shown(self.text), found=shown(found))

    def _plain(self, text: str) -> str:
        """Take off what does not count."""
        text = text.strip() if self.strip else text
        return text if self.case_sensitive else text.casefold()

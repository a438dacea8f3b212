"""The text is exactly this."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evalkit.core.protocols import CheckResult, Evidence
from evalkit.parts.checks._subject import decided, shown, subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Equals:
    """Passes where the answer, or `file`, is `text`; blanks around both count only with `strip` false."""

    text: str
    file: str | None = None
    strip: bool = True
    case_sensitive: bool = True
    COST: ClassVar[int] = 1

    def judge(self, evidence: Evidence) -> CheckResult:
        """Compare."""
        found = subject(evidence, self.file)
        if isinstance(found, CheckResult):
            return found
        return decided(self._plain(found) == self._plain(self.text), wanted=shown(self.text), found=shown(found))

    def _plain(self, text: str) -> str:
        """A text as it is compared."""
        text = text.strip() if self.strip else text
        return text if self.case_sensitive else text.casefold()

"""The text matches a pattern."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from evalkit.core.protocols import CheckResult, Evidence
from evalkit.parts.checks._subject import decided, shown, subject

SEARCHED = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Regex:
    """Passes where `pattern` is found in the answer, or in `file`; `whole` wants it to be all of the text.

    Of a text longer than 100,000 characters only so much is searched.
    """

    pattern: str
    file: str | None = None
    whole: bool = False
    case_sensitive: bool = True
    COST: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse a pattern that does not compile."""
        try:
            re.compile(self.pattern)
        except re.error as error:
            raise ValueError(f"pattern does not compile: {error}") from error

    def judge(self, evidence: Evidence) -> CheckResult:
        """Search."""
        found = subject(evidence, self.file)
        if isinstance(found, CheckResult):
            return found
        compiled = _compiled(self.pattern, self.case_sensitive)
        text = found.strip()[:SEARCHED]
        match = compiled.fullmatch(text) if self.whole else compiled.search(text)
        return decided(match is not None, wanted=f"a match of {shown(self.pattern)}", found=shown(found))


@lru_cache(maxsize=512)
def _compiled(pattern: str, case_sensitive: bool) -> re.Pattern[str]:  # noqa: FBT001  # a part of the cache's key
    """Compile once."""
    return re.compile(pattern, 0 if case_sensitive else re.IGNORECASE)

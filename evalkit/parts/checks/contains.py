"""The answer, or a file, holds given texts and does not hold others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evalkit.core.protocols import CheckResult, Evidence
from evalkit.parts.checks._subject import failed, passed, shown, subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Contains:
    """Passes where `text` and each text of `all` is there, at least one of `any`, and none of `none`.

    Upper and lower case count only where it is `case_sensitive`.
    `file` looks at a file that the agent left instead of its answer.
    """

    text: str | None = None
    all: tuple[str, ...] = ()
    any: tuple[str, ...] = ()
    none: tuple[str, ...] = ()
    file: str | None = None
    case_sensitive: bool = False
    COST: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse a check that any text would pass."""
        texts = (*(() if self.text is None else (self.text,)), *self.all, *self.any, *self.none)
        if not texts:
            raise ValueError("contains wants a text to look for: give text, all, any or none")
        if "" in texts:
            raise ValueError("contains has an empty text, which every text contains")

    def judge(self, evidence: Evidence) -> CheckResult:
        """Look for the texts."""
        found = subject(evidence, self.file)
        if isinstance(found, CheckResult):
            return found
        held = self._plain(found)
        needed = self.all if self.text is None else (self.text, *self.all)
        for text in needed:
            if self._plain(text) not in held:
                return failed(wanted=f"a text with {shown(text)}", found=shown(found))
        if self.any and not [text for text in self.any if self._plain(text) in held]:
            return failed(wanted=f"a text with one of {', '.join(map(shown, self.any))}", found=shown(found))
        for text in self.none:
            if self._plain(text) in held:
                return failed(wanted=f"a text without {shown(text)}", found=shown(found))
        return passed("it holds what it should, and nothing that it should not")

    def _plain(self, text: str) -> str:
        """Take off what does not count."""
        return text if self.case_sensitive else text.casefold()

"""The text holds these words, or does not hold those."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evalkit.core.protocols import CheckResult, Evidence
from evalkit.parts.checks._subject import decided, shown, subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Contains:
    """Passes where the answer, or `file`, holds `text`, `all` of, at least one of `any` and `none` of some texts."""

    text: str | None = None
    all: tuple[str, ...] = ()
    any: tuple[str, ...] = ()
    none: tuple[str, ...] = ()
    file: str | None = None
    case_sensitive: bool = False
    COST: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse a check that could not fail."""
        if self.text is None and not (self.all or self.any or self.none):
            raise ValueError("give text, all, any or none: a check without any of them could not fail")
        if "" in (self.text, *self.all, *self.any, *self.none):
            raise ValueError("an empty text is held by every text")

    def judge(self, evidence: Evidence) -> CheckResult:
        """Look for each text."""
        found = subject(evidence, self.file)
        if isinstance(found, CheckResult):
            return found
        wanted = (*((self.text,) if self.text is not None else ()), *self.all)
        for text in wanted:
            if not self._holds(found, text):
                return decided(False, wanted=f"a text with {shown(text)}", found=shown(found))
        if self.any and not [text for text in self.any if self._holds(found, text)]:
            return decided(False, wanted=f"a text with one of {list(self.any)}", found=shown(found))
        for text in self.none:
            if self._holds(found, text):
                return decided(False, wanted=f"a text without {shown(text)}", found=shown(found))
        return CheckResult(verdict="pass", reason="holds what it should, and nothing that it should not")

    def _holds(self, found: str, text: str) -> bool:
        """True where a text stands in another."""
        return text in found if self.case_sensitive else text.casefold() in found.casefold()

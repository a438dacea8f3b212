"""The number that an answer comes to."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import ClassVar

from evalkit.core.protocols import CheckResult, Evidence
from evalkit.parts.checks._subject import decided, shown, subject

SEARCHED = 100_000
NUMBER = re.compile(r"(?<![\w.])[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w]|\.\d)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """Passes where a number in the answer, or in `file`, lies within `within` of `equals`.

    `which` says which number counts where there are several: the `last` (as answers end with their result), the `first`,
    or `any`.
    """

    equals: float
    within: float = 0.0
    which: str = "last"
    file: str | None = None
    COST: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse what no number could meet."""
        if not math.isfinite(self.equals) or not (self.within >= 0.0 and math.isfinite(self.within)):
            raise ValueError("equals must be a number and within a number of at least 0")
        if self.which not in ("last", "first", "any"):
            raise ValueError("which is last, first or any")

    def judge(self, evidence: Evidence) -> CheckResult:
        """Find the number and compare."""
        found = subject(evidence, self.file)
        if isinstance(found, CheckResult):
            return found
        numbers = [float(text.replace(",", "").replace("−", "-")) for text in NUMBER.findall(found[:SEARCHED])]
        looked_at = numbers if self.which == "any" else numbers[-1:] if self.which == "last" else numbers[:1]
        slack = self.within + 1e-12 * max(1.0, abs(self.equals))
        wanted = f"{self.equals:g}" + (f" within {self.within:g}" if self.within else "")
        passes = [number for number in looked_at if abs(number - self.equals) <= slack]
        return decided(bool(passes), wanted=wanted, found=shown(found) if not numbers else f"{looked_at[-1]:g}")

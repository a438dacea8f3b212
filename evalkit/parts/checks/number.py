"""A number of the answer, or of a file, is a given one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from math import isclose, isfinite
from typing import Annotated, ClassVar, Literal

from annotated_types import Ge

from evalkit.core.protocols import CheckResult, Evidence
from evalkit.parts.checks._subject import failed, passed, shown, subject

LONGEST = 20_000
"""Characters that are looked at, from the end that counts."""

WRITTEN = r"(?<![\w.])(?:(?<![\d)])[-+\u2212])?(?:\d{1,3}(?:,\d{3}){1,9}(?!\d)|\d{1,300})(?:\.\d{1,300})?(?:[eE][-+]?\d{1,3})?"
"""A number as people write it: a decimal point, commas between thousands, a sign, an exponent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """Passes where the `which` number of the text is `equals`, give or take `within`.

    With `unit` only numbers that stand beside it count: `unit: EUR` takes `12 EUR` and `EUR 12`. Numbers have a decimal point, and may
    have commas between thousands. `file` looks at a file that the agent left instead of its answer.
    """

    equals: float
    within: Annotated[float, Ge(0)] = 0.0
    unit: str | None = None
    which: Literal["last", "first", "any"] = "last"
    file: str | None = None
    COST: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse what no number can meet."""
        if not isfinite(self.equals) or not isfinite(self.within):
            raise ValueError("equals and within are finite numbers")
        if self.unit is not None and not self.unit.strip():
            raise ValueError("unit is empty: name it, such as EUR, or leave it out")

    def judge(self, evidence: Evidence) -> CheckResult:
        """Find the number and compare."""
        found = subject(evidence, self.file)
        if isinstance(found, CheckResult):
            return found
        numbers = self._numbers(found[:LONGEST] if self.which == "first" else found[-LONGEST:])
        wanted = (
            f"{self.equals:g}" + (f" ± {self.within:g}" if self.within else "") + (f" {self.unit}" if self.unit else "")
        )
        if not numbers:
            return failed(wanted=wanted, found=f"no number in {shown(found)}")
        chosen = {"last": numbers[-1:], "first": numbers[:1], "any": numbers}[self.which]
        got = ", ".join(f"{one:g}" for one in chosen[:10])
        if any(isclose(one, self.equals, rel_tol=1e-9, abs_tol=self.within * (1 + 1e-9)) for one in chosen):
            return passed(f"found {got}")
        return failed(wanted=wanted, found=f"{got} in {shown(found)}")

    def _numbers(self, text: str) -> list[float]:
        """All numbers of a text that count."""
        written = (match[1] or match[2] for match in _pattern(self.unit).finditer(text))
        return [float(one.replace(",", "").replace("\u2212", "-")) for one in written]


@lru_cache(maxsize=256)
def _pattern(unit: str | None) -> re.Pattern[str]:
    """The pattern of a number with its unit after or before it."""
    if unit is None:
        return re.compile(rf"({WRITTEN})(?!\w)()")
    name = re.escape(unit.strip())
    return re.compile(rf"({WRITTEN})\s?{name}(?!\w)|{name}\s?({WRITTEN})")

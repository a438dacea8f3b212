"""What a text check looks at: the answer, or a file of the final state."""

from __future__ import annotations

from evalkit.core.errors import ToolError
from evalkit.core.protocols import CheckResult, Evidence
from evalkit.parts._paths import read

LARGEST = 10_000_000
SHOWN = 300


def subject(evidence: Evidence, file: str | None) -> str | CheckResult:
    """Give the text, or a fail where the file is not there."""
    if file is None:
        return evidence.answer
    try:
        return read(evidence.copy(), file, LARGEST).decode("utf-8", "replace")
    except ToolError as error:
        return CheckResult(verdict="fail", reason=str(error))


def shown(text: str) -> str:
    """Shorten a text for a reason."""
    return repr(text if len(text) <= SHOWN else f"{text[:SHOWN]}…")


def decided(passes: bool, *, wanted: str, found: str) -> CheckResult:  # noqa: FBT001  # the one thing that it says
    """Make a result that says what was expected and what was found."""
    return CheckResult(verdict="pass" if passes else "fail", reason=f"expected {wanted}, found {found}")

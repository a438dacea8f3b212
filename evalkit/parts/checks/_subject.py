"""What a text check looks at: the agent's answer, or a file that it left.

Invariant: a file is read from the exported copy, inside it and bounded; one that is not there or is no text makes the check fail, not break.
"""

from __future__ import annotations

from evalkit.core.errors import ToolError
from evalkit.core.protocols import CheckResult, Evidence
from evalkit.parts._paths import read

MOST_BYTES = 5_000_000
SHOWN = 200


def subject(evidence: Evidence, file: str | None) -> str | CheckResult:
    """The text to check; a failed result where there is none."""
    if file is None:
        return evidence.answer
    try:
        data = read(evidence.copy(), file, MOST_BYTES + 1)
    except ToolError as error:
        return CheckResult(verdict="fail", reason=f"{file}: {error}")
    if len(data) > MOST_BYTES:
        return CheckResult(verdict="fail", reason=f"{file} has more than {MOST_BYTES:,} bytes")
    return data.decode("utf-8", "replace")


def passed(reason: str) -> CheckResult:
    """Make a pass."""
    return CheckResult(verdict="pass", reason=reason)


def failed(*, wanted: str, found: str) -> CheckResult:
    """Make a fail that says what was expected and what was found."""
    return CheckResult(verdict="fail", reason=f"expected {wanted}, found {found}")


def shown(text: str, most: int = SHOWN) -> str:
    """Quote a text for a reason, its beginning and end where it is long."""
    if len(text) <= most:
        return repr(text)
    return f"{text[: most // 2]!r} … {text[-most // 2 :]!r} ({len(text)} characters)"

"""What to do when a tool fails: once more and differently, then another way."""

from __future__ import annotations

from dataclasses import dataclass

TEXT = """\
When a tool fails:
- Read the error, change what it names, and try once more.
- If that fails too, take another way to the goal.
- Never make the same call with the same arguments more than twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorHandling:
    """Keeps failures from becoming loops."""

    def text(self) -> str:
        """The fragment."""
        return TEXT

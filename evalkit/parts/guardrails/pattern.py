"""A tripwire by pattern: over what the model says, what it calls, or what tools give back."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from evalkit.core.record import Acted, Asked, Event

SEARCHED = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """Trips where a regular expression is found in `where`: calls (name and arguments), results, or the model's text.

    Of a text longer than 100,000 characters only so much is searched.
    """

    name: str
    pattern: str
    where: Literal["calls", "results", "text"] = "calls"

    def __post_init__(self) -> None:
        """Refuse a pattern that does not compile."""
        try:
            re.compile(self.pattern)
        except re.error as error:
            raise ValueError(f"pattern does not compile: {error}") from error

    def trips(self, event: Event, base: Path) -> str | None:
        """Search what the event shows."""
        text = _text(event, self.where)
        found = _compiled(self.pattern).search(text[:SEARCHED]) if text else None
        return f"{self.where} match {self.pattern!r}: {found.group()[:200]!r}" if found else None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile once."""
    return re.compile(pattern)


def _text(event: Event, where: str) -> str:
    """The text of an event that is searched, empty where it has none of that kind."""
    if where == "text" and isinstance(event, Asked):
        return event.reply.text
    if where == "calls" and isinstance(event, Acted):
        return f"{event.call.name} {json.dumps(event.call.input, default=str, ensure_ascii=False)}"
    if where == "results" and isinstance(event, Acted):
        return event.result.content
    return ""

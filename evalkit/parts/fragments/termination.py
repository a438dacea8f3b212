"""When to stop: with an answer, or with the word that there is none."""

from __future__ import annotations

from dataclasses import dataclass

TEXT = """\
When to end:
- As soon as you know enough to answer, answer. A source that is good enough is enough.
- After three approaches that did not work, say plainly that it could not be done, and why.
- Do not go over the same sources again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Termination:
    """Criteria for ending, the negative ones spelled out."""

    def text(self) -> str:
        """The fragment."""
        return TEXT

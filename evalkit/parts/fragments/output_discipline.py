"""What the final answer is to look like: the answer."""

from __future__ import annotations

from dataclasses import dataclass

TEXT = """\
Your last message:
- It holds the answer to the request and nothing else.
- No account of how you found it, no list of sources, no offers of further work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputDiscipline:
    """Keeps talk out of the answer."""

    def text(self) -> str:
        """The fragment."""
        return TEXT

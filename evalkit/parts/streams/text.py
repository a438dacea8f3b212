"""Plain text: what the program writes on its standard output is its answer.

Invariant: nothing is known of turns, tokens, tool calls and cost, and nothing is claimed of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from evalkit.core.message import Usage
from evalkit.core.protocols import Session
from evalkit.parts.streams._ending import ended

LONGEST = 1_000_000
"""Bytes of an answer; the rest of a longer one is left out, and said to be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """The answer is the output; turns, tokens and cost are not known."""

    HOLDS: ClassVar[tuple[str, ...]] = ()
    TELLS: ClassVar[tuple[str, ...]] = ()

    def open(self, session: Session) -> TextStream:
        """Begin with nothing."""
        return TextStream(session)


@dataclass(slots=True)
class TextStream:
    """The output of one run of a program."""

    session: Session
    held: bytearray = field(default_factory=bytearray)
    left_out: int = 0

    def hear(self, piece: bytes) -> None:
        """Keep the beginning."""
        room = LONGEST - len(self.held)
        self.held += piece[:room]
        self.left_out += len(piece) - len(piece[:room])

    def end(self, code: int) -> None:
        """Give the answer; a status other than 0 is a failure of the agent."""
        text = self.held.decode("utf-8", "replace").strip()
        cut = f"\n[{self.left_out:,} bytes left out]" if self.left_out else ""
        self.session.conclude(text + cut)
        if code:
            self.session.stop("agent_error", ended(code))

    def settle(self) -> None:
        """Say that nothing was told."""
        self.session.settle(turns=0, usage=Usage(), usd=None, uncounted=("turns", "tokens", "tool_calls"))

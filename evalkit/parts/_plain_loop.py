"""The loop of a delegated conversation: ask and act until the model asks for nothing more."""

from __future__ import annotations

from dataclasses import dataclass

from evalkit.core.protocols import Session


@dataclass(frozen=True, slots=True)
class PlainLoop:
    """Control flow of one agent among several."""

    def play(self, session: Session) -> None:
        """Ask until nothing more is asked for."""
        while calls := session.ask().calls:
            session.act(calls)

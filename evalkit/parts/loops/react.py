"""The plain loop: ask, act, repeat, until the model ends its turn without tool calls."""

from __future__ import annotations

from dataclasses import dataclass

from evalkit.core.protocols import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class React:
    """Reason and act, one turn after another (Yao et al. 2022, "ReAct")."""

    def play(self, session: Session) -> None:
        """Ask until the model asks for nothing more."""
        while calls := session.ask().calls:
            session.act(calls)

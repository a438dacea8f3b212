"""The plain loop: ask, act, repeat, until the model ends its turn without tool calls."""

from __future__ import annotations

from dataclasses import dataclass

from evalkit.core.protocols import Session
from evalkit.parts.loops._reflection import Reflect, reflect


@dataclass(frozen=True, slots=True, kw_only=True)
class React:
    """Reason and act, one turn after another (Yao et al. 2022, "ReAct"); with `reflect`, checkpoints in between."""

    reflect: Reflect | None = None

    def play(self, session: Session) -> None:
        """Ask until the model asks for nothing more."""
        since = len(session.events)
        while calls := session.ask().calls:
            session.act(calls)
            if self.reflect is not None and self.reflect.due(session, since):
                reflect(session, self.reflect.max_tokens)
            since = len(session.events)

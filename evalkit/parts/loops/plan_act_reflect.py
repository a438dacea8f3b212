"""Plan, then act, and look back after each action round.

It pays on tasks with several steps that branch; on an answer of a single tool call it is pure overhead: two model
calls more a round.
"""

from __future__ import annotations

from dataclasses import dataclass

from evalkit.core.protocols import Session
from evalkit.parts.loops._reflection import reflect

PLAN = "[Notice from the harness] Before you use any tool, list the steps that lead to the goal, one a line. Do not call tools yet."
GO = "[Notice from the harness] Now carry the plan out, step by step."


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanActReflect:
    """One opening plan turn without tools, then react with a reflection after each action round.

    `max_tokens` bounds a reflection.
    """

    max_tokens: int = 512

    def play(self, session: Session) -> None:
        """Plan once, then ask, act and reflect until the model asks for nothing more."""
        if session.tally.turns == 0:
            session.note(PLAN, "plan")
            session.ask(tools=False, purpose="plan")
            session.note(GO, "plan")
        while calls := session.ask().calls:
            session.act(calls)
            reflect(session, self.max_tokens)

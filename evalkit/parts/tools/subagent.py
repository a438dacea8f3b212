"""A question handed to a fresh loop: the search happens there, and only its distilled answer comes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evalkit.core.errors import ToolFailed
from evalkit.core.message import CHARACTERS_A_TOKEN, JSON, ToolSpec
from evalkit.core.plan import Caps
from evalkit.core.protocols import Session
from evalkit.parts._plain_loop import PlainLoop

DISTIL = (
    "{question}\n\nAnswer in at most {words} words with what matters: facts, names, numbers. No account of the search."
)
SCHEMA: dict[str, JSON] = {
    "type": "object",
    "properties": {"question": {"type": "string", "description": "complete in itself: the helper knows nothing else"}},
    "required": ["question"],
    "additionalProperties": False,
}
CUT = "\n[cut: the answer was longer than it may be]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subagent:
    """A tool `name` that asks a plain loop with all tools but the likes of itself; `tokens` bounds the answer that comes back."""

    name: str = "explore"
    description: str = (
        "Hand a question to a helper with the same tools. It searches on its own and gives a short answer."
    )
    tokens: int = 2000
    caps: Caps = Caps(turns=10)

    def announce(self) -> Mapping[str, JSON]:
        """Its name and the schema of its arguments."""
        return {self.name: SCHEMA}

    def spec(self, base: Path) -> ToolSpec:
        """A tool with one argument, the question; it counts as a write, because the helper may write."""
        return ToolSpec(name=self.name, description=self.description, input_schema=SCHEMA, writes=True)

    def converse(self, arguments: Mapping[str, JSON], session: Session) -> str:
        """Let the helper work; what it uses counts in the caps of whoever asked."""
        prompt = DISTIL.format(question=arguments["question"], words=self.tokens // 2)
        result = session.delegate(prompt, agent=self.name, loop=PlainLoop(), caps=self.caps)
        if result.stop.reason != "finished":
            raise ToolFailed(
                f"the helper did not finish: {result.stop.reason}. What it said last: {result.answer or 'nothing'}"
            )
        limit = self.tokens * CHARACTERS_A_TOKEN
        return result.answer if len(result.answer) <= limit else result.answer[:limit] + CUT

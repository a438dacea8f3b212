"""Older tool results become a short mark: most of the space comes back, and nothing is paraphrased."""

from __future__ import annotations

from dataclasses import dataclass, replace

from evalkit.core.message import Block, Message, ToolResult
from evalkit.core.protocols import History, MemoRequest

MARK = "[cleared: call the tool again if you need this]"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearToolResults:
    """Keep the last `keep` tool results, blank those before them."""

    keep: int = 3

    def __post_init__(self) -> None:
        """Refuse a negative number."""
        if self.keep < 0:
            raise ValueError("keep must be at least 0")

    def due(self, history: History) -> MemoRequest | None:
        """No memo is ever needed."""
        return None

    def view(self, history: History) -> tuple[Message, ...]:
        """Blank from the newest backwards once `keep` are passed; a result that is shorter than the mark stays."""
        left = self.keep
        shown: list[Message] = []
        for message in reversed(history.messages):
            blocks: list[Block] = []
            for block in reversed(message.content):
                if isinstance(block, ToolResult):
                    left -= 1
                    if left < 0 and len(block.content) > len(MARK):
                        blocks.append(replace(block, content=MARK))
                        continue
                blocks.append(block)
            shown.append(replace(message, content=tuple(reversed(blocks))) if message.results else message)
        return tuple(reversed(shown))

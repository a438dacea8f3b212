"""When the prompt grows past a share of the model's window, its oldest part becomes one text, again whenever it does.

Source: the rule of thumb of production write-ups: past half of the window, sum up the oldest third. Recall comes first: a lost
detail costs more than a redundant one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from evalkit.core.message import Message, size
from evalkit.core.protocols import History, MemoRequest
from evalkit.parts.context._exchanges import join, question, split, with_text
from evalkit.parts.context._files import files_note

SUMMARISE = (
    "Sum up this part of an agent's conversation for the agent itself, which will go on without it. Keep: what was asked; "
    "decisions made; architectural choices, unresolved bugs and details of the implementation; every fact, name and number "
    "that may still be needed. Leave out first: long tool output; failed attempts, but for 'X failed (Y)'; reasoning said "
    "twice. When in doubt, keep it. Answer with the summary alone."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compact:
    """Sum up the oldest `oldest` share of the exchanges once the prompt passes `at` of the model's window.

    `style` `reinitialise` sums up everything instead and starts again from the summary plus what was last read of or written
    to the `files` files touched last. `tokens` bounds a summary.
    """

    at: float = 0.5
    oldest: float = 0.33
    style: Literal["oldest", "reinitialise"] = "oldest"
    files: int = 5
    tokens: int = 2000
    WANTS_WINDOW: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuse shares outside of 0 to 1."""
        if not 0.0 < self.at < 1.0 or not 0.0 < self.oldest <= 1.0:
            raise ValueError("at and oldest are shares above 0; at is below 1")
        if self.files < 0:
            raise ValueError("files must be at least 0")

    def due(self, history: History) -> MemoRequest | None:
        """Ask for a summary where the prompt is past the threshold and something is left to sum up."""
        if history.window_tokens is None or self._expected(history) <= self.at * history.window_tokens:
            return None
        head, exchanges = split(history.messages)
        covered = history.memos[-1].upto if history.memos else 0
        open_ones = _open(head, exchanges, covered)
        take = self._count(len(open_ones))
        if take == 0:
            return None
        chosen = open_ones[:take]
        old = f"\n\n<summary so far>\n{history.memos[-1].text}\n</summary so far>" if history.memos else ""
        upto = max(covered, len(head)) + sum(len(exchange) for exchange in chosen)
        return MemoRequest(messages=question(SUMMARISE + old, join(head, chosen)), upto=upto, max_tokens=self.tokens)

    def view(self, history: History) -> tuple[Message, ...]:
        """Show the request, the newest summary, and every exchange that it does not stand for."""
        if not history.memos:
            return history.messages
        head, exchanges = split(history.messages)
        memo = history.memos[-1]
        text = f"[Summary of your work so far]\n{memo.text}"
        if self.style == "reinitialise":
            text += files_note(history.messages[: memo.upto], self.files)
        return join(with_text(head, text), _open(head, exchanges, memo.upto))

    def _expected(self, history: History) -> int:
        """The size that the next prompt will have: as reported last, or what the view measures where that is more."""
        return max(size(self.view(history)), history.prompt_tokens)

    def _count(self, exchanges: int) -> int:
        """How many exchanges to sum up: the oldest share, never the last one; all but the last for a new start."""
        if self.style == "reinitialise":
            return max(0, exchanges - 1)
        return min(max(1, int(exchanges * self.oldest)), exchanges - 1) if exchanges > 1 else 0


def _open(
    head: tuple[Message, ...], exchanges: tuple[tuple[Message, ...], ...], covered: int
) -> tuple[tuple[Message, ...], ...]:
    """The exchanges that no summary stands for yet."""
    place, left = len(head), []
    for exchange in exchanges:
        if place >= covered:
            left.append(exchange)
        place += len(exchange)
    return tuple(left)

"""What of a transcript the model is shown: the variant's context policies, one after the other, and their memos.

Invariant: the transcript is never edited. A memo that did not make the view smaller is counted, and after two in a row
no more are written: a compaction that does not shrink only burns money.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from evalkit.core.message import Message, Reply, size
from evalkit.core.protocols import ContextPolicy, History, Memo, MemoRequest
from evalkit.core.record import Condensed, Tally

FUTILE_IN_A_ROW = 2

Consult = Callable[[MemoRequest], tuple[Reply | None, str]]
"""Asks the model for a memo; gives its reply, or None and why there is none."""


@dataclass(slots=True, kw_only=True)
class Viewer:
    """The context policies of one conversation with their memory."""

    policies: Sequence[tuple[str, ContextPolicy]]
    window_tokens: int | None
    now: Callable[[], float]
    agent: str = ""
    memos: dict[int, tuple[Memo, ...]] = field(default_factory=dict)
    futile: dict[int, int] = field(default_factory=dict)

    def view(
        self, messages: tuple[Message, ...], tally: Tally, prompt_tokens: int, consult: Consult
    ) -> tuple[tuple[Message, ...], tuple[Condensed, ...]]:
        """Give the view, and what was condensed on the way to it."""
        condensed: list[Condensed] = []
        for place, (kind, policy) in enumerate(self.policies):
            history = self._history(place, messages, tally, prompt_tokens)
            due = policy.due(history) if self.futile.get(place, 0) < FUTILE_IN_A_ROW else None
            if due is not None:
                condensed.append(self._condense(place, kind, history, due, consult))
                history = self._history(place, messages, tally, prompt_tokens)
            shown = policy.view(history)
            prompt_tokens += size(shown) - size(messages)
            messages = shown
        return messages, tuple(condensed)

    def _history(self, place: int, messages: tuple[Message, ...], tally: Tally, prompt_tokens: int) -> History:
        """Put together what a policy may see."""
        return History(
            messages=messages,
            memos=self.memos.get(place, ()),
            tally=tally,
            prompt_tokens=prompt_tokens,
            window_tokens=self.window_tokens,
        )

    def _condense(self, place: int, kind: str, history: History, due: MemoRequest, consult: Consult) -> Condensed:
        """Have a memo written and keep it if there is one; note whether it made the view smaller."""
        policy = self.policies[place][1]
        before = size(policy.view(history))
        reply, error = consult(due)
        text = reply.text.strip() if reply is not None else ""
        after = before
        if text:
            memo = Memo(text=text, upto=due.upto, turn=history.tally.turns)
            self.memos[place] = (*history.memos, memo)
            after = size(policy.view(self._history(place, history.messages, history.tally, history.prompt_tokens)))
        useful = bool(text) and (after < before or not due.must_shrink)
        self.futile[place] = 0 if useful else self.futile.get(place, 0) + 1
        return Condensed(
            turn=history.tally.turns,
            policy=kind,
            covered=due.upto,
            before=before,
            after=after,
            text=text,
            at=self.now(),
            error=error or ("" if text else "the reply held no text"),
            agent=self.agent,
        )

"""A scratchpad: when it is to be rewritten, from what, and how it is shown.

Invariant: the pad stands for all exchanges before those that are still shown; each exchange is written into it once.
"""

from __future__ import annotations

from evalkit.core.protocols import History, MemoRequest
from evalkit.parts.context._exchanges import join, question, split

REWRITE = (
    "You keep the notes of an agent at work on the request below. Rewrite its notes so that it can go on without the "
    "conversation. Keep: every fact, name and number that may still be needed; decisions made and why; what is done and "
    "what is left; a failed attempt only as 'X failed (Y)'. Leave out: long tool output, repeated reasoning. When in doubt, "
    "keep it. Answer with the notes alone."
)


def pad_due(history: History, *, keep: int, tokens: int) -> MemoRequest | None:
    """Ask for a new pad where exchanges before the last `keep` are not in it yet."""
    head, exchanges = split(history.messages)
    covered = history.memos[-1].upto if history.memos else 0
    past = exchanges[: max(0, len(exchanges) - keep)]
    upto = len(head) + sum(len(exchange) for exchange in past)
    if not past or upto <= covered:
        return None
    fresh = history.messages[max(covered, len(head)) : upto]
    old = f"\n\n<notes>\n{history.memos[-1].text}\n</notes>" if history.memos else ""
    return MemoRequest(
        messages=question(REWRITE + old, join(head, (fresh,))), upto=upto, max_tokens=tokens, must_shrink=False
    )


def pad_text(history: History) -> str:
    """The newest pad, as it is shown."""
    return f"[Notes on your work so far]\n{history.memos[-1].text}"

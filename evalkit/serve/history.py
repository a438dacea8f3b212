"""Which conversations the Messages API accepts, as a pure function.

Invariant: what passes here is accepted by the API as far as its public rules for history go, and a refusal names the
message as the API does. A context policy whose views pass for every transcript can be trusted with a real model.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from evalkit.core.message import Block, Message, Text, ToolCall, ToolResult

_ID = re.compile(r"[a-zA-Z0-9_-]+")


def flaw(messages: Sequence[Message]) -> str | None:
    """Say what the API would refuse in a conversation, the first thing only; None where it would take it.

    Consecutive messages of one role are one turn, as the API reads them. Indices in the text are those of `messages`.
    """
    if not messages:
        return "messages: at least one message is required"
    if messages[0].role != "user":
        return 'messages.0: first message must use the "user" role'
    for index, message in enumerate(messages):
        if found := _content_flaw(index, message, last=index == len(messages) - 1):
            return found
    return _pairing_flaw(messages)


def _content_flaw(index: int, message: Message, *, last: bool) -> str | None:
    """Look at one message alone: content that is there, says something, and stands on the right side."""
    if not message.content and not message.verbatim and not (last and message.role == "assistant"):
        return f"messages.{index}: all messages must have non-empty content except for the optional final assistant message"
    for position, block in enumerate(message.content):
        if found := _block_flaw(block, message.role):
            return f"messages.{index}.content.{position}: {found}"
    ending = message.content[-1] if message.content else None
    if last and message.role == "assistant" and isinstance(ending, Text) and ending.text != ending.text.rstrip():
        return f"messages.{index}: final assistant content cannot end with trailing whitespace"
    return None


def _block_flaw(block: Block, role: str) -> str | None:
    """Look at one block alone."""
    if isinstance(block, Text):
        return None if block.text.strip() else "text content blocks must contain non-whitespace text"
    if isinstance(block, ToolCall):
        if role != "assistant":
            return "`tool_use` blocks can only be in `assistant` messages"
        return None if _ID.fullmatch(block.id) else f"tool_use.id: {block.id!r} should match ^[a-zA-Z0-9_-]+$"
    if role != "user":
        return f"`{block.type}` blocks can only be in `user` messages"
    if isinstance(block, ToolResult) and block.is_error and not block.content:
        return "tool_result: content cannot be empty if `is_error` is true"
    return None


def _pairing_flaw(messages: Sequence[Message]) -> str | None:
    """Look for calls without a result in the next turn, results without a call in the turn before, and ids used twice."""
    waiting: dict[str, None] = {}
    seen: set[str] = set()
    for index, blocks in _turns(messages):
        calls = [block.id for block in blocks if isinstance(block, ToolCall)]
        results = [block.tool_use_id for block in blocks if isinstance(block, ToolResult)]
        if orphans := [name for name in results if name not in waiting]:
            return (
                f"messages.{index}: unexpected `tool_use_id` found in `tool_result` blocks: {', '.join(orphans)}. "
                "Each `tool_result` block must have a corresponding `tool_use` block in the previous message"
            )
        heading = {block.tool_use_id for block in blocks[: len(results)] if isinstance(block, ToolResult)}
        if missing := [name for name in waiting if name not in heading]:
            return _unanswered(index, missing)
        if doubled := _twice(results):
            return f"messages.{index}: each tool_use must have a single result, found more for: {', '.join(doubled)}"
        if doubled := _twice(calls) or [name for name in calls if name in seen]:
            return f"messages.{index}: `tool_use` ids must be unique: {', '.join(doubled)}"
        seen.update(calls)
        waiting = dict.fromkeys(calls)
    return _unanswered(len(messages), list(waiting)) if waiting else None


def _unanswered(index: int, missing: Sequence[str]) -> str:
    """Name the calls that get no result at the head of the message at `index`."""
    return (
        f"messages.{index - 1}: `tool_use` ids were found without `tool_result` blocks immediately after: "
        f"{', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block in the next message"
    )


def _twice(names: Iterable[str]) -> list[str]:
    """Names that stand more than once, each once."""
    return [name for name, count in Counter(names).items() if count > 1]


def _turns(messages: Sequence[Message]) -> Iterable[tuple[int, list[Block]]]:
    """Join neighbours of one role to turns, each with the index of its first message; roles alternate from turn to turn."""
    start, blocks = 0, list(messages[0].content)
    for index, message in enumerate(messages[1:], 1):
        if message.role == messages[start].role:
            blocks.extend(message.content)
        else:
            yield start, blocks
            start, blocks = index, list(message.content)
    yield start, blocks

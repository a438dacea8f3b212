"""The pieces of a `stream-json` event, read without trust: whatever has another shape is left out, and nothing raises.

Invariant: counts are whole, not negative and of a size that can be true; text is text.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from evalkit.core.message import Block, Message, Text, ToolCall, ToolResult, Usage

MOST = 10**12
"""Tokens that one trial can have used at most; a larger count is no count."""


def usage_of(told: Any) -> Usage | None:
    """Read token counters; None where there are none."""
    if not isinstance(told, Mapping):
        return None
    split = told.get("cache_creation")
    split = split if isinstance(split, Mapping) else {}
    hour = count_of(split.get("ephemeral_1h_input_tokens")) or 0
    written = count_of(told.get("cache_creation_input_tokens"))
    found = {
        "input": count_of(told.get("input_tokens")),
        "output": count_of(told.get("output_tokens")),
        "cache_read": count_of(told.get("cache_read_input_tokens")),
        "cache_write_5m": None if written is None else max(0, written - hour),
        "cache_write_1h": hour or None,
    }
    known = {name: value for name, value in found.items() if value is not None}
    return Usage(**known) if known else None


def most(one: Usage, other: Usage) -> Usage:
    """The greater of each counter."""
    return Usage(
        input=max(one.input, other.input),
        output=max(one.output, other.output),
        cache_read=max(one.cache_read, other.cache_read),
        cache_write_5m=max(one.cache_write_5m, other.cache_write_5m),
        cache_write_1h=max(one.cache_write_1h, other.cache_write_1h),
    )


def plus(one: Usage, other: Usage, sign: int = 1) -> Usage:
    """Add counters up, or take them off, but never below nothing."""
    return Usage(
        input=max(0, one.input + sign * other.input),
        output=max(0, one.output + sign * other.output),
        cache_read=max(0, one.cache_read + sign * other.cache_read),
        cache_write_5m=max(0, one.cache_write_5m + sign * other.cache_write_5m),
        cache_write_1h=max(0, one.cache_write_1h + sign * other.cache_write_1h),
    )


def count_of(value: Any) -> int | None:
    """A count, None where it is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST else None


def dollars_of(value: Any) -> float | None:
    """A sum of dollars, None where it is none."""
    right = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0
    return float(value) if right else None


def message_of(blocks: list[Any]) -> Message:
    """An assistant's message from its blocks; they are kept whole where the model thought."""
    kept = [block for block in blocks if isinstance(block, Mapping)]
    thinks = any(block.get("type") == "thinking" for block in kept)
    return Message(
        role="assistant", content=tuple(_said(kept)), verbatim=tuple(dict(block) for block in kept) if thinks else None
    )


def _said(blocks: list[Any]) -> Iterator[Block]:
    """Texts and tool calls."""
    for block in blocks:
        if block.get("type") == "text" and isinstance(block.get("text"), str):
            yield Text(text=block["text"])
        elif block.get("type") == "tool_use":
            given = block.get("input")
            yield ToolCall(
                id=str(block.get("id", "")),
                name=str(block.get("name", "")),
                input=given if isinstance(given, Mapping) else {},
            )


def results_of(content: Any) -> tuple[ToolResult, ...]:
    """The tool results in a user's message."""
    blocks = content if isinstance(content, list) else []
    return tuple(
        ToolResult(
            tool_use_id=str(block.get("tool_use_id", "")),
            content=_plain(block.get("content")),
            is_error=block.get("is_error") is True,
        )
        for block in blocks
        if isinstance(block, Mapping) and block.get("type") == "tool_result"
    )


def _plain(content: Any) -> str:
    """A tool result's text; what is no text is named by its type."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(
        block["text"] if isinstance(block.get("text"), str) else f"[{block.get('type', 'something')}]"
        for block in blocks
        if isinstance(block, Mapping)
    )

"""The core's words and the Messages API's JSON, each from the other: pure functions, no SDK.

Invariant: an assistant message that came from the API goes back as it came. Where text and tool calls alone would lose
something, the blocks themselves are kept in `verbatim`. The one thing left out on the way back is what the API itself
refuses: text blocks without text, and an assistant turn that holds nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

from evalkit.core.message import (
    JSON,
    Block,
    Message,
    Nature,
    Picture,
    Reply,
    StopReason,
    Text,
    ToolCall,
    ToolSpec,
    Usage,
)

NOT_AN_OBJECT = "not_an_object"
"""Where a model gave something else than an object as a tool's arguments, they are kept under this one name."""

NATURE_HEADER = "x-evalkit-nature"
"""Servers that stand for the API (`evalkit serve-sim`) say in this header of each answer where it comes from."""

_NATURES: dict[str, Nature] = {nature: nature for nature in get_args(Nature)}
_STOP_REASONS: dict[str, StopReason] = {reason: reason for reason in get_args(StopReason)}
_LARGEST_COUNT = 2**53


class NoMessage(Exception):
    """JSON that is not the message object that the API answers with; the text says what is amiss."""


class UnknownStop(Exception):
    """A message whose stop reason is none of those that the core knows; the text is the reason."""


def said_nature(headers: Mapping[str, str]) -> Nature | None:
    """What an answer says of its own origin; None where it says nothing, as a real API does, or nothing that is known."""
    return _NATURES.get(headers.get(NATURE_HEADER, ""))


def message_params(messages: Sequence[Message]) -> list[dict[str, JSON]]:
    """Write messages as the API takes them, one for one but for assistant turns that hold nothing."""
    params = []
    for message in messages:
        blocks = [_block(block) for block in message.content] if message.verbatim is None else message.verbatim
        kept = [dict(block) for block in blocks if block["type"] != "text" or block["text"].strip()]
        if not kept and message.role == "user":
            kept = [{"type": "text", "text": "(empty)"}]
        if kept:
            params.append({"role": message.role, "content": kept})
    return params


def tool_params(tools: Sequence[ToolSpec]) -> list[dict[str, JSON]]:
    """Write tools as the API takes them."""
    return [
        {"name": tool.name, "input_schema": dict(tool.input_schema)}
        | ({"description": tool.description} if tool.description else {})
        for tool in tools
    ]


def read_reply(given: JSON) -> Reply:
    """Read the API's message object, its price left open.

    Raises `NoMessage` where it is none or has no stop reason, `UnknownStop` where it has one that the core does not know.
    """
    if not isinstance(given, dict) or given.get("type") != "message" or given.get("role") != "assistant":
        raise NoMessage("it is no message object of the assistant")
    raw = given.get("content")
    if not isinstance(raw, list) or not all(isinstance(block, dict) for block in raw):
        raise NoMessage("its content is no list of blocks")
    blocks = [_mended(block) for block in raw]
    content = tuple(found for block in blocks if (found := _read(block)) is not None)
    usage, model, stop = _usage(given.get("usage")), given.get("model"), given.get("stop_reason")
    if not isinstance(model, str) or not isinstance(stop, str):
        raise NoMessage("its model or its stop_reason is missing")
    if stop not in _STOP_REASONS:
        raise UnknownStop(stop)
    verbatim = None if all(_is_plain(block) for block in blocks) else tuple(blocks)
    message = Message(role="assistant", content=content, verbatim=verbatim)
    return Reply(message=message, stop_reason=_STOP_REASONS[stop], usage=usage, model=model)


def is_listed(given: Mapping[str, JSON]) -> bool:
    """Whether a message was billed as price lists say: standard speed and tier, no region at an extra charge."""
    usage = given["usage"]
    return (
        usage.get("speed") in (None, "standard")
        and usage.get("service_tier") in (None, "standard")
        and usage.get("inference_geo") in (None, "global", "not_available")
    )


def scrubbed(value: JSON) -> JSON:
    """Copy a JSON value with every lone surrogate spelt out, so that it can be encoded."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, Mapping):
        return {scrubbed(key): scrubbed(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [scrubbed(inner) for inner in value]
    return value


def _block(block: Block) -> dict[str, JSON]:
    """Write one block; an error must say something, or the API refuses it."""
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    if isinstance(block, ToolCall):
        return {"type": "tool_use", "id": block.id, "name": block.name, "input": dict(block.input)}
    if isinstance(block, Picture):
        return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": block.data}}
    if not block.is_error:
        return {"type": "tool_result", "tool_use_id": block.tool_use_id, "content": block.content}
    text = block.content or "(no output)"
    return {"type": "tool_result", "tool_use_id": block.tool_use_id, "content": text, "is_error": True}


def _mended(block: dict[str, JSON]) -> dict[str, JSON]:
    """Check one block, and give a tool call whose arguments are no object an object that holds them."""
    kind = block.get("type")
    if not isinstance(kind, str):
        raise NoMessage("a block has no type")
    needed = {"text": ("text",), "tool_use": ("id", "name")}.get(kind, ())
    if missing := [name for name in needed if not isinstance(block.get(name), str)]:
        raise NoMessage(f"a block of type {kind} has no {' and no '.join(missing)}")
    if kind == "tool_use" and not isinstance(block.get("input"), dict):
        return {**block, "input": {NOT_AN_OBJECT: block.get("input")}}
    return block


def _read(block: Mapping[str, JSON]) -> Block | None:
    """Read one block that was checked; None for a kind that the core has no words for."""
    if block["type"] == "text":
        return Text(text=block["text"])
    if block["type"] == "tool_use":
        return ToolCall(id=block["id"], name=block["name"], input=block["input"])
    return None


def _is_plain(block: Mapping[str, JSON]) -> bool:
    """Whether the core's words keep all that a block says; a field that is null says nothing."""
    said = {name for name, value in block.items() if value is not None}
    if block["type"] == "text":
        return said <= {"type", "text"}
    if block.get("caller") == {"type": "direct"}:
        said.discard("caller")
    return block["type"] == "tool_use" and said <= {"type", "id", "name", "input"}


def _usage(given: JSON) -> Usage:
    """Read the token counters; cache writes that are not split by their lifetime count as the short-lived kind."""
    if not isinstance(given, dict):
        raise NoMessage("it has no usage")
    split = given.get("cache_creation") or {}
    if not isinstance(split, dict):
        raise NoMessage("its usage is not readable")
    written = _count(given, "cache_creation_input_tokens")
    short, long = _count(split, "ephemeral_5m_input_tokens"), _count(split, "ephemeral_1h_input_tokens")
    if "input_tokens" not in given or "output_tokens" not in given:
        raise NoMessage("its usage lacks input_tokens or output_tokens")
    return Usage(
        input=_count(given, "input_tokens"),
        output=_count(given, "output_tokens"),
        cache_read=_count(given, "cache_read_input_tokens"),
        cache_write_5m=max(written, short + long) - long,
        cache_write_1h=long,
    )


def _count(given: Mapping[str, JSON], name: str) -> int:
    """Read one counter; one that is left out or null is 0."""
    count = given.get(name)
    if count is None:
        return 0
    if isinstance(count, int) and not isinstance(count, bool) and 0 <= count < _LARGEST_COUNT:
        return count
    raise NoMessage(f"its usage has no number of tokens in {name}")

"""Lines of JSON over a socket, between the runner and the process of a `python` agent: what both of its ends share.

Invariant: standard library and core only, because the agent's process should start at once.
"""

from __future__ import annotations

import json
import socket
from dataclasses import asdict
from typing import Any

from evalkit.core.message import Block, Message, Reply, Text, ToolCall, ToolResult, Usage

LONGEST = 64_000_000
"""Bytes of one line."""

BLOCKS = {"text": Text, "tool_use": ToolCall, "tool_result": ToolResult}


def send(end: socket.socket, line: dict[str, Any]) -> None:
    """Send a line; raises `OSError` where nobody listens."""
    end.sendall(json.dumps(line).encode() + b"\n")


def message_out(message: Message) -> dict[str, Any]:
    """A message as JSON."""
    return {"role": message.role, "content": [asdict(block) for block in message.content]}


def message_in(given: Any) -> Message:
    """A message from JSON; raises `ValueError` for what is none."""
    try:
        blocks = tuple(block_in(block) for block in given["content"])
        return Message(role=given["role"], content=blocks)
    except (TypeError, KeyError) as error:
        raise ValueError(f"no message: {error!r}") from None


def block_in(given: Any) -> Block:
    """A block from JSON; raises `ValueError` for what is none."""
    try:
        kind = BLOCKS[given["type"]]
        made: Block = kind(**{name: value for name, value in given.items() if name != "type"})
    except (TypeError, KeyError) as error:
        raise ValueError(f"no block of a message: {error!r}") from None
    return made


def reply_out(reply: Reply) -> dict[str, Any]:
    """A reply as JSON; what only its provider can read stays here."""
    plain = asdict(reply)
    return {**plain, "message": message_out(reply.message)}


def reply_in(given: dict[str, Any]) -> Reply:
    """A reply from JSON."""
    return Reply(**{**given, "message": message_in(given["message"]), "usage": Usage(**given["usage"])})

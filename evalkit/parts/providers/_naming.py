"""Tools that are offered under longer names than a solution calls them by: `files_read` and `read_files` are its `read`.

Invariant: only a name that no step uses is taken for another, and what goes out has the names that were offered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from evalkit.core.message import Block, Message, Request, ToolCall


def longer_names(offered: Iterable[str], known: Iterable[str]) -> dict[str, str]:
    """Map offered names to those of a solution that are not offered themselves and that they begin or end with; the nearest counts."""
    offered, found = tuple(offered), {}
    for own in known:
        fitting = [name for name in offered if name.startswith(f"{own}_") or name.endswith(f"_{own}")]
        if fitting and own not in offered:
            found[min(fitting, key=len)] = own
    return found


def renamed(request: Request, names: Mapping[str, str]) -> Request:
    """A request with other names for tools, in what is offered and in what was called."""
    tools = tuple(replace(tool, name=names.get(tool.name, tool.name)) for tool in request.tools)
    return replace(request, tools=tools, messages=tuple(_message(message, names) for message in request.messages))


def _message(message: Message, names: Mapping[str, str]) -> Message:
    """Rename the calls of a message."""
    if not message.calls:
        return message
    blocks: tuple[Block, ...] = tuple(
        replace(block, name=names.get(block.name, block.name)) if isinstance(block, ToolCall) else block
        for block in message.content
    )
    return replace(message, content=blocks)

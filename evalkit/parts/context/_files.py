"""The files that a conversation touched last, with what was last seen of each."""

from __future__ import annotations

from evalkit.core.message import Message

SHOWN = 4000


def files_note(messages: tuple[Message, ...], count: int) -> str:
    """Write out the `count` files touched last: any call with a `path`, its result or the content that it wrote."""
    results = {result.tool_use_id: result.content for message in messages for result in message.results}
    last: dict[str, str] = {}
    for message in messages:
        for call in message.calls:
            path = call.input.get("path")
            if isinstance(path, str):
                last.pop(path, None)
                written = call.input.get("content")
                last[path] = written if isinstance(written, str) else results.get(call.id, "")
    recent = list(last.items())[-count:] if count else []
    return "".join(f"\n\n[File {path}, as last seen]\n{content[:SHOWN]}" for path, content in recent)

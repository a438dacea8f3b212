"""A transcript as a request and exchanges: the units that a view may keep or drop.

Invariant: an exchange is an assistant turn with all that follows it up to the next one (its tool results, notes); a turn that
was paused and resumed is one turn. Cutting between exchanges never parts a tool call from its result.
"""

from __future__ import annotations

from dataclasses import replace

from evalkit.core.message import Message, Text, user


def split(messages: tuple[Message, ...]) -> tuple[tuple[Message, ...], tuple[tuple[Message, ...], ...]]:
    """Part a transcript into what comes before the first assistant turn, and its exchanges."""
    starts = [
        place
        for place in range(1, len(messages))
        if messages[place].role == "assistant" and messages[place - 1].role != "assistant"
    ]
    if not starts:
        return messages, ()
    ends = [*starts[1:], len(messages)]
    exchanges = tuple(messages[start:end] for start, end in zip(starts, ends, strict=True))
    return messages[: starts[0]], exchanges


def join(head: tuple[Message, ...], exchanges: tuple[tuple[Message, ...], ...]) -> tuple[Message, ...]:
    """Put a transcript together again."""
    return head + tuple(message for exchange in exchanges for message in exchange)


def with_text(head: tuple[Message, ...], text: str) -> tuple[Message, ...]:
    """Add a text to the request itself, so that whoever keeps the request keeps it too."""
    first = head[0]
    return (replace(first, content=(*first.content, Text(text=text))), *head[1:])


def as_text(messages: tuple[Message, ...]) -> str:
    """Write messages out for a model that is to sum them up."""
    lines = []
    for message in messages:
        if message.text:
            lines.append(f"{message.role}: {message.text}")
        lines += [f"tool call: {call.name} {dict(call.input)}" for call in message.calls]
        lines += [f"tool {'error' if result.is_error else 'result'}: {result.content}" for result in message.results]
    return "\n".join(lines)


def question(instruction: str, messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Ask for a text about messages."""
    return (user(f"{instruction}\n\n<conversation>\n{as_text(messages)}\n</conversation>"),)

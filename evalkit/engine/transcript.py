"""A conversation as it grows: appended to, never edited, every tool call answered.

Invariant: no assistant turn with tool calls is followed by anything but their results, so that whatever is shown of it is
a history that the Messages API accepts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evalkit.core.message import Message, Picture, Reply, ToolResult, user

NOT_RUN = "not run: the loop went on without this call"


class Transcript:
    """The messages of one conversation, and its last reply."""

    def __init__(self, prompt: str) -> None:
        """Begin with the user's request."""
        self._messages = [user(prompt)]
        self.last: Reply | None = None

    def __len__(self) -> int:
        """The number of messages."""
        return len(self._messages)

    @property
    def messages(self) -> tuple[Message, ...]:
        """All of them."""
        return tuple(self._messages)

    def add_reply(self, reply: Reply) -> None:
        """Append what the model said."""
        self._messages.append(reply.message)
        self.last = reply

    def add_note(self, text: str, pictures: Sequence[Picture]) -> None:
        """Append a user message; calls that are open are answered first."""
        self.answer(())
        self._messages.append(user(text, *pictures))

    def answer(self, results: Sequence[ToolResult]) -> None:
        """Append results for all calls of the last message; calls without one are answered as not run."""
        given = {result.tool_use_id: result for result in results}
        missing = ToolResult(tool_use_id="", content=NOT_RUN, is_error=True)
        calls = self._messages[-1].calls
        answers = tuple(given.get(call.id) or replace(missing, tool_use_id=call.id) for call in calls)
        if answers:
            self._messages.append(Message(role="user", content=answers))

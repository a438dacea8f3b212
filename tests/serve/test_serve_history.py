"""Conversations that the Messages API takes, and every way in which one can be broken."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.core.message import Message, Text, ToolCall, ToolResult, user
from evalkit.serve.history import flaw


def calls(*names: str, text: str = "") -> Message:
    said = (Text(text=text),) if text else ()
    return Message(role="assistant", content=(*said, *(ToolCall(id=name, name="look", input={}) for name in names)))


def results(*names: str, note: str = "") -> Message:
    said = (Text(text=note),) if note else ()
    return Message(role="user", content=(*(ToolResult(tool_use_id=name, content="ok") for name in names), *said))


def says(text: str) -> Message:
    return Message(role="assistant", content=(Text(text=text),))


@st.composite
def conversations(draw: st.DrawFn) -> tuple[Message, ...]:
    """Conversations as a loop makes them: a request, then answers, tool rounds and notes in any order."""
    messages = [user("do it")]
    for turn in range(draw(st.integers(0, 6))):
        kind = draw(st.sampled_from(("tools", "text", "note")))
        if kind == "tools":
            names = [f"call_{turn}_{number}" for number in range(draw(st.integers(1, 3)))]
            order = draw(st.permutations(names))
            messages += [calls(*names, text=draw(st.sampled_from(("", "let me see")))), results(*order)]
        elif kind == "text":
            messages += [says("here it is"), user("go on")]
        else:
            messages.append(user("two turns are left"))
    return tuple(messages)


@given(conversations())
def test_what_a_loop_makes_is_accepted(messages: tuple[Message, ...]) -> None:
    """Law: request, tool rounds with all results, answers and notes, in any order, make a conversation that is accepted."""
    assert flaw(messages) is None


@given(conversations(), st.data())
def test_a_tool_round_that_loses_a_side_is_refused(messages: tuple[Message, ...], data: st.DataObject) -> None:
    """Law: taking out one message of a tool round leaves an orphan, whichever side it is."""
    rounds = [at for at, message in enumerate(messages) if message.calls or message.results]
    if not rounds:
        return
    gone = data.draw(st.sampled_from(rounds))
    found = flaw((*messages[:gone], *messages[gone + 1 :]))
    assert found is not None
    assert "tool_use" in found


ASK = user("do it")
BROKEN: list[tuple[str, tuple[Message, ...], str]] = [
    ("nothing", (), "at least one message"),
    ("assistant first", (says("hi"),), 'first message must use the "user" role'),
    (
        "empty content",
        (ASK, Message(role="assistant", content=()), ASK),
        "messages.1: all messages must have non-empty",
    ),
    ("empty user", (Message(role="user", content=()),), "messages.0: all messages must have non-empty"),
    ("blank text", (user(" \n"),), "messages.0.content.0: text content blocks must contain non-whitespace text"),
    ("trailing blank", (ASK, says("so ")), "messages.1: final assistant content cannot end with trailing whitespace"),
    ("call by user", (Message(role="user", content=calls("a").content),), "can only be in `assistant` messages"),
    (
        "result by assistant",
        (ASK, Message(role="assistant", content=results("a").content)),
        "only be in `user` messages",
    ),
    ("bad id", (ASK, calls("a b"), results("a b")), "tool_use.id"),
    ("no result", (ASK, calls("a"), user("well?")), "messages.1: `tool_use` ids were found without"),
    ("no next message", (ASK, calls("a")), "messages.1: `tool_use` ids were found without"),
    ("one of two results", (ASK, calls("a", "b"), results("b")), "immediately after: a."),
    ("text before results", (ASK, calls("a"), user("note"), results("a")), "`tool_use` ids were found without"),
    ("orphan result", (ASK, says("hm"), results("a")), "messages.2: unexpected `tool_use_id`"),
    ("result a turn late", (ASK, calls("a"), results("a"), says("ok"), results("a")), "messages.4: unexpected"),
    ("result twice", (ASK, calls("a"), results("a", "a")), "must have a single result"),
    ("id twice in a turn", (ASK, calls("a", "a"), results("a")), "must be unique: a"),
    (
        "id of an earlier turn",
        (ASK, calls("a"), results("a"), calls("a"), results("a")),
        "messages.3: `tool_use` ids must",
    ),
]


@pytest.mark.parametrize(("messages", "said"), [pytest.param(row[1], row[2], id=row[0]) for row in BROKEN])
def test_each_breach_is_named_with_its_place(messages: tuple[Message, ...], said: str) -> None:
    found = flaw(messages)
    assert found is not None
    assert said in found


def test_an_error_result_must_say_something() -> None:
    silent = Message(role="user", content=(ToolResult(tool_use_id="a", content="", is_error=True),))
    assert "cannot be empty" in (flaw((ASK, calls("a"), silent)) or "")
    calm = Message(role="user", content=(ToolResult(tool_use_id="a", content=""),))
    assert flaw((ASK, calls("a"), calm)) is None


@pytest.mark.parametrize(
    "build",
    [
        lambda: (ASK, calls("a"), results("a", note="by the way")),
        lambda: (ASK, calls("a"), results("a"), user("a note of the loop")),
        lambda: (ASK, ASK, says("one"), says("two"), ASK),
        lambda: (ASK, calls("a", "b"), results("b"), results("a")),
        lambda: (ASK, says("to be continued")),
        lambda: (
            ASK,
            Message(role="assistant", content=(), verbatim=({"type": "redacted_thinking", "data": "x"},)),
            ASK,
        ),
        lambda: (ASK, Message(role="assistant", content=())),
    ],
)
def test_what_the_api_joins_or_allows_is_accepted(build: Callable[[], tuple[Message, ...]]) -> None:
    assert flaw(build()) is None


def test_a_conversation_of_many_messages_is_read_once() -> None:
    long = (ASK,) * 20_000 + (calls(*map(str, range(20_000))), results(*map(str, range(20_000))))
    assert flaw(long) is None

"""The sliding window: what it shows, and that an API takes it whatever the conversation was."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from evalkit.core.clock import ManualClock
from evalkit.core.message import Message, Text, ToolCall, ToolResult, user
from evalkit.core.plan import Spec, Trial
from evalkit.core.protocols import History, Parts
from evalkit.core.record import Asked, Tally
from evalkit.engine.trial import play_trial
from evalkit.parts import build, faults
from evalkit.parts.context.window import Window
from evalkit.parts.environments.bare import Bare
from evalkit.parts.loops.react import React
from evalkit.parts.providers.scripted import Line, Scripted
from evalkit.serve.history import flaw


def view(turns: int, messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """What a window of so many turns shows."""
    history = History(messages=messages, memos=(), tally=Tally(), prompt_tokens=0, window_tokens=None)
    return Window(turns=turns).view(history)


def turn(number: int, calls: int, notes: int, parts: int = 1) -> list[Message]:
    """Write one exchange: a turn in so many parts (paused in between), results of its calls, and notes."""
    made = tuple(ToolCall(id=f"call_{number}_{at}", name="t", input={}) for at in range(calls))
    paused = [Message(role="assistant", content=(Text(text=f"part {part}"),)) for part in range(1, parts)]
    said = Message(role="assistant", content=(Text(text=f"turn {number}"), *made))
    results = tuple(ToolResult(tool_use_id=call.id, content=f"result {number}") for call in made)
    answered = [Message(role="user", content=results)] if results else []
    return [*paused, said, *answered, *(user(f"note {at}") for at in range(notes))]


@st.composite
def conversations(draw: st.DrawFn) -> tuple[Message, ...]:
    """Conversations as a session makes them when the model is about to be asked: calls answered, the user spoke last or a turn was paused."""
    messages = [user("the request"), *(user("an opening note") for _ in range(draw(st.integers(0, 2))))]
    for number in range(draw(st.integers(0, 12))):
        calls = draw(st.integers(0, 3))
        messages += turn(number, calls, draw(st.integers(0 if calls else 1, 2)), draw(st.integers(1, 3)))
    if draw(st.booleans()):
        messages.append(Message(role="assistant", content=(Text(text="paused"),)))
    return tuple(messages)


@given(conversations(), st.integers(1, 14))
def test_every_view_is_one_that_the_api_accepts(messages: tuple[Message, ...], turns: int) -> None:
    assert flaw(messages) is None
    shown = view(turns, messages)
    assert flaw(shown) is None
    assert shown[0] == messages[0]
    assert shown[-1] == messages[-1]
    assert view(turns, shown) == shown


@given(conversations(), st.integers(1, 14))
def test_a_view_is_the_request_and_an_unbroken_end_of_whole_exchanges(
    messages: tuple[Message, ...], turns: int
) -> None:
    shown = view(turns, messages)
    if shown != messages:
        kept = shown[1:]
        assert kept == messages[-len(kept) :]
        assert messages[-len(kept) - 1].role == "user"
    roles = [message.role for message in shown]
    asked = sum(pair == ("user", "assistant") for pair in pairwise(roles))
    assert asked == turns or (asked < turns and shown == messages)


def test_the_last_exchanges_stay_with_their_notes() -> None:
    messages = (user("the request"), *turn(1, 1, 0), *turn(2, 2, 1), *turn(3, 0, 1))
    shown = view(2, messages)
    assert [message.text for message in shown] == ["the request", "turn 2", "", "note 0", "turn 3", "note 0"]
    assert view(3, messages) == messages


def test_a_window_of_nothing_is_refused() -> None:
    assert faults("context", "window", {"turns": 0})
    assert faults("context", "window", {"turns": "3"})
    assert not faults("context", "window", {"turns": 3})


def test_the_engine_sends_what_the_window_shows(make_trial: Callable[..., Trial], does: Any, says: Any) -> None:
    script = (*[Line(calls=(("t", {}),))] * 5, Line(text="done"))
    parts = Parts(
        loop=React(),
        provider=Scripted(script=script),
        policies=lambda _: (("window", build("context", Spec(kind="window", options={"turns": 2}))),),
        environment=Bare(),
        tools=(does(name="t", action=lambda _: "ok"),),
        graders=(says(),),
    )
    record = play_trial(make_trial(), parts, ManualClock())
    asked = [(event.sent, event.held) for event in record.events if isinstance(event, Asked)]
    assert record.outcome == "passed"
    assert asked == [(1, 1), (3, 3), (5, 5), (5, 7), (5, 9), (5, 11)]

"""Laws that every context policy keeps, whatever the transcript: what it shows is a request that the API accepts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.core.message import Message, Text, ToolCall, ToolResult, user
from evalkit.core.plan import Spec
from evalkit.core.protocols import History, Memo
from evalkit.core.record import Tally
from evalkit.parts import build, kinds
from evalkit.serve.history import flaw

REQUEST = "find the code word"

words = st.text("abc xyz", min_size=1, max_size=40).filter(str.strip)


@st.composite
def transcripts(draw: st.DrawFn) -> tuple[Message, ...]:
    """A transcript as the session makes them: a request, then turns with calls all answered, notes in between."""
    messages = [user(REQUEST)]
    for turn in range(draw(st.integers(0, 9))):
        calls = tuple(
            ToolCall(id=f"c{turn}_{number}", name=draw(st.sampled_from(["read", "write"])), input={"path": draw(words)})
            for number in range(draw(st.integers(0, 3)))
        )
        texts = (Text(text=draw(words)),) if draw(st.booleans()) or not calls else ()
        messages.append(Message(role="assistant", content=(*texts, *calls)))
        if calls:
            results = tuple(
                ToolResult(
                    tool_use_id=call.id, content=draw(words) * draw(st.integers(1, 30)), is_error=draw(st.booleans())
                )
                for call in calls
            )
            messages.append(Message(role="user", content=results))
        if not calls or draw(st.integers(0, 3)) == 0:
            messages.append(user(draw(words)))
    return tuple(messages)


POLICIES = [
    *(Spec(kind=kind) for kind in kinds("context")),
    Spec(kind="compact", options={"style": "reinitialise"}),
    Spec(kind="window", options={"turns": 1}),
    Spec(kind="clear_tool_results", options={"keep": 0}),
]


def viewed(policy: Any, messages: tuple[Message, ...], window_tokens: int = 50) -> tuple[tuple[Message, ...], int]:
    """The view of a policy after each turn of a transcript in order, its memos written as they come due; and how many were."""
    memos: tuple[Memo, ...] = ()
    shown: tuple[Message, ...] = ()
    for end in [place for place, message in enumerate(messages) if message.role == "assistant"] + [len(messages)]:
        so_far = messages[:end]
        history = History(
            messages=so_far, memos=memos, tally=Tally(turns=end), prompt_tokens=0, window_tokens=window_tokens
        )
        due = policy.due(history)
        if due is not None:
            assert flaw(due.messages) is None
            assert len(memos) < due.upto < len(so_far)
            memos = (*memos, Memo(text=f"memo {len(memos)}", upto=due.upto, turn=end))
        history = History(
            messages=so_far, memos=memos, tally=Tally(turns=end), prompt_tokens=0, window_tokens=window_tokens
        )
        shown = policy.view(history)
        assert flaw(shown) is None, shown
        assert REQUEST in shown[0].text
    return shown, len(memos)


@pytest.mark.parametrize("spec", POLICIES, ids=lambda spec: f"{spec.kind}{dict(spec.options) or ''}")
@settings(max_examples=60, deadline=None)
@given(messages=transcripts())
def test_every_view_is_a_request_that_the_api_accepts_and_holds_the_users_request(
    spec: Spec, messages: tuple[Message, ...]
) -> None:
    policy = build("context", spec)
    shown, _ = viewed(policy, messages)
    kept = [message for message in messages if message.role == "assistant"]
    assert all(message in kept for message in shown if message.role == "assistant"), "an assistant turn was edited"


@settings(max_examples=60, deadline=None)
@given(messages=transcripts())
def test_policies_compose(messages: tuple[Message, ...]) -> None:
    first, second = build("context", Spec(kind="window")), build("context", Spec(kind="clear_tool_results"))
    assert flaw(viewed(second, viewed(first, messages)[0])[0]) is None


def long_talk(turns: int = 8) -> tuple[Message, ...]:
    """A transcript of one call a turn, each with a result of about 50 tokens."""
    messages = [user(REQUEST)]
    for turn in range(turns):
        call = ToolCall(id=f"c{turn}", name="read_file", input={"path": f"f{turn % 3}.txt"})
        messages.append(Message(role="assistant", content=(call,)))
        result = ToolResult(tool_use_id=call.id, content=f"result {turn} " + "x" * 200)
        messages.append(Message(role="user", content=(result,)))
    return tuple(messages)


def history(messages: tuple[Message, ...], *memos: Memo, window: int | None = 600, prompt: int = 0) -> History:
    """What a policy sees."""
    return History(messages=messages, memos=memos, tally=Tally(), prompt_tokens=prompt, window_tokens=window)


def test_compact_sums_up_the_oldest_third_past_half_of_the_window_and_again() -> None:
    policy, talk = build("context", Spec(kind="compact")), long_talk(9)
    assert policy.due(history(talk[:7])) is None
    due = policy.due(history(talk))
    assert due is not None
    assert due.upto == 1 + 2 * 2  # int(9 × .33) exchanges
    assert "result 0" in due.messages[0].text
    assert "result 2" not in due.messages[0].text
    memo = Memo(text="the word is plum", upto=due.upto, turn=9)
    shown = policy.view(history(talk, memo))
    assert "the word is plum" in shown[0].text
    assert len(shown) == len(talk) - 4
    again = policy.due(history(talk, memo))
    assert again is not None
    assert again.upto > due.upto
    assert "the word is plum" in again.messages[0].text


def test_compact_goes_by_the_reported_size_of_the_prompt_where_that_is_larger() -> None:
    policy = build("context", Spec(kind="compact"))
    assert policy.due(history(long_talk(3), window=10_000)) is None
    assert policy.due(history(long_talk(3), window=10_000, prompt=5_001)) is not None
    assert policy.due(history(long_talk(3), window=None, prompt=10**9)) is None


def test_reinitialise_starts_again_from_a_summary_and_the_files_touched_last() -> None:
    policy, talk = build("context", Spec(kind="compact", options={"style": "reinitialise", "files": 2})), long_talk(9)
    due = policy.due(history(talk))
    assert due is not None
    assert due.upto == len(talk) - 2
    shown = policy.view(history(talk, Memo(text="all is well", upto=due.upto, turn=9)))
    assert len(shown) == 3
    text = shown[0].text
    assert "all is well" in text
    assert "[File f0.txt, as last seen]\nresult 6" in text
    assert "[File f1.txt, as last seen]\nresult 7" in text
    assert "f2.txt" not in text


def test_clear_tool_results_blanks_all_but_the_last() -> None:
    shown = build("context", Spec(kind="clear_tool_results", options={"keep": 2})).view(history(long_talk(5)))
    contents = [result.content for message in shown for result in message.results]
    assert [content.startswith("[cleared") for content in contents] == [True, True, True, False, False]


def test_a_scratchpad_shows_the_pad_and_the_last_exchange_and_is_rewritten_each_turn() -> None:
    policy, talk = build("context", Spec(kind="scratchpad")), long_talk(4)
    due = policy.due(history(talk))
    assert due is not None
    assert (due.upto, due.must_shrink) == (7, False)
    memo = Memo(text="seen three files", upto=7, turn=3)
    shown = policy.view(history(talk, memo))
    assert "seen three files" in shown[0].text
    assert shown[1:] == talk[7:]
    assert policy.due(history(talk, memo)) is None
    more = long_talk(5)
    again = policy.due(history(more, memo))
    assert again is not None
    assert "seen three files" in again.messages[0].text
    assert "result 3" in again.messages[0].text
    assert "result 0" not in again.messages[0].text


def test_a_hybrid_keeps_the_last_turns_and_notes_on_those_before() -> None:
    policy, talk = build("context", Spec(kind="hybrid", options={"turns": 2})), long_talk(5)
    assert policy.due(history(talk[:5])) is None
    due = policy.due(history(talk))
    assert due is not None
    assert due.upto == 7
    shown = policy.view(history(talk, Memo(text="notes", upto=7, turn=5)))
    assert shown[1:] == talk[7:]
    assert "notes" in shown[0].text

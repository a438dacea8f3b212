"""The core's words and the API's JSON, both ways, without the SDK."""

from __future__ import annotations

from typing import Any

import pytest

from evalkit.core.message import Message, Text, ToolCall, ToolResult, ToolSpec, Usage, user
from evalkit.parts.providers._messages_api import (
    NOT_AN_OBJECT,
    NoMessage,
    UnknownStop,
    is_listed,
    message_params,
    read_reply,
    scrubbed,
    tool_params,
)

THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "sig"}
SAID = {"type": "text", "text": "so"}
CALL = {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": 1}}


def given(**changes: Any) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m-20250101",
        "content": [SAID],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 2},
        **changes,
    }


def test_plain_blocks_need_no_verbatim_copy() -> None:
    reply = read_reply(given(content=[{**SAID, "citations": None}, {**CALL, "caller": {"type": "direct"}}]))
    assert reply.message == Message(
        role="assistant", content=(Text(text="so"), ToolCall(id="c1", name="look", input={"at": 1}))
    )
    assert (reply.stop_reason, reply.model, reply.usd) == ("end_turn", "m-20250101", None)


@pytest.mark.parametrize(
    "block",
    [
        THOUGHT,
        {"type": "redacted_thinking", "data": "x"},
        {"type": "thinking", "thinking": "a peer's, without a signature"},
        {"type": "a_kind_of_next_year", "anything": [1, {"x": None}]},
        {**SAID, "citations": [{"type": "char_location"}]},
        {**CALL, "caller": {"type": "code_execution"}},
    ],
)
def test_blocks_that_say_more_go_back_as_they_came(block: dict[str, Any]) -> None:
    reply = read_reply(given(content=[block, SAID]))
    assert reply.message.verbatim == (block, SAID)
    assert message_params([reply.message]) == [{"role": "assistant", "content": [block, SAID]}]


@pytest.mark.parametrize("arguments", ["{cut off", None, [1], 7, True])
def test_arguments_that_are_no_object_are_kept_in_one(arguments: Any) -> None:
    reply = read_reply(given(content=[{**CALL, "input": arguments}]))
    assert reply.calls[0].input == {NOT_AN_OBJECT: arguments}
    assert message_params([reply.message])[0]["content"][0]["input"] == {NOT_AN_OBJECT: arguments}


def test_arguments_that_are_no_object_are_mended_in_verbatim_blocks_too() -> None:
    reply = read_reply(given(content=[THOUGHT, {**CALL, "input": "{cut"}]))
    assert message_params([reply.message])[0]["content"] == [THOUGHT, {**CALL, "input": {NOT_AN_OBJECT: "{cut"}}]


def test_messages_are_written_one_for_one() -> None:
    messages = (
        user("a"),
        Message(role="assistant", content=(Text(text="b"), ToolCall(id="c", name="n", input={"x": 1}))),
        Message(role="user", content=(ToolResult(tool_use_id="c", content="d"),)),
        user("e"),
    )
    assert message_params(messages) == [
        {"role": "user", "content": [{"type": "text", "text": "a"}]},
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "b"}, {"type": "tool_use", "id": "c", "name": "n", "input": {"x": 1}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "d"}]},
        {"role": "user", "content": [{"type": "text", "text": "e"}]},
    ]


def test_what_the_api_refuses_for_being_empty_is_left_out_or_named() -> None:
    empty = read_reply(given(content=[])).message
    blank = read_reply(given(content=[{"type": "text", "text": " \n"}, CALL])).message
    failed = Message(role="user", content=(ToolResult(tool_use_id="c1", content="", is_error=True),))
    thoughtful = read_reply(given(content=[THOUGHT, {"type": "text", "text": ""}])).message
    assert message_params([user("a"), empty, user("")]) == [
        {"role": "user", "content": [{"type": "text", "text": "a"}]},
        {"role": "user", "content": [{"type": "text", "text": "(empty)"}]},
    ]
    assert message_params([blank]) == [{"role": "assistant", "content": [CALL]}]
    assert message_params([thoughtful]) == [{"role": "assistant", "content": [THOUGHT]}]
    assert message_params([failed])[0]["content"] == [
        {"type": "tool_result", "tool_use_id": "c1", "content": "(no output)", "is_error": True}
    ]


def test_tools_are_written_without_what_is_ours_alone() -> None:
    schema = {"type": "object", "properties": {}}
    specs = (
        ToolSpec(name="a", description="A.", input_schema=schema, writes=True, critical=True),
        ToolSpec(name="b", description="", input_schema=schema),
    )
    assert tool_params(specs) == [
        {"name": "a", "description": "A.", "input_schema": schema},
        {"name": "b", "input_schema": schema},
    ]


@pytest.mark.parametrize(
    ("usage", "read"),
    [
        ({}, Usage(input=3, output=2)),
        ({"cache_read_input_tokens": 5}, Usage(input=3, output=2, cache_read=5)),
        ({"cache_creation_input_tokens": 7}, Usage(input=3, output=2, cache_write_5m=7)),
        ({"cache_creation_input_tokens": None, "cache_creation": None}, Usage(input=3, output=2)),
        (
            {
                "cache_creation_input_tokens": 7,
                "cache_creation": {"ephemeral_5m_input_tokens": 4, "ephemeral_1h_input_tokens": 3},
            },
            Usage(input=3, output=2, cache_write_5m=4, cache_write_1h=3),
        ),
        (
            {"cache_creation_input_tokens": 9, "cache_creation": {"ephemeral_1h_input_tokens": 3}},
            Usage(input=3, output=2, cache_write_5m=6, cache_write_1h=3),
        ),
        ({"cache_creation": {"ephemeral_5m_input_tokens": 4}}, Usage(input=3, output=2, cache_write_5m=4)),
        ({"server_tool_use": {"web_search_requests": 0}}, Usage(input=3, output=2)),
    ],
)
def test_tokens_fall_into_five_buckets(usage: dict[str, Any], read: Usage) -> None:
    assert read_reply(given(usage={"input_tokens": 3, "output_tokens": 2, **usage})).usage == read


@pytest.mark.parametrize(
    "thing",
    [
        None,
        [],
        "text",
        7,
        {},
        {"ok": True},
        {"type": "error", "error": {}},
        given(type="completion"),
        given(role="user"),
        given(content="text"),
        given(content=None),
        given(content=["text"]),
        given(content=[{"text": "x"}]),
        given(content=[{"type": "text"}]),
        given(content=[{"type": "text", "text": None}]),
        given(content=[{"type": "tool_use", "name": "look", "input": {}}]),
        given(content=[{"type": ["text"], "text": "x"}]),
        given(model=None),
        given(stop_reason=None),
        given(stop_reason=5),
        given(usage=None),
        given(usage={}),
        given(usage={"input_tokens": 3}),
        given(usage={"input_tokens": -1, "output_tokens": 1}),
        given(usage={"input_tokens": True, "output_tokens": 1}),
        given(usage={"input_tokens": 1.5, "output_tokens": 1}),
        given(usage={"input_tokens": 10**400, "output_tokens": 1}),
        given(usage={"input_tokens": 1, "output_tokens": 1, "cache_creation": [1]}),
    ],
)
def test_what_is_no_message_is_told_apart(thing: Any) -> None:
    with pytest.raises(NoMessage):
        read_reply(thing)


def test_a_stop_reason_of_next_year_is_named() -> None:
    with pytest.raises(UnknownStop, match="out_of_patience"):
        read_reply(given(stop_reason="out_of_patience"))


@pytest.mark.parametrize(
    "reason",
    ["end_turn", "tool_use", "max_tokens", "stop_sequence", "pause_turn", "refusal", "model_context_window_exceeded"],
)
def test_each_known_stop_reason_is_read(reason: str) -> None:
    assert read_reply(given(stop_reason=reason)).stop_reason == reason


@pytest.mark.parametrize(
    ("usage", "listed"),
    [
        ({}, True),
        ({"speed": "standard", "service_tier": "standard", "inference_geo": "not_available"}, True),
        ({"speed": None, "service_tier": None, "inference_geo": "global"}, True),
        ({"speed": "fast"}, False),
        ({"service_tier": "priority"}, False),
        ({"inference_geo": "us"}, False),
    ],
)
def test_what_was_billed_otherwise_than_listed_is_seen(usage: dict[str, Any], listed: bool) -> None:
    assert is_listed(given(usage={"input_tokens": 1, "output_tokens": 1, **usage})) is listed


def test_lone_surrogates_are_spelt_out_and_nothing_else_changes() -> None:
    value = {"a\ud800": ["é😀", 1, None, 2.5, True, {"b": "\udfff"}]}
    assert scrubbed(value) == {"a\\ud800": ["é😀", 1, None, 2.5, True, {"b": "\\udfff"}]}

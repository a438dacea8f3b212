"""Bodies become the request that a provider in the same process would get, or a refusal that leads to the place."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.core.errors import ContextOverflow, ProviderError
from evalkit.core.message import Message, Picture, Reply, Request, Text, ToolCall, ToolResult, ToolSpec, Usage, user
from evalkit.parts.providers._messages_api import message_params
from evalkit.serve.fields import BadRequest
from evalkit.serve.wire import body_of, dump, error_of, events_of, parse

PLAIN: dict[str, Any] = {"model": "m", "max_tokens": 10, "messages": [{"role": "user", "content": "hi"}]}


def body(**changes: Any) -> bytes:
    return json.dumps({**PLAIN, **changes}).encode()


def test_a_plain_body_is_read() -> None:
    call = parse(body())
    assert call.request == Request(system="", messages=(user("hi"),), max_tokens=10, seed=0, call=0)
    assert (call.model, call.user_id, call.stream) == ("m", None, False)


def test_system_and_results_may_be_blocks() -> None:
    text = {"type": "text", "text": "a"}
    messages = [
        {"role": "user", "content": [text]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "n", "input": {"x": 1}}]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c", "content": [text, text], "is_error": True}],
        },
    ]
    request = parse(body(system=[text, text], messages=messages)).request
    assert request.system == "a\na"
    assert request.messages[1].content == (ToolCall(id="c", name="n", input={"x": 1}),)
    assert request.messages[2].content == (ToolResult(tool_use_id="c", content="a\na", is_error=True),)
    assert all(message.verbatim is None for message in request.messages)


def test_blocks_without_words_in_core_stay_verbatim() -> None:
    blocks = [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "so"}]
    image = [{"type": "image", "source": {}}, {"type": "text", "text": "see"}]
    messages = [*PLAIN["messages"], {"role": "assistant", "content": blocks}, {"role": "user", "content": image}]
    request = parse(body(messages=messages)).request
    assert request.messages[1].content == (Text(text="so"),)
    assert request.messages[1].verbatim == tuple(blocks)
    assert request.messages[2].verbatim == tuple(image)


def test_a_picture_arrives_as_it_was_sent() -> None:
    sent = user("see", Picture.png(b"\x89PNG\r\n\x1a\n" + bytes(4) + b"IHDR" + b"\0\0\1\0\0\0\0\2" + bytes(9)))
    (message,) = parse(body(messages=message_params([sent]))).request.messages
    assert message == sent
    assert message.content[1] == Picture(
        data=message_params([sent])[0]["content"][1]["source"]["data"], width=256, height=2
    )


@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"-Infinity"])
def test_numbers_that_json_does_not_have_are_refused(number: bytes) -> None:
    call = {"type": "tool_use", "id": "c", "name": "n", "input": {"x": "HERE"}}
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": [call]}]
    with pytest.raises(BadRequest, match="no JSON number"):
        parse(body(messages=messages).replace(b'"HERE"', number))


def test_tools_that_may_not_be_used_count_as_none() -> None:
    tools = [{"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}]
    spec = ToolSpec(name="look", description="Looks.", input_schema={"type": "object"})
    assert parse(body(tools=tools)).request.tools == (spec,)
    assert parse(body(tools=tools, tool_choice={"type": "none"})).request.tools == ()


@pytest.mark.parametrize(
    ("user_id", "seed", "call"),
    [
        ("evalkit-ff-12", 255, 12),
        (f"evalkit-{2**64 - 1:x}-1", 2**64 - 1, 1),
        ("somebody", 0, 0),
        ("evalkit-xyz-1", 0, 0),
        ("evalkit-ff-", 0, 0),
        ("evalkit-ff-1-2", 0, 0),
        (f"evalkit-{'f' * 17}-1", 0, 0),
    ],
)
def test_seed_and_call_are_read_from_the_name_of_the_asker(user_id: str, seed: int, call: int) -> None:
    read = parse(body(metadata={"user_id": user_id}))
    assert (read.request.seed, read.request.call, read.user_id) == (seed, call, user_id)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model": None}, "model: Field required"),
        ({"model": 3}, "model: Input should be a valid string"),
        ({"max_tokens": None}, "max_tokens: Field required"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": True}, "max_tokens"),
        ({"max_tokens": "5"}, "max_tokens"),
        ({"messages": None}, "messages: Field required"),
        ({"messages": {}}, "messages: Input should be a valid list"),
        ({"messages": []}, "at least one message"),
        ({"messages": [3]}, "messages.0: Input should be a valid dictionary"),
        ({"messages": [{"role": "system", "content": "hi"}]}, "messages.0.role: Input should be 'user' or 'assistant'"),
        ({"messages": [{"role": "user"}]}, "messages.0.content: Field required"),
        ({"messages": [{"role": "user", "content": ""}]}, "messages.0: all messages must have non-empty content"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "messages.0.content.0.text: Field required"),
        ({"messages": [{"role": "user", "content": [{"text": "x"}]}]}, "messages.0.content.0.type: Field required"),
        ({"tools": [{"name": "a b", "input_schema": {"type": "object"}}]}, "tools.0.name"),
        ({"tools": [{"name": "a"}]}, "tools.0.input_schema: Field required"),
        ({"tools": [{"name": "a", "input_schema": {"type": "string"}}]}, "tools.0.input_schema.type"),
        ({"tools": [{"name": "web_search", "type": "web_search_20250305"}]}, "runs on the API's side"),
        ({"system": 5}, "system: Input should be a valid list"),
        ({"metadata": []}, "metadata"),
        ({"metadata": {"user_id": 5}}, "metadata.user_id"),
    ],
)
def test_what_the_api_refuses_is_refused_with_its_place(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(BadRequest) as caught:
        parse(body(**changes))
    assert said in str(caught.value)
    assert caught.value.status == 400


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"\xff\xfe", b"[1]", b"null", b"[" * 100_000, b'{"model": NaN}', b'{"a": -Infinity}']
)
def test_bytes_that_are_no_json_object_are_refused(raw: bytes) -> None:
    with pytest.raises(BadRequest):
        parse(raw)


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("ab \xe9", max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(("role", "content", "type", "text", "id", "name", "input", "tool_use_id"))
            | st.text("ab", max_size=3),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(("model", "max_tokens", "messages", "tools", "system", "metadata")), JSONS))
def test_any_json_is_read_or_refused(given: dict[str, Any]) -> None:
    """Law: no body makes the parser fail in another way than by a refusal."""
    try:
        parse(dump({**PLAIN, **given}))
    except BadRequest:
        return


def reply(*content: Any, **changes: Any) -> Reply:
    message = Message(role="assistant", content=content, verbatim=changes.pop("verbatim", None))
    return Reply(message=message, stop_reason="tool_use", usage=Usage(input=1, output=2, **changes), model="simulated")


def test_a_reply_is_written_with_all_its_counters() -> None:
    written = body_of(reply(Text(text="a"), cache_read=3, cache_write_5m=4, cache_write_1h=5), "m", "abc")
    assert written["id"] == "msg_abc"
    assert written["model"] == "simulated"
    assert written["content"] == [{"type": "text", "text": "a"}]
    assert written["usage"]["cache_creation_input_tokens"] == 9
    assert written["usage"]["cache_creation"] == {"ephemeral_5m_input_tokens": 4, "ephemeral_1h_input_tokens": 5}


def test_a_reply_of_its_own_blocks_is_written_as_they_are() -> None:
    blocks = ({"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "a"})
    assert body_of(reply(Text(text="a"), verbatim=blocks), "m", "x")["content"] == list(blocks)


def test_a_reply_cannot_hold_results() -> None:
    with pytest.raises(TypeError, match="never tool results"):
        body_of(reply(ToolResult(tool_use_id="a", content="b")), "m", "x")


def test_a_stream_says_the_same_as_the_message() -> None:
    blocks = ({"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "redacted_thinking", "data": "x"})
    message = body_of(reply(Text(text="a"), verbatim=blocks), "m", "x")
    lines = events_of(message).decode().strip().split("\n\n")
    events = [json.loads(line.split("\ndata: ")[1]) for line in lines]
    assert (events[0]["type"], events[-1]["type"]) == ("message_start", "message_stop")
    assert {"type": "thinking_delta", "thinking": "hm"} in [event.get("delta") for event in events]


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (ContextOverflow("9 tokens > 5 maximum"), 400, "invalid_request_error"),
        (BadRequest("no", 413), 413, "request_too_large"),
        (ProviderError("x", status=401, fatal=True), 401, "authentication_error"),
        (ProviderError("x", status=529, transient=True), 529, "overloaded_error"),
        (ProviderError("x", transient=True), 500, "api_error"),
        (ProviderError("x"), 400, "invalid_request_error"),
        (ProviderError("x", status=502), 502, "api_error"),
        (ProviderError("x", status=418), 418, "invalid_request_error"),
    ],
)
def test_errors_are_written_as_the_api_writes_them(error: Any, status: int, kind: str) -> None:
    written = error_of(error)
    assert written[0] == status
    assert written[2]["type"] == "error"
    assert written[2]["error"]["type"] == kind


def test_rate_limits_and_spend_limits_differ() -> None:
    _, headers, passing = error_of(ProviderError("x", status=429, transient=True, retry_after=2.5))
    assert headers == {"retry-after": "2.5"}
    assert "details" not in passing["error"]
    _, headers, final = error_of(ProviderError("x", status=429, fatal=True))
    assert headers == {"x-should-retry": "false"}
    assert final["error"]["details"] == {"error_code": "enforced_spend_limit_reached"}

"""The Messages API as bytes: bodies to requests, replies and errors to bodies.

Invariant: what the API would refuse for its shape or its history is refused here too, as an `invalid_request_error`
whose text leads to the place. What is accepted becomes the very `Request` that a provider in the same process gets:
blocks that core has no words for stay in `verbatim`, `tool_choice: none` counts as no tools.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from evalkit.core.errors import ContextOverflow, ProviderError
from evalkit.core.message import (
    JSON,
    Block,
    Message,
    Picture,
    Reply,
    Request,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
)
from evalkit.serve.fields import BadRequest, a_list, a_string, an_object, an_optional_object
from evalkit.serve.history import flaw

_ASKER = re.compile(r"evalkit-([0-9a-f]{1,16})-([0-9]{1,9})")
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    411: "invalid_request_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A body as it was understood: the core's request, and what stands beside it."""

    request: Request
    model: str
    user_id: str | None
    stream: bool


def parse(body: bytes) -> Call:
    """Read the body of a POST to `/v1/messages`; raises `BadRequest` where the API would answer 400."""
    try:
        given = json.loads(body, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"The request body is not valid JSON: {error}") from error
    fields = an_object(given, "body")
    model = a_string(fields.get("model"), "model")
    user_id = an_optional_object(fields.get("metadata"), "metadata").get("user_id")
    if user_id is not None:
        a_string(user_id, "metadata.user_id")
    messages = tuple(
        _message(item, f"messages.{at}") for at, item in enumerate(a_list(fields.get("messages"), "messages"))
    )
    if wrong := flaw(messages):
        raise BadRequest(wrong)
    limit = fields.get("max_tokens")
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise BadRequest("max_tokens: Field required, an integer of at least 1")
    silent = an_optional_object(fields.get("tool_choice"), "tool_choice").get("type") == "none"
    tools = tuple(_tool(item, f"tools.{at}") for at, item in enumerate(a_list(fields.get("tools", []), "tools")))
    named = _ASKER.fullmatch(user_id or "")
    request = Request(
        system=_text(fields.get("system", ""), "system"),
        messages=messages,
        tools=() if silent else tools,
        max_tokens=limit,
        seed=int(named[1], 16) if named else 0,
        call=int(named[2]) if named else 0,
    )
    return Call(request=request, model=model, user_id=user_id, stream=fields.get("stream") is True)


def body_of(reply: Reply, model: str, identity: str) -> dict[str, JSON]:
    """Write a reply as the API's message object; the reply's own model name goes before the one that was asked for."""
    blocks = reply.message.verbatim
    return {
        "id": f"msg_{identity}",
        "type": "message",
        "role": "assistant",
        "model": reply.model or model,
        "content": [_block(block) for block in reply.message.content] if blocks is None else [dict(b) for b in blocks],
        "stop_reason": reply.stop_reason,
        "stop_sequence": None,
        "usage": _usage(reply.usage),
    }


def error_of(error: ContextOverflow | ProviderError | BadRequest) -> tuple[int, dict[str, str], dict[str, JSON]]:
    """Status, extra headers and body of an error: what a provider in the same process raises, as the API would show it.

    A fatal 429 is the spend limit of an organisation, which the API marks by an error code of its own.
    """
    status, headers = 400, {}
    inner: dict[str, JSON] = {"message": str(error)}
    if isinstance(error, ContextOverflow):
        inner["message"] = f"prompt is too long: {error}"
    elif isinstance(error, BadRequest):
        status = error.status
    else:
        status = error.status or (500 if error.transient else 400)
        if error.retry_after is not None:
            headers["retry-after"] = f"{error.retry_after:g}"
        if error.fatal and status == 429:
            headers["x-should-retry"] = "false"
            inner["details"] = {"error_code": "enforced_spend_limit_reached"}
    inner["type"] = _ERROR_TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
    return status, headers, {"type": "error", "error": inner}


def events_of(message: Mapping[str, JSON]) -> bytes:
    """Write a message object as the server-sent events of a stream, each block in one delta."""
    start = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
    events: list[dict[str, JSON]] = [{"type": "message_start", "message": start}]
    for index, block in enumerate(message["content"]):
        opened, deltas = _in_deltas(block)
        events.append({"type": "content_block_start", "index": index, "content_block": opened})
        events.extend({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
        events.append({"type": "content_block_stop", "index": index})
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": message["stop_sequence"]}
    events.append({"type": "message_delta", "delta": ending, "usage": message["usage"]})
    events.append({"type": "message_stop"})
    return b"".join(b"event: %s\ndata: %s\n\n" % (event["type"].encode(), dump(event)) for event in events)


def dump(value: JSON) -> bytes:
    """Write a JSON value compactly, in ASCII, so that lone surrogates pass too."""
    return json.dumps(value, separators=(",", ":")).encode("ascii")


def _in_deltas(block: Mapping[str, JSON]) -> tuple[dict[str, JSON], list[dict[str, JSON]]]:
    """Split a block into how it opens and what then comes; a block of an unknown kind opens whole."""
    match block["type"]:
        case "text":
            return {**block, "text": ""}, [{"type": "text_delta", "text": block["text"]}]
        case "tool_use":
            given = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            return {**block, "input": {}}, [given]
        case "thinking":
            thought = {"type": "thinking_delta", "thinking": block["thinking"]}
            signed = {"type": "signature_delta", "signature": block.get("signature", "")}
            return {**block, "thinking": "", "signature": ""}, [thought, signed]
        case _:
            return dict(block), []


def _block(block: Block) -> dict[str, JSON]:
    """Write a block of a reply."""
    if isinstance(block, ToolCall):
        return {"type": "tool_use", "id": block.id, "name": block.name, "input": dict(block.input)}
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    raise TypeError("a model's reply holds texts and tool calls, never tool results")


def _usage(usage: Usage) -> dict[str, JSON]:
    """Write the token counters in the API's names."""
    return {
        "input_tokens": usage.input,
        "output_tokens": usage.output,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation_input_tokens": usage.cache_write_5m + usage.cache_write_1h,
        "cache_creation": {
            "ephemeral_5m_input_tokens": usage.cache_write_5m,
            "ephemeral_1h_input_tokens": usage.cache_write_1h,
        },
    }


def _message(given: JSON, where: str) -> Message:
    """Read one message; its blocks stay in `verbatim` where core's words would lose something."""
    fields = an_object(given, where)
    role = fields.get("role")
    if role not in ("user", "assistant"):
        raise BadRequest(f"{where}.role: Input should be 'user' or 'assistant'")
    content = fields.get("content")
    if isinstance(content, str):
        return Message(role=_role(role), content=(Text(text=content),) if content else ())
    raw = tuple(an_object(item, f"{where}.content.{at}") for at, item in enumerate(a_list(content, f"{where}.content")))
    read = [_read(block, f"{where}.content.{at}") for at, block in enumerate(raw)]
    blocks = tuple(block for block in read if block is not None)
    return Message(role=_role(role), content=blocks, verbatim=raw if any(map(_is_more, raw, read)) else None)


def _is_more(block: Mapping[str, JSON], read: Block | None) -> bool:
    """Whether a block holds what core's words would lose: another kind of block, in itself or in a tool's result."""
    if read is None:
        return True
    if block["type"] == "tool_result" and isinstance(block.get("content"), list):
        return any(inner.get("type") != "text" for inner in block["content"])
    return False


def _role(role: str) -> Literal["user", "assistant"]:
    """Narrow a role that was looked at."""
    return "user" if role == "user" else "assistant"


def _read(block: Mapping[str, JSON], where: str) -> Block | None:
    """Read one block; None for a kind that core has no words for (thinking, pictures by address, …), which the API may well know."""
    match a_string(block.get("type"), f"{where}.type"):
        case "text":
            return Text(text=a_string(block.get("text"), f"{where}.text"))
        case "tool_use":
            return ToolCall(
                id=a_string(block.get("id"), f"{where}.tool_use.id"),
                name=a_string(block.get("name"), f"{where}.tool_use.name"),
                input=an_object(block.get("input"), f"{where}.tool_use.input"),
            )
        case "tool_result":
            return ToolResult(
                tool_use_id=a_string(block.get("tool_use_id"), f"{where}.tool_result.tool_use_id"),
                content=_text(block.get("content", ""), f"{where}.tool_result.content"),
                is_error=block.get("is_error") is True,
            )
        case "image":
            return _picture(an_object(block.get("source"), f"{where}.image.source"))
        case _:
            return None


def _picture(source: Mapping[str, JSON]) -> Picture | None:
    """Read a PNG picture that is sent along; None for every other picture."""
    try:
        return Picture.png(base64.b64decode(source["data"], validate=True))
    except (KeyError, TypeError, ValueError):
        return None


def _tool(given: JSON, where: str) -> ToolSpec:
    """Read one tool; tools that the API itself would run are refused, for nothing here runs them."""
    fields = an_object(given, where)
    if fields.get("type", "custom") not in ("custom", None):
        raise BadRequest(
            f"{where}: {fields['type']!r} is a tool that runs on the API's side, which this server does not have"
        )
    name = a_string(fields.get("name"), f"{where}.name")
    if not _TOOL_NAME.fullmatch(name):
        raise BadRequest(f"{where}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
    schema = an_object(fields.get("input_schema"), f"{where}.input_schema")
    if schema.get("type") != "object":
        raise BadRequest(f"{where}.input_schema.type: Input should be 'object'")
    described = fields.get("description")
    text = "" if described is None else a_string(described, f"{where}.description")
    return ToolSpec(name=name, description=text, input_schema=schema)


def _text(given: JSON, where: str) -> str:
    """Read text that may be given as a string or as blocks, of which the texts count."""
    if given is None or isinstance(given, str):
        return given or ""
    blocks = [an_object(item, f"{where}.{at}") for at, item in enumerate(a_list(given, where))]
    texts = [(at, block.get("text")) for at, block in enumerate(blocks) if block.get("type") == "text"]
    return "\n".join(a_string(text, f"{where}.{at}.text") for at, text in texts)


def _no_number(name: str) -> float:
    """Refuse NaN and the infinities, which Python would read and JSON does not have."""
    raise ValueError(f"{name} is no JSON number")

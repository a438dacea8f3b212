"""What passes between a loop and a model: messages, requests, replies, usage and its price.

Invariant: an assistant message that is kept is kept verbatim. `Message.verbatim` holds the provider's own
blocks (thinking, citations) where `content` alone would lose something; a provider sends those back untouched.
The shapes follow the Messages API, so that a transcript reads the same on the wire, in a trace and in a test.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

JSON = Any
"""A value made of dict, list, str, int, float, bool and None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Text that the model or the user wrote."""

    text: str
    type: Literal["text"] = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool call that the model asked for; `input` is what it gave as arguments, valid or not."""

    id: str
    name: str
    input: Mapping[str, JSON]
    type: Literal["tool_use"] = "tool_use"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a tool call gave back; `tool_use_id` pairs it with its call."""

    tool_use_id: str
    content: str
    is_error: bool = False
    type: Literal["tool_result"] = "tool_result"


PIXELS_A_TOKEN = 750
"""What the Messages API says of the tokens of a picture: width times height, in pixels, divided by this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A PNG picture that is shown to the model: `data` in base64, `width` and `height` in pixels."""

    data: str
    width: int
    height: int
    type: Literal["image"] = "image"

    @classmethod
    def png(cls, data: bytes) -> Picture:
        """Take the bytes of a PNG file, whose header tells its size; raises `ValueError` where they are none."""
        if data[:8] != b"\x89PNG\r\n\x1a\n" or data[12:16] != b"IHDR" or len(data) < 33:
            raise ValueError("these bytes are no PNG picture")
        width, height = int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
        return cls(data=base64.b64encode(data).decode("ascii"), width=width, height=height)

    @property
    def tokens(self) -> int:
        """What it costs of a prompt, as the API counts."""
        return -(-self.width * self.height // PIXELS_A_TOKEN)


Block = Text | ToolCall | ToolResult | Picture


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One turn of a conversation."""

    role: Literal["user", "assistant"]
    content: tuple[Block, ...]
    verbatim: tuple[Mapping[str, JSON], ...] | None = None

    @property
    def text(self) -> str:
        """All text blocks, joined by newlines."""
        return "\n".join(block.text for block in self.content if isinstance(block, Text))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls in the order in which they were asked for."""
        return tuple(block for block in self.content if isinstance(block, ToolCall))

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """The tool results in the order of their calls."""
        return tuple(block for block in self.content if isinstance(block, ToolResult))


def user(text: str, *pictures: Picture) -> Message:
    """Make a user message of one text and the pictures that it speaks of."""
    return Message(role="user", content=(Text(text=text), *pictures))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """What a model is told of a tool, and what the dispatcher must know of it.

    `input_schema` is a JSON Schema of an object. `writes` marks a tool that changes the world: calls of one
    turn run in parallel only where none of them writes. `critical` marks a write whose failure ends the trial.
    """

    name: str
    description: str
    input_schema: Mapping[str, JSON]
    writes: bool = False
    critical: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Token counters as the API gives them; `input` excludes everything that touched the cache."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0

    @property
    def prompt(self) -> int:
        """All tokens of the prompt, cached or not."""
        return self.input + self.cache_read + self.cache_write_5m + self.cache_write_1h

    @property
    def total(self) -> int:
        """Prompt and output tokens: what the `tokens` cap counts."""
        return self.prompt + self.output


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars per million tokens of each bucket of `Usage`.

    Where a model costs more for long prompts, `above` is the price of a call whose whole prompt has more than
    `above_prompt_tokens` tokens.
    """

    input: float
    output: float
    cache_read: float = 0.0
    cache_write_5m: float = 0.0
    cache_write_1h: float = 0.0
    above_prompt_tokens: int | None = None
    above: Price | None = None

    def of(self, usage: Usage) -> float:
        """Cost of one call in US dollars."""
        if self.above is not None and self.above_prompt_tokens is not None and usage.prompt > self.above_prompt_tokens:
            return self.above.of(usage)
        return (
            usage.input * self.input
            + usage.output * self.output
            + usage.cache_read * self.cache_read
            + usage.cache_write_5m * self.cache_write_5m
            + usage.cache_write_1h * self.cache_write_1h
        ) / 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One question to a model.

    `seed` and `call` name this draw of this trial: a simulated model takes its randomness from them and from
    nothing else, a live model ignores them (the API has no seed). `call` counts all model calls of the trial from 1.
    """

    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int = 4096
    seed: int = 0
    call: int = 1


def fingerprint(request: Request) -> str:
    """Name what a request says in 24 hex digits: 8 of its system prompt and the tools' names and texts, 16 of its messages.

    What a harness varies beside the words (`max_tokens`, the seed) is left out. Equal words give equal fingerprints.
    """
    head, body = hashlib.blake2b(digest_size=4), hashlib.blake2b(digest_size=8)
    for text in (request.system, *(text for tool in request.tools for text in (tool.name, tool.description))):
        head.update(text.encode("utf-8", "surrogatepass") + b"\0")
    for message in request.messages:
        body.update(message.role.encode() + b"\1")
        for block in message.content:
            body.update(_words(block).encode("utf-8", "surrogatepass") + b"\0")
    return head.hexdigest() + body.hexdigest()


def _words(block: Block) -> str:
    """What a block says, its kind and its id included."""
    if isinstance(block, Text):
        return block.text
    if isinstance(block, ToolResult):
        return f"\2{block.tool_use_id}\0{block.is_error}\0{block.content}"
    if isinstance(block, Picture):
        return f"\4{block.data}"
    return f"\3{block.id}\0{block.name}\0{dict(block.input)}"


Nature = Literal["live", "local", "external", "simulated", "replayed"]
"""Where replies come from; anything but `live` is shown as a badge wherever its numbers are shown.

`live` is a model behind an API elsewhere, `local` one that is served on this machine, `simulated` no model at all, `replayed` the
recorded replies of an earlier run, of whatever nature those were; `external` is whatever the user's own agent asked, out of our sight.
"""

_LEAST_FIRST: tuple[Nature, ...] = ("replayed", "simulated", "external", "local", "live")


def least(natures: Iterable[Nature]) -> Nature:
    """Of several natures the one that proves the least: a trial with one simulated reply is no trial of a live model."""
    return min(natures, key=_LEAST_FIRST.index)


StopReason = Literal[
    "end_turn", "tool_use", "max_tokens", "stop_sequence", "pause_turn", "refusal", "model_context_window_exceeded"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A model's answer; `usd` is None where the price is unknown, never 0 instead.

    `nature` is what the answer said of its own origin, None where it said nothing: a server that simulates says so in
    each answer, and is believed.
    """

    message: Message
    stop_reason: StopReason
    usage: Usage = field(default_factory=Usage)
    usd: float | None = None
    model: str = ""
    nature: Nature | None = None

    @property
    def text(self) -> str:
        """The text of the answer."""
        return self.message.text

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls that the answer asks for."""
        return self.message.calls


CHARACTERS_A_TOKEN = 4
"""The usual rule of thumb for English text; only used before a provider has reported a count of its own."""


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text."""
    return (len(text) + CHARACTERS_A_TOKEN - 1) // CHARACTERS_A_TOKEN


def size(messages: tuple[Message, ...]) -> int:
    """Estimate the tokens of messages, calls and results included."""
    return sum(_block_size(block) for message in messages for block in message.content)


def _block_size(block: Block) -> int:
    """Estimate the tokens of one block."""
    match block:
        case Text():
            return estimate_tokens(block.text)
        case ToolResult():
            return estimate_tokens(block.content)
        case ToolCall():
            return estimate_tokens(f"{block.name} {dict(block.input)}")
        case Picture():
            return block.tokens

"""Usage, prices and the estimate of tokens."""

from __future__ import annotations

import base64

import pytest

from evalkit.core.message import Message, Picture, Price, Text, ToolCall, ToolResult, Usage, estimate_tokens, size, user


def test_each_bucket_has_its_own_price() -> None:
    usage = Usage(
        input=1_000_000, output=2_000_000, cache_read=3_000_000, cache_write_5m=4_000_000, cache_write_1h=5_000_000
    )
    price = Price(input=1.0, output=10.0, cache_read=0.1, cache_write_5m=1.25, cache_write_1h=2.0)
    assert price.of(usage) == pytest.approx(1 + 20 + 0.3 + 5 + 10)
    assert (usage.prompt, usage.total) == (13_000_000, 15_000_000)


def test_a_long_prompt_has_the_price_of_its_tier_as_a_whole() -> None:
    price = Price(input=0.1, output=0.5, above_prompt_tokens=100_000, above=Price(input=0.5, output=2.5))
    assert price.of(Usage(input=100_000)) == pytest.approx(0.01)
    assert price.of(Usage(input=60_000, cache_read=40_001)) == pytest.approx(0.03)


def test_sizes_are_estimated_at_four_characters_a_token() -> None:
    assert [estimate_tokens(text) for text in ("", "a", "abcd", "abcde")] == [0, 1, 1, 2]
    call = ToolCall(id="c", name="read", input={"path": "a"})
    message = Message(role="assistant", content=(Text(text="abcd"), call))
    assert size((user("abcd"), message)) == 2 + estimate_tokens("read {'path': 'a'}")
    assert size((Message(role="user", content=(ToolResult(tool_use_id="c", content="x" * 40),)),)) == 10


PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
"""One pixel."""


def test_a_picture_has_the_size_of_its_header_and_the_tokens_that_the_api_counts() -> None:
    assert (Picture.png(PNG).width, Picture.png(PNG).height) == (1, 1)
    large = Picture(data="", width=1280, height=800)
    assert large.tokens == 1366
    assert size((user("abcd", large),)) == 1367


@pytest.mark.parametrize("data", [b"", b"GIF89a", PNG[:20], b"x" + PNG])
def test_bytes_that_are_no_png_are_no_picture(data: bytes) -> None:
    with pytest.raises(ValueError, match="no PNG"):
        Picture.png(data)

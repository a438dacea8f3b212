"""What is packed comes out again, keeps to its budget, and cannot end the element that holds it."""

from __future__ import annotations

import base64
import json
import random
import re
import zlib
from collections.abc import Iterator
from typing import Any

import pytest

from evalkit.report.parcel import BLOCK, blocks, dense, packed


def unpacked(text: str) -> Any:
    """What a browser makes of a package."""
    return json.loads(zlib.decompress(base64.b64decode(text)))


def test_hostile_text_is_letters_and_comes_out_again() -> None:
    value = {"text": "</script><script>alert(1)</script>\u2028\ud800\x00"}
    package = packed(dense(value))
    assert re.fullmatch("[A-Za-z0-9+/=]+", package)
    assert unpacked(package) == value


def test_a_number_that_json_does_not_know_is_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        dense({"x": float("nan")})


def test_each_value_is_found_at_its_place() -> None:
    values = {number: {"number": number, "text": "x" * 50_000} for number in range(10)}
    packs, places = blocks(values.items(), 1_000_000)
    assert len(packs) == 3
    assert set(places) == set(values)
    for number, (block, at) in places.items():
        assert unpacked(packs[block])[at] == values[number]


def test_the_budget_holds_and_nothing_is_drawn_once_it_is_full() -> None:
    drawn = []
    rng = random.Random(1)

    def items() -> Iterator[tuple[int, Any]]:
        for number in range(1000):
            drawn.append(number)
            yield number, rng.randbytes(20_000).hex()

    packs, places = blocks(items(), 300_000)
    assert 0 < sum(map(len, packs)) <= 300_000
    assert list(places) == list(range(len(places)))
    assert len(drawn) <= len(places) + BLOCK // 40_000 + 1
    assert blocks([(1, "x")], 0) == ([], {})
    assert blocks([], 100) == ([], {})

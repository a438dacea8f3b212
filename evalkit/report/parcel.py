"""Packs JSON so that a page can carry much of it: compressed, in base64, unpacked by the browser when asked for.

Invariant: what is packed holds letters, digits, `+`, `/` and `=` alone, so no text from outside can end the element that
holds it; all packages together never take more than the budget.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Iterator

from evalkit.core.message import JSON
from evalkit.report.trials import Place

BLOCK = 192_000
"""Characters of JSON in one block: large enough to compress well, small enough to be unpacked at a click."""

LEVEL = 5


_ENCODER = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def dense(value: JSON) -> str:
    """Write JSON without blanks, in ASCII, refusing numbers that JSON does not know."""
    return _ENCODER.encode(value)


def packed(text: str) -> str:
    """Compress ASCII text (zlib) and write it in base64."""
    return base64.b64encode(zlib.compress(text.encode("ascii"), LEVEL)).decode("ascii")


def blocks(items: Iterable[tuple[int, JSON]], budget: int) -> tuple[list[str], dict[int, Place]]:
    """Pack numbered values in the order given until `budget` characters are full; items are drawn only while there is room.

    Gives the packed blocks, each a JSON array, and for each number that got in its block and place.
    """
    done: list[str] = []
    places: dict[int, Place] = {}
    for numbers, text in _gathered(items):
        block = packed(text)
        budget -= len(block)
        if budget < 0:
            break
        places.update({number: (len(done), at) for at, number in enumerate(numbers)})
        done.append(block)
    return done, places


def _gathered(items: Iterable[tuple[int, JSON]]) -> Iterator[tuple[list[int], str]]:
    """Gather numbered values into JSON arrays of about `BLOCK` characters."""
    numbers: list[int] = []
    texts: list[str] = []
    size = 0
    for number, value in items:
        text = dense(value)
        numbers.append(number)
        texts.append(text)
        size += len(text)
        if size >= BLOCK:
            yield numbers, f"[{','.join(texts)}]"
            numbers, texts, size = [], [], 0
    if texts:
        yield numbers, f"[{','.join(texts)}]"

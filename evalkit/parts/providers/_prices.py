"""What the tokens of known models cost: the reader of `prices.json`, the dated list price of each model.

Invariant: a price is found for the very model that is named, or not at all. A dated snapshot (`-20250929`) costs what
its model costs; nothing else is guessed, for `claude-opus-5-5` is not a kind of `claude-opus-5`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from evalkit.core.message import JSON, Price

_SNAPSHOT = re.compile(r"(.+)-20[0-9]{6}")


def list_price(model: str) -> Price | None:
    """The list price of a model by its name at the API; None where the table does not have it."""
    dated = _SNAPSHOT.fullmatch(model)
    return _table().get(dated[1] if dated else model)


def known_window(model: str) -> int | None:
    """Tokens of a known model's context window: 200,000 in the 4-5 generation, a million since; None for an unknown model."""
    if list_price(model) is None:
        return None
    return 200_000 if "-4-5" in model else 1_000_000


@cache
def _table() -> Mapping[str, Price]:
    """All prices of the file, by model."""
    with Path(__file__).with_name("prices.json").open(encoding="utf-8") as file:
        return {model: _price(entry) for model, entry in json.load(file)["models"].items()}


def _price(entry: Mapping[str, JSON]) -> Price:
    """Read one entry; `above` is an entry of its own."""
    return Price(**{**entry, "above": _price(entry["above"]) if "above" in entry else None})

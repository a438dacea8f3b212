"""The price table: found by the very name, and the same as an independent one."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from importlib import resources
from typing import Any

import genai_prices
import pytest

from evalkit.core.message import Usage
from evalkit.parts.providers._prices import list_price

TABLE: dict[str, Any] = json.loads(
    resources.files("evalkit.parts.providers").joinpath("prices.json").read_text("utf-8")
)
SHORT_WINDOW = {"claude-opus-4-5", "claude-sonnet-4-5", "claude-haiku-4-5"}
"""Models that take no prompt of more than 200,000 tokens; older tables still price those."""


def test_the_table_is_dated_and_names_its_source() -> None:
    datetime.strptime(TABLE["as_of"], "%Y-%m").replace(tzinfo=UTC)
    assert "pricing page" in TABLE["source"]
    assert "million" in TABLE["unit"]


@pytest.mark.parametrize("prompt", [10_000, 100_000, 100_001, 900_000])
def test_each_model_costs_what_an_independent_table_says(prompt: int) -> None:
    """Source of the other numbers: the package genai-prices, its data as installed, asked for the table's month."""
    when = datetime.strptime(TABLE["as_of"], "%Y-%m").replace(day=15, tzinfo=UTC)
    usage = Usage(input=prompt - 6_000, output=700, cache_read=3_000, cache_write_5m=2_000, cache_write_1h=1_000)
    theirs = genai_prices.Usage(
        input_tokens=usage.prompt,
        output_tokens=usage.output,
        cache_read_tokens=usage.cache_read,
        cache_write_tokens=usage.cache_write_5m + usage.cache_write_1h,
        cache_write_1h_tokens=usage.cache_write_1h,
    )
    differing = {}
    for model in TABLE["models"]:
        if prompt > 200_000 and model in SHORT_WINDOW:
            continue
        price = list_price(model)
        other = genai_prices.calc_price(theirs, model, provider_id="anthropic", genai_request_timestamp=when)
        if price is None or price.of(usage) != pytest.approx(float(other.total_price), rel=1e-9):
            differing[model] = (price and price.of(usage), float(other.total_price))
    assert differing == {}


def test_a_price_differs_in_each_of_its_five_buckets() -> None:
    price = list_price("claude-opus-5-5")
    assert price is not None
    million = 1_000_000
    assert price.of(Usage(input=million)) == 4
    assert price.of(Usage(output=million)) == 20
    assert price.of(Usage(cache_read=million)) == 0.2
    assert price.of(Usage(cache_write_5m=million)) == 5
    assert price.of(Usage(cache_write_1h=million)) == 8


def test_a_long_prompt_costs_more_where_the_list_says_so() -> None:
    price = list_price("claude-haiku-5-5")
    assert price is not None
    assert price.of(Usage(input=100_000)) == pytest.approx(0.01)
    assert price.of(Usage(input=50_000, cache_read=50_001)) == pytest.approx((50_000 * 0.5 + 50_001 * 0.05) / 1e6)


def test_a_snapshot_costs_what_its_model_costs() -> None:
    assert list_price("claude-sonnet-4-5-20250929") == list_price("claude-sonnet-4-5") is not None
    assert list_price("claude-haiku-4-5-20251001") == list_price("claude-haiku-4-5")


@pytest.mark.parametrize(
    "model",
    [
        "",
        "claude",
        "claude-opus-5-6",
        "claude-opus-5-5-1",
        "claude-opus-5-latest",
        "claude-opus-5-20250929-v2",
        "claude-opus-5-99999999",
        "claude-opus-5-2025092",
        "anthropic.claude-opus-5",
        "claude-opus-5@20250929",
        "CLAUDE-OPUS-5",
        "gemma3",
        "-20250929",
        "claude-opus-5\n",
    ],
)
def test_what_is_not_in_the_table_has_no_price(model: str) -> None:
    assert list_price(model) is None

"""The table of error statuses, without the SDK."""

from __future__ import annotations

from typing import Any

import pytest

from evalkit.core.errors import ContextOverflow, ProviderError
from evalkit.parts.providers._api_errors import refused, retry_after


def told(text: str, **details: Any) -> dict[str, Any]:
    return {"type": "error", "error": {"type": "x", "message": text, **({"details": details} if details else {})}}


def error(status: int, headers: dict[str, str] | None = None, body: Any = None) -> ProviderError:
    found = refused(status, headers or {}, body)
    assert isinstance(found, ProviderError)
    return found


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 520, 529])
def test_passing_statuses(status: int) -> None:
    found = error(status, {"retry-after": "3"}, told("busy"))
    assert (found.transient, found.fatal, found.retry_after, found.status) == (True, False, 3.0, status)
    assert str(found) == f"HTTP {status}: busy"


@pytest.mark.parametrize("status", [400, 405, 410, 418, 422, 431, 499, 501, 302])
def test_lasting_statuses(status: int) -> None:
    found = error(status, {"retry-after": "3"}, told("no"))
    assert (found.transient, found.fatal, found.retry_after) == (False, False, None)


@pytest.mark.parametrize(
    ("status", "body", "mend"),
    [
        (401, told("invalid key"), "provider: {kind: simulated}"),
        (402, told("pay"), "billing"),
        (403, told("forbidden"), "permissions"),
        (404, told("model: nope"), "`model`"),
        (429, told("limit", error_code="enforced_spend_limit_reached"), "spend limit"),
        (429, told("limit", error_code="contract_spend_limit_reached"), "spend limit"),
        (400, told("Your credit balance is too low to access the API"), "billing"),
    ],
)
def test_statuses_that_end_a_run_say_what_to_do(status: int, body: Any, mend: str) -> None:
    found = error(status, {"x-should-retry": "true"}, body)
    assert (found.transient, found.fatal) == (False, True)
    assert mend in str(found)


def test_growing_too_fast_passes() -> None:
    assert error(429, {}, told("ramp", error_code="ramp_limit_exceeded")).transient


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (400, "prompt is too long: 215000 tokens > 200000 maximum"),
        (400, "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"),
        (400, "the request exceeds the available context size, try increasing it"),
        (400, "This model's maximum context length is 8192 tokens"),
        (413, "Request exceeds the maximum size"),
    ],
)
def test_a_request_that_is_too_long_is_the_variants_doing(status: int, text: str) -> None:
    found = refused(status, {}, told(text))
    assert isinstance(found, ContextOverflow)
    assert text in str(found)


@pytest.mark.parametrize(("word", "transient"), [("true", True), ("false", False), ("perhaps", True)])
def test_an_answer_that_says_whether_to_try_again_is_believed(word: str, transient: bool) -> None:
    assert error(429, {"x-should-retry": word}).transient is transient
    assert error(400, {"x-should-retry": "true"}).transient


@pytest.mark.parametrize(
    "body", [None, "<html>", [], {}, {"error": "text"}, {"error": {"message": 5}}, {"error": {"details": []}}]
)
def test_any_body_is_survived(body: Any) -> None:
    assert str(error(502, {}, body)) == "HTTP 502"


def test_no_text_holds_a_key_and_none_is_endless() -> None:
    key = "sk-ant-very-secret"
    found = refused(401, {}, told(f"key {key} is not valid " + "x" * 10_000), (key,))
    assert key not in str(found)
    assert "[key]" in str(found)
    assert len(str(found)) < 1_000


def test_a_key_at_the_cut_does_not_leak_in_part() -> None:
    key = "sk-ant-very-secret"
    found = refused(400, {}, told("x" * 490 + key), (key,))
    assert "sk-ant" not in str(found)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "2.5"}, 2.5),
        ({"retry-after": "3600"}, 3600.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, None),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT", "date": "Wed, 21 Oct 2026 07:27:30 GMT"}, 30.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT", "date": "Wed, 21 Oct 2026 07:27:30 -0000"}, 30.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT", "date": "Wed, 21 Oct 2026 07:29:00 GMT"}, 0.0),
        ({"retry-after": "Wed, 99 Oct 2026 07:28:00 GMT", "date": "Wed, 21 Oct 2026 07:29:00 GMT"}, None),
    ],
)
def test_waits_are_read_in_every_form(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds

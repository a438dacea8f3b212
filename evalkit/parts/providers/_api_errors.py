"""What an answer with an error status means for a trial and for a run: one table, pure, without the SDK.

Invariant: every status has one meaning. Fatal: no trial of the run can succeed. Transient: the same request may succeed
later. A request that is too long is the variant's doing. All else is permanent. No text holds a key or a header.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from evalkit.core.errors import ContextOverflow, ProviderError
from evalkit.core.message import JSON
from evalkit.parts.providers._api_access import OFFLINE

_MENDS = {
    401: f"check the key ({OFFLINE})",
    402: "check the account's billing",
    403: "the key may not do this: check its workspace and its permissions",
    404: "check `model` and `base_url` in the variant",
}
_TOO_LONG = (
    "prompt is too long",
    "exceed context limit",
    "exceeds the available context size",
    "maximum context length",
    "context window",
)
_LONGEST_TEXT = 500
_SHORTEST_SECRET = 8


def refused(
    status: int, headers: Mapping[str, str], body: JSON, secrets: Sequence[str] = ()
) -> ProviderError | ContextOverflow:
    """Say what an answer with an error status means; `headers` are looked up in lower case, `body` is the JSON or None.

    An answer that says itself whether it should be tried again (`x-should-retry`) is believed, unless it is fatal.
    """
    said, code = _said(body)
    said = without(said, secrets)[:_LONGEST_TEXT]
    text = f"HTTP {status}: {said}" if said else f"HTTP {status}"
    if status == 413 or (status == 400 and any(mark in said.lower() for mark in _TOO_LONG)):
        return ContextOverflow(text)
    mend = _MENDS.get(status)
    if status == 429 and code.endswith("spend_limit_reached"):
        mend = "the account's spend limit is reached: raise it, or wait until it starts anew"
    if status == 400 and "credit balance" in said.lower():
        mend = _MENDS[402]
    if mend is not None:
        return ProviderError(f"{text} ({mend})", fatal=True, status=status)
    told = {"true": True, "false": False}.get(headers.get("x-should-retry", ""))
    passing = status in (408, 409, 429) or (status >= 500 and status != 501)
    transient = passing if told is None else told
    return ProviderError(
        text, transient=transient, retry_after=retry_after(headers) if transient else None, status=status
    )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Read how many seconds the other side asks to wait; None where it does not say so in a way that can be followed.

    A date is measured against the answer's own date, so that a wrong clock on this side does no harm.
    """
    in_ms = _number(headers.get("retry-after-ms"))
    if in_ms is not None:
        return in_ms / 1000
    given = headers.get("retry-after")
    seconds = _number(given)
    if seconds is not None:
        return seconds
    until, since = _date(given), _date(headers.get("date"))
    return None if until is None or since is None else max(0.0, (until - since).total_seconds())


def without(text: str, secrets: Sequence[str]) -> str:
    """Blank out secrets that the other side may have quoted; very short ones are placeholders, not secrets."""
    for secret in secrets:
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, "[key]")
    return text


def _said(body: JSON) -> tuple[str, str]:
    """Find the text and the code of an error object; a page of HTML or anything else says nothing."""
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return "", ""
    details = error.get("details")
    text, code = error.get("message"), details.get("error_code") if isinstance(details, dict) else None
    return (text if isinstance(text, str) else ""), (code if isinstance(code, str) else "")


def _number(given: str | None) -> float | None:
    """Read a finite number that is not negative."""
    try:
        number = float(given or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _date(given: str | None) -> datetime | None:
    """Read an HTTP date."""
    try:
        date = parsedate_to_datetime(given or "")
    except ValueError:
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)

"""How a live model is reached: addresses and credentials, as far as the environment tells without the SDK.

Invariant: nothing here imports the SDK, opens a connection or reads a secret out of a file; it only sees whether the
SDK will find something to sign in with, in the order in which the SDK itself looks.
"""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit

ENVIRONMENT = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_CUSTOM_HEADERS",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_PROFILE",
    "ANTHROPIC_CONFIG_DIR",
)
"""The variables that decide where the SDK's client goes and how it signs in."""

OFFLINE = (
    "without a key: `provider: {kind: simulated}` runs offline, and `base_url` takes a server on this machine, "
    "such as the one that `evalkit serve-sim` starts"
)
"""The ways that need no key, to be named wherever a key is missing or refused."""

NO_KEY = (
    "no API key: set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN, or name the variable that holds it by `api_key_env` "
    f"({OFFLINE})"
)


def has_credential() -> bool:
    """Whether the environment or the SDK's own folder holds anything that the SDK would sign in with."""
    given = os.environ.get
    if any(given(name) for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE")):
        return True
    if header_values() or (given("ANTHROPIC_FEDERATION_RULE_ID") and given("ANTHROPIC_ORGANIZATION_ID")):
        return True
    places = (("ANTHROPIC_CONFIG_DIR", "."), ("HOME", ".config/anthropic"), ("APPDATA", "Anthropic"))
    folders = [Path(start, rest) for name, rest in places if (start := given(name))]
    marks = ("active_config", "configs/default.json")
    return any((folder / mark).is_file() for folder in folders for mark in marks)


def header_values() -> tuple[str, ...]:
    """Values of headers of the user's own that sign a request."""
    lines = [line.partition(":") for line in os.environ.get("ANTHROPIC_CUSTOM_HEADERS", "").splitlines()]
    return tuple(value.strip() for name, _, value in lines if name.strip().lower() in ("authorization", "x-api-key"))


def is_key(text: str) -> bool:
    """Whether a text can stand in a header as it is; a pasted line break, say, cannot."""
    return text.isascii() and text.isprintable() and text == text.strip()


def address_fault(address: str) -> str | None:
    """Say what is wrong with an address; None where it may be right."""
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        return f"is no address: {error}"
    if parts.scheme not in ("http", "https") or not host:
        return "must start with http:// or https:// and name a host, such as http://127.0.0.1:8080"
    if parts.username or parts.password:
        return "must hold no user name or password: keys belong in the environment"
    return None


def is_local(address: str | None) -> bool:
    """Whether an address is on this machine."""
    return address is not None and urlsplit(address).hostname in ("127.0.0.1", "localhost", "::1")

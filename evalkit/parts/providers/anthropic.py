"""Live models behind the Messages API: the only file that imports the SDK, and only when a call is about to be made.

Invariant: one request to `complete` is one request on the wire. The SDK retries nothing, for retries have one owner, the
engine; every way in which a call can fail leaves here as `ProviderError` or `ContextOverflow`. There is no seed at the
API: the trials of a live model are independent draws, and none can be repeated.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from typing import Any

from evalkit.core.errors import ProviderError
from evalkit.core.message import JSON, Nature, Price, Reply, Request, ToolSpec
from evalkit.core.plan import Trial
from evalkit.parts._duration import Duration
from evalkit.parts.providers._api_access import (
    ENVIRONMENT,
    NO_KEY,
    OFFLINE,
    address_fault,
    has_credential,
    header_values,
    is_key,
    is_local,
)
from evalkit.parts.providers._api_errors import refused, without
from evalkit.parts.providers._messages_api import (
    NoMessage,
    UnknownStop,
    is_listed,
    message_params,
    read_reply,
    said_nature,
    scrubbed,
    tool_params,
)
from evalkit.parts.providers._prices import known_window, list_price

_OWN_FIELDS = frozenset(
    (
        "model",
        "messages",
        "system",
        "tools",
        "tool_choice",
        "max_tokens",
        "stream",
        "metadata",
        "thinking",
        "cache_control",
    )
)
_PLACEHOLDER = "none"

_lock = threading.Lock()
_clients: dict[tuple[int | str | None, ...], Any] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Anthropic:
    """A model by its name at the API, or at any peer that serves `/v1/messages`.

    `base_url` is the peer; `api_key_env` names the environment variable that holds its key where it is not the SDK's
    own. `thinking` is sent as it is. `sampling` is sent beside the request for peers that still take such fields
    (`temperature`, `top_p`); the API itself has done away with them. `cache` lets the API cache the prompt up to its last
    block: cheaper over many turns, but what a trial costs then hangs on what ran before it. `usd_price` goes before the
    list price; a peer on this machine wants one of zeros. `context_window`, in tokens, goes before the known model's.
    `timeout` is how long the other side may be silent.
    `identify` names trial and call to the server, which a simulating one needs.
    """

    model: str
    base_url: str | None = None
    api_key_env: str | None = None
    thinking: Mapping[str, JSON] | None = None
    sampling: Mapping[str, JSON] | None = None
    cache: bool = False
    usd_price: Price | None = None
    context_window: int | None = None
    timeout: Duration = 600.0
    identify: bool = False

    def __post_init__(self) -> None:
        """Refuse options that no call could be made with, with a `ValueError`."""
        if not self.model.strip():
            raise ValueError("model is empty: name one, such as claude-sonnet-5-5")
        if self.base_url is not None and (wrong := address_fault(self.base_url)):
            raise ValueError(f"base_url {wrong}")
        if not 0.0 < self.timeout < float("inf"):
            raise ValueError(f"timeout is {self.timeout}: it must be more than 0 seconds")
        if taken := _OWN_FIELDS & set(self.sampling or ()):
            raise ValueError(f"sampling holds {', '.join(sorted(taken))}: that is set elsewhere and not for sampling")

    @property
    def nature(self) -> Nature:
        """A model of this machine where the address is on it, else a live one; an answer that says less of itself is believed."""
        return "local" if is_local(self.base_url or os.environ.get("ANTHROPIC_BASE_URL")) else "live"

    def price(self) -> Price | None:
        """The price given, else the list price of the model; None where neither is known."""
        return self.usd_price or list_price(self.model)

    def window(self) -> int | None:
        """Tokens of the context window: as given, else the known model's."""
        return self.context_window or known_window(self.model)

    def open(self, trial: Trial) -> AnthropicProvider:
        """Make the provider of one trial; the client behind it is shared and made at the first call.

        The SDK is loaded here, before the trial's time counts, because that takes seconds.
        """
        import_module("anthropic")
        return AnthropicProvider(part=self, usual_max_tokens=trial.variant.max_tokens)

    def ready(self) -> str | None:
        """Say what stands in the way of a first call, as far as the environment tells: a wrong key shows only at that call."""
        address = self.base_url or os.environ.get("ANTHROPIC_BASE_URL")
        if address is not None and (wrong := address_fault(address)):
            return f"ANTHROPIC_BASE_URL {wrong}"
        if self.api_key_env is not None and not os.environ.get(self.api_key_env):
            return f"the environment variable {self.api_key_env} that api_key_env names is not set ({OFFLINE})"
        for name in (self.api_key_env, "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
            if not is_key(os.environ.get(name or "", "")):
                return f"the key in {name} has a blank, a line break or a foreign letter in it: copy it anew"
        if self.api_key_env is None and not has_credential() and not is_local(address):
            return NO_KEY
        return None


@dataclass(slots=True)
class AnthropicProvider:
    """One trial's way to the model.

    `tools` are those offered last: they stay in the request when a call offers none, as the calls and results that the
    conversation holds refer to them; that none may be used is said by `tool_choice`.
    """

    part: Anthropic
    usual_max_tokens: int
    tools: tuple[ToolSpec, ...] = ()
    create: Callable[..., Any] | None = None
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def complete(self, request: Request) -> Reply:
        """Make one call; raises `ProviderError` or `ContextOverflow`, and never tries again."""
        import anthropic  # noqa: PLC0415  # the SDK costs seconds, so only a call pays for it

        create = self.create or self._connect()
        body = self._body(request)
        try:
            answer = _call(create, body)
        except anthropic.APIStatusError as error:
            raise refused(error.status_code, error.response.headers, error.body, self.secrets) from None
        except anthropic.APIConnectionError as error:
            cause = error.__cause__ or error
            text = without(f"no answer: {type(cause).__name__}: {cause}", self.secrets)
            raise ProviderError(text, transient=True) from None
        except anthropic.AnthropicError as error:
            raise _unauthorized(error, self.secrets) from None
        except (RecursionError, UnicodeError) as error:
            text = f"the request cannot be written as JSON in UTF-8 ({type(error).__name__})"
            raise ProviderError(text) from None
        return self._read(answer.http_response.content, answer.headers)

    def _connect(self) -> Callable[..., Any]:
        """Take the shared client; raises a fatal `ProviderError` where there is no key."""
        import anthropic  # noqa: PLC0415  # as above

        key = os.environ.get(self.part.api_key_env or "")
        if _wanted(self.part.base_url, key) not in _clients and (problem := self.part.ready()):
            raise ProviderError(problem, fatal=True)
        given = (key, os.environ.get("ANTHROPIC_API_KEY"), os.environ.get("ANTHROPIC_AUTH_TOKEN"), *header_values())
        self.secrets = tuple(secret for secret in given if secret)
        try:
            client = _client(self.part.base_url, key)
        except anthropic.AnthropicError as error:
            raise _unauthorized(error, self.secrets) from None
        wait = anthropic.Timeout(self.part.timeout, connect=min(10.0, self.part.timeout))
        self.create = partial(client.messages.with_raw_response.create, timeout=wait)
        return self.create

    def _body(self, request: Request) -> dict[str, Any]:
        """Write the request as the SDK's arguments."""
        part = self.part
        self.tools = request.tools or self.tools
        messages = message_params(request.messages)
        body: dict[str, Any] = {"model": part.model, "max_tokens": request.max_tokens, "messages": messages}
        if request.system.strip():
            body["system"] = request.system
        if request.tools:
            body["tools"] = tool_params(request.tools)
        elif self.tools and any(message.calls or message.results for message in request.messages):
            body |= {"tools": tool_params(self.tools), "tool_choice": {"type": "none"}}
        if part.thinking is not None and self._has_room_to_think(request.max_tokens):
            body["thinking"] = dict(part.thinking)
        if part.cache:
            body["cache_control"] = {"type": "ephemeral"}
        if part.identify:
            body["metadata"] = {"user_id": f"evalkit-{request.seed:x}-{request.call}"}
        if part.sampling:
            body["extra_body"] = dict(part.sampling)
        return body

    def _has_room_to_think(self, max_tokens: int) -> bool:
        """Whether a fixed thinking budget fits below `max_tokens`; where caps have clamped those, the call goes without.

        Raises a fatal `ProviderError` where the budget does not even fit the variant's own `max_tokens`.
        """
        budget = (self.part.thinking or {}).get("budget_tokens")
        if not isinstance(budget, int) or budget < max_tokens:
            return True
        if budget < self.usual_max_tokens:
            return False
        raise ProviderError(
            f"thinking.budget_tokens is {budget} and max_tokens of the variant {self.usual_max_tokens}: it must be less",
            fatal=True,
        )

    def _read(self, content: bytes, headers: Mapping[str, str]) -> Reply:
        """Read a body that came with a status of success, and price it."""
        try:
            given = json.loads(content, parse_constant=_no_number)
            reply = read_reply(given)
        except (ValueError, RecursionError) as error:
            text = f"an answer with status 200 that is no JSON ({type(error).__name__})"
            raise ProviderError(text, transient=True, status=200) from None
        except NoMessage as error:
            text = f"an answer with status 200 that is no message: {error}"
            raise ProviderError(text, transient=True, status=200) from None
        except UnknownStop as error:
            text = f"the model stopped for a reason that this version does not know: {str(error)[:100]!r}"
            raise ProviderError(text, status=200) from None
        price = self.part.price()
        known = price is not None and (self.part.usd_price is not None or is_listed(given))
        usd = price.of(reply.usage) if price is not None and known else None
        return replace(reply, usd=usd, nature=said_nature(headers))


def _call(create: Callable[..., Any], body: dict[str, Any]) -> Any:
    """Call the SDK; a body with lone surrogates, which no encoding takes, is sent with them spelt out."""
    try:
        return create(**body)
    except UnicodeEncodeError:
        return create(**scrubbed(body))


def _wanted(base_url: str | None, key: str | None) -> tuple[int | str | None, ...]:
    """What a client hangs on: this process, the address, and the credentials of the environment."""
    return (os.getpid(), base_url, key, *(os.environ.get(name) for name in ENVIRONMENT))


def _client(base_url: str | None, key: str | None) -> Any:
    """Give the client of this process for an address and its credentials; threads share it.

    A server on this machine is reached directly, whatever proxy the environment names, and needs no key.
    """
    import anthropic  # noqa: PLC0415  # as above

    wanted = _wanted(base_url, key)
    with _lock:
        if wanted not in _clients:
            local = is_local(base_url or os.environ.get("ANTHROPIC_BASE_URL"))
            client = anthropic.Anthropic(
                api_key=key or (_PLACEHOLDER if local and not has_credential() else None),
                base_url=base_url,
                max_retries=0,
                http_client=anthropic.DefaultHttpxClient(trust_env=False) if local else None,
            )
            if (
                client.api_key is None
                and client.auth_token is None
                and client.credentials is None
                and not header_values()
            ):
                raise ProviderError(NO_KEY, fatal=True)
            _clients[wanted] = client
        return _clients[wanted]


def _unauthorized(error: Exception, secrets: tuple[str, ...]) -> ProviderError:
    """Read an error of the SDK's own credentials: an exchange of tokens may heal, a file that is wrong does not."""
    status = getattr(error, "status_code", None)
    text = without(f"no credentials for the API: {error}", secrets)
    if isinstance(status, int) and (status >= 500 or status == 429):
        return ProviderError(text, transient=True, status=status)
    return ProviderError(text, fatal=True)


def _no_number(name: str) -> float:
    """Refuse NaN and the infinities, which Python would read and JSON does not have."""
    raise ValueError(f"{name} is no JSON number")

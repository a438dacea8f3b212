"""A real model on this machine, small enough to come as a package: no key, no network, no compiler.

It can copy, look things up and hand them in, sometimes: a model whose trials truly differ, for seeing pass^k fall. What it scores says
nothing about any other model.

Invariant: `nature` is local, never live. A request's seed and call choose the draw, but nothing is claimed to be repeatable: answers are
computed in batches, and what else is in the batch moves the last digits.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from typing import ClassVar

from evalkit.core.errors import ContextOverflow, ProviderError
from evalkit.core.message import JSON, Nature, Price, Reply, Request, Usage
from evalkit.core.plan import Trial
from evalkit.parts.providers._local_process import address, lacking
from evalkit.parts.providers._local_server import WINDOW
from evalkit.parts.providers._local_text import grammar_of, message_of, prompt_of

NAME = "gemma-3-270m"
LONGEST_ANSWER = 256
"""Tokens of one line; what is longer than that is no answer of this model's but babble."""

TIMEOUT = 300.0
"""Seconds that an answer may take, waiting for its turn included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Local:
    """The small model of the extra `[local]`, served in a process of its own that all trials share.

    `temperature` above 0 makes trials differ; at 0 the likeliest word is always taken.
    """

    temperature: float = 0.6
    nature: ClassVar[Nature] = "local"

    def __post_init__(self) -> None:
        """Refuse what no draw can be made with, with a `ValueError`."""
        if not 0.0 <= self.temperature <= 5.0:
            raise ValueError(f"temperature is {self.temperature}: it must lie between 0 and 5")

    def ready(self) -> str | None:
        """Say which extra is missing; None where it is there."""
        return lacking()

    def price(self) -> Price:
        """Nothing."""
        return Price(input=0.0, output=0.0)

    def window(self) -> int:
        """Tokens of a prompt and its answer."""
        return WINDOW

    def open(self, trial: Trial) -> LocalProvider:
        """Make the provider of one trial; the server is started here, before the trial's time counts. Raises `ProviderError`."""
        if problem := self.ready():
            raise ProviderError(problem, fatal=True)
        address()
        return LocalProvider(part=self)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalProvider:
    """One trial's way to the server."""

    part: Local

    def complete(self, request: Request) -> Reply:
        """Ask for the next line; raises `ProviderError` or `ContextOverflow`, and never tries again."""
        found = _post(
            {
                "prompt": prompt_of(request),
                "grammar": grammar_of(request.tools),
                "stop": ["\n"],
                "n_predict": min(request.max_tokens, LONGEST_ANSWER),
                "temperature": self.part.temperature,
                "seed": (request.seed * 1_000_003 + request.call) % 2**31,
                "cache_prompt": True,
            }
        )
        message = message_of(str(found.get("content", "")), f"call_{request.seed:x}_{request.call}")
        cut = found.get("stop_type") == "limit"
        return Reply(
            message=message,
            stop_reason="max_tokens" if cut else "tool_use" if message.calls else "end_turn",
            usage=Usage(input=int(found.get("tokens_evaluated", 0)), output=int(found.get("tokens_predicted", 0))),
            usd=0.0,
            model=NAME,
            nature="local",
        )


def _post(body: JSON) -> dict[str, JSON]:
    """Ask the server; a broken connection may heal, for a server that has gone is started anew."""
    connection = HTTPConnection(*address(), timeout=TIMEOUT)
    try:
        connection.request("POST", "/completion", json.dumps(body), {"content-type": "application/json"})
        answer = connection.getresponse()
        status, text = answer.status, answer.read()
        found = json.loads(text)
    except (OSError, HTTPException, ValueError) as error:
        raise ProviderError(
            f"the local model gave no answer: {type(error).__name__}: {error}", transient=True
        ) from None
    finally:
        connection.close()
    if status == 200 and isinstance(found, dict):
        return found
    said = found.get("error") if isinstance(found, dict) else None
    text_of = str(said.get("message", "")) if isinstance(said, dict) else ""
    if isinstance(said, dict) and said.get("type") == "exceed_context_size_error":
        raise ContextOverflow(f"prompt is too long: {text_of}")
    raise ProviderError(
        f"the local model refused: HTTP {status}: {text_of[:300]}", transient=status >= 500, status=status
    )

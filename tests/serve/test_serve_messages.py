"""The server on the wire: what any HTTP client sees of it, and what is left when it has gone."""

from __future__ import annotations

import http.client
import json
import socket
import struct
import threading
import time
from typing import Any

import pytest

from evalkit.core.errors import ConfigurationError, ContextOverflow, ProviderError
from evalkit.core.message import Message, Reply, Request, Text, ToolCall, Usage
from evalkit.serve.faults import Faults
from evalkit.serve.messages import LARGEST_BODY, MessagesServer

BODY: dict[str, Any] = {"model": "m", "max_tokens": 10, "messages": [{"role": "user", "content": "hi"}]}


def hello(request: Request, user_id: str | None) -> Reply:
    """Answer with what was asked and by whom."""
    text = f"{request.messages[-1].text} {user_id} {request.seed} {request.call}"
    message = Message(role="assistant", content=(Text(text=text),))
    return Reply(message=message, stop_reason="end_turn", usage=Usage(input=3, output=2), model="simulated")


def connect(server: MessagesServer) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=10)


def post(
    connection: http.client.HTTPConnection, body: Any = BODY, path: str = "/v1/messages"
) -> tuple[http.client.HTTPResponse, Any]:
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    connection.request("POST", path, sent, {"content-type": "application/json"})
    response = connection.getresponse()
    return response, json.loads(response.read())


def test_one_connection_carries_many_calls() -> None:
    with MessagesServer(hello) as server:
        connection = connect(server)
        answers = [post(connection, {**BODY, "metadata": {"user_id": f"evalkit-a-{call}"}}) for call in (1, 2, 3)]
    assert [json_["content"][0]["text"] for _, json_ in answers] == [
        f"hi evalkit-a-{call} 10 {call}" for call in (1, 2, 3)
    ]
    assert {response.status for response, _ in answers} == {200}
    assert len({response.getheader("request-id") for response, _ in answers}) == 3
    assert answers[0][1]["model"] == "simulated"


def test_the_same_body_gets_the_same_message_byte_for_byte() -> None:
    with MessagesServer(hello) as server:
        connection = connect(server)
        assert post(connection)[1] == post(connection)[1]


def test_health_and_unknown_places() -> None:
    with MessagesServer(hello) as server:
        connection = connect(server)
        connection.request("GET", "/health")
        response = connection.getresponse()
        assert (response.status, json.loads(response.read())) == (200, {"status": "ok"})
        connection.request("GET", "/v1/models")
        response = connection.getresponse()
        assert json.loads(response.read())["error"]["type"] == "not_found_error"
        assert post(connection, path="/v1/complete")[0].status == 404
        assert post(connection, path="/v1/messages?beta=true")[0].status == 200


def test_an_invalid_history_never_reaches_the_answering_function() -> None:
    asked: list[Request] = []

    def answer(request: Request, user_id: str | None) -> Reply:
        asked.append(request)
        return hello(request, user_id)

    lost = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "x"}]}
    with MessagesServer(answer) as server:
        response, body = post(connect(server), {**BODY, "messages": [lost]})
    assert response.status == 400
    assert body["type"] == "error"
    assert body["error"]["type"] == "invalid_request_error"
    assert "unexpected `tool_use_id`" in body["error"]["message"]
    assert response.getheader("request-id", "").startswith("req_")
    assert asked == []


def test_errors_of_the_answering_function_are_shown_as_the_api_would() -> None:
    raised: list[Exception] = [
        ContextOverflow("12 tokens > 10 maximum"),
        ProviderError("slow down", status=429, transient=True, retry_after=7),
        ProviderError("bad key", status=401, fatal=True),
    ]

    def answer(request: Request, user_id: str | None) -> Reply:
        del request, user_id
        raise raised.pop(0)

    with MessagesServer(answer) as server:
        connection = connect(server)
        response, body = post(connection)
        assert (response.status, body["error"]["message"]) == (400, "prompt is too long: 12 tokens > 10 maximum")
        response, body = post(connection)
        assert (response.status, response.getheader("retry-after")) == (429, "7")
        response, body = post(connection)
        assert (response.status, body["error"]["type"]) == (401, "authentication_error")


def test_a_body_without_a_length_or_with_a_huge_one_is_refused_unread() -> None:
    with MessagesServer(hello) as server:
        connection = connect(server)
        connection.request("POST", "/v1/messages", iter([b"{}"]), {"transfer-encoding": "chunked"}, encode_chunked=True)
        assert connection.getresponse().status == 411
        for length in ("9" * 5000, "-1", "1e3", "²"):
            raw = f"POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n".encode("latin-1")
            assert b" 411 " in exchange(server, raw)
        connection = connect(server)
        response, body = post(connection, b" " * (LARGEST_BODY + 1))
        assert (response.status, body["error"]["type"]) == (413, "request_too_large")


def exchange(server: MessagesServer, raw: bytes) -> bytes:
    """Send bytes and read until the server ends the connection."""
    with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])), timeout=10) as plain:
        plain.sendall(raw)
        plain.shutdown(socket.SHUT_WR)
        return plain.makefile("rb").read()


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\r\n",
        b"nonsense\r\n\r\n",
        b"\x00\xff\xfe\r\n",
        b"POST /v1/messages HTTP/1.1\r\ncontent-length: 50\r\n\r\n{}",
        b"PUT /v1/messages HTTP/1.1\r\ncontent-length: 0\r\n\r\n",
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
    ],
)
def test_hostile_bytes_harm_nobody(raw: bytes) -> None:
    with MessagesServer(hello) as server:
        exchange(server, raw)
        assert post(connect(server))[0].status == 200


def test_a_caller_that_goes_away_leaves_no_trace(capfd: pytest.CaptureFixture[str]) -> None:
    asked, gone = threading.Event(), threading.Event()

    def answer(request: Request, user_id: str | None) -> Reply:
        asked.set()
        gone.wait(10)
        text = hello(request, user_id).text * 500_000
        return Reply(message=Message(role="assistant", content=(Text(text=text),)), stop_reason="end_turn")

    with MessagesServer(answer) as server:
        plain = socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])), timeout=10)
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sent = json.dumps(BODY).encode()
        plain.sendall(b"POST /v1/messages HTTP/1.1\r\ncontent-length: %d\r\n\r\n" % len(sent) + sent)
        asked.wait(10)
        plain.close()
        gone.set()
    assert capfd.readouterr().err == ""


def test_a_stream_is_read_by_the_sdk() -> None:
    import anthropic  # noqa: PLC0415  # the SDK costs seconds, and this test alone needs it here

    def answer(request: Request, user_id: str | None) -> Reply:
        del request, user_id
        call = ToolCall(id="c1", name="look", input={"at": ["é", 1]})
        thought = {"type": "thinking", "thinking": "hm", "signature": "sig"}
        blocks = (
            thought,
            {"type": "text", "text": "see"},
            {"type": "tool_use", "id": "c1", "name": "look", "input": call.input},
        )
        message = Message(role="assistant", content=(Text(text="see"), call), verbatim=blocks)
        return Reply(message=message, stop_reason="tool_use", usage=Usage(input=3, output=2))

    with MessagesServer(answer) as server:
        client = anthropic.Anthropic(api_key="none", base_url=server.url, max_retries=0)
        messages: list[Any] = BODY["messages"]
        with client.messages.stream(model="m", max_tokens=10, messages=messages) as stream:
            streamed = stream.get_final_message()
        whole = client.messages.create(model="m", max_tokens=10, messages=messages)
    assert [block.to_dict() for block in streamed.content] == [block.to_dict() for block in whole.content]
    assert (streamed.stop_reason, streamed.usage.output_tokens, streamed.usage.input_tokens) == ("tool_use", 2, 3)


def test_faults_are_the_same_in_any_order_and_a_retry_draws_anew() -> None:
    faults = Faults(overloaded=0.4, server_error=0.2)

    def play(calls: list[int]) -> dict[int, list[int]]:
        with MessagesServer(hello, faults) as server:
            connection = connect(server)
            seen: dict[int, list[int]] = {call: [] for call in calls}
            for call in calls:
                while not seen[call] or seen[call][-1] != 200:
                    body = {**BODY, "metadata": {"user_id": f"evalkit-a-{call}"}}
                    seen[call].append(post(connection, body)[0].status)
        return seen

    forth, back = play(list(range(12))), play(list(reversed(range(12))))
    assert forth == back
    assert {200, 500, 529} == {status for tries in forth.values() for status in tries}
    assert len({len(tries) for tries in forth.values()}) > 1


def test_a_request_that_was_answered_is_forgotten() -> None:
    with MessagesServer(hello, Faults(overloaded=1e-9)) as server:
        for _ in range(3):
            post(connect(server))
        assert server._server._tries == {}


def test_after_the_end_no_thread_and_no_port_is_left() -> None:
    before = set(threading.enumerate())
    with MessagesServer(hello, Faults(slow=1.0, slow_seconds=600.0)) as server:
        idle, waiting = connect(server), connect(server)
        idle.connect()
        waiting.request("POST", "/v1/messages", json.dumps(BODY), {})
        while not server._server._tries:
            time.sleep(0.005)
    assert set(threading.enumerate()) == before
    with pytest.raises(OSError):  # noqa: PT011  # which error it is differs between systems
        socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])), timeout=1)


def test_a_port_that_cannot_be_had_is_a_clear_error() -> None:
    with MessagesServer(hello) as server:
        port = int(server.url.rpartition(":")[2])
        with pytest.raises(ConfigurationError, match=f"port {port}: cannot listen"):
            MessagesServer(hello, port=port)
    with pytest.raises(ConfigurationError, match="port 99999"):
        MessagesServer(hello, port=99999)


def test_many_callers_are_served_at_once() -> None:
    met = threading.Barrier(8, timeout=10)

    def answer(request: Request, user_id: str | None) -> Reply:
        met.wait()
        return hello(request, user_id)

    statuses: list[int] = []
    with MessagesServer(answer) as server:
        threads = [threading.Thread(target=lambda: statuses.append(post(connect(server))[0].status)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert statuses == [200] * 8

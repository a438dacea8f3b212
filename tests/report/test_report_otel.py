"""Spans on their way out: a file of OTLP's JSON, and a real collector's endpoint on loopback that decodes what it gets."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from report_records import a_run

from evalkit.core.errors import ConfigurationError
from evalkit.core.plan import Spec
from evalkit.report.otel import send_spans, write_spans
from evalkit.report.span import FIRST, Span
from evalkit.report.spans import Sender

pytest.importorskip("opentelemetry.exporter.otlp.proto.http")


def trials(count: int = 2) -> list[list[Span]]:
    """The spans of some trials."""
    sender = Sender(run="r", provider=Spec(kind="simulated"))
    return [list(sender.spans(record)) for record in a_run(1, ("react",), count)]


@contextmanager
def collector(status: int = 200) -> Iterator[tuple[str, list[Any]]]:
    """A server that takes spans as collectors do: its address, and the requests that it got, decoded."""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (  # noqa: PLC0415  # an extra
        ExportTraceServiceRequest,
    )

    taken: list[Any] = []

    class Endpoint(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            """Decode a request."""
            body = self.rfile.read(int(self.headers["Content-Length"]))
            body = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
            if self.path == "/v1/traces" and status == 200:
                taken.append(ExportTraceServiceRequest.FromString(body))
            self.send_response(status if self.path == "/v1/traces" else 404)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", taken
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_file_holds_a_request_a_line_with_ids_in_hexadecimal(tmp_path: Path) -> None:
    path, made = tmp_path / "spans.jsonl", trials()
    assert write_spans(made, path, "r") == sum(map(len, made))
    assert path.read_bytes().startswith(FIRST)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(lines) == len(made)
    for spans, line in zip(made, lines, strict=True):
        (group,) = line["resourceSpans"]
        facts = {one["key"]: one["value"]["stringValue"] for one in group["resource"]["attributes"]}
        assert (facts["service.name"], facts["evalkit.run"]) == ("evalkit", "r")
        shown = group["scopeSpans"][0]["spans"]
        assert [int(one["traceId"], 16) for one in shown] == [one.trace_id for one in spans]
        assert [int(one["spanId"], 16) for one in shown] == [one.span_id for one in spans]
        assert {one["parentSpanId"] for one in shown[1:]} == {shown[0]["spanId"]}
        assert [one["kind"] for one in shown] == [3 if one.kind == "client" else 1 for one in spans]
        assert [int(one["startTimeUnixNano"]) for one in shown] == [one.start for one in spans]
        assert [one["status"].get("code") == 2 for one in shown] == [one.failed is not None for one in spans]
    first = path.read_bytes()
    write_spans(trials(), path, "r")
    assert path.read_bytes() == first


def test_a_collector_gets_every_span_once_in_several_requests() -> None:
    made = trials(120)
    with collector() as (address, taken):
        assert send_spans(iter(made), address, "r") == sum(map(len, made))
        assert send_spans(iter(made[:1]), f"{address}/v1/traces", "r") == len(made[0])
    assert len(taken) > 2
    got = [
        span
        for request in taken
        for group in request.resource_spans
        for scope in group.scope_spans
        for span in scope.spans
    ]
    ids = [(int.from_bytes(one.trace_id), int.from_bytes(one.span_id)) for one in got]
    assert ids == [(one.trace_id, one.span_id) for spans in (*made, made[0]) for one in spans]
    named = {one.key: one.value for one in got[1].attributes}
    assert named["gen_ai.usage.input_tokens"].int_value == made[0][1].attributes["gen_ai.usage.input_tokens"]


def test_a_collector_that_takes_nothing_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    with collector(status=400) as (address, _), pytest.raises(ConfigurationError, match="does not take the spans"):
        send_spans(trials(), address, "r")
    with pytest.raises(ConfigurationError, match="name or password") as found:
        send_spans(trials(), "http://bob:hunter2@localhost:4318", "r")
    assert "hunter2" not in str(found.value)
    for wrong in (
        "localhost:4318",
        "ftp://x",
        "http://",
        "",
        "http://[::1",
        "http://x:99999",
        "http://x/?y=1",
        "http://x#y",
    ):
        with pytest.raises(ConfigurationError, match="no address of a collector"):
            send_spans(trials(), wrong, "r")


def test_without_the_extra_the_mend_is_told(tmp_path: Path) -> None:
    told = (
        "import sys; sys.modules['opentelemetry.sdk.trace'] = None\n"
        "from pathlib import Path\n"
        "from evalkit.core.errors import ConfigurationError\n"
        "from evalkit.report.otel import write_spans\n"
        "try: write_spans([], Path('x'), 'r')\n"
        "except ConfigurationError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", told], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "evalkit-passk[otel]" in done.stdout

"""Spans to OpenTelemetry: as lines of OTLP's JSON in a file, or to a collector. The only file that knows its SDK, an extra.

Invariant: spans go out a trial at a time, so that a run of any size needs little memory; a file is there whole or not at all.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from evalkit import __version__
from evalkit.core.errors import ConfigurationError
from evalkit.report.exports import drafted
from evalkit.report.span import Span

BATCH = 512
"""Spans that are gathered before they are sent."""

PATH = "/v1/traces"
"""Where collectors take spans."""

IDS = ("traceId", "spanId", "parentSpanId")
"""Fields that OTLP's JSON writes in hexadecimal, where JSON of protobuf has base64."""


def write_spans(trials: Iterable[Sequence[Span]], path: Path, run: str) -> int:
    """Write a line a trial, each a whole request of OTLP, and give how many spans they hold.

    Raises `ConfigurationError` where the library is missing, and `OSError` where the file cannot be written.
    """
    kit, written = Kit(run), 0
    with drafted(path) as draft, draft.open("w", encoding="utf-8", newline="\n") as file:
        for spans in trials:
            file.write(json.dumps(kit.as_json(spans), ensure_ascii=True, separators=(",", ":")) + "\n")
            written += len(spans)
    return written


def send_spans(trials: Iterable[Sequence[Span]], address: str, run: str) -> int:
    """Send spans to a collector over OTLP/HTTP and give how many it took; `OTEL_EXPORTER_OTLP_HEADERS` and the like are heeded.

    Raises `ConfigurationError` where the library is missing, the address is none, or the collector does not take them.
    """
    endpoint = _endpoint(address)
    kit, sent = Kit(run), 0
    send = kit.sender(endpoint)
    for spans in _batches(trials):
        if not send(spans):
            what = f"does not take the spans ({sent:,} were taken before)"
            raise ConfigurationError.of(f"--to {address}", what, "see that a collector listens there, and send again")
        sent += len(spans)
    return sent


def _endpoint(address: str) -> str:
    """Where spans are posted; raises `ConfigurationError` for what is no address, without telling what may be a password in it."""
    try:
        parts = urlsplit(address)
        known = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise ConfigurationError.of("--to", "is no address of a collector", "write http://localhost:4318") from None
    if "@" in parts.netloc:
        mend = "leave it away, and put it into OTEL_EXPORTER_OTLP_HEADERS"
        raise ConfigurationError.of("--to", "has a name or password in its address", mend)
    if not known or parts.query or parts.fragment:
        raise ConfigurationError.of(f"--to {address}", "is no address of a collector", "write http://localhost:4318")
    return address if parts.path.endswith(PATH) else address.rstrip("/") + PATH


def _batches(trials: Iterable[Sequence[Span]]) -> Iterator[list[Span]]:
    """Gather the spans of whole trials until they are `BATCH` or more."""
    waiting: list[Span] = []
    for spans in trials:
        waiting += spans
        if len(waiting) >= BATCH:
            yield waiting
            waiting = []
    if waiting:
        yield waiting


class Kit:
    """OpenTelemetry's SDK, loaded, and what all spans of a run share."""

    def __init__(self, run: str) -> None:
        """Load the libraries; raises `ConfigurationError` where they are not installed."""
        try:
            self._sdk = import_module("opentelemetry.sdk.trace")
            self._api = import_module("opentelemetry.trace")
            self._encoder = import_module("opentelemetry.exporter.otlp.proto.common.trace_encoder")
            self._json = import_module("google.protobuf.json_format")
            resources = import_module("opentelemetry.sdk.resources")
            scopes = import_module("opentelemetry.sdk.util.instrumentation")
        except ImportError as error:
            raise ConfigurationError.of(
                "--format otel",
                "needs OpenTelemetry's libraries, which are not installed",
                "install the extra, evalkit-passk[otel], or choose --format jsonl --events",
            ) from error
        facts = {"service.name": "evalkit", "service.version": __version__, "evalkit.run": run}
        self._resource: Any = resources.Resource(facts)
        self._scope: Any = scopes.InstrumentationScope("evalkit", __version__)

    def as_json(self, spans: Sequence[Span]) -> dict[str, Any]:
        """A request of OTLP as JSON."""
        message = self._encoder.encode_spans([self._made(span) for span in spans])
        shown: dict[str, Any] = self._json.MessageToDict(message, use_integers_for_enums=True)
        for group in shown["resourceSpans"]:
            for scope in group["scopeSpans"]:
                for span in scope["spans"]:
                    span |= {name: b64decode(span[name]).hex() for name in IDS if name in span}
        return shown

    def sender(self, address: str) -> Callable[[Sequence[Span]], bool]:
        """What sends spans to an address and tells whether they were taken."""
        http = import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
        exporter = http.OTLPSpanExporter(endpoint=address)
        success = import_module("opentelemetry.sdk.trace.export").SpanExportResult.SUCCESS
        return lambda spans: bool(exporter.export([self._made(span) for span in spans]) is success)

    def _made(self, span: Span) -> Any:
        """A span as the SDK has them."""
        status = self._api.Status(self._api.StatusCode.ERROR, span.failed) if span.failed is not None else None
        kinds = {"internal": self._api.SpanKind.INTERNAL, "client": self._api.SpanKind.CLIENT}
        return self._sdk.ReadableSpan(
            name=span.name,
            context=self._context(span.trace_id, span.span_id),
            parent=None if span.parent_id is None else self._context(span.trace_id, span.parent_id),
            resource=self._resource,
            attributes=dict(span.attributes),
            events=[self._sdk.Event(one.name, dict(one.attributes), one.at) for one in span.moments],
            kind=kinds[span.kind],
            instrumentation_scope=self._scope,
            status=status or self._api.Status(),
            start_time=span.start,
            end_time=span.end,
        )

    def _context(self, trace_id: int, span_id: int) -> Any:
        """Where a span stands."""
        flags = self._api.TraceFlags(self._api.TraceFlags.SAMPLED)
        return self._api.SpanContext(trace_id, span_id, is_remote=False, trace_flags=flags)

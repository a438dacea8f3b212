"""Records as bytes and back: pydantic's JSON, redacted, compressed; the record first and its events after it.

Invariant: what was encoded can be decoded, by this version and by every later one: `READERS` keeps a reader for each schema
number that records were ever written with.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any, Protocol

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from evalkit.core.errors import StoreError
from evalkit.core.record import Event, TrialRecord
from evalkit.store.plain import plain
from evalkit.store.redact import Redactor

LEVEL = 3
"""Of zlib: on traces of 3 to 20 kB as quick as level 1 and a little smaller; level 6 takes twice the time for a tenth of the size."""

LARGEST = 512 * 1024 * 1024
"""Bytes of JSON that a trace may have, in and out: a blob that says it is larger is an attack or an accident."""


PIECE = 8192
"""Bytes that are read at a time."""


class Readable(Protocol):
    """Something that gives its bytes in pieces."""

    def read(self, length: int, /) -> bytes:
        """The next bytes, at most so many; none at the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoded:
    """A record as it is stored: `text` compressed, of which the first `head` bytes of JSON are the record and the rest its events.

    `seen` is the record as a reader will see it (its events may be left out).
    """

    seen: TrialRecord
    head: int
    text: bytes


@cache
def _adapters() -> tuple[TypeAdapter[Any], TypeAdapter[Any]]:
    """Codecs of a record and of its events; the record is wrapped in a tuple of one, through which the configuration reaches it."""
    numbers = ConfigDict(ser_json_inf_nan="constants")
    event = Annotated[Event, Field(discriminator="type")]
    return TypeAdapter(tuple[TrialRecord], config=numbers), TypeAdapter(tuple[event, ...], config=numbers)


def encode(record: TrialRecord, redactor: Redactor) -> Encoded:
    """Encode a record and see that it can be read; what cannot be written as it is, or may hold a secret, takes the slow way.

    Reading costs a sixth of the whole, and catches what a part of somebody else's put where its type does not belong.
    """
    whole, events = _adapters()
    try:
        head = whole.dump_json((record,), exclude={0: {"events"}}, warnings=False)
        tail = events.dump_json(record.events, warnings=False)
        _read(head, 0)
        _read(tail, 1)
    except (PydanticSerializationError, ValueError, RecursionError):
        return _encode_slowly(record, redactor)
    if redactor.touches(head + tail):
        return _encode_slowly(record, redactor)
    return _packed(record, head, tail)


def _encode_slowly(record: TrialRecord, redactor: Redactor) -> Encoded:
    """Encode string by string, and read back what came of it."""
    values = plain(record, redactor.clean)
    tail = json.dumps(values.pop("events")).encode()
    head = json.dumps([values]).encode()
    try:
        seen = _read(head, 0)[0]
        _read(tail, 1)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise StoreError(f"{record.key.task}: the record of a trial cannot be kept: {place}: {first['msg']}") from error
    return _packed(seen, head, tail)


def _packed(seen: TrialRecord, head: bytes, tail: bytes) -> Encoded:
    """Compress the two texts as one."""
    size = len(head) + len(tail)
    if size > LARGEST:
        raise StoreError(f"{seen.key.task}: the trace of a trial has {size:,} bytes, more than {LARGEST:,} can be kept")
    return Encoded(seen=seen, head=len(head), text=zlib.compress(head + tail, LEVEL))


def decode(schema: int, head: int, source: Readable, *, events: bool, seen: TrialRecord | None = None) -> TrialRecord:
    """Decode a record from compressed bytes, of which no more are read than it takes; raises `StoreError` where they are damaged.

    Where all but its events was `seen` before, only those are decoded.
    """
    reader = READERS.get(schema)
    if reader is None:
        known = ", ".join(map(str, READERS))
        raise StoreError(
            f"has the schema number {schema}, this evalkit reads {known}: use the one that wrote it, or a newer one"
        )
    try:
        text = _unpacked(source, LARGEST if events else head)
        return reader(text[:head], text[head:] if events else None, seen)
    except (zlib.error, ValueError, RecursionError, TypeError, IndexError) as error:
        raise StoreError(f"its record is damaged: {error}") from error


def _read_1(head: bytes, tail: bytes | None, seen: TrialRecord | None) -> TrialRecord:
    """Read a record of schema 1."""
    found: TrialRecord = seen or _read(head, 0)[0]
    return found if tail is None else replace(found, events=_read(tail, 1))


READERS: dict[int, Callable[[bytes, bytes | None, TrialRecord | None], TrialRecord]] = {1: _read_1}
"""A reader of each schema number: it gives today's record from that day's bytes."""


def _read(text: bytes, which: int) -> Any:
    """Validate JSON; what is nested too deep for the quick parser goes through the standard library's."""
    adapter = _adapters()[which]
    try:
        return adapter.validate_json(text)
    except ValidationError as error:
        if error.errors(include_url=False)[0]["type"] != "json_invalid":
            raise
    return adapter.validate_python(json.loads(text))


def _unpacked(source: Readable, most: int) -> bytes:
    """Decompress at most so many bytes, piece by piece; raises `ValueError` where the source ends before its text does."""
    machine, text = zlib.decompressobj(), bytearray()
    while len(text) < most and not machine.eof:
        piece = machine.unconsumed_tail or source.read(PIECE)
        if not piece:
            raise ValueError("it is cut off")
        text += machine.decompress(piece, most - len(text))
    return bytes(text)

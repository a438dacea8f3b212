"""The trials of a run as files for other programs: CSV, JSON Lines, Parquet.

Invariant: one trial is one row, in the order given, with the same columns in each format; records are written as they come, so a
run of any size needs little memory. A file is there whole or not at all. No cell of a CSV is a formula to a spreadsheet.
"""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, get_args

from evalkit.core.errors import ConfigurationError
from evalkit.core.message import JSON
from evalkit.core.record import Counter, TrialRecord
from evalkit.report.clean import clean

Format = Literal["csv", "jsonl", "parquet"]
FORMATS: tuple[Format, ...] = get_args(Format)
"""What trials can be exported as."""

EVENTS = "events"
"""The column of a trial's events, where they are asked for."""

GROUP = 5_000
"""Rows of a Parquet file that are written at once."""

LARGEST = 2**63 - 1

STARTERS = "=+-@\N{FULLWIDTH EQUALS SIGN}\N{FULLWIDTH PLUS SIGN}\N{FULLWIDTH HYPHEN-MINUS}\N{FULLWIDTH COMMERCIAL AT}"
"""What a formula starts with, in one spreadsheet or another, blanks before it or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A column: its type, and how it is read off a record; None where it is unknown."""

    kind: Literal["text", "whole", "number", "flag"]
    of: Callable[[TrialRecord], Any]


def _counted(record: TrialRecord, counter: Counter, value: int, *more: Counter) -> int | None:
    """A number that is a part of a counter, or of several, None where nobody counted."""
    return None if {counter, *more} & {*record.tally.uncounted} else value


COLUMNS: Mapping[str, Fact] = {
    "suite": Fact(kind="text", of=lambda one: one.key.suite),
    "task_id": Fact(kind="text", of=lambda one: one.key.task),
    "variant": Fact(kind="text", of=lambda one: one.key.variant),
    "trial": Fact(kind="whole", of=lambda one: one.key.index),
    "outcome": Fact(kind="text", of=lambda one: one.outcome),
    "passed": Fact(kind="flag", of=lambda one: None if one.outcome == "error" else one.outcome == "passed"),
    "graded": Fact(kind="text", of=lambda one: one.graded),
    "stop": Fact(kind="text", of=lambda one: one.stop.reason),
    "stop_detail": Fact(kind="text", of=lambda one: one.stop.detail),
    "cap_limit": Fact(kind="number", of=lambda one: None if one.stop.cap is None else one.stop.cap.limit),
    "cap_value": Fact(kind="number", of=lambda one: None if one.stop.cap is None else one.stop.cap.value),
    "turns": Fact(kind="whole", of=lambda one: one.tally.known("turns")),
    "calls": Fact(kind="whole", of=lambda one: _counted(one, "turns", one.tally.calls)),
    "tool_calls": Fact(kind="whole", of=lambda one: one.tally.known("tool_calls")),
    "tool_errors": Fact(kind="whole", of=lambda one: _counted(one, "tool_calls", one.tally.tool_errors)),
    "retries": Fact(kind="whole", of=lambda one: _counted(one, "turns", one.tally.retries, "tool_calls")),
    "tokens": Fact(kind="whole", of=lambda one: one.tally.known("tokens")),
    "input_tokens": Fact(kind="whole", of=lambda one: _counted(one, "tokens", one.tally.input_tokens)),
    "output_tokens": Fact(kind="whole", of=lambda one: _counted(one, "tokens", one.tally.output_tokens)),
    "cache_read_tokens": Fact(kind="whole", of=lambda one: _counted(one, "tokens", one.tally.cache_read_tokens)),
    "cache_write_5m_tokens": Fact(
        kind="whole", of=lambda one: _counted(one, "tokens", one.tally.cache_write_5m_tokens)
    ),
    "cache_write_1h_tokens": Fact(
        kind="whole", of=lambda one: _counted(one, "tokens", one.tally.cache_write_1h_tokens)
    ),
    "usd": Fact(kind="number", of=lambda one: one.tally.usd),
    "seconds": Fact(kind="number", of=lambda one: one.tally.known("seconds")),
    "waited": Fact(kind="number", of=lambda one: one.tally.waited),
    "wall_seconds": Fact(kind="number", of=lambda one: None if "seconds" in one.tally.uncounted else one.seconds),
    "started": Fact(kind="number", of=lambda one: one.started),
    "attempt": Fact(kind="whole", of=lambda one: one.attempt),
    "nature": Fact(kind="text", of=lambda one: one.nature),
    "models": Fact(kind="text", of=lambda one: ", ".join(one.models)),
    "seed": Fact(kind="text", of=lambda one: str(one.seed)),
    "task_digest": Fact(kind="text", of=lambda one: one.key.task_digest),
    "variant_digest": Fact(kind="text", of=lambda one: one.key.variant_digest),
    "error": Fact(kind="text", of=lambda one: one.error),
    "answer": Fact(kind="text", of=lambda one: one.answer),
}
"""The columns of every export, in order. A seed has up to 64 bits, more than many programs keep of a number, so it is text."""


def export(records: Iterable[TrialRecord], path: Path, form: Format, *, events: bool = False) -> int:
    """Write records to a file and give how many they were; with `events` they need theirs.

    CSV holds no events. Raises `ConfigurationError` for a format that cannot hold what is asked, or whose library is missing, and
    `OSError` where the file cannot be written.
    """
    writer = {"csv": _write_csv, "jsonl": _write_jsonl, "parquet": _write_parquet}[form]
    with drafted(path) as draft:
        return writer(records, draft, events)


def facts(record: TrialRecord) -> dict[str, JSON]:
    """Give a record as a flat JSON object; a number that is none is null."""
    return {name: _plain(fact.of(record)) for name, fact in COLUMNS.items()}


def defused(text: str) -> str:
    """Make a text harmless as a cell: control characters are shown as escapes, and an apostrophe keeps a formula from being one."""
    shown = clean(text)
    return f"'{shown}" if shown.lstrip()[:1] in tuple(STARTERS) or shown[:1] in ("\t", "\n") else shown


def _write_csv(records: Iterable[TrialRecord], path: Path, events: bool) -> int:
    """Write CSV: texts in quotes, so that no other separator takes a cell apart."""
    if events:
        raise ConfigurationError.of("--events", "a CSV holds no events", "choose --format jsonl or parquet")
    written = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
        rows.writerow(COLUMNS)
        for record in records:
            rows.writerow(_cell(value) for value in facts(record).values())
            written += 1
    return written


def _cell(value: JSON) -> str | int | float:
    """A value as a cell of a CSV; nothing where it is unknown."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else defused(value) if isinstance(value, str) else value


def _write_jsonl(records: Iterable[TrialRecord], path: Path, events: bool) -> int:
    """Write JSON Lines, in ASCII."""
    written = 0
    with path.open("w", encoding="ascii", newline="\n") as file:
        for record in records:
            shown = facts(record) | ({EVENTS: _events(record)} if events else {})
            file.write(_json(shown) + "\n")
            written += 1
    return written


def _write_parquet(records: Iterable[TrialRecord], path: Path, events: bool) -> int:
    """Write Parquet, compressed, a group of rows at a time; events are JSON text."""
    arrow, parquet = _pyarrow()
    kinds = {"text": arrow.string(), "whole": arrow.int64(), "number": arrow.float64(), "flag": arrow.bool_()}
    fields = [(name, kinds[fact.kind]) for name, fact in COLUMNS.items()]
    schema = arrow.schema([*fields, *([(EVENTS, arrow.string())] if events else [])])
    written = 0
    with parquet.ParquetWriter(str(path), schema, compression="zstd") as file:
        for group in _groups(records):
            rows = [_row(record, events) for record in group]
            file.write_table(arrow.Table.from_pylist(rows, schema=schema))
            written += len(rows)
    return written


def _row(record: TrialRecord, events: bool) -> dict[str, JSON]:
    """A record as a row of a Parquet file: numbers that fit, texts that can be encoded."""
    row = facts(record) | ({EVENTS: _json(_events(record))} if events else {})
    for name, value in row.items():
        if isinstance(value, str):
            row[name] = value.encode("utf-8", "backslashreplace").decode()
        elif isinstance(value, int) and not isinstance(value, bool):
            row[name] = max(-LARGEST, min(value, LARGEST))
    return row


def _groups(records: Iterable[TrialRecord]) -> Iterator[list[TrialRecord]]:
    """Divide records into groups of `GROUP`."""
    group: list[TrialRecord] = []
    for record in records:
        group.append(record)
        if len(group) == GROUP:
            yield group
            group = []
    if group:
        yield group


def _events(record: TrialRecord) -> JSON:
    """The events of a record as JSON values."""
    return _adapter().dump_python(record, include={EVENTS}, warnings=False)[EVENTS]


@cache
def _adapter() -> Any:
    """What turns a record into plain values; loaded only where events are exported."""
    from pydantic import TypeAdapter  # noqa: PLC0415  # not needed for rows

    return TypeAdapter(TrialRecord)


def _json(value: JSON) -> str:
    """Write JSON that every reader accepts: numbers that are none become null."""
    try:
        return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    except ValueError:
        return json.dumps(_finite(value), ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def _finite(value: JSON) -> JSON:
    """A value with every number that is none put to null."""
    if isinstance(value, Mapping):
        return {str(name): _finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return _plain(value)


def _plain(value: Any) -> Any:
    """A value, null where it is a number that JSON does not know."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _pyarrow() -> tuple[Any, Any]:
    """The library that writes Parquet, which is an extra."""
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise ConfigurationError.of(
            "--format parquet",
            "needs the library pyarrow, which is not installed",
            "install the extra, evalkit-passk[parquet], or choose --format jsonl",
        ) from error


@contextmanager
def drafted(path: Path) -> Iterator[Path]:
    """Give a draft that takes the file's place when it is done, and is gone when it failed."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield draft
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)

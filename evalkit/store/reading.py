"""What a run's database tells: columns for the numbers, records for people, attempts for the bookkeeping.

Invariant: only planned trials are ever told of, in the order of the plan; a row whose task or variant was edited since is counted
apart, never mixed in. Columns come from plain index columns: no record and no trace is decoded for them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, fields
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

from evalkit.core.errors import StoreError
from evalkit.core.record import Outcome, TrialRecord, Verdict
from evalkit.store.codec import decode
from evalkit.store.disk import fault
from evalkit.store.manifest import Manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """One row a planned trial that has a record, as lists of one length.

    `index` is the trial's number from 1, `stop` the reason of its stop, `seconds` its working time as the `seconds` cap counts it and
    `wall` that of the whole trial, both in seconds; `usd` is None where a price is unknown, all the others where nobody
    counted; `attempts` counts how often the trial was started, `key` is the digest that `RunStore.record` takes.
    """

    key: list[str]
    suite: list[str]
    task: list[str]
    variant: list[str]
    index: list[int]
    outcome: list[Outcome]
    stop: list[str]
    graded: list[Verdict | None]
    turns: list[int | None]
    tokens: list[int | None]
    usd: list[float | None]
    seconds: list[float | None]
    wall: list[float | None]
    tool_errors: list[int]
    retries: list[int]
    attempts: list[int]

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """One attempt at a trial: `counts` where it is the one whose record stands for the trial.

    `number` is its place among the attempts of one call of the runner, `started` seconds since the epoch. An attempt that is `abandoned`
    was killed with its process: what it spent is not known. `usd` None means unknown, `seconds` is wall time.
    """

    key: str
    number: int
    started: float
    outcome: Outcome | Literal["abandoned", "running"]
    stop: str | None
    usd: float | None
    seconds: float | None
    counts: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Bookkeeping:
    """The run counted up.

    `planned` trials, of which `recorded` have a record and `errors` one that is an error; `aside` records belong to no planned trial
    (their task or variant was edited, or fewer are asked for). Of all `attempts` ever started, `abandoned` were killed, `running` are under
    way, `refused` came second to a trial that was decided. `usd` is what all of them are known to have cost, `unknown_cost` how many
    attempts cost an unknown sum beyond that.
    """

    planned: int
    recorded: int
    errors: int
    aside: int
    attempts: int
    abandoned: int
    running: int
    refused: int
    usd: float
    unknown_cost: int


UNKNOWN = -1
"""What stands in the index for a count that is not known."""

SMALL = 64 * 1024
"""Bytes of a compressed record that are read at once; of a larger one, only what is asked for."""

_ROW = (
    "key, suite, task, variant, trial, outcome, stop, graded, turns, tokens, usd, seconds, wall, tool_errors, retries,"
    " task_digest, variant_digest, attempt"
)
_WIDTH = len(fields(Columns)) - 1
"""Columns that come straight from the table; the number of attempts is added."""


def planned_rows(connection: sqlite3.Connection, manifest: Manifest) -> list[tuple[Any, ...]]:
    """All rows of planned trials in the order of the plan."""
    cells: dict[tuple[str, ...], tuple[int, list[tuple[Any, ...]]]] = {}
    for task in manifest.plan:
        for variant in manifest.variants:
            count = task.trials.get(variant.name, 0)
            cell = (task.suite, task.task, variant.name, task.digest, manifest.digests[variant.name])
            cells[cell] = count, []
    nothing: tuple[int, list[tuple[Any, ...]]] = (0, [])
    for row in connection.execute(f"SELECT {_ROW} FROM trial"):  # noqa: S608  # fixed names
        count, rows = cells.get((row[1], row[2], row[3], row[15], row[16]), nothing)
        if row[4] <= count:
            rows.append(row)
    for _, rows in cells.values():
        rows.sort(key=lambda row: row[4])
    return [row for _, rows in cells.values() for row in rows]


def columns(connection: sqlite3.Connection, manifest: Manifest) -> Columns:
    """Read the index columns of all planned trials that have a record."""
    rows = planned_rows(connection, manifest)
    again = dict(connection.execute("SELECT key, count(*) FROM attempt GROUP BY key HAVING count(*) > 1"))
    lists: Sequence[list[Any]] = [list(values) for values in zip(*rows, strict=True)] or [[] for _ in range(_WIDTH)]
    names = [field.name for field in fields(Columns)]
    values = dict(zip(names, lists[:_WIDTH], strict=False))
    for counter in ("turns", "tokens"):
        values[counter] = [None if count == UNKNOWN else count for count in values[counter]]
    return Columns(**values, attempts=[again.get(key, 1) for key in lists[0]])


def attempts(connection: sqlite3.Connection, *, live: bool) -> list[Started]:
    """Read all attempts, oldest first; one without an end is `running` where the run is `live`, else `abandoned`."""
    unended: Literal["running", "abandoned"] = "running" if live else "abandoned"
    return [
        Started(
            key=key,
            number=number,
            started=started,
            outcome=outcome or unended,
            stop=stop,
            usd=usd,
            seconds=seconds,
            counts=bool(counts),
        )
        for key, number, started, outcome, stop, usd, seconds, counts in connection.execute(
            "SELECT a.key, a.number, a.started, a.outcome, a.stop, a.usd, a.seconds, t.attempt = a.id"
            " FROM attempt a LEFT JOIN trial t ON t.key = a.key ORDER BY a.id"
        )
    ]


def bookkeeping(connection: sqlite3.Connection, manifest: Manifest, *, live: bool) -> Bookkeeping:
    """Count the run up."""
    rows = planned_rows(connection, manifest)
    records = connection.execute("SELECT count(*) FROM trial").fetchone()[0]
    begun = attempts(connection, live=live)
    return Bookkeeping(
        planned=manifest.trials,
        recorded=len(rows),
        errors=sum(1 for row in rows if row[5] == "error"),
        aside=records - len(rows),
        attempts=len(begun),
        abandoned=sum(1 for one in begun if one.outcome == "abandoned"),
        running=sum(1 for one in begun if one.outcome == "running"),
        refused=sum(1 for one in begun if one.outcome in ("passed", "failed") and not one.counts),
        usd=sum(one.usd for one in begun if one.usd is not None),
        unknown_cost=sum(1 for one in begun if one.usd is None),
    )


def body(
    connection: sqlite3.Connection, attempt: int, folder: Path, *, events: bool, seen: TrialRecord | None = None
) -> TrialRecord:
    """Read the record of an attempt that gave one, with its events where wanted; raises `StoreError` where it is damaged.

    Where all but its events was `seen` before, only those are decoded.
    """
    row = connection.execute(
        "SELECT schema, head, CASE WHEN length(text) <= ? THEN text END FROM body WHERE attempt = ?", (SMALL, attempt)
    ).fetchone()
    if row is None:
        raise fault(folder, f"the record of attempt {attempt} is missing", "restore the folder from a copy")
    schema, head, text = row
    with BytesIO(text) if text is not None else connection.blobopen("body", "text", attempt, readonly=True) as source:
        try:
            return decode(schema, head, source, events=events, seen=seen)
        except StoreError as error:
            raise fault(folder, f"attempt {attempt}: {error}") from error

"""Trials as files: the same rows in every format, whole or not at all, and no formula in any cell."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from report_pages import ALL, HOSTILE, hostile_record
from report_records import a_run

from evalkit.core.errors import ConfigurationError
from evalkit.core.record import Tally, TrialRecord
from evalkit.report.exports import COLUMNS, FORMATS, Format, defused, export, facts

FORMULAS = (
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "  =1+1",
    "\t=1",
    "\n=1",
    "\r=1",
    "\x00=1",
    "\uff1d1+1",
    "\uff0b1",
    "\uff0d1",
    "\uff20x",
)


@pytest.fixture(scope="module")
def records() -> list[TrialRecord]:
    """A small run, and trials in which all is hostile."""
    return [*a_run(2, ("react", "plan")), *(hostile_record(text, 1) for text in (*HOSTILE, *FORMULAS))]


def rows_of(path: Path, form: Format) -> list[dict[str, Any]]:
    """Read a file back."""
    if form == "csv":
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    if form == "jsonl":
        return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]
    found: list[dict[str, Any]] = pytest.importorskip("pyarrow.parquet").read_table(path).to_pylist()
    return found


@pytest.mark.parametrize("form", FORMATS)
def test_one_trial_is_one_row_in_the_order_given(form: Format, records: list[TrialRecord], tmp_path: Path) -> None:
    if form == "parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"trials.{form}"
    assert export(iter(records), path, form) == len(records)
    rows = rows_of(path, form)
    assert [list(row) for row in rows] == [list(COLUMNS)] * len(records)
    for row, record in list(zip(rows, records, strict=True))[:32]:
        assert row["task_id"] == record.key.task
        assert int(row["trial"]) == record.key.index
        assert row["outcome"] == record.outcome
        assert float(row["usd"]) == record.tally.usd
        assert int(row["tokens"]) == record.tally.tokens
        assert int(row["seed"]) == record.seed
        assert str(row["passed"]).lower() == str(record.outcome == "passed").lower()
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_events_come_where_they_are_asked_for(form: Format, records: list[TrialRecord], tmp_path: Path) -> None:
    if form == "parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / "trials"
    export(records, path, form, events=True)
    for row, record in zip(rows_of(path, form), records, strict=True):
        events = row["events"] if form == "jsonl" else json.loads(row["events"])
        assert [event["type"] for event in events] == [event.type for event in record.events]
    assert rows_of(path, form)[0].keys() == {*COLUMNS, "events"}


def test_the_formats_agree(records: list[TrialRecord], tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    for form in FORMATS:
        export(records[:32], tmp_path / form, form)
    lines, table = rows_of(tmp_path / "jsonl", "jsonl"), rows_of(tmp_path / "parquet", "parquet")
    assert lines == table
    cells = rows_of(tmp_path / "csv", "csv")
    for line, cell in zip(lines, cells, strict=True):
        for name, value in line.items():
            shown = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
            assert cell[name] in (shown, f"'{shown}"), name


@pytest.mark.parametrize("text", FORMULAS)
def test_no_cell_is_a_formula(text: str) -> None:
    assert defused(text)[0] in ("'", "\\"), "an apostrophe, or an escape that shows what was a control character"


@pytest.mark.parametrize("text", ["", "ordinary", "a=b", "3 - 1", "'already", "–"])
def test_a_text_that_is_none_stays_as_it_is(text: str) -> None:
    assert defused(text) == text


def test_a_csv_is_safe_in_a_spreadsheet_of_any_separator(tmp_path: Path) -> None:
    path = tmp_path / "trials.csv"
    tricky = hostile_record('a;=HYPERLINK(1)\n=2,=3\t=4"=5', 1)
    export([tricky], path, "csv")
    text = path.read_text(encoding="utf-8")
    for separator in ",;\t":
        for row in csv.reader(text.splitlines(keepends=True), delimiter=separator):
            assert not [cell for cell in row if separator == "," and cell[:1] in ("=", "+", "@")]
    assert '"a;=HYPERLINK(1)\n=2,=3\t=4""=5"' in text
    assert "\x00" not in text


def test_numbers_stay_numbers_even_below_zero(tmp_path: Path) -> None:
    (record,) = [replace(one, started=-1.5) for one in list(a_run(1, ("react",)))[:1]]
    export([record], tmp_path / "x", "csv")
    assert rows_of(tmp_path / "x", "csv")[0]["started"] == "-1.5"


def test_what_is_unknown_is_nothing_and_never_nan(tmp_path: Path) -> None:
    record = replace(next(iter(a_run(1, ("react",)))), outcome="error", graded=None, seconds=float("nan"))
    record = replace(record, tally=replace(record.tally, usd=None, waited=float("inf")))
    shown = facts(record)
    assert [shown[name] for name in ("usd", "passed", "graded", "wall_seconds", "waited", "cap_limit")] == [None] * 6
    export([record], tmp_path / "x", "jsonl", events=True)
    assert "NaN" not in (tmp_path / "x").read_text(encoding="ascii")
    export([record], tmp_path / "y", "csv")
    assert rows_of(tmp_path / "y", "csv")[0]["usd"] == ""


def test_a_number_in_an_event_that_is_none_is_null(tmp_path: Path) -> None:
    record = next(iter(a_run(1, ("react",))))
    events = (replace(record.events[0], at=float("nan")), *record.events[1:])
    export([replace(record, events=events)], tmp_path / "x", "jsonl", events=True)
    assert rows_of(tmp_path / "x", "jsonl")[0]["events"][0]["at"] is None


def test_numbers_past_all_bounds_fit(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    record = replace(next(iter(a_run(1, ("react",)))), seed=2**64 - 1, tally=Tally(turns=2**80))
    export([record], tmp_path / "x", "parquet")
    (row,) = rows_of(tmp_path / "x", "parquet")
    assert (row["turns"], row["seed"]) == (2**63 - 1, str(2**64 - 1))


@pytest.mark.parametrize("form", FORMATS)
def test_a_run_without_trials_is_a_file_with_columns(form: Format, tmp_path: Path) -> None:
    if form == "parquet":
        pytest.importorskip("pyarrow")
    assert export([], tmp_path / "x", form) == 0
    assert rows_of(tmp_path / "x", form) == []
    if form == "csv":
        assert (tmp_path / "x").read_text(encoding="utf-8").count(",") == len(COLUMNS) - 1


@pytest.mark.parametrize("form", FORMATS)
def test_a_file_is_whole_or_what_it_was(form: Format, tmp_path: Path) -> None:
    if form == "parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / "trials"
    path.write_text("old", encoding="utf-8")

    def breaking() -> Iterator[TrialRecord]:
        yield from a_run(1, ("react",))
        raise OSError("the store is gone")

    with pytest.raises(OSError, match="the store is gone"):
        export(breaking(), path, form)
    assert path.read_text(encoding="utf-8") == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["trials"]


def test_many_rows_are_written_in_groups(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    record = replace(next(iter(a_run(1, ("react",)))), events=())
    assert export((record for _ in range(10_001)), tmp_path / "x", "parquet") == 10_001
    assert parquet.ParquetFile(tmp_path / "x").num_row_groups == 3


def test_a_csv_holds_no_events(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="choose --format jsonl or parquet"):
        export([], tmp_path / "x", "csv", events=True)
    assert not list(tmp_path.iterdir())


def test_without_its_library_parquet_says_what_to_install(tmp_path: Path) -> None:
    program = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from pathlib import Path\n"
        "from evalkit.report.exports import export\n"
        f"export([], Path({str(tmp_path / 'x')!r}), 'parquet')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "ConfigurationError" in done.stderr
    assert "evalkit-passk[parquet]" in done.stderr
    assert not list(tmp_path.iterdir())


def test_text_that_cannot_be_encoded_is_written_visibly(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    record = hostile_record(ALL, 1)
    for form in FORMATS:
        export([record], tmp_path / form, form, events=form != "csv")
        (row,) = rows_of(tmp_path / form, form)
        assert "window.pwned" in row["answer"]
    assert "\\ud800" in (tmp_path / "csv").read_text(encoding="utf-8")

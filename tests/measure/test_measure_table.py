"""The table: the plan is the denominator, and nothing enters that does not belong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from measure_tables import a_row, a_table, columns_of, table_of

from evalkit.core.errors import ConfigurationError, RunInvalid
from evalkit.measure.table import OUTCOMES, VERDICTS, Table, joined

PLAN: dict[str, Any] = {"tasks": [("s", "a"), ("s", "b")], "variants": ["x", "y"], "planned": 2}


def test_trials_are_counted_by_task_and_variant() -> None:
    table = a_table({"x": [(3, 2, 2, 1), (0, 0, 0, 8)], "y": [8, 0]})
    assert table.planned.tolist() == [[8, 8], [8, 8]]
    assert table.passed.tolist() == [[3, 8], [0, 0]]
    assert table.failed.tolist() == [[2, 0], [0, 8]]
    assert table.errors.tolist() == [[2, 0], [0, 0]]
    assert table.missing.tolist() == [[1, 0], [8, 0]]
    assert table.defined.tolist() == [[False, True], [False, True]]


def test_rows_may_come_in_any_order_and_the_plan_orders_tasks() -> None:
    rows = [a_row(("s", task), "y", index, "passed") for task in "ba" for index in (2, 1)]
    table = table_of(rows, **PLAN)
    assert table.tasks == (("s", "a"), ("s", "b"))
    assert table.passed.tolist() == [[0, 2], [0, 2]]
    assert table.missing.tolist() == [[2, 0], [2, 0]]


def test_codes_unknown_prices_and_reasons_are_kept() -> None:
    rows = [
        a_row(("s", "a"), "x", 1, "error", usd=None),
        a_row(("s", "a"), "x", 2, "failed", failed_stop="cap:turns", graded="unknown"),
    ]
    table = table_of(rows, **PLAN)
    assert [OUTCOMES[code] for code in table.outcome] == ["error", "failed"]
    assert [VERDICTS[code] for code in table.graded] == [None, "unknown"]
    assert [table.stops[code] for code in table.stop] == ["error:provider", "cap:turns"]
    assert np.isnan(table.usd).tolist() == [True, False]


@pytest.mark.parametrize("planned", [3, [3, 3], [[3, 3], [3, 3]], np.full((2, 1), 3)])
def test_planned_numbers_may_be_one_or_by_task_or_by_cell(planned: Any) -> None:
    assert table_of([], **{**PLAN, "planned": planned}).missing.tolist() == [[3, 3], [3, 3]]


def test_an_empty_run_and_an_empty_plan_are_tables() -> None:
    assert table_of([], **PLAN).missing.sum() == 8
    empty = table_of([], tasks=[], variants=[], planned=[])
    assert empty.planned.shape == (0, 0)
    assert table_of([], tasks=[], variants=["x"], planned=[]).planned.shape == (0, 1)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"task": "c"}, "a task that is not planned: s/c"),
        ({"suite": "other"}, "a task that is not planned: other/a"),
        ({"variant": "z"}, "a variant that is not planned: z"),
        ({"outcome": "maybe"}, "an outcome that there is not: maybe"),
        ({"graded": "well"}, "word that there is not: well"),
        ({"index": 3}, "beside the plan, first trial 3 of a under x"),
        ({"index": 0}, "beside the plan"),
    ],
)
def test_a_record_beside_the_plan_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(RunInvalid, match=words):
        table_of([{**a_row(("s", "a"), "x", 1, "passed"), **changes}], **PLAN)


def test_two_records_of_one_trial_are_refused() -> None:
    row = a_row(("s", "a"), "x", 1, "passed")
    with pytest.raises(RunInvalid, match="two records"):
        table_of([row, {**row, "outcome": "failed"}], **PLAN)


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ({"tasks": [("s", "a"), ("s", "a")]}, "names a task twice"),
        ({"variants": ["x", "x"]}, "names a variant twice"),
        ({"planned": -1}, "how many trials"),
        ({"planned": 1.5}, "not whole"),
        ({"planned": [1, 2, 3]}, "shape"),
        ({"planned": [[[1]]]}, "shape"),
        ({"baseline": "z"}, "baseline 'z' is no variant"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(plan: dict[str, Any], words: str) -> None:
    with pytest.raises(RunInvalid, match=words):
        table_of([], **{**PLAN, **plan})


@pytest.mark.parametrize("short", ["suite", "stop", "usd", "turns"])
def test_columns_of_unequal_length_are_refused(short: str) -> None:
    rows = [a_row(("s", "a"), "x", index, "passed") for index in (1, 2)]
    columns = columns_of(rows)
    columns[short] = columns[short][:1]
    with pytest.raises(RunInvalid, match="unequal length"):
        Table.of(**PLAN, **columns)


def test_names_are_found_and_mistyped_ones_are_answered() -> None:
    table = a_table({"react": [8], "plan": [8]})
    assert table.find_variant("plan") == 1
    assert table.find_task("t0") == table.find_task("s/t0") == 0
    with pytest.raises(ConfigurationError, match="did you mean react"):
        table.find_variant("raect")
    with pytest.raises(ConfigurationError, match="there are: t0"):
        table.find_task("something else")


def test_a_task_id_in_two_suites_wants_its_suite() -> None:
    table = table_of([], tasks=[("one", "a"), ("two", "a")], variants=["x"], planned=1)
    assert table.find_task("two/a") == 1
    assert table.task_name(1) == "two/a"
    with pytest.raises(ConfigurationError, match="write one of one/a, two/a"):
        table.find_task("a")


def test_rows_are_added_and_take_the_place_of_those_of_the_same_trial() -> None:
    task = ("s", "a")
    old = table_of([a_row(task, "x", 1, "error"), a_row(task, "x", 2, "passed")], **PLAN)
    new = table_of([a_row(task, "x", 1, "failed", failed_stop="cap:usd"), a_row(task, "y", 2, "passed")], **PLAN)
    found = joined(old, new)
    assert (found.passed[0].tolist(), found.failed[0].tolist(), found.errors.sum()) == ([1, 1], [1, 0], 0)
    assert found.count(found.stop == found.stops.index("cap:usd")).tolist() == [[1, 0], [0, 0]]
    assert joined(old, table_of([], **PLAN)).passed.tolist() == old.passed.tolist()
    with pytest.raises(RunInvalid, match="unlike plans"):
        joined(old, a_table({"x": [8]}))


def test_skipped_trials_are_those_that_were_left_out_on_purpose() -> None:
    table = a_table({"x": [(3, 1, 0, 4), (3, 0, 0, 5)]})
    assert table.skipped.tolist() == [[0], [0]]
    assert replace(table, first_failure=True).skipped.tolist() == [[4], [0]]
    assert replace(table, curtailed=True).skipped.tolist() == [[4], [5]]

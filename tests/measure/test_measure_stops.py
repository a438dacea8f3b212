"""Stops: every recorded trial once, by reason and by outcome."""

from __future__ import annotations

from measure_tables import a_row, a_table, table_of

from evalkit.measure.stops import stops


def test_stops_are_counted_by_variant_reason_and_outcome() -> None:
    table = a_table({"x": [(6, 2, 0, 0), (3, 2, 2, 1)], "y": [8, 8]}, failed_stop="cap:turns")
    found = stops(table)
    assert found.of("x") == {"finished": 9, "cap:turns": 4, "error:provider": 2}
    assert found.of("y") == {"finished": 16}
    assert found.passed("x") == {"finished": 9}
    assert found.by_outcome("x")["cap:turns"] == {"failed": 4, "passed": 0, "error": 0}
    assert found.by_outcome("x")["error:provider"] == {"failed": 0, "passed": 0, "error": 2}
    assert found.counts.sum() == table.task.size
    assert found.reasons == ("finished", "cap:turns", "error:provider"), "the most frequent first"


def test_a_capped_trial_whose_graders_said_pass_would_have_passed() -> None:
    rows = [
        a_row(("s", "a"), "x", 1, "failed", stop="cap:turns", graded="pass"),
        a_row(("s", "a"), "x", 2, "failed", stop="cap:turns", graded="fail"),
        a_row(("s", "a"), "x", 3, "passed"),
    ]
    found = stops(table_of(rows, tasks=[("s", "a")], variants=["x"], planned=3))
    assert found.would_have_passed("x") == {"cap:turns": 1}


def test_a_run_without_records_has_no_stops() -> None:
    found = stops(table_of([], tasks=[("s", "a")], variants=["x"], planned=3))
    assert found.of("x") == found.passed("x") == found.would_have_passed("x") == {}
    assert found.reasons == ()

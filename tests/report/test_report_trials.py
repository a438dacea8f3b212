"""The order of trials, and the columns that a page holds of them."""

from __future__ import annotations

from dataclasses import replace

from report_records import a_key, a_record, a_run

from evalkit.core.record import Outcome, TrialRecord
from evalkit.report.trials import by_interest, index, links, listed


def a_row(task: str, outcome: Outcome, number: int = 1, variant: str = "v") -> TrialRecord:
    """A row with this outcome."""
    return replace(a_record(a_key(task, variant, number), 1.0), outcome=outcome, events=())


def test_failing_trials_stand_first_then_errors_then_the_rest() -> None:
    rows = [
        a_row("b", "passed"),
        a_row("a", "passed"),
        a_row("c", "error"),
        a_row("z", "failed", 2),
        a_row("z", "failed"),
    ]
    assert [(row.key.task, row.key.index) for row in listed(rows)] == [("z", 1), ("z", 2), ("c", 1), ("a", 1), ("b", 1)]


def test_traces_go_round_failing_cells_before_they_go_deep_and_a_passing_one_follows_each() -> None:
    listing = listed(
        [a_row("a", "failed", number) for number in (1, 2, 3)]
        + [a_row("b", "error", 1), a_row("b", "failed", 2)]
        + [a_row("a", "passed", number) for number in (4, 5)]
        + [a_row("c", "passed", number) for number in (1, 2)]
    )
    ranked = [(listing[place].key.task, listing[place].key.index) for place in by_interest(listing)]
    assert ranked == [("a", 1), ("b", 2), ("a", 2), ("b", 1), ("a", 3), ("a", 4), ("c", 1), ("a", 5), ("c", 2)]


def test_every_trial_is_ranked_once() -> None:
    listing = listed(a_run())
    assert sorted(by_interest(listing)) == list(range(len(listing)))


def test_the_index_names_each_name_once_and_points_to_it() -> None:
    listing = listed([a_row("a", "failed"), a_row("b", "passed"), a_row("a", "failed", variant="w")])
    found = index(listing, {0: (3, 1)})
    assert found["tasks"] == [["support-desk", "a"], ["support-desk", "b"]]
    assert found["variants"] == ["v", "w"]
    assert found["task"] == [0, 0, 1]
    assert found["variant"] == [0, 1, 0]
    assert found["outcome"] == [0, 0, 2]
    assert (found["block"], found["at"]) == ([3, -1, -1], [1, -1, -1])
    assert len({len(found[name]) for name in ("task", "stop", "turns", "tokens", "usd", "seconds", "at")}) == 1
    assert links(listing) == ({("support-desk", "a"): 0, ("support-desk", "b"): 1}, {"v": 0, "w": 1})


def test_names_that_look_alike_once_cleaned_stay_apart() -> None:
    listing = listed([a_row("x" * 300 + "1" + "x" * 300, "failed"), a_row("x" * 300 + "2" + "x" * 300, "failed")])
    found = index(listing, {})
    assert found["task"] == [0, 1]
    assert found["tasks"][0] == found["tasks"][1]

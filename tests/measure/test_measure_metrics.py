"""Every metric: how it is written, what it counts, and what it leaves unknown."""

from __future__ import annotations

import numpy as np
import pytest
from measure_tables import a_row, a_table, table_of

from evalkit.core.errors import ConfigurationError
from evalkit.measure.estimate import estimate
from evalkit.measure.gate import judge
from evalkit.measure.metric import Amount, Shares
from evalkit.measure.metrics import forms, kinds, metric
from evalkit.measure.stop_shift import stop_shifts
from evalkit.measure.table import Table

TEXTS = (
    "pass^8",
    "pass^1",
    "pass@1",
    "pass@16",
    "cap_rate(turns)",
    "cap_rate(any)",
    "error_rate",
    "usd_per_reliable_success",
)


def shares(table: Table, text: str) -> Shares:
    """Read a metric of the first variant on all tasks."""
    found = metric(text).read(table, 0, np.ones(len(table.tasks), dtype=bool))
    assert isinstance(found, Shares)
    return found


def price(table: Table) -> Amount:
    """Read the price of the first variant on all tasks."""
    found = metric("usd_per_reliable_success").read(table, 0, np.ones(len(table.tasks), dtype=bool))
    assert isinstance(found, Amount)
    return found


@pytest.mark.parametrize("text", TEXTS)
def test_a_metric_is_written_as_it_is_read(text: str) -> None:
    assert metric(text).text == metric(f"  {text} ").text == text
    assert metric(text) == metric(text)


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.__name__)
def test_every_metric_of_the_folder_keeps_the_seam(kind: type) -> None:
    """Its examples read back as itself and as no other metric; its unit tells what it reads."""
    table = a_table({"x": [8, 7, 0]})
    for form in kind.forms():  # type: ignore[attr-defined]  # the seam is what is tested
        found = metric(form)
        assert type(found) is kind
        assert found.text == form
        assert [other.parse(form) is not None for other in kinds()].count(True) == 1
        read = found.read(table, 0, np.ones(3, dtype=bool))
        assert isinstance(read, Shares if found.unit == "share" else Amount)
        assert isinstance(found.more_is_better, bool)
        assert kind.__doc__


def test_all_metrics_are_found() -> None:
    assert set(forms()) == {
        "pass^8",
        "pass@1",
        "cap_rate(turns)",
        "cap_rate(any)",
        "error_rate",
        "usd_per_reliable_success",
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("pas^8", "did you mean pass\\^8"),
        ("pass8", "did you mean pass"),
        ("Pass@1", "did you mean pass@1"),
        ("pass^k", "did you mean pass\\^8"),
        ("pass^0", "k counts from 1"),
        ("pass@0", "write pass@1"),
        ("pass^-1", "no such metric"),
        ("pass^٣", "no such metric"),
        ("pass^99999999999999999999", "no such metric"),
        ("cap_rate", "did you mean cap_rate"),
        ("cap_rate(turn)", "did you mean turns"),
        ("cap_rate()", "there is no cap on ''"),
        ("usd", "write one of|did you mean"),
        ("", "write one of"),
        ("\x00" * 1000, "no such metric"),
    ],
)
def test_what_is_no_metric_is_refused_with_what_was_meant(text: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        metric(text)


def test_passes_are_hits_and_errors_and_missing_trials_are_unknown() -> None:
    table = a_table({"x": [(3, 2, 2, 1), (8, 0, 0, 0)]})
    for text in ("pass^2", "pass@2"):
        found = shares(table, text)
        assert (found.trials.tolist(), found.hits.tolist(), found.unknown.tolist()) == ([8, 8], [3, 8], [3, 0])
        assert np.isnan(found.values).tolist() == [True, False]
    assert shares(table, "pass^2").filled(hit=True).values.tolist() == [15 / 28, 1.0]
    assert shares(table, "pass^2").filled(hit=False).values.tolist() == [3 / 28, 1.0]


def test_errors_are_hits_of_the_error_rate() -> None:
    found = shares(a_table({"x": [(3, 2, 2, 1), (8, 0, 0, 0)]}), "error_rate")
    assert (found.hits.tolist(), found.unknown.tolist()) == ([2, 0], [1, 0])


def test_caps_are_counted_by_their_meter_and_void_trials_are_unknown() -> None:
    stops = ["cap:turns", "cap:usd", "finished", "error:provider", "cap:turns"]
    outcomes = ["failed", "failed", "passed", "error", "error"]
    rows = [
        a_row(("s", "a"), "x", index, outcome, stop=stop)
        for index, (stop, outcome) in enumerate(zip(stops, outcomes, strict=True), start=1)
    ]
    table = table_of(rows, tasks=[("s", "a")], variants=["x", "y"], planned=6)
    assert shares(table, "cap_rate(turns)").hits.tolist() == [2]
    assert shares(table, "cap_rate(usd)").hits.tolist() == [1]
    assert shares(table, "cap_rate(any)").hits.tolist() == [3]
    assert shares(table, "cap_rate(seconds)").hits.tolist() == [0]
    assert shares(table, "cap_rate(any)").unknown.tolist() == [2], (
        "the void one and the missing one; a cap that fired is known"
    )


def test_a_run_without_records_has_only_unknown_trials() -> None:
    table = table_of([], tasks=[("s", "a")], variants=["x"], planned=4)
    for text in ("pass^2", "cap_rate(any)", "error_rate"):
        assert shares(table, text).unknown.tolist() == [4]


def test_the_price_is_all_dollars_over_the_tasks_that_passed_every_time() -> None:
    table = a_table({"x": [8, 8, 7, 0], "y": [8, 8, 8, 8]}, usd=0.25)
    assert price(table).value == pytest.approx(4 * 8 * 0.25 / 2)


def test_with_unequal_trials_the_price_is_that_of_k_attempts_over_pass_hat_k() -> None:
    table = a_table({"x": [(4, 0, 0, 0), (7, 1, 0, 0)]}, usd=0.5)
    assert price(table).value == pytest.approx(4 * 0.5 / ((1 + 1 / 2) / 2))


@pytest.mark.parametrize(
    ("table", "why"),
    [
        (a_table({"x": [7, 0]}), "no task passed 8 of 8 times"),
        (a_table({"x": [8, 8]}, usd=None), "the price of 16 of 16 trials is unknown"),
        (a_table({"x": [8, (7, 0, 1, 0)]}), "1 of 16 trials are missing or in error"),
        (a_table({"x": []}), "no task is planned"),
    ],
)
def test_a_price_that_is_undefined_says_why(table: Table, why: str) -> None:
    assert price(table) == Amount(value=None, why=why)


def test_a_stop_that_nobody_told_leaves_the_cap_rate_undefined_and_nothing_else() -> None:
    rows = [a_row(("s", "t"), "a", 1, "passed", stop="unknown"), a_row(("s", "t"), "a", 2, "failed", stop="cap:turns")]
    rows += [a_row(("s", "t"), "b", index, "passed") for index in (1, 2)]
    table = table_of(rows, tasks=[("s", "t")], variants=["a", "b"], planned=2)
    found = estimate(table, "cap_rate(any)", "a")
    assert (found.value, found.worst, found.best) == (None, 1.0, 0.5)
    assert found.why == "1 of 2 trials are missing, in error, or not told why they stopped, in 1 of 1 tasks: t"
    assert estimate(table, "pass@1", "a").value == 0.5
    assert estimate(table, "error_rate", "a").value == 0.0
    assert estimate(table, "cap_rate(any)", "b").value == 0.0
    (shift,) = stop_shifts(table, baseline="a")
    assert (shift.variation, shift.why) == (None, "1 of 1 task with trials not told why they stopped: t")
    (rule,) = judge(table, ["cap_rate(any)[a]<=0.1"]).rules
    assert rule.verdict == "inconclusive"

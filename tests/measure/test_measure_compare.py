"""Comparisons: of all tasks or of none, adjusted together, and said in a sentence."""

from __future__ import annotations

import pytest
from measure_tables import Cells, a_row, a_table, table_of

from evalkit.core.errors import ConfigurationError
from evalkit.measure.compare import Comparison, compare, default_metrics
from evalkit.measure.paired import holm

BASE = [8] * 22 + [7] * 4 + [3] * 2 + [0] * 2
WORSE = [8] * 15 + [7] * 10 + [3] * 3 + [0] * 2


def only(found: tuple[Comparison, ...]) -> Comparison:
    """Take the one comparison that there is."""
    assert len(found) == 1
    return found[0]


def test_a_drop_is_counted_bounded_tested_and_said() -> None:
    found = only(compare(a_table({"react": BASE, "window": WORSE}), metrics=["pass^8"]))
    assert found.difference == pytest.approx(-7 / 30)
    assert (found.better, found.worse, found.equal, found.tasks, found.trials) == (0, 7, 23, 30, (8, 8))
    assert (found.p_exact, found.p_mid) == pytest.approx((2 / 2**7, 1 / 2**7))
    assert found.p == found.p_adjusted == found.p_mid
    assert found.p_within is None
    assert found.sentence == ("window loses 0.23 of pass^8 against react [−0.39, −0.05], 30 tasks, n=8, p=.0078 (Holm)")


def test_a_gain_and_a_metric_of_which_less_is_better_are_said_so() -> None:
    table = a_table({"react": WORSE, "window": BASE}, failed_stop="cap:turns")
    gain, capped = compare(table, metrics=["pass^8", "cap_rate(turns)"])
    assert gain.sentence.startswith("window gains 0.23 of pass^8 against react [0.05, 0.39]")
    assert capped.sentence.startswith("window lowers cap_rate(turns) by 0.05 against react")
    assert capped.difference is not None
    assert capped.difference < 0.0
    assert (capped.better, capped.worse) == (8, 0)


def test_every_variant_and_metric_is_one_family() -> None:
    table = a_table({"a": BASE, "b": WORSE, "c": BASE[::-1]}, baseline="b")
    found = compare(table)
    assert [(one.variant, one.metric) for one in found] == [
        ("a", "pass^8"),
        ("a", "pass@1"),
        ("c", "pass^8"),
        ("c", "pass@1"),
    ]
    assert {one.baseline for one in found} == {"b"}
    assert [one.p_adjusted for one in found] == holm([one.p for one in found if one.p is not None])


def test_pairs_may_be_named() -> None:
    table = a_table({"a": [8], "b": [8], "c": [8]})
    found = compare(table, pairs=[("c", "b")], metrics=["pass@1"])
    assert (only(found).variant, only(found).baseline) == ("c", "b")


def test_the_baseline_is_the_one_named_else_the_runs_else_the_first() -> None:
    cells = {"a": [8], "b": [8]}
    assert {one.baseline for one in compare(a_table(cells))} == {"a"}
    assert {one.baseline for one in compare(a_table(cells, baseline="b"))} == {"b"}
    assert {one.baseline for one in compare(a_table(cells, baseline="b"), baseline="a")} == {"a"}
    assert compare(a_table({"a": [8]})) == ()
    assert compare(table_of([], tasks=[], variants=[], planned=[])) == ()
    with pytest.raises(ConfigurationError, match="no such variant"):
        compare(a_table(cells), baseline="z")


def test_with_few_differing_tasks_the_other_question_is_answered() -> None:
    found = only(compare(a_table({"a": [8, 8, 8], "b": [4, 5, 6]}), metrics=["pass^8"]))
    assert found.p == found.p_exact == 0.25
    assert found.p_within == pytest.approx(7 / 3900)
    assert found.differing == 3
    many = only(compare(a_table({"a": [8] * 6, "b": [4] * 6}), metrics=["pass^8"]))
    assert (many.differing, many.p_within) == (6, None)


def test_identical_results_are_no_evidence_of_anything() -> None:
    found = only(compare(a_table({"a": [8, 4], "b": [8, 4]}), metrics=["pass^8"]))
    assert (found.difference, found.p, found.equal) == (0.0, 1.0, 2)
    assert found.sentence.startswith("b has the same pass^8 as a [")
    assert found.differing == 0


def test_unknown_trials_leave_the_difference_undefined_and_are_named() -> None:
    table = a_table({"a": [8, (7, 0, 1, 0), 8], "b": [8, 8, (7, 0, 0, 1)], "c": [8, 8, 8]})
    found = compare(table, metrics=["pass^8"])
    b, c = found
    assert (b.difference, b.low, b.p, b.p_adjusted) == (None,) * 4
    assert b.undefined == ("t1", "t2")
    assert b.why == "2 of 3 tasks with trials missing or in error: t1, t2"
    assert b.sentence == (
        "b against a: pass^8 cannot be compared, 2 of 3 tasks with trials missing or in error: t1, t2; "
        "whatever they bring, the difference lies in [\N{MINUS SIGN}0.33, 0.33]"
    )
    assert c.undefined == ("t1",)
    assert c.worst == 0.0
    assert c.best == pytest.approx(1 / 3)


def test_the_range_of_a_difference_holds_every_completion_and_its_ends_are_reached() -> None:
    cells: dict[str, Cells] = {"a": [(5, 1, 2, 0), 8], "b": [(6, 0, 0, 2), (7, 0, 1, 0)]}
    for metric in ("pass^8", "pass^2", "pass@1", "pass@4"):
        found = only(compare(a_table(cells), metrics=[metric]))
        ends = [
            only(compare(a_table({"a": [a, 8], "b": [b, c]}), metrics=[metric])).difference or 0.0
            for a in (5, 6, 7)
            for b in (6, 7, 8)
            for c in (7, 8)
        ]
        assert found.worst == pytest.approx(min(ends))
        assert found.best == pytest.approx(max(ends))


def test_a_metric_of_which_less_is_better_has_its_worst_at_the_top() -> None:
    found = only(compare(a_table({"a": [(4, 0, 0, 4)], "b": [8]}), metrics=["cap_rate(any)"]))
    assert (found.worst, found.best) == (0.0, -0.5)
    assert "lies in [\N{MINUS SIGN}0.50, 0.00]" in found.sentence
    short = only(compare(a_table({"a": [(4, 0, 0, 0)], "b": [(3, 0, 0, 1)]}), metrics=["pass^8"]))
    assert (short.worst, short.best) == (None, None)


def test_too_few_trials_unlike_tasks_and_prices_cannot_be_compared() -> None:
    table = a_table({"a": [8, (4, 0, 0, 0)], "b": [8, 8]})
    short, price = compare(table, metrics=["pass^8", "usd_per_reliable_success"])
    assert short.why == "1 of 2 tasks with fewer than k=8 trials: t1"
    assert price.why == "usd_per_reliable_success is no mean over tasks, so it has no paired difference"
    rows = [a_row(("s", "t0"), name, 1, "passed") for name in ("a", "b")]
    unlike = table_of(rows, tasks=[("s", "t0"), ("s", "t1")], variants=["a", "b"], planned=[[1, 1], [1, 0]])
    assert only(compare(unlike, metrics=["pass^1"])).why == "1 task planned for one of the two only: t1"


def test_the_metrics_of_a_run_are_its_deepest_common_k_and_pass_at_1() -> None:
    assert default_metrics(a_table({"a": [8, (4, 0, 0, 0)]})) == ("pass^4", "pass@1")
    assert default_metrics(a_table({"a": [(1, 0, 0, 0)]})) == ("pass@1",)
    assert default_metrics(a_table({"a": []})) == ("pass@1",)


def test_tasks_with_unequal_trials_are_compared_each_with_its_own() -> None:
    table = a_table({"a": [(16, 0, 0, 0), 8], "b": [8, (15, 1, 0, 0)]})
    found = only(compare(table, metrics=["pass^8"]))
    assert found.difference == pytest.approx(-0.25)
    assert found.trials == (8, 16)
    assert "n=8 to 16" in found.sentence


def test_swapping_the_two_turns_the_difference_round() -> None:
    table = a_table({"a": BASE, "b": WORSE})
    there, back = only(compare(table, metrics=["pass@1"])), only(compare(table, baseline="b", metrics=["pass@1"]))
    assert there.difference is not None
    assert back.difference == pytest.approx(-there.difference)
    assert (back.better, back.worse, back.p) == (there.worse, there.better, there.p)


def test_what_is_not_shown_to_differ_is_not_said_to_gain_or_lose() -> None:
    found = only(compare(a_table({"a": [8, 8, 7], "b": [7, 8, 7]}), metrics=["pass^8"]))
    assert found.sentence.startswith("b is not shown to differ from a in pass^8: −0.33 [")
    assert found.sentence.endswith(", 3 tasks, n=8, p=1 (Holm)")
    same = only(compare(a_table({"a": [8, 7], "b": [8, 7]}), metrics=["pass^8"]))
    assert same.sentence.startswith("b has the same pass^8 as a [")

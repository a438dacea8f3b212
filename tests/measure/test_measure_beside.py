"""Two runs in one table."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from measure_tables import Cells, a_row, a_table, table_of

from evalkit.core.errors import ConfigurationError, RunInvalid
from evalkit.measure.beside import Side, beside, match
from evalkit.measure.compare import compare
from evalkit.measure.table import Table

REACT = [("react", "react")]


def side(table: Table, name: str = "new", **edited: str) -> Side:
    """A run whose tasks have the content that their names say, but for the edited ones."""
    return Side(name=name, table=table, digests={task: edited.get(task[1], task[1]) for task in table.tasks})


def sides(new: Cells | Mapping[str, Cells], old: Cells | Mapping[str, Cells]) -> tuple[Side, Side]:
    """Two runs, of the variant react where none is named."""
    new, old = (one if isinstance(one, Mapping) else {"react": one} for one in (new, old))
    return side(a_table(new)), side(a_table(old), "old")


def test_two_runs_are_compared_as_two_variants_are() -> None:
    old, new = [8] * 22 + [7] * 8, [8] * 15 + [7] * 15
    apart, found = beside(*sides(new, old), REACT)
    together = a_table({"react": new, "old": old})
    assert apart.variants == ("react", "baseline:react")
    assert apart.baseline == "baseline:react"
    assert found.whole
    one, other = compare(apart)[0], compare(together, baseline="old")[0]
    assert (one.difference, one.low, one.high, one.p) == (other.difference, other.low, other.high, other.p)


def test_tasks_are_matched_by_name_and_stops_by_reason() -> None:
    tasks = [("s", "a"), ("s", "b")]
    first = table_of(
        [a_row(("s", "a"), "x", 1, "failed", failed_stop="cap:usd")], tasks=tasks, variants=["x"], planned=2
    )
    second = table_of(
        [a_row(("s", "a"), "y", 2, "passed"), a_row(("s", "b"), "y", 1, "failed", failed_stop="cap:usd")],
        tasks=tasks[::-1],
        variants=["y", "z"],
        planned=2,
    )
    found, _ = beside(side(first), side(second), [("x", "y"), ("x", "z")], label="old")
    assert found.variants == ("x", "old:y", "old:z")
    assert found.baseline is None
    assert found.planned.tolist() == [[2, 2, 2], [2, 2, 2]]
    assert found.passed.tolist() == [[0, 1, 0], [0, 0, 0]]
    assert found.count(found.stop == found.stops.index("cap:usd")).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert np.isfinite(found.usd).all()


def test_variants_that_are_not_compared_are_left_away() -> None:
    found, _ = beside(*sides({"react": [8], "plan": [4]}, {"react": [7], "plan": [3]}), REACT)
    assert found.variants == ("react", "baseline:react")
    assert found.passed.tolist() == [[8, 7]]


def test_unlike_runs_are_refused_with_what_is_unlike_and_what_can_be_done() -> None:
    with pytest.raises(RunInvalid, match=r"1 task only in new: t1\. --shared compares the 1 task that both have"):
        beside(*sides([8, 8], [8]), REACT)
    with pytest.raises(RunInvalid, match="1 task only in old: t1"):
        beside(*sides([8], [8, 8]), REACT)
    with pytest.raises(RunInvalid, match="1 task of one name but unlike content: t1"):
        beside(side(a_table({"react": [8, 8]}), t1="edited"), side(a_table({"react": [8, 8]}), "old"), REACT)
    with pytest.raises(
        RunInvalid, match=r"t1 \(8 trials in new, 9 in old\)\..* run the one with fewer trials again with -n 9"
    ):
        beside(*sides([8, 8], [8, (8, 1, 0, 0)]), REACT)
    with pytest.raises(RunInvalid, match="named as those of the baseline"):
        beside(*sides({"baseline:x": [8]}, {"x": [8]}), [("baseline:x", "x")])
    with pytest.raises(ConfigurationError, match="no such variant"):
        beside(*sides([8], [8]), [("react", "plan")])


def test_what_is_shared_is_compared_where_asked_for_with_its_denominators() -> None:
    new = a_table({"react": [8, 7, (4, 0, 0, 4), 6]})
    rows = [("t0", 8, 8), ("t1", 4, 12), ("t2", 8, 8), ("other", 3, 8)]
    old = table_of(
        [
            a_row(("s", name), "react", index, "passed" if index <= passed else "failed")
            for name, passed, n in rows
            for index in range(1, n + 1)
        ],
        tasks=[("s", name) for name, *_ in rows],
        variants=["react"],
        planned=[n for _, _, n in rows],
    )
    table, found = beside(side(new), side(old, "old", t2="edited"), REACT, shared=True)
    assert table.tasks == (("s", "t0"), ("s", "t1"))
    assert table.planned.tolist() == [[8, 8], [8, 8]]
    assert table.passed.tolist() == [[8, 8], [7, 4]]
    assert found.cut() == (
        "2 shared tasks compared, of 4 in new and 4 in old: what is said holds for these alone; "
        "of 1 task with unlike numbers of trials the first that both have (n=8)"
    )
    assert compare(table)[0].tasks == 2


def test_the_first_trials_are_kept_and_those_alone() -> None:
    ends = ["failed", "passed", "passed"]
    old = table_of(
        [a_row(("s", "t0"), "react", index, end) for index, end in enumerate(ends, start=1)],
        tasks=[("s", "t0")],
        variants=["react"],
        planned=3,
    )
    new = side(a_table({"react": [1]}, n=1))
    table, _ = beside(new, side(old, "old"), REACT, shared=True)
    assert table.passed.tolist() == [[1, 0]]
    table, _ = beside(side(old), Side(name="old", table=new.table, digests=new.digests), REACT, shared=True)
    assert table.passed.tolist() == [[0, 1]]


def test_runs_that_share_nothing_cannot_be_compared_even_where_asked_for() -> None:
    new = side(a_table({"react": [8]}, suites=["other"]))
    with pytest.raises(RunInvalid, match="share no task"):
        beside(new, side(a_table({"react": [8]}), "old"), REACT, shared=True)


def test_a_task_that_only_some_variants_have_is_on_one_side_only() -> None:
    some = a_table({"react": [8, 8], "plan": [8, (0, 0, 0, 0)]})
    pairs = [("react", "react"), ("plan", "plan")]
    whole = side(a_table({"react": [8, 8], "plan": [8, 8]}), "old")
    found = match(side(some), whole, pairs)
    assert (found.alike, found.only_candidate, found.only_baseline) == ((("s", "t0"),), (), (("s", "t1"),))
    found = match(whole, side(some), pairs)
    assert (found.only_candidate, found.only_baseline) == ((("s", "t1"),), ())
    assert match(side(some), whole, REACT).whole

"""Two runs in one table."""

from __future__ import annotations

import numpy as np
import pytest
from measure_tables import a_row, a_table, table_of

from evalkit.core.errors import RunInvalid
from evalkit.measure.beside import beside
from evalkit.measure.compare import compare


def test_two_runs_are_compared_as_two_variants_are() -> None:
    old, new = [8] * 22 + [7] * 8, [8] * 15 + [7] * 15
    apart = beside(a_table({"react": new}), a_table({"react": old}))
    together = a_table({"react": new, "old": old})
    assert apart.variants == ("react", "baseline:react")
    assert apart.baseline == "baseline:react"
    one, other = compare(apart)[0], compare(together, baseline="old")[0]
    assert (one.difference, one.low, one.high, one.p) == (other.difference, other.low, other.high, other.p)


def test_tasks_are_matched_by_name_and_stops_by_reason() -> None:
    tasks = [("s", "a"), ("s", "b")]
    first = table_of(
        [a_row(("s", "a"), "x", 1, "failed", failed_stop="cap:usd")], tasks=tasks, variants=["x"], planned=1
    )
    second = table_of(
        [a_row(("s", "a"), "y", 2, "passed"), a_row(("s", "b"), "y", 1, "failed", failed_stop="cap:usd")],
        tasks=tasks[::-1],
        variants=["y", "z"],
        planned=2,
    )
    found = beside(first, second, label="old")
    assert found.variants == ("x", "old:y", "old:z")
    assert found.baseline is None
    assert found.planned.tolist() == [[1, 2, 2], [1, 2, 2]]
    assert found.passed.tolist() == [[0, 1, 0], [0, 0, 0]]
    assert found.count(found.stop == found.stops.index("cap:usd")).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert np.isfinite(found.usd).all()


def test_unlike_runs_are_refused() -> None:
    with pytest.raises(RunInvalid, match="only the candidate has s/t1"):
        beside(a_table({"x": [8, 8]}), a_table({"x": [8]}))
    with pytest.raises(RunInvalid, match="only the baseline has s/t1"):
        beside(a_table({"x": [8]}), a_table({"x": [8, 8]}))
    with pytest.raises(RunInvalid, match="named as those of the baseline"):
        beside(a_table({"baseline:x": [8]}), a_table({"x": [8]}))

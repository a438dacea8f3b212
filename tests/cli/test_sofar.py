"""pass^n of a run that goes on: over tasks that are all in, never over others."""

from __future__ import annotations

from pathlib import Path

from traced_run import a_run

from evalkit.cli.chosen import chosen, so_far
from evalkit.cli.run import COMMAND
from evalkit.cli.sofar import SoFar
from evalkit.store.runstore import RunStore


def test_a_task_counts_once_all_of_its_trials_have_a_result() -> None:
    found = SoFar.of([("s", task, "v") for task in ("a", "b", "c") for _ in range(2)])
    assert (found.name(), found.told()) == ("pass^2", {"v": "– of 0/3 tasks"})
    for task, outcome in (("a", "passed"), ("b", "failed"), ("c", "passed"), ("c", "error"), ("a", "passed")):
        found.add(("s", task, "v"), outcome)
    assert found.told() == {"v": "1.00 of 1/3 tasks"}, "of b one trial is out, of c the one in error"
    found.add(("s", "b", "v"), "passed")
    found.add(("s", "c", "v"), "passed")
    assert found.told() == {"v": "0.67 of 3/3 tasks"}


def test_variants_are_told_apart_and_unlike_n_has_no_number() -> None:
    found = SoFar.of([("s", "a", "v"), ("s", "a", "w"), ("s", "a", "w")])
    found.add(("s", "a", "w"), "passed")
    found.add(("s", "a", "v"), "failed")
    assert (found.name(), found.told()) == ("pass^n", {"v": "0.00 of 1/1 tasks", "w": "– of 0/1 tasks"})


def test_a_run_that_goes_on_begins_with_what_it_holds(tmp_path: Path) -> None:
    folder = a_run(tmp_path)
    with RunStore.open(folder, write=False) as store:
        plan = chosen(COMMAND.parse([str(tmp_path / "suite.yaml"), "--task", "short"]))
        assert so_far(plan, store).told() == {"free": "1.00 of 1/1 tasks", "bound": "1.00 of 1/1 tasks"}
        more = chosen(COMMAND.parse([str(tmp_path / "suite.yaml"), "-n", "5"]))
        assert so_far(more, store).told() == {"free": "– of 0/2 tasks", "bound": "– of 0/2 tasks"}

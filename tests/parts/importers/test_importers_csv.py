"""Tables of trials: which column is what, and cells that are refused rather than guessed at."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from importer_files import importer, notes, rows, write

from evalkit.core.errors import ConfigurationError


def table(folder: Path, text: str, name: str = "a.csv") -> Path:
    """Write a table."""
    return write(folder / name, text)


def test_columns_of_the_fields_own_names_are_read_and_told(tmp_path: Path) -> None:
    path = table(tmp_path, "task_id,trial,passed,turns,usd,note\na,0,1,5,0.5,x\na,1,false,,,y\n")
    assert importer("csv").recognise(path)
    first, second = rows("csv", path)
    assert (first.task, first.trial, first.passed, first.turns, first.usd) == ("a", 0, True, 5, 0.5)
    assert (second.trial, second.passed, second.turns, second.usd) == (1, False, None, None)
    assert "columns read: task_id, trial, passed, turns, usd\ncolumns not read: note" in notes("csv", path)


def test_columns_are_named_by_flags(tmp_path: Path) -> None:
    path = table(tmp_path, "name,run,ok,model,why,secs\na,x,yes,gpt,max_steps,3.5\n")
    found = {"task_id": "name", "trial": "run", "passed": "ok", "variant": "model", "stop": "why", "seconds": "secs"}
    (trial,) = rows("csv", path, **found)
    assert (trial.task, trial.trial, trial.passed, trial.variant, trial.seconds) == ("a", "x", True, "gpt", 3.5)
    assert (trial.stop, trial.stop_detail) == ("cap:turns", "max_steps")
    assert "name (task_id), run (trial)" in notes("csv", path, **found)


def test_a_verdict_stands_before_a_reward_unless_told_otherwise(tmp_path: Path) -> None:
    path = table(tmp_path, "task_id,passed,reward\na,1,0.3\n")
    assert (rows("csv", path)[0].passed, rows("csv", path)[0].reward) == (True, None)
    assert "passed decides, so reward is not read" in notes("csv", path)
    assert (rows("csv", path, reward="reward")[0].passed, rows("csv", path, reward="reward")[0].reward) == (None, 0.3)
    with pytest.raises(ConfigurationError, match=r"not both"):
        rows("csv", path, reward="reward", passed="passed")


@pytest.mark.parametrize(
    ("word", "passed"),
    [
        ("True", True),
        ("1.0", True),
        ("PASS", True),
        ("resolved", True),
        ("0", False),
        ("no", False),
        ("incorrect", False),
        ("", None),
        ("NaN", None),
        ("n/a", None),
    ],
)
def test_verdicts_are_words(tmp_path: Path, word: str, passed: bool | None) -> None:
    assert rows("csv", table(tmp_path, f"task_id,passed\na,{word}\n"))[0].passed is passed


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "is empty"),
        ("\n\n", {}, "is empty"),
        ("taskid,passed\na,1\n", {}, r"no column 'task_id' .did you mean --task-id taskid\?"),
        ("x,y\na,1\n", {}, "no column 'task_id' .name it with --task-id; there are: x, y"),
        ("task_id,pased\na,1\n", {}, r"line 2: there is no column 'passed' .did you mean --passed or --reward pased\?"),
        ("task_id,passed\na,1\n", {"turns": "n_turns"}, "there is no column 'n_turns'"),
        ("task_id,passed\na,maybe\n", {}, "line 2: the verdict is 'maybe'"),
        ("task_id,passed\na,0.7\n", {}, "the verdict is '0.7' .true or false are wanted; numbers go to --reward"),
        ("task_id,reward\na,good\n", {}, "the reward is 'good'"),
        ("task_id,passed,turns\na,1,two\n", {}, "turns is 'two'"),
        ("task_id,passed,turns\na,1,2.5\n", {}, "turns is 2.5"),
        ("task_id,passed,usd\na,1,-3\n", {}, "usd is '-3'"),
        ("task_id,passed\n,1\n", {}, "the task's id is empty"),
        ("task_id,passed\na\n", {}, "line 2: has 1 cells, the first row names 2 columns"),
        ("task_id,passed\na,1,2\n", {}, "has 3 cells"),
        ("task_id,passed,passed\na,1,0\n", {}, "names a column twice: passed"),
        ('task_id,passed\n"a,1\n', {}, "is no row of a table: unexpected end of data"),
        ('task_id,passed\n"a"b,1\n', {}, "is no row of a table"),
    ],
)
def test_what_is_no_table_of_trials_is_a_sentence(
    tmp_path: Path, text: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        rows("csv", table(tmp_path, text), **options)


def test_separators_are_found_and_told(tmp_path: Path) -> None:
    for text, name in [
        ("task_id\tpassed\na\t1\n", "a.tsv"),
        ("task_id;passed\na;1\n", "b.csv"),
        ("task_id\tpassed\na\t1\n", "c.csv"),
    ]:
        assert rows("csv", table(tmp_path, text, name))[0].task == "a"
    assert "separated by semicolons" in notes("csv", tmp_path / "b.csv")


def test_cells_may_hold_lines_and_be_long(tmp_path: Path) -> None:
    before = csv.field_size_limit()
    long = "x" * 200_000
    (trial,) = rows("csv", table(tmp_path, f'task_id,passed,answer,input\n"a\nb",1,"{long}","do\nit"\n', "a.csv.gz"))
    assert (trial.task, trial.input) == ("a\nb", "do\nit")
    assert "180,000 characters left out" in trial.answer
    assert csv.field_size_limit() == before


@pytest.mark.parametrize(
    ("cell", "error"),
    [("", ""), ("0", ""), ("False", ""), ("none", ""), ("boom", "boom"), ("1", "1"), ("true", "true")],
)
def test_an_error_column_says_what_broke(tmp_path: Path, cell: str, error: str) -> None:
    (trial,) = rows("csv", table(tmp_path, f"task_id,passed,error\na,1,{cell}\n"))
    assert (trial.error, trial.passed, trial.stop) == (error, None if error else True, "error:harness" if error else "")


def test_a_stop_that_is_an_error_is_one(tmp_path: Path) -> None:
    (trial,) = rows("csv", table(tmp_path, "task_id,passed,stop\na,1,error:provider\n"))
    assert (trial.error, trial.stop, trial.passed) == ("error:provider", "error:provider", None)


def test_inputs_have_an_identity(tmp_path: Path) -> None:
    first, same, other = rows("csv", table(tmp_path, "task_id,passed,input\na,1,x\na,1,x\na,1,y\n"))
    assert first.input_digest == same.input_digest != other.input_digest


def test_too_many_columns_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"names 10,001 columns"):
        rows("csv", table(tmp_path, ",".join(f"c{n}" for n in range(10_001)) + "\n"))

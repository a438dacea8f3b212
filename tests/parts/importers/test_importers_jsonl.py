"""JSON Lines as trials: objects, paths into them, and lines that are refused with their number."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from importer_files import importer, notes, rows, write

from evalkit.core.errors import ConfigurationError


def lines(path: Path, *values: Any) -> Path:
    """Write one JSON value a line."""
    return write(path, "\n".join(json.dumps(value) for value in values) + "\n")


def test_an_object_a_line_is_a_trial(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "a.jsonl.gz",
        {"task_id": 1, "trial": 0, "passed": True, "error": None},
        {"task_id": "1", "passed": False},
    )
    assert importer("jsonl").recognise(path)
    first, second = rows("jsonl", path)
    assert (first.task, first.trial, first.passed, second.task, second.trial) == ("1", 0, True, "1", None)


def test_a_list_of_objects_is_read_too(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", [{"task_id": 1, "passed": 1}, {"task_id": 2, "passed": 0}])
    assert importer("jsonl").recognise(path) == ""
    assert [trial.passed for trial in rows("jsonl", path)] == [True, False]


def test_a_name_may_be_a_path_into_an_object(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "a.jsonl",
        {"task": {"id": "a"}, "info": {"reward": 0.5}, "usage": {"out": 3}},
        {"task": {"id": "b"}, "info": None, "usage": {}},
    )
    first, second = rows("jsonl", path, task_id="task.id", reward="info.reward", tokens="usage.out")
    assert (first.task, first.reward, first.input_tokens) == ("a", 0.5, 3)
    assert (second.task, second.reward, second.input_tokens) == ("b", None, None)


def test_objects_are_kept_as_text(tmp_path: Path) -> None:
    (trial,) = rows(
        "jsonl", lines(tmp_path / "a.jsonl", {"task_id": 1, "passed": 1, "input": {"b": 1, "a": [2]}, "answer": 5})
    )
    assert (trial.input, trial.answer) == ('{"a": [2], "b": 1}', "5")


def test_a_column_that_only_some_lines_have_is_read_where_it_is(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", {"task_id": 1, "passed": 1}, {"task_id": 1, "passed": 0, "broke": "yes it did"})
    assert [trial.error for trial in rows("jsonl", path, error="broke")] == ["", "yes it did"]
    assert "columns read: task_id, passed, broke (error)" in notes("jsonl", path, error="broke")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("\n \n", "is empty"),
        ('{"task_id": 1, "passed": 1}\n[1]\n', "line 2: is a list .each trial is a JSON object"),
        ('{"task_id": 1, "passed": 1}\n\n{"task_id": ', "line 3: is cut off"),
        ('{"task_id": 1, "passed": 1} {}\n', "line 1, character 28: is no valid JSON: text follows"),
        ("[1, 2]", "element 1: is 1"),
        ('{"task_id": 1, "passed": "perhaps"}', "the verdict is 'perhaps'"),
        ('{"task_id": 1, "passed": [1]}', "the verdict is a list"),
        ('{"task_id": 1, "reward": "x"}', "the reward is 'x'"),
        ('{"task_id": null, "passed": 1}', "the task's id is None"),
        ('{"task_id": {"a": 1}, "passed": 1}', "the task's id is a dict"),
        ('{"passed": 1, "task": 1}', r"no column 'task_id' .did you mean --task-id task\?"),
    ],
)
def test_what_is_no_line_of_a_trial_is_a_sentence(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        rows("jsonl", write(tmp_path / "a.jsonl", text))


def test_nan_is_unknown_and_not_a_number(tmp_path: Path) -> None:
    (trial,) = rows(
        "jsonl", write(tmp_path / "a.jsonl", '{"task_id": 1, "passed": NaN, "turns": NaN, "error": NaN, "stop": NaN}')
    )
    assert (trial.passed, trial.turns, trial.error, trial.stop) == (None, None, "", "")


def test_columns_without_end_are_refused(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "a.jsonl",
        *({"task_id": 1, "passed": 1, **{f"{row}-{n}": 1 for n in range(999)}} for row in range(11)),
    )
    with pytest.raises(ConfigurationError, match=r"line 11: more than 10,000 columns"):
        rows("jsonl", path)

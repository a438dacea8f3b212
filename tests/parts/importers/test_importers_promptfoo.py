"""promptfoo's results as trials: repeats have no mark but their content."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from importer_files import importer, notes, promptfoo_output, promptfoo_result, rows, write

from evalkit.core.errors import ConfigurationError


def test_repeats_of_a_test_are_trials_of_a_task(tmp_path: Path) -> None:
    results = [promptfoo_result(0), promptfoo_result(1, city="Rome"), promptfoo_result(2, success=False)]
    path = write(tmp_path / "a.json", promptfoo_output(results))
    assert importer("promptfoo").recognise(path)
    first, other, again = rows("promptfoo", path)
    assert first.task == again.task != other.task
    assert first.trial != again.trial
    assert (first.passed, again.passed, first.variant, first.stop) == (True, False, "openai:gpt", "")
    assert (first.input_tokens, first.output_tokens, first.usd, first.seconds, first.answer) == (
        4,
        2,
        0.001,
        1.5,
        "Paris",
    )
    assert first.task.startswith('{"city": "Paris"} [')
    assert first.input == '{"city": "Paris"}'


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"total": 9}, (9, None)),
        ({"total": 9, "prompt": 5, "completion": 4}, (5, 4)),
        ({"total": 9, "cached": 9}, (None, None)),
        ({}, (None, None)),
    ],
)
def test_a_provider_that_tells_all_tokens_alone_is_believed_and_a_cached_answer_used_none_that_is_told(
    tmp_path: Path, usage: dict[str, int], tokens: tuple[int | None, int | None]
) -> None:
    row = promptfoo_result(tokenUsage=usage)
    row["response"].pop("tokenUsage", None)
    (trial,) = rows("promptfoo", write(tmp_path / "a.json", promptfoo_output([row])))
    assert (trial.input_tokens, trial.output_tokens) == tokens


def test_a_described_test_is_called_by_it(tmp_path: Path) -> None:
    described = promptfoo_result(testCase={"description": "capital", "vars": {"city": "Paris"}, "assert": []})
    (trial,) = rows("promptfoo", write(tmp_path / "a.json", promptfoo_output([described])))
    assert trial.task.startswith("capital [")


def test_other_assertions_or_variables_make_another_task_and_another_prompt_does_not(tmp_path: Path) -> None:
    tests = {"vars": {"city": "Paris"}, "assert": [{"type": "equals", "value": "x"}]}
    results = [
        promptfoo_result(0),
        promptfoo_result(1, testCase=tests),
        promptfoo_result(2, vars={"city": "Paris", "_conversation": [1]}),
        promptfoo_result(3, promptIdx=1, prompt={"raw": "please say", "label": "polite"}),
    ]
    first, assertions, talked, prompt = rows("promptfoo", write(tmp_path / "a.json", promptfoo_output(results)))
    assert first.task == talked.task == prompt.task != assertions.task
    assert (first.variant, prompt.variant) == ("openai:gpt · say {{city}}", "openai:gpt · polite")


def test_older_forms_are_read(tmp_path: Path) -> None:
    row = promptfoo_result()
    del row["failureReason"], row["testIdx"]
    for value in (
        {"version": 2, "results": [row], "stats": {}},
        {"results": {"version": 2, "results": [row], "table": {}}},
    ):
        path = write(tmp_path / "a.json", value)
        assert importer("promptfoo").recognise(path)
        (trial,) = rows("promptfoo", path)
        assert (trial.passed, trial.trial) == (True, None)


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"failureReason": 2, "error": "API error: 500"}, "API error: 500"),
        ({"failureReason": 2, "error": None}, "promptfoo says that the test broke"),
        ({"failureReason": None, "error": "timeout", "gradingResult": None}, "timeout"),
        ({"failureReason": None, "error": None, "gradingResult": None, "response": {"error": "no key"}}, "no key"),
        ({"failureReason": None, "error": "expected more"}, ""),
        ({"failureReason": 1, "error": "expected more"}, ""),
    ],
)
def test_what_broke_is_an_error_and_what_an_assertion_refused_a_failure(
    tmp_path: Path, more: dict[str, Any], error: str
) -> None:
    (trial,) = rows(
        "promptfoo", write(tmp_path / "a.json", promptfoo_output([promptfoo_result(success=False, **more)]))
    )
    assert (trial.error, trial.passed) == (error, None if error else False)


def test_answers_from_the_cache_are_told(tmp_path: Path) -> None:
    results = [promptfoo_result(0), promptfoo_result(1, response={"output": "x", "cached": True})]
    path = write(tmp_path / "a.json", promptfoo_output(results))
    assert "1 of 2 results come from promptfoo's cache" in notes("promptfoo", path)


@pytest.mark.parametrize("value", [[], 1, promptfoo_output([1]), promptfoo_output([{"vars": {}}])])
def test_other_json_is_a_sentence(tmp_path: Path, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"a\.json"):
        rows("promptfoo", write(tmp_path / "a.json", value))


def test_variables_that_no_encoding_takes_are_spelt_out(tmp_path: Path) -> None:
    (trial,) = rows("promptfoo", write(tmp_path / "a.json", promptfoo_output([promptfoo_result(0, city="\ud800")])))
    assert "\\ud800" in trial.task
    assert "\\ud800" in trial.input
    assert trial.task.encode()

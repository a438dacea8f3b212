"""tau2-bench's results as trials: the plan stands in the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from importer_files import headers, importer, rows, tau2_results, tau2_simulation, write

from evalkit.core.errors import ConfigurationError


def test_a_simulation_is_a_trial(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", tau2_results([tau2_simulation("a", 1)]))
    assert "simulations" in importer("tau2_bench").recognise(path)
    (trial,) = rows("tau2_bench", path)
    assert (trial.suite, trial.variant, trial.task, trial.trial) == ("telecom", "llm_agent gpt", "a", 1)
    assert (trial.reward, trial.stop, trial.turns, trial.usd, trial.seconds) == (1.0, "finished", 2, 0.01, 8.5)
    assert (trial.input_tokens, trial.output_tokens, trial.answer, trial.input) == (220, 10, "done", "fix a")
    assert trial.started == 1752765058.495594


def test_the_plan_is_what_the_file_says(tmp_path: Path) -> None:
    (header,) = headers("tau2_bench", write(tmp_path / "a.json", tau2_results([tau2_simulation()], ("a", "b", "c"), 4)))
    assert (header.trials, header.first, header.tasks, header.suite) == (4, 0, ("a", "b", "c"), "telecom")
    assert header.settings == {
        "model": "gpt",
        "agent": "llm_agent",
        "temperature": 0.0,
        "user_model": "judge",
        "user": "user_simulator",
        "max_steps": 200,
        "max_errors": 10,
        "git_commit": "abc",
    }


def test_the_order_of_the_keys_does_not_matter(tmp_path: Path) -> None:
    results = tau2_results([tau2_simulation()])
    turned = dict(reversed(list(results.items())))
    assert rows("tau2_bench", write(tmp_path / "a.json", results)) == rows(
        "tau2_bench", write(tmp_path / "a.json", turned)
    )


@pytest.mark.parametrize(
    ("reason", "reward", "error", "passed", "stop"),
    [
        ("infrastructure_error", None, True, None, "error:infrastructure_error"),
        ("user_error", 0.0, True, None, "error:user_error"),
        ("unexpected_error", None, True, None, "error:unexpected_error"),
        ("context_window_exceeded", None, False, False, "context_overflow"),
        ("max_steps", 0.0, False, None, "cap:turns"),
        ("timeout", None, False, False, "cap:seconds"),
        ("agent_error", 0.0, False, None, "other:agent_error"),
        ("too_many_errors", None, False, False, "tool_error"),
        ("user_stop", None, False, None, "finished"),
    ],
)
def test_who_is_to_blame_is_fixed(
    tmp_path: Path, reason: str, reward: float | None, error: bool, passed: bool | None, stop: str
) -> None:
    row = tau2_simulation(reward=reward, termination_reason=reason)
    (trial,) = rows("tau2_bench", write(tmp_path / "a.json", tau2_results([row])))
    assert (bool(trial.error), trial.passed, trial.stop, trial.stop_detail) == (error, passed, stop, reason)


def test_a_folder_has_one_file_a_simulation(tmp_path: Path) -> None:
    results = tau2_results([], ("a",), 2)
    write(tmp_path / "results.json", results)
    for number in range(2):
        write(tmp_path / "simulations" / f"{number}.json", tau2_simulation("a", number))
    assert "a folder with results.json" in importer("tau2_bench").recognise(tmp_path)
    for path in (tmp_path, tmp_path / "results.json"):
        assert [one.trial for one in rows("tau2_bench", path)] == [0, 1]


@pytest.mark.parametrize(
    "value", [[], 1, {"simulations": [1], "tasks": []}, {"tasks": [{"id": None}], "simulations": []}]
)
def test_other_json_is_a_sentence(tmp_path: Path, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"a\.json"):
        rows("tau2_bench", write(tmp_path / "a.json", value))


def test_what_is_not_told_is_unknown(tmp_path: Path) -> None:
    (trial,) = rows("tau2_bench", write(tmp_path / "a.json", {"simulations": [{"task_id": 1}]}))
    assert (trial.reward, trial.turns, trial.usd, trial.seconds, trial.stop) == (None, None, None, None, "")

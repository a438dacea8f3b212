"""tau-bench's results as trials."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from importer_files import importer, notes, rows, tau_row, write

from evalkit.core.errors import ConfigurationError


def test_a_result_is_a_trial(tmp_path: Path) -> None:
    path = write(tmp_path / "gpt.json.gz", [tau_row(3, 1, 0.0)])
    assert "a JSON list of results" in importer("tau_bench").recognise(path)
    (trial,) = rows("tau_bench", path)
    assert (trial.task, trial.trial, trial.reward, trial.passed, trial.error) == ("3", 1, 0.0, None, "")
    assert (trial.turns, trial.answer, trial.input) == (1, "booked", "book flight 3")
    assert (trial.stop, trial.stop_detail) == ("finished", "user_stop")
    assert (trial.usd, trial.input_tokens, trial.seconds, trial.suite, trial.variant) == (None,) * 5
    assert "###STOP###" in notes("tau_bench", path)


def test_trials_of_a_task_share_an_input_and_other_tasks_do_not(tmp_path: Path) -> None:
    found = rows("tau_bench", write(tmp_path / "a.json", [tau_row(1, 0), tau_row(1, 1), tau_row(2, 0)]))
    assert found[0].input_digest == found[1].input_digest != found[2].input_digest


def test_a_crash_is_an_error_and_not_a_failure(tmp_path: Path) -> None:
    crash = {"task_id": 1, "reward": 0.0, "info": {"error": "RateLimitError", "traceback": "…"}, "traj": [], "trial": 0}
    (trial,) = rows("tau_bench", write(tmp_path / "a.json", [crash]))
    assert (trial.error, trial.stop, trial.turns, trial.input_digest) == ("RateLimitError", "error:harness", None, "")


@pytest.mark.parametrize(
    ("last", "messages", "stop"),
    [
        ({"role": "tool", "name": "transfer_to_human_agents", "content": "ok"}, 1, ("finished", "transfer")),
        ({"role": "user", "content": "bye ###STOP###"}, 40, ("finished", "user_stop")),
        ({"role": "tool", "name": "search", "content": "ok"}, 30, ("cap:turns", "max_steps")),
        ({"role": "user", "content": "and then?"}, 29, ("", "")),
        ({"role": "user", "content": None}, 1, ("", "")),
    ],
)
def test_why_it_stopped_is_taken_from_the_end(tmp_path: Path, last: Any, messages: int, stop: tuple[str, str]) -> None:
    traj = [*[{"role": "assistant", "content": "hm"}] * messages, last]
    (trial,) = rows("tau_bench", write(tmp_path / "a.json", [tau_row(traj=traj)]))
    assert (trial.stop, trial.stop_detail) == stop


@pytest.mark.parametrize("value", [[1], [{"task_id": 1}], ["x"], {"a": 1}, [None], [{"task_id": None, "reward": 1}]])
def test_other_json_is_a_sentence(tmp_path: Path, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"a\.json"):
        rows("tau_bench", write(tmp_path / "a.json", value))

"""Results of harbor and of Terminal-Bench as trials: folders of trials, files of runs, exceptions and their blame."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from importer_files import harbor_job, harbor_trial, headers, importer, notes, old_trial, rows, write

from evalkit.core.errors import ConfigurationError


def test_a_job_is_a_folder_of_trials(tmp_path: Path) -> None:
    job = harbor_job(tmp_path / "job", [harbor_trial("fix", "fix__1"), harbor_trial("fix", "fix__2", 0.0)])
    assert "a folder with" in importer("harbor").recognise(job)
    first, second = rows("harbor", job)
    assert (first.task, first.trial, first.reward, first.stop) == ("fix", "id-fix__1", 1.0, "finished")
    assert (first.suite, first.variant, first.model) == ("terminal-bench", "terminus-2 openai/gpt", "openai/gpt")
    assert (first.turns, first.input_tokens, first.output_tokens, first.usd, first.seconds) == (4, 10, 3, 0.01, 30.0)
    assert first.input_digest == second.input_digest
    (header,) = headers("harbor", job)
    assert (header.trials, header.first, header.tasks) == (2, None, None)
    assert header.settings == {"model": "openai/gpt", "agent": "terminus-2"}


def test_a_folder_of_jobs_is_read_whole_and_each_job_has_its_plan(tmp_path: Path) -> None:
    harbor_job(tmp_path / "one", [harbor_trial("a", "a__1")], 3)
    harbor_job(tmp_path / "two", [harbor_trial("b", "b__1")], 5)
    assert [trial.task for trial in rows("harbor", tmp_path)] == ["a", "b"]
    assert [header.trials for header in headers("harbor", tmp_path)] == [3, 5]


def test_a_trial_that_has_not_ended_is_told(tmp_path: Path) -> None:
    job = harbor_job(tmp_path, [harbor_trial()])
    write(job / "fix__2" / "config.json", {"trial_name": "fix__2"})
    assert "fix__2: a trial's folder without result.json" in notes("harbor", job)
    assert len(rows("harbor", job)) == 1


@pytest.mark.parametrize(
    ("kind", "reward", "error", "passed", "stop"),
    [
        ("AgentTimeoutError", 1.0, False, None, "cap:seconds"),
        ("AgentTimeoutError", None, False, False, "cap:seconds"),
        ("ContextLengthExceededError", None, False, False, "context_overflow"),
        ("NonZeroAgentExitCodeError", 0.0, False, None, "other:NonZeroAgentExitCodeError"),
        ("EnvironmentStartTimeoutError", None, True, None, "error:harness"),
        ("RuntimeError", 1.0, True, None, "error:harness"),
    ],
)
def test_who_is_to_blame_is_fixed(
    tmp_path: Path, kind: str, reward: float | None, error: bool, passed: bool | None, stop: str
) -> None:
    broke = {"exception_type": kind, "exception_message": "m", "exception_traceback": "t"}
    path = write(tmp_path / "t" / "result.json", harbor_trial(reward=reward, exception_info=broke))
    (trial,) = rows("harbor", path)
    assert (bool(trial.error), trial.passed, trial.stop) == (error, passed, stop)


@pytest.mark.parametrize(
    ("kind", "valid", "reward", "error", "passed", "stop"),
    [
        ("ApiRateLimitError", False, 0.0, True, None, "error:harness"),
        ("VerifierTimeoutError", False, None, True, None, "error:harness"),
        ("RuntimeError", True, 0.0, False, None, "other:RuntimeError"),
        ("RuntimeError", True, None, True, None, "error:harness"),
        ("ContextWindowExceededError", True, None, False, False, "context_overflow"),
        ("AgentSafetyRefusalError", True, 0.0, False, None, "refusal"),
        ("AgentTimeoutError", False, 1.0, True, None, "error:harness"),
    ],
)
def test_what_the_file_says_of_a_reward_after_an_exception_is_followed(
    tmp_path: Path, kind: str, valid: bool, reward: float | None, error: bool, passed: bool | None, stop: str
) -> None:
    policy = {"should_retry": False, "should_grade": True, "has_valid_reward": valid}
    broke = {"exception_type": kind, "exception_message": "m", "exception_traceback": "t", "policy": policy}
    path = write(tmp_path / "t" / "result.json", harbor_trial(reward=reward, exception_info=broke))
    (trial,) = rows("harbor", path)
    assert (bool(trial.error), trial.passed, trial.stop, trial.stop_detail) == (error, passed, stop, kind)


def a_step(seconds: int, tokens: int | None, **more: Any) -> dict[str, Any]:
    """A step of a trial of several."""
    used = {"n_input_tokens": tokens, "n_output_tokens": 2, "cost_usd": 0.25, "metadata": {"n_episodes": 3}}
    worked = {"started_at": "2026-01-01T00:00:00Z", "finished_at": f"2026-01-01T00:00:{seconds:02}Z"}
    return {"step_name": "s", "agent_result": used, "agent_execution": worked, **more}


def test_a_trial_of_several_steps_is_the_sum_of_them(tmp_path: Path) -> None:
    whole: dict[str, Any] = {"agent_result": None, "agent_execution": None}
    path = write(tmp_path / "a" / "result.json", harbor_trial(step_results=[a_step(10, 7), a_step(20, 8)], **whole))
    (trial,) = rows("harbor", path)
    assert (trial.turns, trial.input_tokens, trial.output_tokens, trial.usd, trial.seconds) == (6, 15, 4, 0.5, 30.0)
    path = write(tmp_path / "b" / "result.json", harbor_trial(step_results=[a_step(10, 7), a_step(20, None)], **whole))
    assert rows("harbor", path)[0].input_tokens is None, "what one step does not tell is unknown of all"
    broke = {"exception_type": "ApiOverloadedError", "exception_message": "m", "policy": {"has_valid_reward": False}}
    steps = [a_step(10, 7), a_step(20, 8, exception_info=broke)]
    path = write(tmp_path / "c" / "result.json", harbor_trial(reward=0.0, step_results=steps, **whole))
    (trial,) = rows("harbor", path)
    assert (trial.error, trial.stop) == ("ApiOverloadedError: m", "error:harness")


def test_of_several_rewards_one_is_chosen(tmp_path: Path) -> None:
    several = harbor_trial(verifier_result={"rewards": {"tests": 1.0, "style": 0.5}})
    path = write(tmp_path / "result.json", several)
    with pytest.raises(ConfigurationError, match=r"has the rewards tests, style .say which"):
        rows("harbor", path)
    assert rows("harbor", path, scorer="style")[0].reward == 0.5
    only = write(tmp_path / "b" / "result.json", harbor_trial(verifier_result={"rewards": {"tests": 0.0}}))
    assert rows("harbor", only)[0].reward == 0.0


def test_a_whole_run_of_the_first_harness_stands_for_its_folders(tmp_path: Path) -> None:
    trials = [old_trial("fix", 1), old_trial("fix", 2, resolved=False)]
    write(tmp_path / "results.json", {"id": "x", "results": trials, "accuracy": 0.5})
    settings = {"run_id": "r", "dataset_name": "core", "agent_name": "terminus", "model_name": "gpt", "n_attempts": 2}
    write(tmp_path / "run_metadata.json", {**settings, "task_ids": ["fix", "never-run"]})
    write(tmp_path / "fix" / "one" / "results.json", trials[0])
    for path in (tmp_path, tmp_path / "results.json"):
        assert importer("harbor").recognise(path)
        found = rows("harbor", path)
        assert [(trial.task, trial.trial, trial.passed) for trial in found] == [
            ("fix", "fix-1", True),
            ("fix", "fix-2", False),
        ]
        assert (found[0].suite, found[0].variant, found[0].seconds, found[0].input) == (
            "core",
            "terminus gpt",
            30.0,
            "please fix",
        )
        (header,) = headers("harbor", path)
        assert (header.trials, header.tasks) == (2, ("fix", "never-run"))


@pytest.mark.parametrize(
    ("mode", "resolved", "error", "passed", "stop"),
    [
        ("agent_timeout", False, False, False, "cap:seconds"),
        ("agent_timeout", None, False, False, "cap:seconds"),
        ("unset", False, False, False, "finished"),
        ("parse_error", None, True, None, "error:harness"),
        ("unknown_agent_error", False, True, False, "error:harness"),
        ("agent_installation_failed", None, True, None, "error:harness"),
    ],
)
def test_failure_modes_of_the_first_harness(
    tmp_path: Path, mode: str, resolved: bool | None, error: bool, passed: bool | None, stop: str
) -> None:
    (trial,) = rows("harbor", write(tmp_path / "results.json", old_trial(resolved=resolved, failure_mode=mode)))
    assert (bool(trial.error), trial.passed, trial.stop) == (error, passed, stop)


def test_a_jobs_own_result_is_a_sentence_that_names_the_folder(tmp_path: Path) -> None:
    job = harbor_job(tmp_path, [harbor_trial()])
    with pytest.raises(ConfigurationError, match=r"result of a whole job.*name the job's folder"):
        rows("harbor", job / "result.json")


def test_links_are_not_followed(tmp_path: Path) -> None:
    job = harbor_job(tmp_path / "job", [harbor_trial()])
    (job / "again").symlink_to(job, target_is_directory=True)
    assert len(rows("harbor", job)) == 1


@pytest.mark.parametrize(
    "value", [[], "x", {"task_name": None, "trial_name": "x"}, {"task_name": [], "verifier_result": 1}]
)
def test_other_json_is_a_sentence(tmp_path: Path, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"result\.json"):
        rows("harbor", write(tmp_path / "result.json", value))

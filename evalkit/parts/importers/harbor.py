"""Results of harbor and of Terminal-Bench: a job's folder with a `result.json` a trial, or the `results.json` of a whole run.

Invariant: which exceptions are the agent's doing is fixed here: a timeout of the agent or a full context is a failure with its stop, any
other exception is an error. A trial folder without a result is told, and is missing where the job says how many were planned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evalkit.core.errors import ConfigurationError
from evalkit.core.message import JSON
from evalkit.parts.importers._json import chosen, document, outline
from evalkit.parts.importers._rows import (
    Header,
    Imported,
    Item,
    Note,
    between,
    count_of,
    digest_of,
    named,
    number_of,
    part,
    plainly,
    refuse,
    reward_of,
    settings_of,
    shown,
    stamp_of,
    text_of,
)
from evalkit.parts.importers._stops import OTHER

RESULT, RESULTS, CONFIG, METADATA = "result.json", "results.json", "config.json", "run_metadata.json"
DEEPEST = 8
"""Levels of folders that are looked through."""

MOST = 1_000_000
"""Entries of folders that are looked at."""

THEIRS = {
    "AgentTimeoutError": "cap:seconds",
    "agent_timeout": "cap:seconds",
    "ContextLengthExceededError": "context_overflow",
    "context_length_exceeded": "context_overflow",
    "OutputLengthExceededError": "truncated",
    "output_length_exceeded": "truncated",
    "NonZeroAgentExitCodeError": f"{OTHER}NonZeroAgentExitCodeError",
    "fatal_llm_parse_error": f"{OTHER}fatal_llm_parse_error",
    "test_timeout": f"{OTHER}test_timeout",
}
"""Exceptions and failure modes that are the agent's doing, with the stop that each is."""

NOTES = (
    "a reward of 1 (is_resolved) is a pass; seconds are the agent's own, turns its metadata's n_episodes",
    f"exceptions that are failures: {', '.join(name for name in THEIRS if name[0].isupper())}; all others are errors",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """What a job's folder says of all its trials."""

    suite: str | None = None
    variant: str | None = None
    trials: int | None = None
    tasks: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Harbor:
    """Reads harbor's and Terminal-Bench's results; `scorer` is the reward that counts where a trial has several."""

    scorer: str | None = None

    @classmethod
    def recognise(cls, path: Path) -> str:
        """Known by its keys; a folder by the results in it."""
        if path.is_dir():
            names = (RESULT, RESULTS)
            found = next(
                (one for depth in ("", "*/", "*/*/") for name in names for one in path.glob(depth + name)), None
            )
            return f"a folder with {found.relative_to(path)}" if found and _kind(found) else ""
        return {"trial": "a trial's result", "run": "a run's results", "old": "a trial's results"}.get(_kind(path), "")

    def read(self, path: Path) -> Iterator[Item]:
        """Tell each trial, folders and files in the order of their names."""
        yield from (Note(text=text) for text in NOTES)
        if path.is_dir():
            yield from _Walk(self.scorer).folder(path, _Job(), 0)
        elif (kind := _kind(path)) == "job":
            raise refuse(path, "", "is the result of a whole job, without its trials", "name the job's folder")
        else:
            yield from _Walk(self.scorer).file(path, kind, _job(path.parent, _Job()))


class _Walk:
    """A way through the folders of jobs."""

    def __init__(self, scorer: str | None) -> None:
        """Count what was seen."""
        self._scorer = scorer
        self._seen = 0
        self._told: set[tuple[_Job, str | None, str | None]] = set()

    def folder(self, folder: Path, job: _Job, depth: int) -> Iterator[Item]:
        """Tell all trials of a folder; the results of a whole run stand for the folders below them."""
        try:
            entries = sorted(folder.iterdir())
        except OSError as error:
            raise refuse(folder, "", f"cannot be read: {error.strerror}") from error
        self._seen += len(entries)
        if self._seen > MOST:
            raise refuse(folder, "", f"holds more than {MOST:,} files", "name the folders of single jobs")
        job = _job(folder, job)
        files = [one for one in entries if one.name in (RESULT, RESULTS) and one.is_file()]
        kinds = {one: _kind(one) for one in files}
        for file in files:
            if kinds[file] in ("trial", "run", "old"):
                yield from self.file(file, kinds[file], job)
        if "run" in kinds.values():
            return
        if depth and not files and (folder / CONFIG).is_file() and "n_attempts" not in _settings(folder / CONFIG):
            yield Note(text=f"{plainly(folder.name)}: a trial's folder without {RESULT}: it has not ended")
        if depth < DEEPEST and "trial" not in kinds.values():
            for one in entries:
                if one.is_dir() and not one.is_symlink():
                    yield from self.folder(one, job, depth + 1)

    def file(self, file: Path, kind: str, job: _Job) -> Iterator[Item]:
        """Tell the trials of a file, and before the first of a variant what its job says of it."""
        for where, row in _rows(file, kind):
            old = isinstance(row, dict) and "is_resolved" in row
            found = _old_trial(file, where, row, job) if old else _trial(file, where, row, self._scorer)
            mark = (job, found.suite, found.variant)
            if mark not in self._told:
                self._told.add(mark)
                settings = settings_of(model=found.model, agent=part(row, "agent_info", "name"))
                yield Header(
                    suite=found.suite, variant=found.variant, trials=job.trials, tasks=job.tasks, settings=settings
                )
            yield found


def _kind(file: Path) -> str:
    """What a file of results is of: a `trial`, an `old` trial, a whole `run`, a `job` without its trials; empty for others."""
    paths = outline(file)
    if ".task_name" in paths and ({".verifier_result", ".trial_name", ".exception_info"} & paths):
        return "trial"
    if ".results[].is_resolved" in paths:
        return "run"
    if {".is_resolved", ".task_id"} <= paths:
        return "old"
    return "job" if {".n_total_trials", ".stats"} & paths else ""


def _job(folder: Path, job: _Job) -> _Job:
    """What a folder adds to what is known of the job."""
    found = _settings(folder / CONFIG)
    if count_of(found.get("n_attempts")):
        job = replace(job, trials=count_of(found["n_attempts"]))
    found = _settings(folder / METADATA)
    if found:
        names = [text_of(found.get(name), 200) for name in ("agent_name", "model_name")]
        ids = found.get("task_ids")
        job = _Job(
            suite=text_of(found.get("dataset_name"), 200) or None,
            variant=" ".join(one for one in names if one) or None,
            trials=count_of(found.get("n_attempts")) or None,
            tasks=tuple(filter(None, map(text_of, ids))) or None if isinstance(ids, list) else None,
        )
    return job


def _settings(file: Path) -> dict[str, JSON]:
    """The keys of a job's own file that matter here; nothing where there is none that can be read."""
    if not file.is_file():
        return {}
    try:
        return chosen(file, "n_attempts", "agent_name", "model_name", "dataset_name", "task_ids")
    except ConfigurationError:
        return {}


def _rows(file: Path, kind: str) -> Iterator[tuple[str, Any]]:
    """The trials of a file of a kind with their places."""
    if kind != "run":
        with document(file) as text:
            row = text.value()
            text.end()
        yield file.parent.name if file.name == RESULT else "", row
        return
    with document(file) as text:
        number = 0
        for key in text.members():
            if key != "results" or text.begins() != "[":
                text.skip()
                continue
            for row in text.elements():
                number += 1
                yield f"result {number:,}", row
        text.end()


def _trial(path: Path, where: str, row: Any, scorer: str | None) -> Imported:
    """One trial of harbor."""
    if not isinstance(row, dict) or "task_name" not in row:
        raise refuse(path, where, f"is {shown(row)} without task_name", "harbor wants a trial's result.json")
    model = [text_of(part(row, "agent_info", "model_info", name), 200) for name in ("provider", "name")]
    agent = [text_of(part(row, "agent_info", "name"), 200), "/".join(one for one in model if one)]
    error = text_of(part(row, "exception_info", "exception_type"), 200)
    reward = _reward(path, where, part(row, "verifier_result", "rewards"), scorer)
    checksum = text_of(row.get("task_checksum"), 200)
    return Imported(
        where=where,
        suite=text_of(row.get("source"), 200) or None,
        variant=" ".join(one for one in agent if one) or None,
        task=named(path, where, "task_name", row["task_name"]),
        trial=text_of(row.get("id"), 200) or text_of(row.get("trial_name"), 200) or None,
        reward=reward,
        passed=False if reward is None and error in THEIRS else None,
        error="" if error in THEIRS or not row.get("exception_info") else _told(row["exception_info"], error),
        stop=THEIRS.get(error, "error:harness" if row.get("exception_info") else "finished"),
        stop_detail=error,
        turns=count_of(part(row, "agent_result", "metadata", "n_episodes")),
        input_tokens=count_of(part(row, "agent_result", "n_input_tokens")),
        output_tokens=count_of(part(row, "agent_result", "n_output_tokens")),
        usd=number_of(part(row, "agent_result", "cost_usd")),
        seconds=_seconds(row),
        started=stamp_of(row.get("started_at")),
        model=agent[1],
        input_digest=digest_of(path, where, checksum) if checksum else "",
    )


def _told(info: Mapping[str, JSON] | JSON, error: str) -> str:
    """What an exception says."""
    return f"{error or 'exception'}: {text_of(part(info, 'exception_message'))}"


def _seconds(row: Mapping[str, Any]) -> float | None:
    """How long the agent worked, else how long the trial took."""
    worked = between(part(row, "agent_execution", "started_at"), part(row, "agent_execution", "finished_at"))
    return worked if worked is not None else between(row.get("started_at"), row.get("finished_at"))


def _reward(path: Path, where: str, rewards: JSON, scorer: str | None) -> float | None:
    """The reward that counts; raises `ConfigurationError` where several could."""
    if not isinstance(rewards, dict) or not rewards:
        return None
    name = scorer or ("reward" if "reward" in rewards else next(iter(rewards)) if len(rewards) == 1 else None)
    if name is None or name not in rewards:
        what = f"has the rewards {', '.join(plainly(one) for one in rewards)}"
        raise refuse(path, where, what, "say which counts with --scorer")
    return reward_of(rewards[name])


def _old_trial(path: Path, where: str, row: dict[str, Any], job: _Job) -> Imported:
    """One trial of Terminal-Bench's first harness."""
    mode = text_of(row.get("failure_mode"), 80)
    fine = mode in ("", "none", "unset") or mode in THEIRS
    resolved = row["is_resolved"] if isinstance(row["is_resolved"], bool) else None
    instruction = text_of(row.get("instruction"))
    return Imported(
        where=where,
        suite=job.suite,
        variant=job.variant,
        task=named(path, where, "task_id", row.get("task_id")),
        trial=text_of(row.get("id"), 200) or text_of(row.get("trial_name"), 200) or None,
        passed=False if resolved is None and mode in THEIRS else resolved,
        error="" if fine or resolved else f"failure_mode {mode}",
        stop=THEIRS.get(mode, "finished" if fine or resolved else "error:harness"),
        stop_detail=mode,
        input_tokens=count_of(row.get("total_input_tokens")),
        output_tokens=count_of(row.get("total_output_tokens")),
        seconds=between(row.get("agent_started_at"), row.get("agent_ended_at"))
        or between(row.get("trial_started_at"), row.get("trial_ended_at")),
        started=stamp_of(row.get("trial_started_at")),
        input=instruction,
        input_digest=digest_of(path, where, instruction) if instruction else "",
    )

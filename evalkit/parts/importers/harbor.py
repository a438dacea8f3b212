"""Results of harbor and of Terminal-Bench: a job's folder with a `result.json` a trial, or the `results.json` of a whole run.

Invariant: a trial folder without a result is told, and is missing where the job says how many were planned.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evalkit.core.errors import ConfigurationError
from evalkit.core.message import JSON
from evalkit.parts.importers._harbor_trials import NOTES, old_trial, trial
from evalkit.parts.importers._json import chosen, document, outline
from evalkit.parts.importers._rows import (
    Header,
    Item,
    Note,
    count_of,
    part,
    plainly,
    refuse,
    settings_of,
    text_of,
)

RESULT, RESULTS, CONFIG, METADATA = "result.json", "results.json", "config.json", "run_metadata.json"
DEEPEST = 8
"""Levels of folders that are looked through."""

MOST = 1_000_000
"""Entries of folders that are looked at."""


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
            found = (
                old_trial(file, where, row, job.suite, job.variant) if old else trial(file, where, row, self._scorer)
            )
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

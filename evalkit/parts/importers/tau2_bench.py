"""tau2-bench's results: one JSON object with `info`, `tasks` and `simulations`, or a folder with one file a simulation.

Invariant: `info.num_trials` and `tasks` are the plan, so a simulation that is not there is a missing trial and a task without any is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalkit.core.message import JSON
from evalkit.parts.importers._json import chosen, document, outline
from evalkit.parts.importers._rows import (
    Header,
    Imported,
    Item,
    Note,
    count_of,
    digest_of,
    named,
    number_of,
    numbered,
    objects,
    part,
    refuse,
    reward_of,
    settings_of,
    shown,
    stamp_of,
    text_of,
    total,
)
from evalkit.parts.importers._stops import stop_of

FORM = "a JSON object with info, tasks and simulations"
RESULTS = "results.json"
SIMULATIONS = "simulations"

OURS = ("infrastructure_error", "unexpected_error", "user_error")
"""Reasons by which not the agent but its world broke: the provider, the harness, the simulated user."""

THEIRS = ("context_window_exceeded", "max_steps", "timeout", "too_many_errors", "agent_error")
"""Reasons that are the agent's doing: without a reward they are failures."""

NOTES = (
    "a reward of 1 is a pass; dollars are agent_cost, without the user simulator's; turns are messages of the assistant",
    f"termination reasons that are errors: {', '.join(OURS)}; that are failures where there is no reward: {', '.join(THEIRS)}",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tau2Bench:
    """Reads tau2-bench's results."""

    @classmethod
    def recognise(cls, path: Path) -> str:
        """Known by its keys, a folder by its two entries."""
        if path.is_dir():
            whole = (path / RESULTS).is_file() and (path / SIMULATIONS).is_dir()
            return f"a folder with {RESULTS} and {SIMULATIONS}/" if whole else ""
        paths = outline(path)
        return FORM if {".info.agent_info", ".info.num_trials"} <= paths or {".tasks", ".simulations"} <= paths else ""

    def read(self, path: Path) -> Iterator[Item]:
        """Tell the plan, then each simulation."""
        yield from (Note(text=text) for text in NOTES)
        results = path / RESULTS if path.is_dir() else path
        found = chosen(results, "info", "tasks")
        info, tasks = found.get("info"), objects(found.get("tasks"))
        ids = {named(results, f"task {place:,}", "id", one.get("id")): one for place, one in enumerate(tasks, 1)}
        suite, variant = _names(info)
        yield Header(
            suite=suite,
            variant=variant,
            trials=count_of(part(info, "num_trials")) or None,
            first=0,
            tasks=tuple(ids) or None,
            settings=settings_of(
                model=part(info, "agent_info", "llm"),
                agent=part(info, "agent_info", "implementation"),
                temperature=part(info, "agent_info", "llm_args", "temperature"),
                user_model=part(info, "user_info", "llm"),
                user=part(info, "user_info", "implementation"),
                max_steps=part(info, "max_steps"),
                max_errors=part(info, "max_errors"),
                git_commit=part(info, "git_commit"),
            ),
        )
        for file, where, row in _simulations(results):
            yield _trial(file, where, row, ids, (suite, variant))


def _names(info: JSON) -> tuple[str | None, str | None]:
    """The suite and the variant that a file is of."""
    agent, model = (text_of(part(info, "agent_info", name), 200) for name in ("implementation", "llm"))
    domain = text_of(part(info, "environment_info", "domain_name"), 200)
    return domain or None, " ".join(one for one in (agent, model) if one) or None


def _simulations(results: Path) -> Iterator[tuple[Path, str, Any]]:
    """Each simulation with the file and the place that it stands in."""
    with document(results) as text:
        number = 0
        for key in text.members():
            if key != SIMULATIONS or text.begins() != "[":
                text.skip()
                continue
            for row in text.elements():
                number += 1
                yield results, f"simulation {number:,}", row
        text.end()
    folder = results.parent / SIMULATIONS
    if number or not folder.is_dir():
        return
    for file in sorted(folder.glob("*.json")):
        with document(file) as text:
            row = text.value()
            text.end()
        yield file, "", row


def _trial(
    path: Path, where: str, row: Any, tasks: Mapping[str, dict[str, Any]], names: tuple[str | None, str | None]
) -> Imported:
    """One simulation."""
    if not isinstance(row, dict) or "task_id" not in row:
        raise refuse(path, where, f"is {shown(row)} without task_id", f"tau2_bench wants {FORM}")
    task = named(path, where, "task_id", row["task_id"])
    reason = text_of(row.get("termination_reason"), 80)
    reward = reward_of(part(row, "reward_info", "reward"))
    said = [one for one in objects(row.get("messages")) if one.get("role") == "assistant"]
    planned = tasks.get(task)
    broke = f"termination_reason {reason}: {text_of(part(row, 'info', 'error'))}".strip(" :") if reason in OURS else ""
    return Imported(
        where=where,
        suite=names[0],
        variant=names[1],
        task=task,
        trial=numbered(row.get("trial")),
        reward=reward,
        passed=False if reward is None and reason in THEIRS else None,
        error=broke,
        stop=f"error:{reason}" if broke else stop_of(reason),
        stop_detail=reason,
        turns=len(said) if isinstance(row.get("messages"), list) else None,
        input_tokens=total([count_of(part(one, "usage", "prompt_tokens")) for one in said]),
        output_tokens=total([count_of(part(one, "usage", "completion_tokens")) for one in said]),
        usd=number_of(row.get("agent_cost")),
        seconds=number_of(row.get("duration")),
        started=stamp_of(row.get("start_time")),
        answer=next((text_of(one["content"]) for one in reversed(said) if one.get("content")), ""),
        input=_input(planned),
        input_digest=digest_of(path, where, planned) if planned else "",
    )


def _input(task: dict[str, Any] | None) -> str:
    """What the conversation is about: the ticket, else why the user calls."""
    reason = part(task, "user_scenario", "instructions", "reason_for_call")
    return text_of(part(task, "ticket")) or text_of(reason) or text_of(part(task, "user_scenario", "instructions"))

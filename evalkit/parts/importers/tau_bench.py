"""tau-bench's results: one JSON list, an object a trial, as its `run.py` writes them (plain or gzip).

Invariant: a reward of 0 that stands for a crash (`info.error`) is told as the harness's error, not as the agent's failure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalkit.parts.importers._json import document, outline
from evalkit.parts.importers._rows import (
    Imported,
    Item,
    Note,
    digest_of,
    named,
    numbered,
    objects,
    part,
    refuse,
    reward_of,
    shown,
    text_of,
)

FORM = "a JSON list of results with task_id, reward, info and traj"

LIMIT = 30
"""Steps after which tau-bench's own loops end a conversation."""

END = "###STOP###"
"""What its user simulator writes to end a conversation."""

TRANSFER = "transfer_to_human_agents"
"""The tool whose call ends a conversation."""

NOTES = (
    "a reward of 1 is a pass; an entry with info.error is an error of the harness, which tau-bench counts as reward 0",
    f"why a trial stopped is taken from its end: {END} or {TRANSFER} is finished, {LIMIT} messages and neither is cap:turns",
    "turns are messages of the assistant; info.user_cost is the user simulator's, so dollars and tokens are unknown",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TauBench:
    """Reads tau-bench's results."""

    @classmethod
    def recognise(cls, path: Path) -> str:
        """Known by the keys of its first result."""
        paths = outline(path)
        return FORM if {"[].task_id", "[].reward", "[].info"} <= paths else ""

    def read(self, path: Path) -> Iterator[Item]:
        """Tell each result."""
        yield from (Note(text=text) for text in NOTES)
        with document(path) as text:
            for number, row in enumerate(text.elements(), 1):
                yield _trial(path, f"result {number:,}", row)
            text.end()


def _trial(path: Path, where: str, row: Any) -> Imported:
    """One result."""
    if not isinstance(row, dict) or "task_id" not in row or "reward" not in row:
        raise refuse(path, where, f"is {shown(row)} without task_id and reward", f"tau_bench wants {FORM}")
    task, traj = part(row, "info", "task"), objects(row.get("traj"))
    broke = text_of(part(row, "info", "error"))
    stop, detail = ("error:harness", "info.error") if broke else _stop(traj)
    said = [one for one in traj if one.get("role") == "assistant"]
    return Imported(
        where=where,
        task=named(path, where, "task_id", row["task_id"]),
        trial=numbered(row.get("trial")),
        reward=reward_of(row["reward"]),
        error=broke,
        stop=stop,
        stop_detail=detail,
        turns=len(said) if traj else None,
        answer=next((text_of(one["content"]) for one in reversed(said) if one.get("content")), ""),
        input=text_of(part(task, "instruction")),
        input_digest=digest_of(path, where, task) if task else "",
    )


def _stop(traj: list[dict[str, Any]]) -> tuple[str, str]:
    """Why a conversation ended, from its last message."""
    last = traj[-1] if traj else {}
    if last.get("role") == "tool" and last.get("name") == TRANSFER:
        return "finished", "transfer"
    if last.get("role") == "user" and END in text_of(last.get("content")):
        return "finished", "user_stop"
    if sum(one.get("role") == "assistant" for one in traj) >= LIMIT:
        return "cap:turns", "max_steps"
    return "", ""

"""The replies of a run as lines of JSON, one a trial: what the provider `replay` reads.

A line is `{"trial": [suite, task, variant, index], "calls": [...]}`; a call holds its number, the fingerprint of its request (`asked`), and the
reply or the error that it ended with (`overflow` where the prompt was too long).

Invariant: every model call of every recorded trial is there, answered or not.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from evalkit.core.record import Asked, TrialRecord, Unanswered

FILE = "replies.jsonl"


def write_replies(records: Iterable[TrialRecord], path: Path) -> None:
    """Write the file whole or not at all; records come with their events."""
    draft = path.with_suffix(".part")
    with draft.open("w", encoding="utf-8") as file:
        for record in records:
            file.write(json.dumps(_line(record), ensure_ascii=True, separators=(",", ":")) + "\n")
    draft.replace(path)


def _line(record: TrialRecord) -> dict[str, Any]:
    """One trial."""
    key = record.key
    overflow = record.stop.reason == "context_overflow"
    calls = [_call(event, overflow=overflow) for event in record.events if isinstance(event, (Asked, Unanswered))]
    return {"trial": [key.suite, key.task, key.variant, key.index], "calls": calls}


def _call(event: Asked | Unanswered, *, overflow: bool) -> dict[str, Any]:
    """One model call."""
    if isinstance(event, Unanswered):
        return {"call": event.call, "asked": event.asked, "error": event.error, "overflow": overflow, "reply": None}
    return {"call": event.call, "asked": event.asked, "error": None, "overflow": False, "reply": asdict(event.reply)}

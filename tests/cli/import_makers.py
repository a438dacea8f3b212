"""Imported trials without files, and small files, for tests of the import."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalkit.cli.adopt import Adopted, adopt, records
from evalkit.cli.survey import Choices, Source, Survey
from evalkit.core.record import TrialRecord
from evalkit.parts.importers._rows import Header, Imported, Item, Note


@dataclass
class Told:
    """An importer that tells what it was made with."""

    items: Sequence[Item]

    @classmethod
    def recognise(cls, path: Path) -> str:  # noqa: ARG003  # the protocol's own argument
        """Nothing is of this format."""
        return ""

    def read(self, path: Path) -> Iterator[Item]:
        """Tell it."""
        yield from self.items


def row(task: str = "a", trial: int | str | None = 0, *, passed: bool | None = True, **more: Any) -> Imported:
    """A trial."""
    return Imported(where=f"row {task}/{trial}", task=task, trial=trial, passed=passed, **more)


def source(*items: Item, file: str = "gpt.json", name: str | None = None, kind: str = "tau_bench") -> Source:
    """A file of some items."""
    return Source(path=Path(file), kind=kind, why="told", importer=Told(items), name=name)


def surveyed(*sources: Source, **choices: Any) -> Survey:
    """The first reading of some files."""
    survey = Survey(choices=Choices(**choices))
    survey.take(sources)
    return survey


def adopted(*sources: Source, **choices: Any) -> Adopted:
    """The plan of a run of some files."""
    return adopt(surveyed(*sources, **choices))


def kept(*sources: Source, **choices: Any) -> list[TrialRecord]:
    """The records of a run of some files."""
    survey = surveyed(*sources, **choices)
    return list(records(survey, sources, adopt(survey), "live"))


def numbers(found: Sequence[TrialRecord]) -> list[tuple[str, int]]:
    """Task and number of each record."""
    return [(one.key.task, one.key.index) for one in found]


def lines(path: Path, *rows: dict[str, Any]) -> Path:
    """Write JSON Lines."""
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return path


__all__ = ["Header", "Note", "Told", "adopted", "kept", "lines", "numbers", "row", "source", "surveyed"]

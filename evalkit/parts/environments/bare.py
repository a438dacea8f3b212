"""No world at all: for tasks that are answered in words, or with tools that bring their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from evalkit.core.errors import MalformedArgs
from evalkit.core.message import JSON, ToolCall, ToolSpec
from evalkit.core.protocols import Ground


@dataclass(frozen=True, slots=True, kw_only=True)
class Bare:
    """An environment without tools, state or files; an agent that is a program gets an empty folder."""

    OPEN_TO_PROGRAMS: ClassVar[bool] = True

    def announce(self) -> Mapping[str, JSON]:
        """No tool."""
        return {}

    def open(self, ground: Ground) -> Bare:
        """There is nothing to keep apart: the part is its own environment."""
        return self

    def tools(self) -> tuple[ToolSpec, ...]:
        """None."""
        return ()

    def call(self, call: ToolCall) -> str:
        """Refuse: nothing can be called here."""
        raise MalformedArgs(f"there is no tool named {call.name!r}")

    def state(self) -> JSON:
        """Always null."""
        return None

    def close(self) -> None:
        """Nothing runs."""

    def export(self, into: Path) -> None:
        """Leave the folder empty."""

"""Tool calls as comparable text: what detectors look for repetitions in."""

from __future__ import annotations

import json

from evalkit.core.message import ToolCall


def signature(call: ToolCall) -> str:
    """Write a call as its name and arguments, the same for equal calls."""
    return f"{call.name}({json.dumps(call.input, sort_keys=True, default=str)})"


def shown(text: str, limit: int = 120) -> str:
    """Shorten a signature for a message."""
    return text if len(text) <= limit else f"{text[:limit]}…"

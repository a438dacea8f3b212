"""A stand-in for `claude -p --output-format stream-json --verbose`: prints a stream of the real shape, and does what it tells.

The first argument names a course (`COURSES`), the prompt comes as the second. It knows no model: what it says is fixed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

SESSION = "11111111-2222-3333-4444-555555555555"


def init() -> dict[str, Any]:
    """What comes first."""
    return {
        "type": "system",
        "subtype": "init",
        "cwd": str(Path.cwd()),
        "session_id": SESSION,
        "tools": ["Bash", "Write"],
        "mcp_servers": [],
        "model": "claude-sonnet-4-5",
        "permissionMode": "bypassPermissions",
        "apiKeySource": "ANTHROPIC_API_KEY",
    }


def assistant(name: str, *blocks: dict[str, Any], output: int = 20, parent: str | None = None) -> dict[str, Any]:
    """One event of an assistant's message."""
    usage = {
        "input_tokens": 10,
        "cache_creation_input_tokens": 100,
        "cache_read_input_tokens": 1000,
        "output_tokens": output,
    }
    message = {
        "id": name,
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "content": list(blocks),
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    return {"type": "assistant", "message": message, "parent_tool_use_id": parent, "session_id": SESSION}


def text(said: str) -> dict[str, Any]:
    """A block of text."""
    return {"type": "text", "text": said}


def call(name: str, tool: str, **given: Any) -> dict[str, Any]:
    """A block that calls a tool."""
    return {"type": "tool_use", "id": name, "name": tool, "input": given}


def result_of(name: str, content: Any, *, error: bool = False, parent: str | None = None) -> dict[str, Any]:
    """A tool's result."""
    block = {"tool_use_id": name, "type": "tool_result", "content": content, "is_error": error}
    return {
        "type": "user",
        "message": {"role": "user", "content": [block]},
        "parent_tool_use_id": parent,
        "session_id": SESSION,
    }


def result(said: str = "", subtype: str = "success", **other: Any) -> dict[str, Any]:
    """What comes last."""
    usage = {
        "input_tokens": 20,
        "cache_creation_input_tokens": 200,
        "cache_read_input_tokens": 2000,
        "output_tokens": 70,
    }
    return {
        "type": "result",
        "subtype": subtype,
        "is_error": subtype != "success",
        "duration_ms": 4200,
        "duration_api_ms": 3900,
        "num_turns": 2,
        **({"result": said} if subtype == "success" else {}),
        "session_id": SESSION,
        "total_cost_usd": 0.0123,
        "usage": usage,
        "permission_denials": [],
        **other,
    }


def working() -> Iterator[dict[str, Any]]:
    """Writes the file that it says it writes; its first message comes in two events."""
    yield init()
    yield assistant("msg_1", text("I write the file."), output=5)
    yield assistant("msg_1", call("toolu_1", "Write", file_path="answer.txt", content="42"), output=30)
    Path("answer.txt").write_text("42\n")
    yield result_of("toolu_1", "File created successfully at: answer.txt")
    yield assistant("msg_2", text("The answer is 42."))
    yield result("The answer is 42.")


def endless() -> Iterator[dict[str, Any]]:
    """Calls a tool again and again."""
    yield init()
    for number in range(1, 1000):
        yield assistant(f"msg_{number}", call(f"toolu_{number}", "Bash", command="true"))
        yield result_of(f"toolu_{number}", [{"type": "text", "text": ""}])


def helped() -> Iterator[dict[str, Any]]:
    """Lets a helper work."""
    yield init()
    yield assistant("msg_1", call("toolu_1", "Task", prompt="look"))
    yield assistant("msg_h", call("toolu_h", "Bash", command="ls"), parent="toolu_1")
    yield result_of("toolu_h", "no such file", error=True, parent="toolu_1")
    yield result_of("toolu_1", [{"type": "text", "text": "nothing"}])
    yield assistant("msg_2", text("Nothing there."))
    yield result("Nothing there.")


def ending(**last: Any) -> Iterator[dict[str, Any]]:
    """Says one thing, and ends as it is told."""
    yield init()
    yield assistant("msg_1", text("I am stuck."))
    yield result(**last)


COURSES: dict[str, Callable[[], Iterator[dict[str, Any]]]] = {
    "working": working,
    "endless": endless,
    "helped": helped,
    "max-turns": lambda: ending(subtype="error_max_turns"),
    "max-budget": lambda: ending(subtype="error_max_budget_usd"),
    "crashed": lambda: ending(subtype="error_during_execution"),
    "overloaded": lambda: ending(said="API Error: 529 overloaded", is_error=True, terminal_reason="api_error"),
    "silent": lambda: iter([init()]),
}


def main() -> int:
    """Print a course; `NAME!3` ends with status 3."""
    name, _, status = sys.argv[1].partition("!")
    for event in COURSES[name]():
        sys.stdout.write(json.dumps(event) + "\n")
        sys.stdout.flush()
    return int(status or 0)


if __name__ == "__main__":
    sys.exit(main())

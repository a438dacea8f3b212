"""What a model is told of the workspace's tools.

Invariant: a schema holds exactly the arguments that the tool of its name takes; every one of them is described.
"""

from __future__ import annotations

from collections.abc import Mapping

from evalkit.core.message import JSON, ToolSpec

_PATH = "path of the file, relative to the workspace, such as 'src/main.py'"


def _schema(required: Mapping[str, JSON], optional: Mapping[str, JSON] | None = None) -> dict[str, JSON]:
    """Make the schema of an object."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


def _text(description: str, **more: JSON) -> dict[str, JSON]:
    """Make the schema of a text."""
    return {"type": "string", "description": description, **more}


READ_FILE = ToolSpec(
    name="read_file",
    description=(
        "Read a text file of the workspace. Returns the text as it is, up to 2000 lines or 50,000 characters a call; where"
        " there is more, the last line of the result says how many lines the file has and from which offset to read on."
    ),
    input_schema=_schema(
        {"path": _text(_PATH, examples=["src/main.py"])},
        {
            "offset": {
                "type": "integer",
                "minimum": 1,
                "description": "first line to read, counted from 1 (default 1)",
            },
            "limit": {"type": "integer", "minimum": 1, "description": "how many lines to read (default 2000)"},
        },
    ),
)
WRITE_FILE = ToolSpec(
    name="write_file",
    description=(
        "Write a file of the workspace: makes it, and the folders that it needs, or replaces all that it held. To change a"
        " part of a file that exists, use edit_file."
    ),
    input_schema=_schema(
        {
            "path": _text(_PATH, examples=["src/main.py"]),
            "content": _text("the whole text of the file", examples=["print('hello')\n"]),
        }
    ),
    writes=True,
)
EDIT_FILE = ToolSpec(
    name="edit_file",
    description=(
        "Replace one passage of a text file. `old` has to stand in the file exactly once, to the last blank and line end;"
        " if it stands there more often, take in lines before or after it. To delete a passage, give an empty `new`."
    ),
    input_schema=_schema(
        {
            "path": _text(_PATH, examples=["src/main.py"]),
            "old": _text("the exact text that is there now", examples=["port = 8080"]),
            "new": _text("the text that takes its place", examples=["port = 9000"]),
        }
    ),
    writes=True,
)
LIST_FILES = ToolSpec(
    name="list_files",
    description=(
        "List all files and folders below a folder of the workspace, with their sizes, up to 500 entries. Folders end in a"
        " slash. `.git` and `__pycache__` are left out."
    ),
    input_schema=_schema({}, {"path": _text("folder to list, relative to the workspace (default: all of it)")}),
)
SEARCH = ToolSpec(
    name="search",
    description=(
        "Find the lines that hold a text, in all text files below a folder or in one file. Returns up to 100 matches as"
        " path:line: text. `.git` and `__pycache__` are left out."
    ),
    input_schema=_schema(
        {"pattern": _text("the text to find, as it is written; upper and lower case differ", examples=["def main"])},
        {
            "path": _text("folder or file to search, relative to the workspace (default: all of it)"),
            "regex": {
                "type": "boolean",
                "description": "true: pattern is a Python regular expression, matched line by line (default false)",
            },
        },
    ),
)


def run_command(seconds: float, programs: tuple[str, ...]) -> ToolSpec:
    """Describe the tool that runs commands; with `programs` only those, and without a shell."""
    how = (
        f"Run a program in the workspace: one of {', '.join(programs)}. No shell is involved, so pipes, redirections, `&&` and"
        " variables do not work."
        if programs
        else "Run a command with /bin/sh in the workspace."
    )
    background = (
        ""
        if programs
        else " To leave something running in the background, send its output to a file: `server > server.log 2>&1 &`."
    )
    example = f"{programs[0]} --help" if programs else "ls -l src"
    return ToolSpec(
        name="run_command",
        description=(
            f"{how} Each call starts in the workspace's folder anew. Returns the exit status and what was written to both"
            f" outputs; of a long output the beginning and the end. A command gets no input, and is ended after"
            f" {seconds:g} seconds.{background}"
        ),
        input_schema=_schema({"command": _text("the command line", examples=[example])}),
        writes=True,
    )

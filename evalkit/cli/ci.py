"""What `--junit` and `--github` do, the same for `run` and `gate`: results where a CI looks for them.

Invariant: what cannot be written is said before a run begins, and nothing that a task or a model wrote can be read as a workflow command.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evalkit.cli.conclude import compared, grounds_of, summary_of
from evalkit.cli.output import say, tell
from evalkit.cli.reading import Run
from evalkit.cli.targets import target
from evalkit.core.errors import ConfigurationError
from evalkit.report.clean import clean_line
from evalkit.report.summary import task_rows
from evalkit.store.disk import exists

SUMMARY, OUTPUT = "GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"


def ready(junit_path: str | None, *, github: bool) -> None:
    """Refuse what could not be written in the end; raises `ConfigurationError`. Call it before anything is run."""
    if junit_path is not None:
        path = target("--junit", junit_path, _is_junit)
        there = next(place for place in (path, *path.absolute().parents) if exists(place))
        if not os.access(there, os.W_OK) or not (there == path or there.is_dir()):
            raise ConfigurationError.of(f"--junit {path}", "cannot be written to", "choose another file")
    if github and not (os.environ.get(SUMMARY) or os.environ.get(OUTPUT)):
        what = f"neither {SUMMARY} nor {OUTPUT} is set, so this is no step of a GitHub workflow"
        raise ConfigurationError.of("--github", what, "leave it away, or set one of them to a file")


def tell_ci(
    found: Run, gate: dict[str, Any] | None, *, junit_path: str | None, github: bool, as_json: bool = False
) -> None:
    """Write a run's results for a CI; `gate` is what `gate --json` prints, None where there is no gate.

    Annotations are printed; with `as_json` on stderr, which GitHub reads as well, so that stdout stays one object. Raises
    `ConfigurationError` where a file cannot be written.
    """
    if junit_path is None and not github:
        return
    summary, why = summary_of(found), grounds_of(found)
    if junit_path is not None:
        from evalkit.report.junit import junit  # noqa: PLC0415  # loaded only where it is asked for

        text = junit(summary, task_rows(found.table), gate, found.about, why)
        path = target("--junit", junit_path, _is_junit)
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            draft.write_text(text, encoding="utf-8")
            draft.replace(path)
        except OSError as error:
            raise _unwritable(f"--junit {path}", error) from error
    if github:
        from evalkit.report.github import commands, markdown, outputs, publish  # noqa: PLC0415  # the same

        differences = compared(found)["comparisons"] if len(found.table.variants) > 1 else []
        values = outputs(summary, gate, found.table.baseline) | {"run": clean_line(str(found.store.folder))}
        files = {name: Path(os.environ[name]) if os.environ.get(name) else None for name in (SUMMARY, OUTPUT)}
        try:
            publish(
                markdown(summary, gate, differences, why), values, step_summary=files[SUMMARY], output=files[OUTPUT]
            )
        except OSError as error:
            raise _unwritable("--github", error) from error
        for line in commands(summary, gate):
            (tell if as_json else say)(line)


@contextmanager
def quiet(*, github: bool, as_json: bool = False) -> Iterator[None]:
    """Keep GitHub from reading workflow commands in what is printed to stdout in the block.

    A JSON object is printed as it is: no line of it begins as a command does, but a workflow had better send it to a file.
    """
    if not github or as_json:
        yield
        return
    from evalkit.report.github import fence  # noqa: PLC0415  # loaded only where it is asked for

    begin, end = fence(secrets.token_hex(16))
    say(begin)
    try:
        yield
    finally:
        say(end)


def _is_junit(head: bytes) -> bool:
    """Tell whether a file holds JUnit results, by its first bytes."""
    return b"<testsuite" in head


def _unwritable(where: str, error: OSError) -> ConfigurationError:
    """Say that a file cannot be written."""
    return ConfigurationError.of(where, f"cannot be written: {error.strerror or error}", "choose another file")

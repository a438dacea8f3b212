"""A program decides: tests, a linter, a type checker."""

from __future__ import annotations

import re
import shlex
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from annotated_types import Ge, Gt, Le

from evalkit.core.errors import GraderBroke
from evalkit.core.protocols import CheckResult, Evidence
from evalkit.core.sandbox import Sandbox
from evalkit.parts._bounds import Bounds
from evalkit.parts._duration import Duration
from evalkit.parts._match import PatternError, compiled_pattern, search
from evalkit.parts._process import Finished, Limits, surroundings
from evalkit.parts._sandbox import open_cell
from evalkit.parts.checks._junit import missing
from evalkit.parts.checks._restore import CONFIGURATIONS, restore, unsteer

CANNOT_START = (126, 127)
SHOWN = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """Passes where `run`, a shell command in a copy of the final state, ends with the status `expect_exit`.

    `files` are files of the suite, or folders whose contents count, that are laid over the copy first: what an agent did to its tests is
    undone. `expect_output` is a pattern that the output has to match too. `expect_tests` are ids of pytest
    (`tests/test_a.py::test_b`) that its own record has to show as passed; conftest.py and pytest.ini then come from `files` or not at all.
    Both are positive evidence, where a status of 0 alone can be had by leaving early.

    A command that cannot be started breaks the check, and so does one that does not end within `timeout`, unless `on_timeout` says
    that it fails.
    """

    FILES: ClassVar[tuple[str, ...]] = ("files",)
    COST: ClassVar[int] = 5

    run: str
    files: tuple[str, ...] = ()
    expect_exit: Annotated[int, Ge(0), Le(255)] = 0
    expect_output: str | None = None
    expect_tests: tuple[str, ...] = ()
    timeout: Annotated[Duration, Gt(0)] = 60.0
    on_timeout: Literal["error", "fail"] = "error"
    memory_mb: Annotated[int, Gt(0)] = 4000

    def __post_init__(self) -> None:
        """Refuse an empty command, a pattern that is none, and ids that name no test."""
        if not self.run.strip() or "\0" in self.run:
            raise ValueError("run is empty, or holds a NUL")
        try:
            compiled_pattern(self.expect_output or "")
        except re.error as error:
            raise ValueError(f"expect_output is no regular expression of Python: {error}") from None
        for test in self.expect_tests:
            if "::" not in test:
                raise ValueError(f"expect_tests: {test!r} names no test: write tests/test_a.py::test_b")

    @property
    def starts_processes(self) -> bool:
        """True: the command runs what the agent wrote."""
        return True

    def judge(self, evidence: Evidence) -> CheckResult:
        """Restore, run, and look at what came of it."""
        folder = evidence.copy().resolve()
        with tempfile.TemporaryDirectory(prefix="evalkit-grader-") as made:
            private = Path(made).resolve()
            if self.expect_tests:
                unsteer(folder)
            restored = restore(Path(evidence.task.base), self.files, folder)
            extra = {"PYTHONDONTWRITEBYTECODE": "1"}
            if self.expect_tests:
                extra["PYTEST_ADDOPTS"] = _options(folder, private, restored)
            finished = self._run(folder, private, extra, evidence.sandbox)
            lacking = missing(private / "junit.xml", self.expect_tests) if self.expect_tests else ""
        return self._decide(finished, lacking)

    def _run(self, folder: Path, private: Path, extra: dict[str, str], sandbox: Sandbox) -> Finished:
        """Run the command, and end all that it started."""
        home = private / "home"
        home.mkdir()
        variables = surroundings(home, home, extra)
        limits = Limits(seconds=self.timeout, memory=self.memory_mb * 1_000_000)
        bounds = Bounds(memory=limits.memory)
        with open_cell(sandbox, folders=(folder, private), temporary=home, bounds=bounds) as cell:
            try:
                return cell.run(("/bin/sh", "-c", self.run), folder=folder, variables=variables, limits=limits)
            except OSError as error:
                raise GraderBroke(f"{self.run}: cannot be started: {error}") from error

    def _decide(self, finished: Finished, lacking: str) -> CheckResult:
        """Say what came of it; the end of the output goes with it."""
        tail = finished.text[-SHOWN:].strip()
        wrong = self._fault(finished, lacking)
        if finished.ended == "time" and self.on_timeout == "error":
            raise GraderBroke(f"{self.run}: {wrong}\n{tail}")
        if finished.code in CANNOT_START and finished.code != self.expect_exit:
            raise GraderBroke(f"{self.run}: cannot be started (exit status {finished.code})\n{tail}")
        if wrong:
            return CheckResult(verdict="fail", reason=f"{self.run}: {wrong}\n{tail}")
        return CheckResult(verdict="pass", reason=f"{self.run}: exit status {finished.code}")

    def _fault(self, finished: Finished, lacking: str) -> str:
        """Say what is wrong; empty where nothing is."""
        if finished.ended == "time":
            return f"did not end within {self.timeout:g} seconds"
        if finished.ended == "output":
            return f"wrote more than {len(finished.output):,} bytes and was ended"
        if finished.code != self.expect_exit:
            status = f"exit status {finished.code}" if finished.code >= 0 else f"signal {-finished.code}"
            why = f", because it used too much: {finished.ended}" if finished.ended != "itself" else ""
            return f"expected exit status {self.expect_exit}, found {status}{why}"
        if lacking:
            return f"expected {len(self.expect_tests)} tests to pass, found {lacking}"
        if self.expect_output is not None and not self._matches(finished.text):
            return f"expected output that matches {self.expect_output!r}, found none"
        return ""

    def _matches(self, output: str) -> bool:
        """Look for the pattern in the output."""
        try:
            return bool(search(self.expect_output or "", [("", output)]))
        except PatternError as error:
            raise GraderBroke(f"expect_output: {error}") from error


def _options(folder: Path, private: Path, restored: tuple[str, ...]) -> str:
    """What pytest is told beside the command: where to keep its record, and to take its settings from the suite or from nowhere."""
    own = next((folder / name for name in CONFIGURATIONS if name in restored), private / "pytest.ini")
    if own.parent == private:
        own.write_text("[pytest]\n", encoding="utf-8")
    words = (
        f"-c {shlex.quote(str(own))} --rootdir={shlex.quote(str(folder))} --confcutdir={shlex.quote(str(folder))}",
        f"--junitxml={shlex.quote(str(private / 'junit.xml'))} -o junit_family=xunit2 -o junit_logging=no",
        "-p no:cacheprovider",
    )
    return " ".join(words)

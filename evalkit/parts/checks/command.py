"""A program decides: tests, a linter, a type checker, by its exit status."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from evalkit.core.errors import GraderBroke
from evalkit.core.protocols import CheckResult, Evidence
from evalkit.parts._duration import Duration
from evalkit.parts._process import Finished, Limits, end_all, run, surroundings

CANNOT_START = (126, 127)
SHOWN = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """Passes where `run`, a shell command in a copy of the final state, ends with `expect_exit`.

    `files` are files or folders beside the suite that are laid over the copy first: what an agent did to its tests counts for
    nothing. `expect_output` is a pattern that the output must match as well: positive evidence, where an exit status alone
    could be had by leaving early. A program that hangs or cannot be started is a broken grader.
    """

    run: str
    files: tuple[str, ...] = ()
    expect_exit: int = 0
    expect_output: str | None = None
    timeout: Duration = 60.0
    FILES: ClassVar[tuple[str, ...]] = ("files",)
    COST: ClassVar[int] = 5

    def __post_init__(self) -> None:
        """Refuse a pattern that does not compile and a deadline of nothing."""
        if self.timeout <= 0:
            raise ValueError("timeout must be above 0")
        try:
            re.compile(self.expect_output or "")
        except re.error as error:
            raise ValueError(f"expect_output does not compile: {error}") from error

    def judge(self, evidence: Evidence) -> CheckResult:
        """Lay the files over a copy and run."""
        folder = evidence.copy()
        for name in self.files:
            lay_over(Path(evidence.task.base) / name, folder)
        variables = surroundings(folder, folder, {"PYTHONDONTWRITEBYTECODE": "1"})
        try:
            words = ["/bin/sh", "-c", self.run]
            finished = run(words, folder=folder, variables=variables, limits=Limits(seconds=self.timeout))
        except OSError as error:
            raise GraderBroke(f"{self.run}: cannot be started: {error}") from error
        finally:
            end_all(folder)
        return self._decide(finished)

    def _decide(self, finished: Finished) -> CheckResult:
        """Say what came of it; the end of the output is the reason."""
        tail = finished.text[-SHOWN:].strip()
        if finished.ended != "itself":
            why = f"did not end within {self.timeout:g} s" if finished.ended == "time" else "wrote without end"
            raise GraderBroke(f"{self.run}: {why}\n{tail}")
        if finished.code in CANNOT_START and self.expect_exit not in CANNOT_START:
            raise GraderBroke(f"{self.run}: cannot be started (exit {finished.code})\n{tail}")
        if finished.code != self.expect_exit:
            reason = f"{self.run}: exit {finished.code}, expected {self.expect_exit}\n{tail}"
            return CheckResult(verdict="fail", reason=reason)
        if self.expect_output is not None and not re.search(self.expect_output, finished.text):
            reason = f"{self.run}: exit {finished.code}, but no output matches {self.expect_output!r}\n{tail}"
            return CheckResult(verdict="fail", reason=reason)
        return CheckResult(verdict="pass", reason=f"{self.run}: exit {finished.code}")


def lay_over(source: Path, folder: Path) -> None:
    """Copy a file, or what a folder holds, over a folder; what stood there in its place is gone, links included."""
    for path in [source] if source.is_file() else sorted(source.rglob("*")):
        target = folder / (path.name if source.is_file() else path.relative_to(source))
        if "__pycache__" in path.parts:
            continue
        if target.is_symlink() or (target.is_file() and path.is_dir()):
            target.unlink()
        if path.is_dir():
            target.mkdir(parents=True, exist_ok=True)
        else:
            if target.is_dir():
                shutil.rmtree(target)
            shutil.copyfile(path, target)

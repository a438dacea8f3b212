"""A page looks like a picture.

Invariant: what the page does is its own failure, what the browser cannot do is ours. The browser is started in a process that can be
ended with all that it started, and shows that it can make a picture before it is given the page.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from annotated_types import Ge, Gt, Le, Lt

from evalkit.core.errors import GraderBroke, ToolError
from evalkit.core.protocols import CheckResult, Evidence
from evalkit.parts._duration import Duration
from evalkit.parts._paths import read, steps
from evalkit.parts._process import Finished, Limits, end_all, run, surroundings

KINDS = (".html", ".htm", ".svg")
EXTRA = "visual needs Playwright and Pillow, which the extra brings: pip install -e '.[visual]'"
UNBOUNDED = 1 << 50
"""A browser's address space is mostly not in use; what it may hold is bounded where it is started."""

SPARE_SECONDS = 10.0
PROGRAM = Path(__file__).with_name("_render.py")
PICTURE = "picture.png"


@dataclass(frozen=True, slots=True, kw_only=True)
class Visual:
    """Passes where `page`, an HTML or SVG file that the agent left, looks like `reference`, a PNG file of the suite.

    The page is shown by the system's Chromium, in a window of the reference's size, in a light scheme, with animations at their end. It may load
    files of its own folder tree by relative or absolute paths and run scripts; it reaches no network, and waits for none. A pixel differs where its
    red, green or blue is off by more than `threshold` (of 255); the page fails where more than `tolerance`, a share from 0 to 1, of all
    pixels do. It also fails where it is not there, or does not come to rest within `timeout` (once for loading, once for the picture).

    Text is drawn with the fonts of the machine: a reference that is to hold on others shows boxes and colours. One is made by
    `python -m evalkit.parts.checks._render FOLDER PAGE WIDTH HEIGHT PICTURE`.
    """

    FILES: ClassVar[tuple[str, ...]] = ("reference",)
    COST: ClassVar[int] = 8

    page: str
    reference: str
    tolerance: Annotated[float, Ge(0), Lt(1)] = 0.001
    threshold: Annotated[int, Ge(0), Le(254)] = 16
    timeout: Annotated[Duration, Gt(0)] = 20.0

    def __post_init__(self) -> None:
        """Refuse what names no page."""
        try:
            names = steps(self.page)
        except ToolError as error:
            raise ValueError(str(error)) from None
        if not names or not names[-1].lower().endswith(KINDS):
            raise ValueError(f"page: {self.page!r} is no page: name a file that ends with {', '.join(KINDS)}")

    def judge(self, evidence: Evidence) -> CheckResult:
        """Picture the page and compare."""
        try:
            from evalkit.parts.checks._pixels import compare, read_png  # noqa: PLC0415  # an extra, and heavy
        except ImportError as error:
            raise GraderBroke(f"{EXTRA} ({error})") from error
        try:
            wanted = read_png((Path(evidence.task.base) / self.reference).read_bytes())
        except (OSError, ValueError) as error:
            raise GraderBroke(f"{self.reference} cannot be used: {error}") from error
        folder = evidence.copy().resolve()
        try:
            read(folder, self.page, 1)
        except ToolError as error:
            return CheckResult(verdict="fail", reason=str(error))
        found = self._picture(folder, width=wanted.shape[1], height=wanted.shape[0])
        if isinstance(found, CheckResult):
            return found
        difference = compare(wanted, read_png(found), self.threshold)
        told = f"{difference.count:,} of {difference.total:,} pixels differ from {self.reference} ({difference.share:.4%}, {self.tolerance:.4%} may)"
        if difference.box is not None:
            left, top, width, height = difference.box
            told += f", all within {width} × {height} pixels that begin {left} from the left and {top} from the top"
        return CheckResult(
            verdict="pass" if difference.share <= self.tolerance else "fail", reason=f"{self.page}: {told}"
        )

    def _picture(self, folder: Path, *, width: int, height: int) -> bytes | CheckResult:
        """Make the picture, as PNG; a failed result where the page cannot be pictured."""
        try:
            from evalkit.parts.checks._render import (  # noqa: PLC0415  # an extra, and heavy
                AT_FAULT,
                BROWSERS,
                FAULT,
                READY,
                START_SECONDS,
                find_browser,
            )
        except ImportError as error:
            raise GraderBroke(f"{EXTRA} ({error})") from error
        browser = find_browser()
        if browser is None:
            raise GraderBroke(f"visual needs a browser: install Chromium; none of {', '.join(BROWSERS)} is on the path")
        words = (str(folder), self.page, str(width), str(height), PICTURE, str(self.timeout), browser)
        done, picture = _run(words, START_SECONDS + 2 * self.timeout + SPARE_SECONDS)
        if picture is not None:
            return picture
        lines = done.text.splitlines()
        if READY in lines and (done.code == AT_FAULT or done.ended == "time"):
            told = [line.removeprefix(FAULT) for line in lines if line.startswith(FAULT)]
            late = f"it did not come to rest within {self.timeout:g} seconds"
            return CheckResult(verdict="fail", reason=f"{self.page}: {told[-1] if told else late}")
        raise GraderBroke(f"{browser} made no picture: {done.text[-1000:].strip() or done.ended}")


def _run(words: Sequence[str], seconds: float) -> tuple[Finished, bytes | None]:
    """Run the program that makes the picture, and end all that it started; give the picture where it made one."""
    with tempfile.TemporaryDirectory(prefix="evalkit-visual-", ignore_cleanup_errors=True) as made:
        private = Path(made).resolve()
        try:
            done = run(
                (sys.executable, "-P", str(PROGRAM), *words),
                folder=private,
                variables=surroundings(private, private, {"PYTHONPATH": _importable()}),
                limits=Limits(seconds=seconds, memory=UNBOUNDED),
            )
        finally:
            end_all(private)
        made_one = done.code == 0 and done.ended == "itself"
        return done, (private / PICTURE).read_bytes() if made_one else None


def _importable() -> str:
    """Where this process finds its packages, for one that has nothing else of its surroundings."""
    return os.pathsep.join(folder for folder in sys.path if Path(folder).is_absolute())

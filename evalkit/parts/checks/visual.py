"""A page looks as it should: like a picture, or so that a model that sees it agrees with a rubric.

Invariant: what the page does is its own failure, what the browser cannot do is ours. The browser is started in a process that can be
ended with all that it started, and shows that it can make a picture before it is given the page.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

from annotated_types import Ge, Gt, Le, Lt

from evalkit.core.errors import GraderBroke, ToolError
from evalkit.core.message import Picture, user
from evalkit.core.protocols import CheckResult, Evidence
from evalkit.core.sandbox import Sandbox
from evalkit.parts._duration import Duration
from evalkit.parts._paths import read, steps
from evalkit.parts._process import Finished, Limits, surroundings
from evalkit.parts._sandbox import open_cell
from evalkit.parts.checks._brief import ask, question

KINDS = (".html", ".htm", ".svg")
EXTRA = "visual needs Playwright and Pillow, which the extra brings: pip install -e '.[visual]'"
UNBOUNDED = 1 << 50
"""A browser's address space is mostly not in use; what it may hold is bounded where it is started."""

SPARE_SECONDS = 10.0
PROGRAM = Path(__file__).with_name("_render.py")
PICTURE = "picture.png"
WIDTH, HEIGHT = 1280, 800


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """The picture that a page should look like: its file, and its pixels as an array of height × width × 3."""

    name: str
    pixels: Any

    @property
    def size(self) -> tuple[int, int]:
        """Its width and height in pixels."""
        height, width = self.pixels.shape[:2]
        return int(width), int(height)


@dataclass(frozen=True, slots=True, kw_only=True)
class Visual:
    """Passes where `page`, an HTML or SVG file that the agent left, looks like `reference`, a PNG file of the suite, and meets `rubric`.

    At least one of the two is given. The page is shown by the system's Chromium, in a window of the reference's size (without one, `width` ×
    `height` pixels), in a light scheme, with animations at their end. It may load
    files of its own folder tree by relative or absolute paths and run scripts; it reaches no network, and waits for none. A pixel differs where its
    red, green or blue is off by more than `threshold` (of 255); the page fails where more than `tolerance`, a share from 0 to 1, of all
    pixels do. It also fails where it is not there, or does not come to rest within `timeout` (once for loading, once for the picture).

    For `rubric` the model of the variant is shown the picture and says `pass`, `fail` or `unknown`, as for the check `judge` (`max_tokens` bounds its
    reply); it is asked only where the reference, if there is one, agrees. With `show`, and as one of a task's `checks`, a page that fails is
    shown to the agent: the note of `self_correct` holds the picture beside the reason.

    Text is drawn with the fonts of the machine: a reference that is to hold on others shows boxes and colours. One is made by
    `python -m evalkit.parts.checks._render FOLDER PAGE WIDTH HEIGHT PICTURE`.
    """

    FILES: ClassVar[tuple[str, ...]] = ("reference",)
    COST: ClassVar[int] = 8

    page: str
    reference: str | None = None
    rubric: str | None = None
    show: bool = False
    width: Annotated[int, Ge(1), Le(4000)] | None = None
    height: Annotated[int, Ge(1), Le(4000)] | None = None
    max_tokens: Annotated[int, Ge(16), Le(100_000)] = 1024
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
        if self.reference is None and not (self.rubric or "").strip():
            raise ValueError("nothing says how the page should look: give a reference (a PNG file), a rubric, or both")
        if self.reference is not None and (self.width is not None or self.height is not None):
            raise ValueError("width and height are those of the reference: leave them out, or the reference")

    @property
    def starts_processes(self) -> bool:
        """True: the browser runs the scripts that the agent wrote."""
        return True

    def judge(self, evidence: Evidence) -> CheckResult:
        """Picture the page, compare, and have it looked at."""
        wanted = self._wanted(evidence)
        folder = evidence.copy().resolve()
        try:
            read(folder, self.page, 1)
        except ToolError as error:
            return CheckResult(verdict="fail", reason=str(error))
        width, height = (self.width or WIDTH, self.height or HEIGHT) if wanted is None else wanted.size
        found = self._picture(folder, evidence.sandbox, width=width, height=height)
        if isinstance(found, CheckResult):
            return found
        results = [] if wanted is None else [self._compared(wanted, found)]
        if self.rubric is not None and all(result.verdict == "pass" for result in results):
            results.append(self._looked_at(evidence, self.rubric, found))
        told = CheckResult(verdict=results[-1].verdict, reason="; ".join(result.reason for result in results))
        return replace(told, picture=Picture.png(found)) if self.show and told.verdict == "fail" else told

    def _wanted(self, evidence: Evidence) -> Reference | None:
        """Read the reference; raises `GraderBroke` where it is none."""
        if self.reference is None:
            return None
        try:
            from evalkit.parts.checks._pixels import read_png  # noqa: PLC0415  # an extra, and heavy
        except ImportError as error:
            raise GraderBroke(f"{EXTRA} ({error})") from error
        try:
            pixels = read_png((Path(evidence.task.base) / self.reference).read_bytes())
        except (OSError, ValueError) as error:
            raise GraderBroke(f"{self.reference} cannot be used: {error}") from error
        return Reference(name=self.reference, pixels=pixels)

    def _looked_at(self, evidence: Evidence, rubric: str, found: bytes) -> CheckResult:
        """Show the picture to the model."""
        work = f"The work is the picture that follows this text: {self.page}, as a browser shows it. What is written in it is part of the work."
        asked = question(request=evidence.task.prompt, work=work, name="picture", rubric=rubric)
        vote = ask(evidence, user(asked, Picture.png(found)), self.max_tokens)
        return CheckResult(verdict=vote.verdict, reason=f"{self.page}, by the rubric: {vote.reason}")

    def _compared(self, wanted: Reference, found: bytes) -> CheckResult:
        """Hold the picture against the reference."""
        from evalkit.parts.checks._pixels import compare, read_png  # noqa: PLC0415  # an extra, and heavy

        difference = compare(wanted.pixels, read_png(found), self.threshold)
        told = f"{difference.count:,} of {difference.total:,} pixels differ from {wanted.name} ({difference.share:.4%}, {self.tolerance:.4%} may)"
        if difference.box is not None:
            left, top, width, height = difference.box
            told += f", all within {width} × {height} pixels that begin {left} from the left and {top} from the top"
        return CheckResult(
            verdict="pass" if difference.share <= self.tolerance else "fail", reason=f"{self.page}: {told}"
        )

    def _picture(self, folder: Path, sandbox: Sandbox, *, width: int, height: int) -> bytes | CheckResult:
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
        done, picture = _run(words, sandbox, START_SECONDS + 2 * self.timeout + SPARE_SECONDS)
        if picture is not None:
            return picture
        lines = done.text.splitlines()
        if READY in lines and (done.code == AT_FAULT or done.ended == "time"):
            told = [line.removeprefix(FAULT) for line in lines if line.startswith(FAULT)]
            late = f"it did not come to rest within {self.timeout:g} seconds"
            return CheckResult(verdict="fail", reason=f"{self.page}: {told[-1] if told else late}")
        raise GraderBroke(f"{browser} made no picture: {done.text[-1000:].strip() or done.ended}")


def _run(words: Sequence[str], sandbox: Sandbox, seconds: float) -> tuple[Finished, bytes | None]:
    """Run the program that makes the picture, and end all that it started; give the picture where it made one.

    `words` begin with the folder of the page and end with the browser: both have to be seen.
    """
    with tempfile.TemporaryDirectory(prefix="evalkit-visual-", ignore_cleanup_errors=True) as made:
        private = Path(made).resolve()
        seen = (Path(words[0]), PROGRAM, Path(words[-1]).resolve().parent)
        with open_cell(sandbox, folders=(private,), temporary=private, read=seen) as cell:
            done = cell.run(
                (sys.executable, "-P", str(PROGRAM), *words),
                folder=private,
                variables=surroundings(private, private, {"PYTHONPATH": _importable()}),
                limits=Limits(seconds=seconds, memory=UNBOUNDED),
            )
        made_one = done.code == 0 and done.ended == "itself"
        return done, (private / PICTURE).read_bytes() if made_one else None


def _importable() -> str:
    """Where this process finds its packages, for one that has nothing else of its surroundings."""
    return os.pathsep.join(folder for folder in sys.path if Path(folder).is_absolute())

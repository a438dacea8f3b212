"""What a person sees while a run goes on: a live view on a terminal, a plain line each ten seconds elsewhere.

Invariant: progress goes to stderr alone and is told only what the store already has.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from evalkit.cli.output import tell
from evalkit.cli.sofar import SoFar
from evalkit.core.clock import Clock
from evalkit.core.record import TrialRecord
from evalkit.report.numbers import times

EVERY = 10.0
FRAMES_A_SECOND = 8
SHOWN = 4
"""Variants of which a plain line tells pass^n."""

KINDS = ("auto", "rich", "plain", "none")


@dataclass(slots=True, kw_only=True)
class Counts:
    """How far a run is; without `so_far` nothing is said of pass^n (where trials are skipped by how others ended, it would be biased)."""

    planned: int
    clock: Clock
    done: int = 0
    fresh: int = 0
    usd: float = 0.0
    unpriced: int = 0
    so_far: SoFar | None = None
    outcomes: Counter[str] = field(default_factory=Counter)
    stops: Counter[str] = field(default_factory=Counter)
    variants: dict[str, Counter[str]] = field(default_factory=dict)
    started: float = field(init=False)

    def __post_init__(self) -> None:
        """Start the watch."""
        self.started = self.clock.monotonic()

    def add(self, record: TrialRecord) -> None:
        """Count a record; an error that will be tried again counts as an error now and as done when it is."""
        self.fresh += 1
        self.usd += record.tally.usd or 0.0
        self.unpriced += record.tally.usd is None
        if self.so_far is not None:
            self.so_far.add((record.key.suite, record.key.task, record.key.variant), record.outcome)
        self.outcomes[record.outcome] += 1
        self.stops[record.stop.reason] += 1
        self.variants.setdefault(record.key.variant, Counter())[record.outcome] += 1
        if record.outcome != "error":
            self.done += 1

    def line(self) -> str:
        """All of it in one line."""
        elapsed = max(self.clock.monotonic() - self.started, 1e-9)
        rate = self.fresh / elapsed
        open_ = self.planned - self.done
        left = open_ / rate if rate else float("inf") if open_ else 0.0
        outcomes = " ".join(f"{name} {count}" for name, count in sorted(self.outcomes.items()))
        time_left = f"{left:.0f} s left" if left != float("inf") else "time left unknown"
        spent = f"${self.usd:.4f}" + (f" and {times(self.unpriced, 'trial')} of unknown cost" if self.unpriced else "")
        spent = "cost unknown" if self.fresh and self.unpriced == self.fresh else spent
        return f"{self.done}/{self.planned} trials  {outcomes}  {spent}  {rate:.1f}/s  {time_left}"

    def preview(self) -> str:
        """What pass^n is so far, in one line; empty where nothing is said of it."""
        if self.so_far is None:
            return ""
        told = [f"{name} {text}" for name, text in self.so_far.told().items()]
        more = f" · {times(len(told) - SHOWN, 'more variant')}" if len(told) > SHOWN else ""
        return f"{self.so_far.name()} so far: {' · '.join(told[:SHOWN])}{more}"


class Plain:
    """One line each ten seconds."""

    def __init__(self, counts: Counts) -> None:
        """Begin to count."""
        self.counts = counts
        self._last = counts.clock.monotonic()

    def __enter__(self) -> Self:
        """Nothing to set up."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Say the last state."""
        tell(self.counts.line())

    def __call__(self, record: TrialRecord) -> None:
        """Count, and say how far it is where ten seconds have passed."""
        self.counts.add(record)
        now = self.counts.clock.monotonic()
        if now - self._last >= EVERY:
            self._last = now
            tell(self.counts.line())
            if preview := self.counts.preview():
                tell(f"  {preview}")


class Silent(Plain):
    """Counts and says nothing."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Say nothing."""

    def __call__(self, record: TrialRecord) -> None:
        """Count."""
        self.counts.add(record)


class Live(Plain):
    """A table that is redrawn in place."""

    def __enter__(self) -> Self:
        """Start to draw."""
        from rich.console import Console  # noqa: PLC0415  # loaded only where a terminal shows it
        from rich.live import Live as RichLive  # noqa: PLC0415  # the same

        self._live = RichLive(
            get_renderable=self._draw, console=Console(stderr=True), refresh_per_second=FRAMES_A_SECOND, transient=True
        )
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop to draw and say the last state."""
        self._live.stop()
        tell(self.counts.line())

    def __call__(self, record: TrialRecord) -> None:
        """Count; the view draws itself."""
        self.counts.add(record)

    def _draw(self) -> Any:
        """Draw the bar, the variants and the stops."""
        from rich.console import Group  # noqa: PLC0415  # loaded only where a terminal shows it
        from rich.progress_bar import ProgressBar  # noqa: PLC0415  # the same
        from rich.table import Table  # noqa: PLC0415  # the same
        from rich.text import Text  # noqa: PLC0415  # the same

        table = Table(box=None, pad_edge=False)
        known = self.counts.so_far
        told = {} if known is None else known.told()
        for column in ("variant", "passed", "failed", "error", *(() if known is None else (f"{known.name()} so far",))):
            table.add_column(column, justify="left" if column == "variant" else "right")
        for name, counts in sorted(self.counts.variants.items()):
            cells = [str(counts[outcome]) for outcome in ("passed", "failed", "error")]
            table.add_row(Text(name), *cells, *([told.get(name, "–")] if known is not None else []))
        stops = "  ".join(f"{name} {count}" for name, count in self.counts.stops.most_common(6))
        bar = ProgressBar(total=self.counts.planned, completed=self.counts.done, width=60)
        return Group(bar, Text(self.counts.line()), table, Text(f"stops: {stops}", style="dim"))


def progress(kind: str, counts: Counts) -> Plain:
    """Choose the view: `auto` is live on a terminal and plain elsewhere."""
    views: dict[str, Callable[[Counts], Plain]] = {"rich": Live, "plain": Plain, "none": Silent}
    if kind == "auto":
        kind = "rich" if sys.stderr.isatty() else "plain"
    return views[kind](counts)

"""Figures of what trials cost: cost against reliability, and what passed and failed trials used.

Invariant: numbers in, a sketch out; what colour says is said by a shape too, and nothing is drawn where nothing is known.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from evalkit.report.canvas import LINE, MARKERS, SERIES, Canvas, legend
from evalkit.report.clean import clean_line
from evalkit.report.figures import HEIGHT, LETTER, WIDTH, Sketch
from evalkit.report.layout import columns
from evalkit.report.svg import LABEL

ROW = 21
"""Height of a row of a distribution with the gap to the next."""

NEAR = 1.7
"""A cap further out than so many times the largest amount is told below the axis and not drawn, for it would leave no room for the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """One variant: what a trial costs, what it is worth, the interval of that, whether none beats it in both, and its series."""

    cost: float
    value: float
    low: float | None
    high: float | None
    front: bool
    place: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """One distribution: five quantiles from small to large, or None; `filled` for what passed; `cap` is the limit of its variant."""

    label: str
    values: Sequence[float] | None
    place: int
    filled: bool
    cap: float | None


def tradeoff(
    spots: Sequence[Spot], k: int, write: Callable[[float], str], title: str, names: Sequence[str] = ()
) -> Sketch:
    """Sketch pass^k against dollars a trial, a marker a variant, ringed and joined where no other beats it in both; `names` make a legend."""
    return Sketch(
        name="tradeoff", title=title, draw=partial(_draw_tradeoff, spots=spots, k=k, write=write, names=names)
    )


def boxes(rows: Sequence[Box], meter: str, write: Callable[[float], str], title: str) -> Sketch:
    """Sketch a row for each distribution: a line from the 5th to the 95th percentile, a box over the middle half, a mark at the median."""
    return Sketch(name=f"spread-{meter}", title=title, draw=partial(_draw_boxes, rows=rows, meter=meter, write=write))


def _draw_tradeoff(
    canvas: Canvas, spots: Sequence[Spot], k: int, write: Callable[[float], str], names: Sequence[str]
) -> Any:
    """Draw cost against reliability."""
    figure, (axes,) = canvas.axes(WIDTH, [HEIGHT], below=LINE * len(names), left=74)
    inks = canvas.inks
    best = sorted((one for one in spots if one.front), key=lambda one: (one.cost, one.value))
    if len(best) > 1:
        axes.step(
            [one.cost for one in best],
            [one.value for one in best],
            where="post",
            color=inks["soft"],
            linewidth=1.2,
            linestyle=(0, (3, 2)),
        )
    for one in spots:
        color = inks[f"s{one.place % SERIES}"]
        if one.low is not None and one.high is not None:
            axes.plot([one.cost] * 2, [one.low, one.high], color=color, alpha=0.45, linewidth=2)
        if one.front:
            axes.plot([one.cost], [one.value], "o", color="none", markeredgecolor=inks["ink"], markersize=15)
        axes.plot([one.cost], [one.value], MARKERS[one.place % len(MARKERS)], color=color, markersize=8, linewidth=0)
    widest = max((one.cost for one in spots), default=0.0) or 1.0
    axes.set_xlim(0, 1.08 * widest)
    axes.set_ylim(-0.04, 1.04)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.50", "0.75", "1"])
    _mark(axes, write, 5)
    axes.set_xlabel("dollars a trial")
    axes.set_ylabel(f"pass^{k}" if k > 1 else "pass@1", labelpad=7)
    legend(canvas, figure, names, line=True)
    return figure


def _draw_boxes(canvas: Canvas, rows: Sequence[Box], meter: str, write: Callable[[float], str]) -> Any:
    """Draw distributions, one below the other."""
    longest = max((columns(clean_line(row.label, LABEL)) for row in rows), default=0)
    figure, (axes,) = canvas.axes(WIDTH, [62 + ROW * len(rows)], left=max(40, 14 + LETTER * longest))
    inks = canvas.inks
    most = max((row.values[-1] for row in rows if row.values), default=0.0)
    caps = {row.cap for row in rows if row.cap is not None}
    near = {cap for cap in caps if cap <= NEAR * most}
    edge = 1.04 * (max([most, *near]) or 1.0)
    for at, row in enumerate(rows):
        if row.values:
            _draw_box(axes, at, row, inks)
        if row.cap in near:
            axes.plot([row.cap] * 2, [at - 0.5, at + 0.5], color=inks["ink"], linewidth=1.6, linestyle=(0, (3, 1.5)))
    axes.set_xlim(0, edge)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_yticks(range(len(rows)), [canvas.label(row.label) for row in rows])
    axes.tick_params(axis="y", length=0, labelcolor=inks["ink"])
    _mark(axes, write, 4)
    axes.set_xlabel(f"{meter} of a trial{_capped(near, caps - near, write)}")
    axes.grid(visible=False, axis="y")
    axes.spines["left"].set_visible(False)
    return figure


def _draw_box(axes: Any, at: int, row: Box, inks: Any) -> None:
    """Draw one distribution: full where trials passed, hollow where they failed."""
    low, first, middle, third, high = row.values or ()
    color = inks[f"s{row.place % SERIES}"]
    axes.plot([low, high], [at, at], color=color, linewidth=1.4)
    face = color if row.filled else "none"
    axes.barh(at, third - first, left=first, height=0.62, facecolor=face, edgecolor=color, linewidth=1.4)
    axes.plot([middle] * 2, [at - 0.38, at + 0.38], color=inks["ink"], linewidth=2.4)


def _capped(near: Collection[float], far: Collection[float], write: Callable[[float], str]) -> str:
    """Say where the caps are: drawn, or too far out to be."""
    parts = ["dashed: the cap"] if near else []
    if far:
        parts.append(f"cap {write(*far)} →" if len(far) == 1 else "caps further right")
    return "".join(f"; {part}" for part in parts)


def _mark(axes: Any, write: Callable[[float], str], bins: int) -> None:
    """Write some round amounts below the axis."""
    axes.locator_params(axis="x", nbins=bins)
    low, high = axes.get_xlim()
    ticks = [float(tick) for tick in axes.get_xticks() if low <= tick <= high]
    axes.set_xticks(ticks, [write(tick) if tick else "0" for tick in ticks])

"""Draws figures: plain numbers in, SVG out. The only file that imports matplotlib, and only when something is drawn.

Invariant: the same numbers give the same bytes. A figure names no colour: what is drawn carries CSS classes
(`fill-s0`, `line-ink`), so that the page's style decides, in the light and in the dark; text stays text. Names never
pass through matplotlib: labels are put into the finished drawing by `report.svg`.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from evalkit.report.clean import clean_line
from evalkit.report.layout import columns
from evalkit.report.svg import FONT_SIZE, INKS, LABEL, placeholder, restyle

SERIES = 8
"""Different colours; a ninth series repeats the first with the next dash and marker."""

WIDTH, HEIGHT = 460, 290
"""Size of a figure in its own units, which are CSS pixels where it is shown at its natural size."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)))
BANDS = 6
"""With more curves than this bands would hide each other, and only lines are drawn."""

BAR = 34
"""Height of a bar with the gap to the next."""

LETTER = 7
"""About the width of a character of a label."""

MARGIN = 20
"""Room to the right of the axes, for half of the last tick's label."""

_RC: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "evalkit",
    "font.size": float(FONT_SIZE),
    "font.family": "DejaVu Sans",  # shipped with matplotlib: measures alike on every machine; the page's own font is shown
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INKS["rule"],
    "axes.labelcolor": INKS["soft"],
    "xtick.color": INKS["rule"],
    "ytick.color": INKS["rule"],
    "xtick.labelcolor": INKS["soft"],
    "ytick.labelcolor": INKS["soft"],
    "axes.grid": True,
    "grid.color": INKS["grid"],
    "grid.linewidth": 1,
    "axes.axisbelow": True,
    "text.color": INKS["soft"],
    "text.parse_math": False,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Values of one series for k = 1, 2, ... with the ends of their intervals; None where undefined."""

    values: Sequence[float | None]
    lows: Sequence[float | None]
    highs: Sequence[float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One stacked bar: its label, and the shares of each part to the left (failed) and to the right (passed) of zero."""

    label: str
    left: Sequence[float]
    right: Sequence[float]


def decay(curves: Sequence[Curve], title: str) -> str:
    """Draw values over k with their intervals as bands; nothing is drawn where nothing is known."""
    with _settings():
        figure, axes = _axes(WIDTH, HEIGHT)
        most = max((len(curve.values) for curve in curves), default=1)
        for place, curve in enumerate(curves):
            _draw_curve(axes, curve, place, bands=len(curves) <= BANDS)
        axes.set_xlim(0.7, max(most, 1) + 0.3)
        axes.set_ylim(-0.02, 1.02)
        axes.set_xticks(_ticks(most))
        axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.50", "0.75", "1"])
        axes.set_xlabel("k attempts, all of which pass")
        axes.grid(visible=False, axis="x")
        return _finish(figure, "decay", title, {})


def stacked(bars: Sequence[Bar], parts: Sequence[str], title: str) -> str:
    """Draw a diverging bar for each of `bars`: failed to the left, passed to the right; `parts` are one-letter marks."""
    height = 62 + BAR * len(bars)
    with _settings():
        longest = max((columns(clean_line(bar.label, LABEL)) for bar in bars), default=0)
        figure, axes = _axes(WIDTH, height, left=max(40, 14 + LETTER * longest))
        for row, bar in enumerate(bars):
            _draw_side(axes, row, bar.right, parts, 1)
            _draw_side(axes, row, bar.left, parts, -1)
        axes.axvline(0, color=INKS["ink"], linewidth=1.2)
        axes.set_ylim(len(bars) - 0.4, -0.6)
        axes.set_yticks(range(len(bars)), [placeholder(row) for row in range(len(bars))])
        axes.tick_params(axis="y", length=0, labelcolor=INKS["ink"])
        _percent_axis(axes, bars)
        axes.grid(visible=False, axis="y")
        axes.spines["left"].set_visible(False)
        return _finish(figure, "stops", title, {placeholder(row): bar.label for row, bar in enumerate(bars)})


def _percent_axis(axes: Any, bars: Sequence[Bar]) -> None:
    """Make the horizontal axis as wide as the bars need, in steps of a quarter, with both sides named."""
    left = -(-max((sum(bar.left) for bar in bars), default=0) // 0.25) * 0.25
    right = -(-max((sum(bar.right) for bar in bars), default=0) // 0.25) * 0.25
    left, right = max(0.25, left), max(0.25, right)
    axes.set_xlim(-left - 0.01, right + 0.01)
    ticks = [step * 0.25 for step in range(round(-left / 0.25), round(right / 0.25) + 1)]
    axes.set_xticks(ticks, [f"{abs(tick):.0%}" for tick in ticks])
    axes.set_xlabel("← failed · passed →" if left and right else "")


def _axes(width: float, height: float, left: float = 40) -> tuple[Any, Any]:
    """Make a figure without pyplot (no global state) and its axes, margins in the figure's units."""
    from matplotlib.figure import Figure  # noqa: PLC0415  # loaded only where something is drawn

    figure = Figure(figsize=(width / 72, height / 72))
    figure.patch.set_visible(False)
    axes = figure.add_axes((left / width, 42 / height, 1 - (left + MARGIN) / width, 1 - 54 / height))
    axes.patch.set_visible(False)
    return figure, axes


def _draw_curve(axes: Any, curve: Curve, place: int, *, bands: bool) -> None:
    """Draw one series; a gap in what is known is a gap in the line."""
    nan = float("nan")
    ks = range(1, len(curve.values) + 1)
    values = [nan if value is None else value for value in curve.values]
    color = INKS[f"s{place % SERIES}"]
    if bands:
        lows = [nan if low is None else low for low in curve.lows]
        highs = [nan if high is None else high for high in curve.highs]
        axes.fill_between(ks, lows, highs, color=color, alpha=0.09, linewidth=0)
        for ends in (lows, highs):
            axes.plot(ks, ends, color=color, alpha=0.45, linewidth=0.8)
    axes.plot(
        ks,
        values,
        color=color,
        linewidth=2.2,
        linestyle=DASHES[place // SERIES % len(DASHES)],
        marker=MARKERS[place % len(MARKERS)] if len(curve.values) <= 16 else "",
        markersize=5.5,
        markeredgewidth=0,
    )


def _draw_side(axes: Any, row: int, shares: Sequence[float], parts: Sequence[str], sign: int) -> None:
    """Draw the parts of one side of a bar outwards from zero, each marked with its letter where there is room."""
    at = 0.0
    for part, share in enumerate(shares):
        if share <= 0:
            continue
        color = INKS[f"p{part % SERIES}"]
        axes.barh(row, sign * share, left=sign * at, height=0.62, color=color, edgecolor=INKS["paper"], linewidth=1)
        if share > 0.045:
            middle = sign * (at + share / 2)
            axes.text(
                middle, row, parts[part], ha="center", va="center_baseline", color=INKS["onpart"], fontweight="bold"
            )
        at += share


def _ticks(most: int) -> list[int]:
    """Which k to mark: all up to 16, then about ten."""
    step = 1 if most <= 16 else max(1, round(most / 10))
    return sorted({1, *range(step, most + 1, step), most})


@contextmanager
def _settings() -> Iterator[None]:
    """Draw with our own settings, whatever the user has set for other drawings, and leave those as they were."""
    from matplotlib import rc_context, rcdefaults, rcParams  # noqa: PLC0415  # loaded only where something is drawn

    with rc_context():
        rcdefaults()
        rcParams.update(_RC)
        yield


def _finish(figure: Any, name: str, title: str, labels: Mapping[str, str]) -> str:
    """Write the figure as SVG and give it classes, labels and a title."""
    drawing = io.StringIO()
    metadata = {"Date": None, "Creator": None, "Format": None, "Type": None}
    figure.savefig(drawing, format="svg", metadata=metadata)
    return restyle(drawing.getvalue(), name=name, title=title, labels=labels)

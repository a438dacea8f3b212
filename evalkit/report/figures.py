"""Draws figures: plain numbers in, SVG out, or a file that stands by itself. The only file that imports matplotlib, and only when something is drawn.

Invariant: the same numbers give the same bytes. In a page a figure names no colour: what is drawn carries CSS classes
(`fill-s0`, `line-ink`), so that the page's style decides, in the light and in the dark; text stays text. In SVG names never
pass through matplotlib: labels are put into the finished drawing by `report.svg`.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, get_args

from evalkit.report.canvas import BANDS, LINE, SERIES, Canvas, draw_curve, legend, palette
from evalkit.report.clean import clean_line
from evalkit.report.layout import columns
from evalkit.report.svg import FONT_SIZE, INKS, LABEL, restyle

WIDTH, HEIGHT = 460, 290
"""Size of a figure in its own units, which are CSS pixels where it is shown at its natural size."""

BAR = 34
"""Height of a bar with the gap to the next."""

FEW = 2
"""With more variants than this the bands of caps, which are wide, would lie over each other, and only lines are drawn."""

LETTER = 7
"""About the width of a character of a label."""

Format = Literal["svg", "png", "pdf"]
FORMATS: tuple[Format, ...] = get_args(Format)
"""What a figure can be saved as."""

DOTS = 200
"""Dots an inch of a PNG, at 72 units of a figure an inch."""

_RC: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "evalkit",
    "font.size": float(FONT_SIZE),
    "font.family": "DejaVu Sans",  # shipped with matplotlib: measures alike on every machine; the page's own font is shown
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.linewidth": 1,
    "axes.axisbelow": True,
    "text.parse_math": False,
    "pdf.fonttype": 42,
}
_COLOURED = {
    "axes.edgecolor": "rule",
    "axes.labelcolor": "soft",
    "xtick.color": "rule",
    "ytick.color": "rule",
    "xtick.labelcolor": "soft",
    "ytick.labelcolor": "soft",
    "grid.color": "grid",
    "text.color": "soft",
}
"""Settings of colours, and the role of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Values of one series, one for each place on the horizontal axis, with the ends of their intervals, None where undefined; drawn as series `place`, else as they come."""

    values: Sequence[float | None]
    lows: Sequence[float | None]
    highs: Sequence[float | None]
    place: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One stacked bar: its label, and the shares of each part to the left (failed) and to the right (passed) of zero."""

    label: str
    left: Sequence[float]
    right: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The horizontal axis of a figure of caps: the limits `at` which values stand, of what, and how one is written; `k` is that of the values."""

    at: Sequence[float]
    meter: str
    k: int
    write: Callable[[float], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sketch:
    """A figure not yet drawn: its name, what it shows in words, and what draws it on a canvas."""

    name: str
    title: str
    draw: Callable[[Canvas], Any]


def decay(curves: Sequence[Curve], title: str, names: Sequence[str] = ()) -> Sketch:
    """Sketch values over k with their intervals as bands; nothing is drawn where nothing is known. `names` make a legend."""
    return Sketch(name="decay", title=title, draw=partial(_draw_decay, curves=curves, names=names))


def stacked(bars: Sequence[Bar], parts: Sequence[str], title: str, names: Sequence[str] = ()) -> Sketch:
    """Sketch a diverging bar for each of `bars`: failed to the left, passed to the right; `parts` are one-letter marks, `names` what they mean."""
    return Sketch(name="stops", title=title, draw=partial(_draw_stacked, bars=bars, parts=parts, names=names))


def cap_curves(
    curves: Sequence[Curve],
    costs: Sequence[Sequence[float | None]],
    over: Limits,
    title: str,
    names: Sequence[str] = (),
) -> Sketch:
    """Sketch pass^k, and below it dollars a trial, over the limits of a cap, one at least; `names` make a legend."""
    draw = partial(_draw_caps, curves=curves, costs=costs, over=over, names=names)
    return Sketch(name=f"cap-{over.meter}", title=title, draw=draw)


def drawn(sketch: Sketch) -> str:
    """Draw for a page: SVG with classes for colours, and nothing that the page's content policy forbids."""
    canvas = Canvas(inks=INKS, make=_figure)
    with _settings(canvas.inks):
        figure = sketch.draw(canvas)
        drawing = _written(figure, "svg").decode("utf-8")
    return restyle(drawing, name=sketch.name, title=sketch.title, labels=canvas.labels)


def saved(sketch: Sketch, form: Format) -> bytes:
    """Draw a file that stands by itself: on white, in the page's light colours, the same bytes for the same numbers."""
    canvas = Canvas(inks=palette(), make=_figure, named=form != "svg")
    with _settings(canvas.inks), warnings.catch_warnings():
        # a name in a script that the font lacks is drawn as boxes
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure = sketch.draw(canvas)
        figure.patch.set_visible(True)
        figure.patch.set_facecolor(canvas.inks["paper"])
        drawing = _written(figure, form)
    if form != "svg":
        return drawing
    text = restyle(drawing.decode("utf-8"), name=sketch.name, title=sketch.title, labels=canvas.labels)
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', text)
    scaled = f'<svg width="{size[1]}" height="{size[2]}" ' if size else "<svg "
    return ('<?xml version="1.0" encoding="UTF-8"?>\n' + text.replace("<svg ", scaled, 1) + "\n").encode()


def _draw_decay(canvas: Canvas, curves: Sequence[Curve], names: Sequence[str]) -> Any:
    """Draw values over k."""
    figure, (axes,) = canvas.axes(WIDTH, [HEIGHT], below=LINE * len(names))
    most = max((len(curve.values) for curve in curves), default=1)
    for place, curve in enumerate(curves):
        ends = (curve.lows, curve.highs) if len(curves) <= BANDS else None
        draw_curve(canvas, axes, range(1, len(curve.values) + 1), curve.values, place, ends, sparse=len(curves) > BANDS)
    axes.set_xlim(0.7, max(most, 1) + 0.3)
    axes.set_ylim(-0.02, 1.02)
    axes.set_xticks(_ticks(most))
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.50", "0.75", "1"])
    axes.set_xlabel("k attempts, all of which pass")
    axes.grid(visible=False, axis="x")
    legend(canvas, figure, names, line=True)
    return figure


def _draw_stacked(canvas: Canvas, bars: Sequence[Bar], parts: Sequence[str], names: Sequence[str]) -> Any:
    """Draw diverging bars."""
    longest = max((columns(clean_line(bar.label, LABEL)) for bar in bars), default=0)
    figure, (axes,) = canvas.axes(
        WIDTH, [62 + BAR * len(bars)], left=max(40, 14 + LETTER * longest), below=LINE * len(names)
    )
    for row, bar in enumerate(bars):
        _draw_side(canvas, axes, row, bar.right, parts, 1)
        _draw_side(canvas, axes, row, bar.left, parts, -1)
    axes.axvline(0, color=canvas.inks["ink"], linewidth=1.2)
    axes.set_ylim(len(bars) - 0.4, -0.6)
    axes.set_yticks(range(len(bars)), [canvas.label(bar.label) for bar in bars])
    axes.tick_params(axis="y", length=0, labelcolor=canvas.inks["ink"])
    _percent_axis(axes, bars)
    axes.grid(visible=False, axis="y")
    axes.spines["left"].set_visible(False)
    legend(canvas, figure, names, line=False)
    return figure


def _draw_caps(
    canvas: Canvas,
    curves: Sequence[Curve],
    costs: Sequence[Sequence[float | None]],
    over: Limits,
    names: Sequence[str],
) -> Any:
    """Draw pass^k over the limits of a cap, and what a trial costs below it where that is known."""
    priced = any(cost for row in costs for cost in row)
    figure, axes = canvas.axes(WIDTH, [220, 130] if priced else [220], below=LINE * len(names), left=74)
    places = [row if curve.place is None else curve.place for row, curve in enumerate(curves)]
    for curve, cost, place in zip(curves, costs, places, strict=True):
        ends = (curve.lows, curve.highs) if len(curves) <= FEW else None
        draw_curve(canvas, axes[0], over.at, curve.values, place, ends, sparse=len(curves) > FEW)
        if priced:
            draw_curve(canvas, axes[1], over.at, cost, place, sparse=len(curves) > FEW)
    margin = 0.04 * ((max(over.at) - min(over.at)) or max(over.at))
    for one in axes:
        one.set_xlim(min(over.at) - margin, max(over.at) + margin)
        one.set_xticks(*_limit_ticks(over))
        one.grid(visible=False, axis="x")
    axes[0].set_ylim(-0.02, 1.02)
    axes[0].set_yticks([0, 0.5, 1], ["0", "0.50", "1"])
    axes[0].set_ylabel(f"pass^{over.k}" if over.k > 1 else "pass@1", labelpad=7)
    if priced:
        axes[0].tick_params(labelbottom=False)
        most = max(usd for cost in costs for usd in cost if usd)
        axes[1].set_ylim(-0.06 * most, 1.1 * most)
        axes[1].locator_params(axis="y", nbins=3)
        axes[1].yaxis.set_major_formatter("{x:.4g}")
        axes[1].set_ylabel("$ / trial", labelpad=7)
    axes[-1].set_xlabel(f"cap on {over.meter}")
    legend(canvas, figure, names, line=True, places=places)
    return figure


def _limit_ticks(over: Limits) -> tuple[list[float], list[str]]:
    """Which limits to mark: some of those that were asked, none too near to another."""
    room = (max(over.at) - min(over.at)) / 6
    ticks: list[float] = []
    for limit in over.at:
        if not ticks or limit - ticks[-1] >= room:
            ticks.append(limit)
    return ticks, [over.write(tick) for tick in ticks]


def _percent_axis(axes: Any, bars: Sequence[Bar]) -> None:
    """Make the horizontal axis as wide as the bars need, in steps of a quarter, with both sides named."""
    left = -(-max((sum(bar.left) for bar in bars), default=0) // 0.25) * 0.25
    right = -(-max((sum(bar.right) for bar in bars), default=0) // 0.25) * 0.25
    left, right = max(0.25, left), max(0.25, right)
    axes.set_xlim(-left - 0.01, right + 0.01)
    ticks = [step * 0.25 for step in range(round(-left / 0.25), round(right / 0.25) + 1)]
    axes.set_xticks(ticks, [f"{abs(tick):.0%}" for tick in ticks])
    axes.set_xlabel("← not passed by the graders · passed →")


def _draw_side(canvas: Canvas, axes: Any, row: int, shares: Sequence[float], parts: Sequence[str], sign: int) -> None:
    """Draw the parts of one side of a bar outwards from zero, each marked with its letter where there is room."""
    at = 0.0
    inks = canvas.inks
    for part, share in enumerate(shares):
        if share <= 0:
            continue
        color = inks[f"p{part % SERIES}"]
        axes.barh(row, sign * share, left=sign * at, height=0.62, color=color, edgecolor=inks["paper"], linewidth=1)
        if share > 0.045:
            middle = sign * (at + share / 2)
            axes.text(
                middle, row, parts[part], ha="center", va="center_baseline", color=inks["onpart"], fontweight="bold"
            )
        at += share


def _ticks(most: int) -> list[int]:
    """Which k to mark: all up to 16, then about ten."""
    step = 1 if most <= 16 else max(1, round(most / 10))
    return sorted({1, *range(step, most + 1, step), most})


@contextmanager
def _settings(inks: Mapping[str, str]) -> Iterator[None]:
    """Draw with our own settings, whatever the user has set for other drawings, and leave those as they were."""
    from matplotlib import rc_context, rcdefaults, rcParams  # noqa: PLC0415  # loaded only where something is drawn

    with rc_context():
        rcdefaults()
        rcParams.update(_RC | {name: inks[role] for name, role in _COLOURED.items()})
        yield


def _figure(size: tuple[float, float]) -> Any:
    """Make a figure without pyplot, so that no global state is touched."""
    from matplotlib.figure import Figure  # noqa: PLC0415  # loaded only where something is drawn

    return Figure(figsize=size)


def _written(figure: Any, form: Format) -> bytes:
    """Write a figure, without stamps."""
    stamps: dict[Format, dict[str, None]] = {
        "svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
        "png": {"Software": None},
        "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    }
    drawing = io.BytesIO()
    figure.savefig(drawing, format=form, metadata=stamps[form], dpi=DOTS if form == "png" else 72)
    return drawing.getvalue()

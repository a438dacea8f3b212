"""What figures are drawn with: colours by their role, series by colour, dash and marker, axes, lines, legends.

Invariant: nothing here imports the drawing library: a canvas is given what makes a figure. In SVG no name passes through that
library either: a mark stands for it, and the name is put in when the drawing is finished.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from evalkit.report.clean import clean_line
from evalkit.report.svg import INKS, LABEL, placeholder

STYLE = Path(__file__).parent / "templates" / "style.css"

SERIES = 8
"""Different colours; a ninth series repeats the first with the next dash and marker."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)))
BANDS = 6
"""With more curves than this bands would hide each other, and only lines are drawn."""

POINTS = 16
"""With more points than this on a line none gets a marker."""

MARGIN = 20
"""Room to the right of the axes, for half of the last tick's label."""

LINE = 17
"""Height of a line of a legend."""


@dataclass(slots=True, kw_only=True)
class Canvas:
    """Where a figure is drawn: the colours of its roles, what makes a figure of a size in inches, and its labels by their marks.

    `named` labels are drawn as they are; others are put in afterwards.
    """

    inks: Mapping[str, str]
    make: Callable[[tuple[float, float]], Any]
    named: bool = False
    labels: dict[str, str] = field(default_factory=dict)

    def label(self, text: str) -> str:
        """Give what is to be drawn for a label."""
        if self.named:
            return clean_line(text, LABEL)
        mark = placeholder(len(self.labels))
        self.labels[mark] = text
        return mark

    def axes(
        self, width: float, heights: Sequence[float], *, left: float = 40, below: float = 0
    ) -> tuple[Any, list[Any]]:
        """Make a figure and axes one below the other; sizes and margins in the figure's units, 72 an inch."""
        height = sum(heights) + below
        figure = self.make((width / 72, height / 72))
        figure.patch.set_visible(False)
        made = []
        top = height
        for place, own in enumerate(heights):
            foot = 42 if place == len(heights) - 1 else 8
            box = (left / width, (top - own + foot) / height, 1 - (left + MARGIN) / width, (own - foot - 12) / height)
            made.append(figure.add_axes(box))
            made[-1].patch.set_visible(False)
            top -= own
        return figure, made


@cache
def palette() -> Mapping[str, str]:
    """The colour of each role in the light, as the page's style sheet has it; the paper is white."""
    light = STYLE.read_text(encoding="utf-8").partition("}")[0]
    found = dict(re.findall(r"--(\w+): (#[0-9a-f]{6});", light))
    return {role: found[role] for role in INKS} | {"paper": "#ffffff"}


Ends = tuple[Sequence[float | None], Sequence[float | None]]
"""The lower and the upper ends of the intervals of a series."""


def draw_curve(
    canvas: Canvas,
    axes: Any,
    at: Sequence[float],
    values: Sequence[float | None],
    place: int,
    ends: Ends | None = None,
    *,
    sparse: bool = False,
) -> None:
    """Draw one series, with its intervals as a band where `ends` are given; a gap in what is known is a gap in the line.

    `sparse` marks the first, the middle and the last of its points alone, enough to tell one line of many from another.
    """
    color = canvas.inks[f"s{place % SERIES}"]
    if ends is not None:
        lows, highs = _known(ends[0]), _known(ends[1])
        axes.fill_between(at, lows, highs, color=color, alpha=0.09, linewidth=0)
        for edge in (lows, highs):
            axes.plot(at, edge, color=color, alpha=0.45, linewidth=0.8)
    stroke = _stroke(place, marked=len(values) <= POINTS)
    known = [point for point, value in enumerate(values) if value is not None]
    if sparse and known:
        stroke["markevery"] = sorted({known[0], known[len(known) // 2], known[-1]})
    axes.plot(at, _known(values), color=color, **stroke)


def _known(values: Sequence[float | None]) -> list[float]:
    """Numbers to draw, NaN for those that are not known."""
    return [float("nan") if value is None else value for value in values]


def _stroke(place: int, *, marked: bool) -> dict[str, Any]:
    """How the line of a series looks, but for its colour."""
    return {
        "linewidth": 2.2,
        "linestyle": DASHES[place // SERIES % len(DASHES)],
        "marker": MARKERS[place % len(MARKERS)] if marked else "",
        "markersize": 5.5,
        "markeredgewidth": 0,
    }


def legend(
    canvas: Canvas, figure: Any, names: Sequence[str], *, line: bool, places: Sequence[int] | None = None
) -> None:
    """Name the series below the axes, one a line: `line` for curves, else for parts of bars; `places` are their series, else in order."""
    if not names:
        return
    width, height = figure.get_size_inches() * 72
    room = LINE * len(names)
    area = figure.add_axes((0, 0, 1, room / height))
    area.set_axis_off()
    area.set_xlim(0, width)
    area.set_ylim(0, room)
    for row, name in enumerate(names):
        y = room - LINE * (row + 0.5)
        place = row if places is None else places[row]
        if line:
            stroke = _stroke(place, marked=True) | {"markevery": [1]}
            area.plot([13, 25, 37], [y] * 3, color=canvas.inks[f"s{place % SERIES}"], **stroke)
        else:
            corners = [y - 6, y - 6, y + 6, y + 6]
            area.fill([18, 32, 32, 18], corners, color=canvas.inks[f"p{place % SERIES}"], linewidth=0)
        figure.text(46 / width, y / height, canvas.label(name), va="center_baseline", color=canvas.inks["ink"])

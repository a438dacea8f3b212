"""Writes a run as one HTML file that needs nothing else. The only file that imports jinja2.

Invariant: text from outside reaches the file through autoescape or as packed base64, never as markup; the file asks the
network for nothing and runs one script, whose hash its content policy names; it keeps to its size budget and says what
it left out.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from evalkit.core.record import TrialRecord
from evalkit.measure.table import Table
from evalkit.report import numbers
from evalkit.report.about import About
from evalkit.report.clean import clean, clean_line, clean_name
from evalkit.report.headline import SENTENCE, detectors, metric_name, possible
from evalkit.report.hindsight import TRACES, Hindsight, unread
from evalkit.report.natures import BADGES
from evalkit.report.parcel import blocks, dense, packed
from evalkit.report.quality import counts
from evalkit.report.sections import STATIC_ROWS, sections, shifted, those_told
from evalkit.report.story import Story, story
from evalkit.report.tasks import task_section
from evalkit.report.trials import OUTCOMES, ROWS, by_interest, index, listed

TEMPLATES = Path(__file__).parent / "templates"
BUDGET = 10_000_000
"""Bytes of a page."""

BODY = 800_000
"""Bytes kept free for everything but the packed rows and traces."""

ELEMENTS = 4_900
"""Elements of a page before a trace is opened: a browser lays out all of them before anything can be read."""

_TAG = re.compile("<[a-z]")

INLINE, STACKED = 3, 4
"""Variants that a table beside a figure has room for with intervals beside their values, and with intervals below them; with more it stands below the figure."""

PIECE = 1_500
"""Characters of each text of a trace in a page."""

MARKERS = (
    "M13 2.6a3.4 3.4 0 1 0 .01 0z",
    "M10 3h6v6h-6z",
    "M13 2.2l3.8 7h-7.6z",
    "M13 2l4 4-4 4-4-4z",
    "M13 9.8l3.8-7h-7.6z",
    "M11.8 2.5h2.4v2.3h2.3v2.4h-2.3v2.3h-2.4v-2.3h-2.3v-2.4h2.3z",
    "M10.2 4.6l1.4-1.4L13 4.6l1.4-1.4 1.4 1.4L14.400 6l1.400 1.400-1.400 1.400L13 7.400l-1.400 1.400-1.400-1.400L11.600 6z",
    "M13 2l1.200 2.700 2.900.3-2.200 2 .6 2.900-2.500-1.500-2.500 1.500.6-2.900-2.200-2 2.900-.3z",
)
"""Outlines of the markers of `figures.MARKERS`, for the swatches in tables."""


def write_page(
    path: Path,
    *,
    summary: Mapping[str, Any],
    tasks: Sequence[Mapping[str, Any]],
    comparisons: Sequence[Mapping[str, Any]],
    gate: Mapping[str, Any] | None,
    about: About,
    shifts: Sequence[Mapping[str, Any]] = (),
    rows: Sequence[TrialRecord],
    trace: Callable[[TrialRecord], TrialRecord],
    table: Table | None = None,
    budget: int = BUDGET,
) -> None:
    """Write the page of a run, all of it or nothing.

    `summary`, `tasks`, `comparisons`, `gate` and `shifts` (of stops) are JSON objects (`report.summary`). `rows` are the run's records without
    their events; `trace` gives a row its events. Without a `table` of the run it is called only while there is room for
    traces; with one it is called once for each row, and the page tells what the traces say of tighter caps and of where failures
    begin. Raises `OSError` where the file cannot be written.
    """
    html = page(
        summary=summary,
        tasks=tasks,
        comparisons=comparisons,
        gate=gate,
        about=about,
        shifts=shifts,
        rows=rows,
        trace=trace,
        table=table,
        budget=budget,
    )
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text(html, encoding="utf-8")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def page(
    *,
    summary: Mapping[str, Any],
    tasks: Sequence[Mapping[str, Any]],
    comparisons: Sequence[Mapping[str, Any]],
    gate: Mapping[str, Any] | None,
    about: About,
    shifts: Sequence[Mapping[str, Any]] = (),
    rows: Sequence[TrialRecord],
    trace: Callable[[TrialRecord], TrialRecord],
    table: Table | None = None,
    budget: int = BUDGET,
) -> str:
    """Make the page of a run; arguments as in `write_page`."""
    listing = listed(rows)
    left_out = max(0, len(listing) - ROWS)
    listing = listing[:ROWS]
    room = budget - BODY - len(packed(dense(index(listing, {}))))
    names = those_told(summary, about.baseline)
    hindsight = Hindsight(table, about.variants, names) if table is not None and len(rows) <= TRACES else None
    packs, places = blocks(_traces(listing, hindsight.watching(trace) if hindsight else trace, about), room)
    told: Mapping[str, Any] = unread(len(rows)) if table is not None else {}
    if hindsight is not None:
        hindsight.rest(rows, trace)
        told = hindsight.told(listing)
    columns = index(listing, places, told.get("besides"))
    pairs = {row for row, beside in enumerate(columns["beside"]) if beside >= 0}
    if told:
        told = {**told, "clusters": [one | {"pair": one["row"] in pairs} for one in told.get("clusters", ())]}
    shown = sections(summary, tasks, comparisons, gate, about, listing, counts(rows), told, names)
    moved = [one for one in shifts if one["variant"] in names or not shown["not_told"]]
    shown["stops"] |= shifted(moved) | {"detectors": [one for one in detectors(summary) if one[0] in names]}
    counted = {"rows": len(listing), "traces": len(places), "left_out": left_out}
    room = _room(shown, counted, columns, len(packs))
    if room < 0 and len(shown["hindsight"].get("caps", ())) > 1:
        shown |= _first_cap_alone(shown["hindsight"])
        room = _room(shown, counted, columns, len(packs))
    shown["tasks"] = task_section(tasks, names, about.baseline, listing, room)
    return _render(shown, counted=counted, columns=columns, packs=packs)


def _first_cap_alone(told: Mapping[str, Any]) -> dict[str, Any]:
    """The section on caps of a full page: the first cap, and the names of the others."""
    first, *others = told["caps"]
    return {"hindsight": {**told, "caps": [first], "full": [one["meter"] for one in others]}}


def _room(shown: Mapping[str, Any], counted: Mapping[str, int], columns: Mapping[str, Any], packs: int) -> int:
    """How many elements a page may hold beside these, and those that its script adds: a button in each row, an option of each name."""
    html = _render(shown, counted=counted, columns={}, packs=[""] * packs)
    added = STATIC_ROWS + len(OUTCOMES) + len(columns["variants"]) + len(columns["stops"])
    return ELEMENTS - len(_TAG.findall(html)) - added


def _traces(
    listing: Sequence[TrialRecord], trace: Callable[[TrialRecord], TrialRecord], about: About
) -> Iterator[tuple[int, Story]]:
    """The stories of a listing's trials, the most telling first, each drawn when it is asked for."""
    caps = {variant.name: variant.caps for variant in about.variants}
    for place in by_interest(listing):
        yield place, story(trace(listing[place]), PIECE, caps.get(listing[place].key.variant))


def _render(
    shown: Mapping[str, Any], *, counted: Mapping[str, int], columns: Mapping[str, Any], packs: Sequence[str]
) -> str:
    """Fill the templates."""
    from markupsafe import Markup  # noqa: PLC0415  # comes with jinja2, which is loaded only where a page is made

    style = (TEMPLATES / "style.css").read_text(encoding="utf-8")
    script = (TEMPLATES / "script.js").read_text(encoding="utf-8")
    for name in ("curves", "stops"):
        figure = shown[name]["figure"]
        shown = {**shown, name: {**shown[name], "figure": Markup(figure)}}  # noqa: S704  # drawn by report.svg, which escapes
    spent = shown["spending"]
    for section in (spent["cost"], *spent["spreads"], *shown["hindsight"].get("caps", ())):
        section["figure"] = Markup(section["figure"])  # noqa: S704  # drawn by report.svg, which escapes
    template = _environment().get_template("page.html")
    html: str = template.render(
        **shown,
        counted=counted,
        policy=_policy(style, script),
        style=Markup(style),  # noqa: S704  # our own file
        script=Markup(script),  # noqa: S704  # our own file
        index=Markup(packed(dense(columns))),  # noqa: S704  # base64
        blocks=[Markup(pack) for pack in packs],  # noqa: S704  # base64
    )
    return html


@cache
def _environment() -> Any:
    """The templates, compiled once for all that is made of them."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415  # loaded only where a page is made

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(_FILTERS)
    environment.globals |= {"markers": MARKERS, "badges": BADGES}
    return environment


def _policy(style: str, script: str) -> str:
    """The content policy: this one script, this one style sheet, nothing from anywhere."""
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    """The name of an inline script or style in a content policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


_FILTERS: Mapping[str, Callable[..., str]] = {
    "crowd": lambda columns: " wide" if columns > STACKED else " many" if columns > INLINE else "",
    "name": lambda value: clean_name(str(value)),
    "line": lambda value: clean_line(str(value), SENTENCE),
    "text": lambda value: clean(str(value)),
    "kname": metric_name,
    "possible": possible,
    "rate": numbers.rate,
    "percent": numbers.percent,
    "interval": numbers.interval,
    "difference": numbers.difference,
    "p_value": numbers.p_value,
    "dollars": numbers.dollars,
    "duration": numbers.duration,
    "count": numbers.count,
    "times": numbers.times,
    "amount": numbers.amount,
    "figure": numbers.metric,
}
"""How templates write values."""

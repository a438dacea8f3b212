"""What tighter caps would have made of a run: as a JSON object, and as text for a terminal.

Invariant: the text shows no number that is not in the object; what is not known is null with its reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalkit.core.plan import Caps
from evalkit.measure.counterfactual import METERS, Side, WhatIf
from evalkit.report.about import About
from evalkit.report.clean import clean_line, clean_name
from evalkit.report.headline import SENTENCE, depths, metric_name
from evalkit.report.layout import Cell, Column, Ink, table, wrap
from evalkit.report.natures import nature_caveats
from evalkit.report.numbers import UNDEFINED, dollars, interval, known, percent, rate, times
from evalkit.report.summary import estimate_json


def whatif_json(found: Sequence[WhatIf], caps: Caps, about: About) -> dict[str, Any]:
    """Give what `whatif RUN --json` prints: for each variant its numbers as run (`before`) and under the caps (`after`).

    `cut` trials would have ended earlier or by another cap, of which `lost` had passed. `after` is null where it is not known.
    """
    return {
        "run": about.run,
        "suite": ", ".join(about.suites),
        "natures": list(about.natures),
        "caps": {meter: limit for meter in METERS if (limit := getattr(caps, meter)) is not None},
        "variants": {one.variant: _variant(one) for one in found},
    }


def _variant(found: WhatIf) -> dict[str, Any]:
    """One variant."""
    shown: dict[str, Any] = {
        "cut": found.cut,
        "lost": found.lost,
        "before": _side(found.before),
        "after": None if found.after is None else _side(found.after),
    }
    return shown | {"why": found.why} if found.why else shown


def _side(side: Side) -> dict[str, Any]:
    """A variant's numbers under some caps."""
    usd: dict[str, Any] = {
        "total": side.spent.total,
        "per_trial": side.spent.per_trial,
        "per_reliable_success": side.reliable.value,
    }
    return {
        "pass_hat": {str(k): estimate_json(one) for k, one in enumerate(side.pass_hat, 1)},
        "cap_rate": estimate_json(side.cap_rate),
        "usd": usd if side.reliable.value is not None else usd | {"why": side.reliable.why},
    }


def whatif_text(shown: Mapping[str, Any], width: int = 80, *, color: bool = False) -> str:
    """Show what `whatif RUN --json` prints: a small table for each variant, as run and under the caps."""
    ink = Ink(on=color)
    caps = ", ".join(f"{meter}={limit:g}" for meter, limit in shown["caps"].items())
    lines = [ink(line, "bold") for line in wrap(f"{clean_name(shown['suite'])} had the caps been {caps}", width)]
    for caveat in nature_caveats(shown["natures"]):
        lines += [ink(line, "warn") for line in wrap(caveat, width)]
    for name, variant in shown["variants"].items():
        lines += ["", *(ink(line, "bold") for line in wrap(clean_name(name), width))]
        lines += wrap(_said(variant), width, "  ")
        if variant["after"] is not None:
            lines += ["  " + line for line in _sides(variant, width - 2, ink)]
    note = "A trial that the caps end has failed and costs what it had cost by then. Looser caps cannot be told from traces."
    lines += ["", *(ink(line, "dim") for line in wrap(note, width))]
    return "\n".join(lines)


def _said(variant: Mapping[str, Any]) -> str:
    """Say in a sentence what the caps do."""
    if variant["after"] is None:
        return f"not known: {clean_line(variant['why'], SENTENCE)}"
    if not variant["cut"]:
        return "nothing changes: every trial ends as it did"
    return f"{times(variant['cut'], 'trial')} would have ended there, {variant['lost']:,} of which had passed"


def _sides(variant: Mapping[str, Any], width: int, ink: Ink) -> list[str]:
    """The two sides as two rows, pass@1 and the deepest pass^k with its interval, caps and dollars."""
    most = len(variant["before"]["pass_hat"])
    ks = [1, *depths(most)] if most > 1 else [1] * most
    header = [Column(header="", right=False), *(Column(header=metric_name(k)) for k in ks)]
    header += [Column(header=name) for name in ("interval", "caps", "$/trial", "$/reliable")]
    rows = [_row(word, variant[side], ks) for word, side in (("as run", "before"), ("capped", "after"))]
    lines = table(header, rows, width, ink)
    if max(map(len, lines)) > width:
        kept = [0, 1, *range(len(ks), len(header))]
        lines = table([header[place] for place in kept], [[row[place] for place in kept] for row in rows], width, ink)
    return lines


def _row(word: str, side: Mapping[str, Any], ks: Sequence[int]) -> list[Cell]:
    """One side; the interval is that of the deepest k."""
    found = [side["pass_hat"][str(k)] for k in ks]
    last = found[-1] if found else {"value": None, "low": None, "high": None}
    return [
        Cell(text=word),
        *(Cell(text=rate(one["value"])) for one in found),
        Cell(text=interval(last["low"], last["high"]) if known(last["value"]) else UNDEFINED, style="dim"),
        Cell(text=percent(side["cap_rate"]["value"])),
        Cell(text=dollars(side["usd"]["per_trial"])),
        Cell(text=dollars(side["usd"]["per_reliable_success"])),
    ]

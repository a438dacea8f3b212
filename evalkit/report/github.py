"""A run for a CI: a summary in Markdown, annotations, and outputs as GitHub Actions reads them from files.

Invariant: text from outside is shown as text. In Markdown it stands in code spans or in fenced blocks only, one line each, without
backticks and bars, so that it can be neither markup nor a link nor a mention; in a workflow command it is escaped, in an
output it is one line. A summary stays below `MOST` bytes, because each list in it and each text is bounded.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalkit.report.clean import clean_line, clean_name
from evalkit.report.grounds import Ground
from evalkit.report.headline import GATE_TONES, SENTENCE, deepest, detectors, hat, metric_name, possible, size, verdict
from evalkit.report.limits import limits, ways_out
from evalkit.report.natures import nature_caveats
from evalkit.report.numbers import (
    UNDEFINED,
    difference,
    dollars,
    interval,
    known,
    metric,
    p_value,
    percent,
    rate,
    times,
)

MOST = 1024 * 1024
"""Bytes of a step's summary; GitHub refuses a longer one."""

ROWS = 100
"""Rows of a table, and lines of a block."""

ANNOTATIONS = 10
"""Annotations of one level that GitHub shows of a step."""

GROUND = 200
"""Characters of a ground."""

LEVELS = {"fail": "error", "invalid": "error", "inconclusive": "warning"}
"""The level of the annotation of each verdict; what passed has none."""

ALARMS = (
    "“passed” bounds the false alarms of a detector that warns from above: a trial may owe its pass to the warning. "
    "One that stops was wrong where the graders were content."
)
"""How the table of detectors is to be read."""

_INERT = str.maketrans({"`": "\N{MODIFIER LETTER GRAVE ACCENT}", "|": "\N{BROKEN BAR}"})


def markdown(
    summary: Mapping[str, Any],
    gate: Mapping[str, Any] | None,
    comparisons: Sequence[Mapping[str, Any]],
    grounds: Sequence[Ground] = (),
) -> str:
    """Give a run as Markdown that any CI can show: what it says, the variants, the gate, why trials failed, the differences to the baseline.

    Arguments are the JSON objects of `report.summary`, and `Grounds.told`.
    """
    found = verdict(summary, comparisons, gate)
    title = f"## evalkit: {found.symbol} gate {found.word}" if found.word else "## evalkit"
    parts = [title, _block([found.sentence]), f"{code(summary['suite'])} · {size(summary)}{_caveats(summary)}"]
    parts += ["### Variants", _variants(summary)] if summary["variants"] else []
    alarms = detectors(summary)
    parts += ["### Detectors", _detectors(alarms), ALARMS] if alarms else []
    if gate is not None:
        parts += ["### Gate", *_gate(gate)]
    parts += ["### Why trials did not pass", _grounds(grounds)] if grounds else []
    if comparisons:
        parts += ["### Differences to the baseline", _differences(comparisons)]
        parts.append(_block([*(one["sentence"] for one in comparisons), *limits(comparisons)]))
    return "\n\n".join(parts) + "\n"


def commands(summary: Mapping[str, Any], gate: Mapping[str, Any] | None) -> list[str]:
    """Give workflow commands, a line each, that put what did not pass on the page of a workflow's run."""
    lines = []
    if gate is not None:
        told = [(rule["verdict"], rule["sentence"]) for rule in gate["rules"]]
        told = told or [(gate["verdict"], gate.get("why") or "there is no rule to judge")]
        for level in ("error", "warning"):
            ours = [(word, sentence) for word, sentence in told if LEVELS.get(word) == level]
            lines += [command(level, f"evalkit gate: {word}", sentence) for word, sentence in ours[:ANNOTATIONS]]
    done = summary["completeness"]
    lacks = done["errors"] + done["missing"]
    if lacks:
        message = f"{times(lacks, 'trial')} of {done['planned']:,} planned ones in error or missing"
        lines.append(command("warning", "evalkit: incomplete run", message))
    return lines + [command("notice", "evalkit", caveat) for caveat in nature_caveats(summary["natures"])]


def outputs(summary: Mapping[str, Any], gate: Mapping[str, Any] | None, baseline: str | None = None) -> dict[str, str]:
    """Give a step's outputs: the verdict, and the deepest pass^k of one variant, the baseline or else the first.

    `verdict` and `exit_code` are empty without a gate. `pass_hat`, with its interval `pass_hat_low` to `pass_hat_high`, is empty where
    undefined; `variants` holds the deepest pass^k of all variants as a JSON object.
    """
    names = list(summary["variants"])
    chosen = baseline if baseline is not None and baseline in names else names[0] if names else ""
    k = deepest(summary)
    found = {name: hat(variant, k) for name, variant in summary["variants"].items()}
    one: Mapping[str, Any] = found.get(chosen, {"value": None, "low": None, "high": None})
    values: dict[str, str] = {
        "verdict": gate["verdict"] if gate else "",
        "exit_code": str(gate["exit_code"]) if gate else "",
        "k": str(k),
        "variant": chosen,
        "pass_hat": _number(one["value"]),
        "pass_hat_low": _number(one["low"]),
        "pass_hat_high": _number(one["high"]),
        "variants": json.dumps({name: one["value"] for name, one in found.items()}, ensure_ascii=True),
        "complete": str(summary["completeness"]["measured"] == summary["completeness"]["planned"]).lower(),
    }
    return {name: clean_line(value) for name, value in values.items()}


def publish(text: str, values: Mapping[str, str], *, step_summary: Path | None, output: Path | None) -> None:
    """Add a summary and outputs to the files that a step's environment names; raises `OSError` where they cannot be written."""
    if step_summary is not None:
        with step_summary.open("a", encoding="utf-8") as file:
            file.write(text)
    if output is not None:
        with output.open("a", encoding="utf-8") as file:
            file.writelines(f"{name}={value}\n" for name, value in values.items())


def command(name: str, title: str, message: str) -> str:
    """Write a workflow command on one line; nothing in its texts can end it or begin another."""
    shown = clean_line(message, SENTENCE).replace("%", "%25")
    head = clean_line(title).replace("%", "%25").replace(":", "%3A").replace(",", "%2C")
    return f"::{name} title={head}::{shown}"


def fence(token: str) -> tuple[str, str]:
    """Give the lines between which GitHub reads no workflow commands; `token` is one that nobody else can know.

    Whatever a command prints of tasks and models between them can then be no command, wherever in a line it stands.
    """
    return f"::stop-commands::{token}", f"::{token}::"


def code(text: str) -> str:
    """Write text from outside as a code span that also fits a cell of a table."""
    return f"`{clean_name(text).translate(_INERT)}`"


def _block(sentences: Iterable[str]) -> str:
    """Write sentences as a fenced block of plain text, a line each."""
    shown = [clean_line(one, SENTENCE).translate(_INERT) for one in sentences]
    more = [f"… and {len(shown) - ROWS:,} more"] if len(shown) > ROWS else []
    return "\n".join(["```text", *(f" {line}" for line in (*shown[:ROWS], *more)), "```"])


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a table; columns but the first stand right."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows[:ROWS]]
    if len(rows) > ROWS:
        lines.append([f"… and {len(rows) - ROWS:,} more", *[""] * (len(header) - 1)])
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)


def _caveats(summary: Mapping[str, Any]) -> str:
    """What limits the numbers."""
    done = summary["completeness"]
    told = ""
    if done["errors"] or done["missing"]:
        told += f" · **incomplete: {done['errors']:,} in error, {done['missing']:,} missing of {done['planned']:,}**"
    return told + "".join(f" · **{caveat}**" for caveat in nature_caveats(summary["natures"]))


def _variants(summary: Mapping[str, Any]) -> str:
    """The table of variants."""
    k = deepest(summary)
    ks = [1, k] if k > 1 else [1]
    header = ["variant", *(metric_name(one) for one in ks), "interval", "cap rate", "errors, missing"]
    rows = [_variant(name, variant, ks) for name, variant in summary["variants"].items()]
    return _table([*header, "USD / trial", "USD / reliable success"], rows)


def _variant(name: str, variant: Mapping[str, Any], ks: Sequence[int]) -> list[str]:
    """A row of the table of variants; the interval is that of the deepest k."""
    last, usd = hat(variant, ks[-1]), variant["usd"]
    ends = interval(last["low"], last["high"]) if known(last["value"]) else possible(last) or UNDEFINED
    return [
        code(name),
        *(rate(hat(variant, one)["value"]) for one in ks),
        ends,
        percent(variant["cap_rate"]["value"]),
        f"{variant['errors'] + variant['missing']:,}",
        _bare(dollars(usd["per_trial"])),
        _bare(dollars(usd["per_reliable_success"])),
    ]


def _detectors(alarms: Sequence[tuple[str, str, Mapping[str, Any]]]) -> str:
    """The table of detectors, in trials; its denominator is the trials whose traces were read."""
    header = ["variant", "detector", "flagged", "passed", "failed", "in error", "stopped by it", "graders content"]
    counted = ("passed", "failed", "errors", "stopped", "spoiled", "quiet_failed")
    rows = [
        [code(name), code(kind), f"{one['flagged']:,} of {one['trials']:,}", *(f"{one[count]:,}" for count in counted)]
        for name, kind, one in alarms
    ]
    return _table([*header, "failed unflagged"], rows)


def _grounds(grounds: Sequence[Ground]) -> str:
    """The table of tasks that did not always pass; a ground stands in a code span, as all text from outside."""
    rows = [
        [
            code(one["task"]),
            code(one["variant"]),
            f"{one['lost']:,}",
            f"`{clean_line(one['ground'], GROUND).translate(_INERT)}`",
            f"{one['times']:,}",
        ]
        for one in grounds
    ]
    return _table(["task", "variant", "trials", "mostly because", "with it"], rows)


def _bare(amount: str) -> str:
    """An amount of dollars without its sign, which starts a formula in some Markdown."""
    return amount.replace("$", "")


def _gate(gate: Mapping[str, Any]) -> list[str]:
    """The table of rules, those that did not pass first, and what is said of each."""
    order = ("invalid", "fail", "inconclusive", "pass")
    rules = sorted(gate["rules"], key=lambda rule: order.index(rule["verdict"]))
    rows = []
    for rule in rules:
        change, (symbol, word, _) = rule.get("baseline") is not None, GATE_TONES[rule["verdict"]]
        value, bound = (_bare(metric(rule[name], rule["metric"], change=change)) for name in ("value", "threshold"))
        task = code(rule["task"]) if rule.get("task") else ""
        rows.append([code(rule["rule"]), code(rule["variant"]), task, value, bound, f"{symbol} {word.lower()}"])
    told = [_table(["rule", "variant", "task", "value", "bound", "verdict"], rows)] if rows else []
    notes = [*([gate["why"]] if gate.get("why") else []), *gate.get("notes", ())]
    return [*told, _block([*notes, *(rule["sentence"] for rule in rules), *ways_out(gate)])]


def _differences(comparisons: Sequence[Mapping[str, Any]]) -> str:
    """The table of paired differences."""
    rows = [
        [
            code(one["variant"]),
            code(one["metric"]),
            difference(one["difference"]),
            interval(one["low"], one["high"]),
            p_value(one["p_adjusted"]),
            f"+{one['better']} −{one['worse']} ={one['equal']}" if known(one["difference"]) else UNDEFINED,
        ]
        for one in comparisons
    ]
    return _table(["variant", "metric", "difference", "interval", "p adjusted", "tasks"], rows)


def _number(value: float | None) -> str:
    """A number for a program; nothing where it is undefined."""
    return "" if value is None else f"{value:.6g}"

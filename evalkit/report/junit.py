"""A run as JUnit XML, the format in which every CI shows test results: a test case for each task under each variant, and for each rule.

Invariant: there is never a case for a single trial, for one trial of an agent that fails now and then proves nothing. Text from
outside holds no character that XML 1.0 forbids; the same run gives the same bytes; no two cases have the same class and name.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET  # writes only; nothing from outside is read
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalkit.report.about import About
from evalkit.report.clean import clean_line
from evalkit.report.grounds import Ground
from evalkit.report.headline import SENTENCE, hat, metric_name
from evalkit.report.numbers import interval, known, rate

NAME = 200
"""Characters of a name."""

GATE = "gate"

KINDS = ("failure", "error", "skipped")
"""The elements that say that a case did not pass."""


@dataclass(slots=True)
class Namer:
    """Gives names that are harmless and not given yet: of two that look alike the second gets a number."""

    _given: dict[tuple[str, str], int] = field(default_factory=dict)

    def name(self, group: str, text: str) -> str:
        """Give a name within a group."""
        shown = clean_line(text, NAME) or "(empty)"
        number = self._given.get((group, shown), 0) + 1
        self._given[group, shown] = number
        return shown if number == 1 else self.name(group, f"{shown} ({number})")


def junit(
    summary: Mapping[str, Any],
    tasks: Sequence[Mapping[str, Any]],
    gate: Mapping[str, Any] | None,
    about: About,
    grounds: Sequence[Ground] = (),
) -> str:
    """Give a run as the text of a JUnit XML file.

    `summary`, `tasks` and `gate` are the JSON objects of `report.summary`, `grounds` what `Grounds.told` gives. A case of a task fails where any of its planned trials failed,
    and is an error where none did but some are in error or missing. A case of a rule fails with its rule; a rule that could not be decided is an
    error, or what the gate's exit code says that it counts as.
    """
    root = ET.Element("testsuites", {"name": clean_line(about.run, NAME) or "evalkit"})
    namer = Namer()
    for name, variant in summary["variants"].items():
        suite = _variant(root, namer, name, variant, summary, about)
        why = {(one["suite"], one["task"]): one for one in grounds if one["variant"] == name}
        for task in tasks:
            cell = task["variants"].get(name)
            if cell is not None:
                group = f"{clean_line(task['suite'], NAME) or '(empty)'}.{suite.get('name')}"
                case = ET.SubElement(suite, "testcase", {"classname": group, "name": namer.name(group, task["task"])})
                _judge(case, cell, why.get((task["suite"], task["task"])))
        _count(suite)
    if gate is not None:
        _gate(root, namer, gate)
    for counted in ("tests", *(f"{kind}s" for kind in KINDS[:2])):
        root.set(counted, str(sum(int(suite.get(counted, "0")) for suite in root)))
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _variant(
    root: ET.Element,
    namer: Namer,
    name: str,
    variant: Mapping[str, Any],
    summary: Mapping[str, Any],
    about: About,
) -> ET.Element:
    """Add the suite of a variant, with its numbers as properties."""
    shown = namer.name("", name)
    suite = ET.SubElement(root, "testsuite", {"name": shown})
    _properties(suite, _facts(variant, summary, about))
    return suite


def _facts(variant: Mapping[str, Any], summary: Mapping[str, Any], about: About) -> dict[str, str]:
    """What a variant's suite says beside its cases."""
    ks = sorted(int(k) for k in variant["pass_hat"])
    facts = {"model": ", ".join(about.natures)}
    for k in dict.fromkeys((*ks[:1], *ks[-1:])):
        found = hat(variant, k)
        ends = f" [{interval(found['low'], found['high'])}]" if known(found["low"]) else ""
        facts[metric_name(k)] = (
            f"{rate(found['value'])}{ends}" if known(found["value"]) else f"undefined: {found['why']}"
        )
    facts["trials"] = (
        f"{variant['passed']} passed, {variant['failed']} failed, {variant['errors']} in error, {variant['missing']} missing"
        + (f", {variant['skipped']} skipped" if variant["skipped"] else "")
    )
    return facts | {
        "suite": summary["suite"],
        "commit": about.commit + (" with uncommitted changes" if about.dirty else ""),
        "seed": str(about.seed),
        "command": about.command,
    }


def _properties(suite: ET.Element, facts: Mapping[str, str]) -> None:
    """Add properties, those that say nothing left out."""
    holder = ET.SubElement(suite, "properties")
    for name, value in facts.items():
        if value:
            ET.SubElement(holder, "property", {"name": name, "value": clean_line(value, SENTENCE)})


def _judge(case: ET.Element, cell: Mapping[str, int], why: Ground | None) -> None:
    """Say of a task's case how its trials ended, where not all of them passed, and the commonest ground of those that did not."""
    planned = sum(cell[name] for name in ("passed", "failed", "errors", "missing", "skipped"))
    lacks = [f"{cell[kind]} {word}" for kind, word in (("errors", "in error"), ("missing", "missing")) if cell[kind]]
    skipped = [f"{cell['skipped']} skipped on purpose"] if cell["skipped"] else []
    told = ", ".join([f"{cell['passed']}/{planned} trials passed", *lacks, *skipped])
    told += f"; {why['times']} of the others: {why['ground']}" if why else ""
    if cell["failed"]:
        _say(case, "failure", f"pass^{planned}", told)
    elif lacks:
        _say(case, "error", "incomplete", told)
    elif skipped:
        _say(case, "skipped", "ended early", told)


def _gate(root: ET.Element, namer: Namer, gate: Mapping[str, Any]) -> None:
    """Add the suite of the gate: a case a rule, or one that says why there is nothing to judge."""
    suite = ET.SubElement(root, "testsuite", {"name": namer.name("", GATE)})
    _properties(suite, {"verdict": gate["verdict"], "exit_code": str(gate["exit_code"])})
    for rule in gate["rules"]:
        parts = [rule["rule"], *(rule[part] for part in ("variant", "task") if rule.get(part))]
        case = ET.SubElement(suite, "testcase", {"classname": GATE, "name": namer.name(GATE, " · ".join(parts))})
        kind = _kind(rule["verdict"], gate)
        if kind:
            _say(case, kind, rule["verdict"], rule["sentence"])
    if not gate["rules"]:
        case = ET.SubElement(suite, "testcase", {"classname": GATE, "name": namer.name(GATE, GATE)})
        _say(case, "error", gate["verdict"], gate.get("why") or "there is no rule")
    _count(suite)


def _kind(verdict: str, gate: Mapping[str, Any]) -> str:
    """Which element tells a rule's verdict; none where it passed."""
    if verdict == "inconclusive" and gate["verdict"] == "inconclusive":
        return {0: "skipped", 1: "failure"}.get(gate["exit_code"], "error")
    return {"pass": "", "fail": "failure"}.get(verdict, "error")


def _say(case: ET.Element, kind: str, label: str, message: str) -> None:
    """Add why a case did not pass, where viewers look for it: as an attribute, and as text."""
    shown = clean_line(message, SENTENCE)
    ET.SubElement(case, kind, {"type": clean_line(label, NAME), "message": shown}).text = shown


def _count(suite: ET.Element) -> None:
    """Count a suite's cases."""
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    for kind, name in zip(KINDS, ("failures", "errors", "skipped"), strict=True):
        suite.set(name, str(sum(case.find(kind) is not None for case in cases)))

"""JUnit XML: what its readers ask of it, what each case says, and hostile text."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest
from report_json import a_gate, a_summary, a_task_row, a_variant_summary, an_about, an_estimate
from report_pages import ALL, HOSTILE

from evalkit.report.grounds import Ground
from evalkit.report.junit import NAME, junit

CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"properties", "testcase"},
    "properties": {"property"},
    "property": set(),
    "testcase": {"failure", "error", "skipped"},
    "failure": set(),
    "error": set(),
    "skipped": set(),
}
"""Which elements each may hold, by what the schemas of CI servers have in common."""

ATTRIBUTES: dict[str, tuple[set[str], set[str]]] = {
    "testsuites": (set(), {"name", "tests", "failures", "errors"}),
    "testsuite": ({"name", "tests", "failures", "errors"}, {"skipped"}),
    "properties": (set(), set()),
    "property": ({"name", "value"}, set()),
    "testcase": ({"name"}, {"classname"}),
    "failure": (set(), {"type", "message"}),
    "error": (set(), {"type", "message"}),
    "skipped": (set(), {"type", "message"}),
}
"""The attributes that each element must have, and those that it may have besides."""

TEXT = {"failure", "error", "skipped"}
FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that XML 1.0 has no way to hold."""


def checked(text: str) -> ET.Element:
    """Read a file and hold it to the rules of the format."""
    assert text.startswith('<?xml version="1.0" encoding="UTF-8"?>\n')
    assert not FORBIDDEN.search(text)
    root = ET.fromstring(text.encode("utf-8"))  # noqa: S314  # written by the code under test
    assert root.tag == "testsuites"
    for element in root.iter():
        must, may = ATTRIBUTES[element.tag]
        assert must <= set(element.attrib) <= must | may, element.tag
        assert {child.tag for child in element} <= CHILDREN[element.tag], element.tag
        assert element.tag in TEXT or not (element.text or "").strip(), element.tag
        if element.tag == "testcase":
            assert len(element) <= 1
    suites = root.findall("testsuite")
    for suite in suites:
        assert suite.get("tests") == str(len(suite.findall("testcase")))
        for kind, name in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            assert suite.get(name) == str(len(suite.findall(f"testcase/{kind}")))
        assert [child.tag for child in suite].index("properties") == 0
    for name in ("tests", "failures", "errors"):
        assert root.get(name) == str(sum(int(suite.get(name, "0")) for suite in suites))
    cases = [(case.get("classname"), case.get("name")) for case in root.iter("testcase")]
    assert len(cases) == len(set(cases))
    return root


def case_of(root: ET.Element, classname: str, name: str) -> ET.Element:
    """The case of a class and a name."""
    (found,) = [one for one in root.iter("testcase") if (one.get("classname"), one.get("name")) == (classname, name)]
    return found


def a_cell(passed: int, failed: int = 0, errors: int = 0, missing: int = 0) -> dict[str, int]:
    """How a task's trials ended."""
    return {"passed": passed, "failed": failed, "errors": errors, "missing": missing, "skipped": 0}


def of_tasks(**cells: dict[str, int]) -> ET.Element:
    """The cases of tasks under one variant."""
    tasks = [{"suite": "desk", "task": name, "variants": {"react": cell}} for name, cell in cells.items()]
    return checked(junit(a_summary({"react": a_variant_summary()}), tasks, None, an_about("react")))


@pytest.mark.parametrize(
    ("cell", "kind", "message"),
    [
        (a_cell(8), None, ""),
        (a_cell(5, 3), "failure", "5/8 trials passed"),
        (a_cell(0, 8), "failure", "0/8 trials passed"),
        (a_cell(7, 0, 1), "error", "7/8 trials passed, 1 in error"),
        (a_cell(6, 0, 0, 2), "error", "6/8 trials passed, 2 missing"),
        (a_cell(4, 2, 1, 1), "failure", "4/8 trials passed, 1 in error, 1 missing"),
        (a_cell(0, 0, 0, 8), "error", "0/8 trials passed, 8 missing"),
    ],
)
def test_a_task_passes_only_where_all_of_its_planned_trials_did(
    cell: dict[str, int], kind: str | None, message: str
) -> None:
    case = case_of(of_tasks(refund=cell), "desk.react", "refund")
    assert [child.tag for child in case] == ([kind] if kind else [])
    if kind:
        assert case[0].get("message") == case[0].text == message
        assert case[0].get("type") == {"failure": "pass^8", "error": "incomplete"}[kind]


def test_there_is_a_case_a_task_and_variant_and_one_a_rule() -> None:
    tasks = [a_task_row("refund", react=8, plan=5), a_task_row("return", react=8)]
    root = checked(junit(a_summary(), tasks, a_gate(), an_about()))
    assert [suite.get("name") for suite in root] == ["react", "plan", "gate"]
    assert [suite.get("tests") for suite in root] == ["2", "1", "2"]
    facts = {one.get("name"): one.get("value") for one in root[0].iter("property")}
    assert facts["model"] == "simulated"
    assert facts["pass@1"] == "0.900 [0.800–1.000]"
    assert facts["pass^8"] == "0.550 [0.450–0.650]"
    assert facts["trials"] == "150 passed, 42 failed, 0 in error, 0 missing"
    assert facts["commit"] == "0123456789abcdef0123"
    gate = case_of(root, "gate", "pass^8 >= 0.60 · react")
    assert gate[0].tag == "failure"
    assert gate[0].text == "react: pass^8 is 0.550, and 0.600 lies inside its bounds."


@pytest.mark.parametrize(
    ("verdict", "whole", "code", "kind"),
    [
        ("pass", "pass", 0, None),
        ("fail", "fail", 1, "failure"),
        ("invalid", "invalid", 4, "error"),
        ("inconclusive", "inconclusive", 3, "error"),
        ("inconclusive", "inconclusive", 0, "skipped"),
        ("inconclusive", "inconclusive", 1, "failure"),
        ("inconclusive", "fail", 1, "error"),
    ],
)
def test_a_rule_counts_as_the_gate_counts_it(verdict: str, whole: str, code: int, kind: str | None) -> None:
    rule = {**a_gate()["rules"][1], "verdict": verdict}
    gate = {"verdict": whole, "exit_code": code, "rules": [rule]}
    root = checked(junit(a_summary({}), [], gate, an_about()))
    (case,) = root.iter("testcase")
    assert [child.tag for child in case] == ([kind] if kind else [])


def test_a_gate_that_has_nothing_to_judge_is_an_error_with_its_reason() -> None:
    gate = {"verdict": "invalid", "exit_code": 4, "rules": [], "why": "no trial is planned"}
    (case,) = checked(junit(a_summary({}), [], gate, an_about())).iter("testcase")
    assert (case[0].tag, case[0].text) == ("error", "no trial is planned")


def test_what_is_undefined_says_why() -> None:
    hats = {"1": an_estimate(0.5), "2": an_estimate(None, why="1 of 3 tasks has fewer than 2 trials")}
    root = checked(junit(a_summary({"v": a_variant_summary(pass_hat=hats)}), [], None, an_about("v")))
    facts = {one.get("name"): one.get("value") for one in root.iter("property")}
    assert facts["pass^2"] == "undefined: 1 of 3 tasks has fewer than 2 trials"


def test_an_empty_run_is_a_file_too() -> None:
    root = checked(junit(a_summary({}), [], None, an_about(run="")))
    assert len(root) == 0
    assert root.get("name") == "evalkit"


def test_hostile_text_is_text_and_no_two_cases_are_called_the_same() -> None:
    names = [*HOSTILE, ALL, "", " ", "x" * 5_000, "x" * 4_999 + "y", "a\x00b", "a\\x00b", "]]>", "&#0;", "\ufffe"]
    variants: dict[str, Any] = dict.fromkeys(names, a_variant_summary())
    tasks = [a_task_row(text, suite=text, **dict.fromkeys(names, 3)) for text in names]
    rule = {**a_gate()["rules"][1], "rule": ALL, "variant": ALL, "task": ALL, "sentence": ALL}
    gate = {"verdict": "fail", "exit_code": 1, "rules": [rule, rule, rule], "why": ALL}
    root = checked(
        junit(a_summary(variants, suite=ALL), tasks, gate, an_about(*names, run=ALL, command=ALL, commit=ALL))
    )
    assert len(list(root.iter("testcase"))) == len(names) ** 2 + 3
    shown = {case.get("name") for case in root.iter("testcase")}
    assert "<script>window.pwned=1</script>" in shown
    assert "(empty)" in shown
    assert max(len(name or "") for name in shown) < 3 * NAME + 20


def test_the_same_run_gives_the_same_bytes() -> None:
    tasks = [a_task_row("refund", react=8, plan=5)]
    assert junit(a_summary(), tasks, a_gate(), an_about()) == junit(a_summary(), tasks, a_gate(), an_about())


def test_a_task_that_did_not_always_pass_tells_the_commonest_ground() -> None:
    tasks = [{"suite": "desk", "task": "port", "variants": {"react": a_cell(5, 3)}}]
    row: Ground = {
        "suite": "desk",
        "task": "port",
        "variant": "react",
        "lost": 3,
        "ground": "state: 2 is not 3",
        "times": 2,
        "kinds": 2,
        "index": 1,
    }
    other: Ground = {**row, "variant": "plan", "ground": "of another variant"}
    root = checked(junit(a_summary({"react": a_variant_summary()}), tasks, None, an_about("react"), [other, row]))
    (failure,) = case_of(root, "desk.react", "port").findall("failure")
    assert failure.get("message") == "5/8 trials passed; 2 of the others: state: 2 is not 3"

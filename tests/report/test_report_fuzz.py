"""Runs of any text and any numbers in every form that a report has: each can be made, encoded and read back by what reads it."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from report_json import an_about
from report_pages import HOSTILE, hostile_record, keeper
from report_records import a_table, bare

from evalkit.core.record import Outcome, Tally, TrialRecord, Verdict
from evalkit.report.github import commands, markdown
from evalkit.report.junit import junit
from evalkit.report.page import page
from evalkit.report.summary import summarise, task_rows
from evalkit.report.terminal import headline, task_table
from evalkit.report.trace import trace_text

TEXTS = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(st.characters(), max_size=40),
    st.text(st.sampled_from("\ud800\udfff\x00\x1b\x9b\x7f\u202e\u2066\u2028<>&\"'`|=@\r\n\t{}%"), max_size=40),
)
SECONDS = st.floats(0, 1e12)
COUNTS = st.integers(0, 2**63 - 1)
ENDS: list[tuple[Outcome, Verdict | None]] = [("passed", "pass"), ("failed", "fail"), ("failed", None), ("error", None)]


@st.composite
def records(draw: st.DrawFn) -> list[TrialRecord]:
    """Trials of one to three tasks and variants by any names, with any counts."""
    names = draw(st.lists(TEXTS.filter(bool), min_size=1, max_size=3, unique=True))
    made = []
    for name in names:
        for index in range(1, draw(st.integers(1, 3)) + 1):
            outcome, graded = draw(st.sampled_from(ENDS))
            tally = Tally(
                turns=draw(COUNTS),
                input_tokens=draw(COUNTS),
                usd=draw(st.none() | SECONDS),
                seconds=draw(SECONDS),
            )
            record = hostile_record(name, index)
            made.append(
                replace(
                    record,
                    outcome=outcome,
                    graded=graded,
                    tally=tally,
                    seconds=draw(SECONDS),
                    attempt=draw(st.integers(1, 3)),
                )
            )
    return made


@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(made=records(), text=TEXTS, planned=st.integers(3, 5), width=st.integers(20, 200))
def test_any_run_can_be_shown_in_every_form(made: list[TrialRecord], text: str, planned: int, width: int) -> None:
    table = a_table(made, planned)
    about = an_about(
        *dict.fromkeys(record.key.variant for record in made),
        run=text,
        suites=(text,),
        command=text,
        machine={"sandbox": text},
    )
    summary, tasks = summarise(table, about), task_rows(table)
    assert json.loads(json.dumps(summary, allow_nan=False)) == json.loads(json.dumps(summary))
    shown = [headline(summary, width), task_table(tasks, width), markdown(summary, None, ()), *commands(summary, None)]
    shown += [trace_text(record, width) for record in made]
    for one in shown:
        one.encode()
        assert "\x1b" not in one
    assert ET.fromstring(junit(summary, tasks, None, about)).tag == "testsuites"  # noqa: S314  # our own text


@settings(max_examples=6, suppress_health_check=[HealthCheck.too_slow])
@given(made=records(), text=TEXTS)
def test_any_run_has_a_page(made: list[TrialRecord], text: str) -> None:
    table = a_table(made, 4)
    about = an_about(
        *dict.fromkeys(record.key.variant for record in made),
        run=text,
        suites=(text,),
        command=text,
        machine={"sandbox": text},
    )
    html = page(
        summary=summarise(table, about),
        tasks=task_rows(table),
        comparisons=(),
        gate=None,
        about=about,
        rows=[bare(record) for record in made],
        trace=keeper(made),
        table=table,
    )
    html.encode()
    assert "window.pwned=1<" not in html
    assert html.count("<script") == html.count("</script>")

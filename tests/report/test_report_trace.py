"""A trace in a terminal: readable, within its width, and harmless."""

from __future__ import annotations

import re
from dataclasses import replace

from report_records import a_key, a_record, a_run

from evalkit.core.message import Message, Reply, Text
from evalkit.core.record import Asked
from evalkit.report.layout import columns
from evalkit.report.trace import trace_text

CODES = re.compile("\x1b\\[[0-9]*m")


def capped() -> str:
    """The trace of a trial that a cap ended."""
    return trace_text(next(record for record in a_run() if record.stop.cap))


def test_the_head_says_which_trial_it_is_how_it_ended_and_what_it_cost() -> None:
    lines = capped().split("\n")
    assert lines[0] == "support-desk / task-001 · plan · trial 5"
    assert lines[1] == "✗ failed"
    assert lines[2].startswith("stop cap:turns · 6 turns")


def test_turns_are_told_in_order_and_numbered_once() -> None:
    numbers = re.findall(r"^ {0,2}(\d+)  ", capped(), re.MULTILINE)
    assert numbers == ["1", "2", "3", "4", "5", "6"]


def test_the_stop_and_the_graders_come_last() -> None:
    lines = capped().split("\n")
    assert lines[-3].strip() == "■ stop: cap:turns  limit 6 turns · was 6 turns, reached exactly · turn 6"
    assert lines[-2].strip().startswith("✗ grader state: fail")


def test_every_line_fits_and_colour_changes_nothing_else() -> None:
    for record in a_run(2):
        for width in (40, 80, 120):
            plain = trace_text(record, width)
            assert all(columns(line) <= width for line in plain.split("\n"))
            coloured = "\n".join(
                line.rstrip() for line in CODES.sub("", trace_text(record, width, color=True)).split("\n")
            )
            assert coloured == plain


def test_what_a_model_wrote_cannot_drive_the_terminal() -> None:
    record = a_record(a_key(), 1.0)
    reply = Reply(
        message=Message(role="assistant", content=(Text(text="\x1b]0;x\x07\rPASSED\x9b2J"),)), stop_reason="end_turn"
    )
    event = Asked(turn=1, call=1, purpose="act", sent=1, held=1, reply=reply, at=0.0, seconds=0.1)
    text = trace_text(replace(record, key=replace(record.key, task="\x1b[2J"), events=(event,)))
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)
    assert "\\e]0;x\\x07\\rPASSED\\x9b2J" in text


def test_a_record_without_events_says_so() -> None:
    assert "holds no events" in trace_text(replace(a_record(a_key(), 1.0), events=()))

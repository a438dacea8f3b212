"""Pages made up for tests: an ordinary one, and one in which every text is hostile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from report_json import a_comparison, a_gate, a_summary, a_task_row, a_variant_summary, an_about, an_estimate
from report_records import a_key, a_record, a_run, bare

from evalkit.core.message import Message, Reply, Text, ToolCall, ToolResult
from evalkit.core.record import Acted, Asked, Checked, Halted, Noted, Stop, TrialRecord
from evalkit.report.page import page

VARIANTS = ("react", "plan")

HOSTILE = (
    "<script>window.pwned=1</script>",
    "</script><script>window.pwned=1</script>",
    "</title></style></textarea><script>window.pwned=1</script>",
    "\"'><img src=x onerror=window.pwned=1>",
    "<meta http-equiv=refresh content='0;url=http://127.0.0.1:9/'>",
    "--><style>*{display:none}</style>",
    "javascript:window.pwned=1",
    "{{ 7 * 7 }}{% raw %}",
    "\u2028\u2029\ud800\x00\x1b[2J\u202e",
    "x" * 300 + "<b>y",
)
ALL = "".join(HOSTILE)


def keeper(records: Sequence[TrialRecord]) -> Callable[[TrialRecord], TrialRecord]:
    """What a store does: give a row its events."""
    kept = {record.key.digest: record for record in records}
    return lambda row: kept[row.key.digest]


def a_page(records: Sequence[TrialRecord] | None = None, **changes: Any) -> str:
    """The page of a run of two variants."""
    made = list(a_run(3, VARIANTS)) if records is None else list(records)
    tasks = [a_task_row(f"task-{number:03d}", react=8, plan=5) for number in range(3)]
    given: dict[str, Any] = {
        "summary": a_summary(),
        "tasks": tasks,
        "comparisons": [a_comparison(), a_comparison(metric="pass@1", p_adjusted=0.3)],
        "gate": a_gate(),
        "about": an_about(*VARIANTS),
        "rows": [bare(record) for record in made],
        "trace": keeper(made),
    }
    return page(**(given | changes))


def hostile_record(text: str, index: int) -> TrialRecord:
    """A trial in which everything that can be text is this one."""
    call = ToolCall(id="1", name=text, input={text: text, "lines": f"{text}\n{text}"})
    reply = Reply(
        message=Message(role="assistant", content=(Text(text=text), call)), stop_reason="tool_use", model=text
    )
    events = (
        Asked(turn=1, call=1, purpose=text, sent=1, held=1, reply=reply, at=0.0, seconds=0.1),
        Acted(turn=1, call=call, result=ToolResult(tool_use_id="1", content=text), at=0.0, seconds=0.1),
        Noted(turn=1, origin=text, text=text, at=0.0),
        Halted(turn=1, stop=Stop(reason=text, detail=text), at=0.0),
        Checked(turn=1, stage="grader", kind=text, verdict="fail", reason=text, at=0.0, seconds=0.1),
    )
    return replace(
        a_record(a_key(), 0.0),
        key=a_key(text, text, index, suite=text),
        outcome="failed",
        stop=Stop(reason=text, detail=text),
        answer=text,
        error=text,
        models=(text,),
        events=events,
    )


def an_alarm() -> dict[str, int]:
    """What a detector did."""
    return {
        "trials": 192,
        "flagged": 9,
        "passed": 4,
        "failed": 5,
        "errors": 0,
        "stopped": 3,
        "spoiled": 1,
        "quiet_failed": 37,
    }


def a_hostile_page() -> str:
    """A page in which every text from outside tries to get out of its place."""
    records = [hostile_record(text, 1) for text in HOSTILE] + [hostile_record(ALL, 2)]
    hats = {"1": an_estimate(0.5), "2": an_estimate(None, why=ALL)}
    variant = a_variant_summary(
        pass_hat=hats, stops=dict.fromkeys(HOSTILE, 5), stops_passed={HOSTILE[0]: 2}, detectors={ALL: an_alarm()}
    )
    variants = dict.fromkeys(HOSTILE, variant)
    rule = {**a_gate()["rules"][1], "rule": ALL, "variant": ALL, "task": ALL, "sentence": ALL}
    about = an_about(
        *HOSTILE,
        run=ALL,
        suites=HOSTILE,
        created=ALL,
        commit=ALL,
        dirty=True,
        versions={ALL: ALL},
        machine={ALL: ALL},
        command=ALL,
        natures=("live", "local", "simulated", "replayed"),
    )
    moved = {
        "reason": ALL,
        "variant": 0.5,
        "baseline": 0.1,
        "difference": 0.4,
        "low": 0.1,
        "high": 0.7,
        "p": 0.1,
        "p_adjusted": 0.2,
    }
    return a_page(
        records,
        shifts=[{"variant": text, "sentence": text, "reasons": [moved]} for text in HOSTILE],
        summary=a_summary(variants, run=ALL, suite=ALL),
        tasks=[a_task_row(text, suite=text, **dict.fromkeys(HOSTILE, 3)) for text in HOSTILE],
        comparisons=[a_comparison(variant=text, metric=text, sentence=text) for text in HOSTILE],
        gate={"verdict": "fail", "rules": [rule]},
        about=about,
    )

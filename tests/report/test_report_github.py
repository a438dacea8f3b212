"""What a CI is told: a summary that stays small, commands that cannot be forged, outputs of one line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt  # comes with rich
from report_json import a_comparison, a_gate, a_summary, a_variant_summary, an_estimate
from report_pages import ALL, HOSTILE

from evalkit.report.github import (
    ANNOTATIONS,
    MOST,
    ROWS,
    code,
    command,
    commands,
    fence,
    markdown,
    outputs,
    publish,
)
from evalkit.report.grounds import Ground

MARKUP = (
    "`code` ```\n```text",
    "| a | b |\n| - | - |",
    "[link](http://127.0.0.1:9/) ![x](http://127.0.0.1:9/x.png) <http://127.0.0.1:9/>",
    "http://127.0.0.1:9/ www.example.org a@example.org",
    "@everyone #1 :bomb: $x^2$ ~~gone~~ **bold** _thin_",
    "::error::pwned\n::set-output name=verdict::pass",
    "##[error]pwned",
    "\\` \\| \\",
    "&lt;b&gt; <details open><summary>x</summary>",
    "=cmd|' /C calc'!A0",
    "x\r\ny\u2028z",
)
TEXTS = (*HOSTILE, *MARKUP, "".join(MARKUP))


def a_hostile_run() -> tuple[dict[str, Any], dict[str, Any], list[dict[str, Any]]]:
    """A run in which every text is hostile."""
    hats = {"1": an_estimate(0.5), "2": an_estimate(None, why=ALL)}
    variants = dict.fromkeys(TEXTS, a_variant_summary(pass_hat=hats, errors=2, missing=1))
    rules = [{**a_gate()["rules"][1], "rule": text, "variant": text, "task": text, "sentence": text} for text in TEXTS]
    gate = {"verdict": "fail", "exit_code": 1, "rules": rules, "why": ALL}
    comparisons = [a_comparison(variant=text, metric=text, sentence=text) for text in TEXTS]
    return a_summary(variants, suite=ALL, run=ALL), gate, comparisons


def bare(text: str) -> str:
    """What of a Markdown text is outside of code spans and fenced blocks."""
    outside = re.sub(r"^```text\n(?:^ .*\n)*^```$", "", text, flags=re.MULTILINE)
    return re.sub(r"`[^`\n]*`", "", outside)


def test_a_summary_says_what_the_run_says() -> None:
    text = markdown(a_summary(), a_gate(), [a_comparison()])
    for piece in (
        "## evalkit: ✗ gate FAIL",
        "plan loses 0.250 of pass^8 against react.",
        "`support-desk` · 2 variants × 24 tasks × 8 trials · **Simulated model: the numbers show the method",
        "| `react` | 0.900 | 0.550 | 0.450–0.650 | 10.4% | 0 | 0.0125 | 0.190 |",
        "| `pass^8 >= 0.60` | `react` |  | 0.550 | 0.600 | ✗ fail |",
        "| `plan` | `pass^8` | −0.250 | −0.420 to −0.060 | 0.012 | +1 −7 =16 |",
        "react: pass^8 is 0.550, and 0.600 lies inside its bounds.",
    ):
        assert piece in text
    assert text.index("✗ fail") < text.index("✓ pass"), "what did not pass stands first"


def test_detectors_are_told_with_their_false_alarms_bounded_and_only_where_there_are_some() -> None:
    alarm = {"trials": 9, "flagged": 7, "passed": 1, "failed": 4, "errors": 2, "stopped": 3, "spoiled": 5}
    watched = a_variant_summary(detectors={"repeat_calls": alarm | {"quiet_failed": 6}})
    text = markdown(a_summary({"react": watched}), None, [])
    assert "| `react` | `repeat_calls` | 7 of 9 | 1 | 4 | 2 | 3 | 5 | 6 |" in text
    assert "### Detectors" not in markdown(a_summary(), None, [])
    many = {text * 9 + str(n): alarm | {"quiet_failed": 6} for n in range(3 * ROWS) for text in TEXTS}
    crowded = markdown(a_summary({ALL: a_variant_summary(detectors=many)}), None, [])
    assert len(crowded.encode()) < MOST
    assert f"… and {len(many) - ROWS:,} more" in crowded
    assert "pwned" not in bare(crowded)


def test_without_gate_and_comparisons_nothing_is_said_of_them() -> None:
    text = markdown(a_summary(natures=["live"]), None, [])
    assert text.startswith("## evalkit\n")
    assert "### Gate" not in text
    assert "Differences" not in text
    assert "imulated" not in text
    assert markdown(a_summary({}), {"verdict": "invalid", "exit_code": 4, "rules": [], "why": "no trial"}, [])


def test_hostile_text_is_neither_markup_nor_a_link_nor_a_mention() -> None:
    text = markdown(*a_hostile_run())
    outside = bare(text)
    assert "`" not in outside
    for strange in ("<", "http", "www", "@", "[", "](", "\\", "pwned", "{{", "$", "~~", "#1"):
        assert strange not in outside.replace("pass@1", ""), strange
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202e]", text)
    assert text.encode("utf-8")


def test_a_table_keeps_its_columns_whatever_stands_in_it() -> None:
    text = markdown(*a_hostile_run())
    columns = 0
    for line in text.splitlines():
        if line.startswith("| ") and columns == 0:
            columns = line.count("|")
        elif line.startswith("| "):
            assert line.count("|") == columns
        else:
            columns = 0


def test_a_block_of_sentences_cannot_be_closed_from_within() -> None:
    text = markdown(*a_hostile_run())
    open_block = False
    for line in text.splitlines():
        if line.startswith("```"):
            assert line == ("```" if open_block else "```text")
            open_block = not open_block
        elif open_block:
            assert line.startswith(" ")
            assert "`" not in line
    assert not open_block


def test_a_summary_stays_below_what_github_takes_whatever_the_run() -> None:
    long = "🙂" * 5_000
    variants = {f"{number}{long}": a_variant_summary() for number in range(500)}
    rules = [{**a_gate()["rules"][1], "rule": long, "variant": long, "task": long, "sentence": long}] * 3_000
    comparisons = [a_comparison(variant=long, metric=long, sentence=long)] * 3_000
    gate = {"verdict": "fail", "exit_code": 1, "rules": rules, "why": long}
    text = markdown(a_summary(variants, suite=long), gate, comparisons)
    assert len(text.encode("utf-8")) < MOST
    assert f"… and {500 - ROWS} more" in text
    assert f"… and {3_000 - ROWS:,} more" in text


@pytest.mark.parametrize("text", [*TEXTS, "", "`", "``", " ", "a`b|c"])
def test_a_code_span_is_one_span_on_one_line(text: str) -> None:
    shown = code(text)
    assert re.fullmatch(r"`[^`|\n\r]+`", shown)


@pytest.mark.parametrize("text", TEXTS)
def test_a_command_is_one_line_and_holds_no_other(text: str) -> None:
    line = command("error", text, text)
    assert "\n" not in line
    assert "\r" not in line
    found = re.fullmatch(r"::error title=([^:,]*)::(.*)", line)
    assert found
    assert not re.search("%(?!25|3A|2C)", found[1] + found[2])


def test_what_did_not_pass_is_an_annotation() -> None:
    lines = commands(a_summary(), a_gate())
    assert lines[0].startswith("::error title=evalkit gate%3A fail::react: pass^8 is 0.550")
    assert lines[-1].startswith("::notice title=evalkit::Simulated model:")
    assert len(lines) == 2
    unsure = commands(a_summary(natures=["live"]), a_gate("inconclusive"))
    assert [line.split(" ")[0] for line in unsure] == ["::warning"]
    assert commands(a_summary(natures=["live"]), a_gate("pass")) == []
    assert commands(a_summary(natures=["live"]), None) == []


def test_an_incomplete_run_is_a_warning_and_an_empty_gate_an_error() -> None:
    summary = a_summary({"v": a_variant_summary(errors=2, missing=1)}, natures=["live"])
    (line,) = commands(summary, None)
    assert line == "::warning title=evalkit%3A incomplete run::3 trials of 195 planned ones in error or missing"
    empty = {"verdict": "invalid", "exit_code": 4, "rules": [], "why": "no trial is planned"}
    assert commands(a_summary({}, natures=["live"]), empty)[0].endswith("::no trial is planned")


def test_no_more_annotations_are_made_than_are_shown() -> None:
    gate = {"verdict": "fail", "exit_code": 1, "rules": [a_gate()["rules"][1]] * 50}
    assert len(commands(a_summary(natures=["live"]), gate)) == ANNOTATIONS


def test_outputs_tell_the_verdict_and_the_deepest_pass_hat_of_the_baseline() -> None:
    found = outputs(a_summary(), a_gate(), "plan")
    assert found | {"variants": ""} == {
        "verdict": "fail",
        "exit_code": "1",
        "k": "8",
        "variant": "plan",
        "pass_hat": "0.45",
        "pass_hat_low": "0.35",
        "pass_hat_high": "0.55",
        "variants": "",
        "complete": "true",
    }
    assert json.loads(found["variants"]) == {"react": 0.55, "plan": 0.45}
    assert outputs(a_summary(), None)["variant"] == "react"
    assert outputs(a_summary(), None)["verdict"] == ""
    assert outputs(a_summary({}), None)["pass_hat"] == ""


def test_an_undefined_value_is_no_number() -> None:
    hats = {"1": an_estimate(None, why="missing")}
    found = outputs(a_summary({"v": a_variant_summary(pass_hat=hats, missing=1)}), None)
    assert (found["pass_hat"], found["complete"]) == ("", "false")
    assert json.loads(found["variants"]) == {"v": None}


def test_outputs_are_one_line_each_and_are_added_to_what_is_there(tmp_path: Path) -> None:
    summary, gate, comparisons = a_hostile_run()
    step, output = tmp_path / "summary.md", tmp_path / "output.txt"
    step.write_text("before\n", encoding="utf-8")
    output.write_text("first=1\n", encoding="utf-8")
    values = outputs(summary, gate, TEXTS[0])
    publish(markdown(summary, gate, comparisons), values, step_summary=step, output=output)
    assert step.read_text(encoding="utf-8").startswith("before\n## evalkit")
    lines = output.read_text(encoding="utf-8").split("\n")
    assert lines[0] == "first=1"
    assert [line.partition("=")[0] for line in lines[1:-1]] == list(values)
    assert lines[-1] == ""
    publish("x", {"a": "b"}, step_summary=None, output=None)


def test_a_fence_opens_and_closes_with_one_token() -> None:
    assert fence("t0ken") == ("::stop-commands::t0ken", "::t0ken::")


def test_a_markdown_reader_sees_text_tables_and_code_alone() -> None:
    reader = MarkdownIt("commonmark", {"html": True}).enable("table")
    tokens = [token for block in reader.parse(markdown(*a_hostile_run())) for token in (block, *(block.children or ()))]
    kinds = {token.type for token in tokens}
    assert not kinds & {"html_block", "html_inline", "link_open", "image", "hr", "blockquote_open", "bullet_list_open"}
    assert {token.tag for token in tokens if token.type == "heading_open"} == {"h2", "h3"}
    spans = {token.content for token in tokens if token.type == "code_inline"}
    assert {"<script>window.pwned=1</script>", "::error::pwned\\n::set-output name=verdict::pass"} <= spans


def test_why_trials_did_not_pass_is_told_by_task_and_cannot_be_markup() -> None:
    why: list[Ground] = [
        {
            "suite": "s",
            "task": "port",
            "variant": "react",
            "lost": 8,
            "ground": text,
            "times": 5,
            "kinds": 2,
            "index": 3,
        }
        for text in ("agent_error: exit code 1: KeyError: 'port'", "a | b ` <b> @me")
    ]
    text = markdown(a_summary(), a_gate(), [], why)
    assert "### Why trials did not pass" in text
    assert "| `port` | `react` | 8 | `agent_error: exit code 1: KeyError: 'port'` | 5 |" in text
    assert "`a ¦ b ˋ <b> @me`" in text
    assert "Why trials" not in markdown(a_summary(), a_gate(), [])

"""The page as bytes: self-contained, bounded, honest about what it leaves out, and deaf to hostile text."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from report_json import a_comparison, a_gate, a_summary, a_task_row, a_variant_summary, an_about, an_estimate
from report_pages import VARIANTS, a_hostile_page, a_page, an_alarm, keeper
from report_records import a_run, a_table, bare

from evalkit.core.record import TrialRecord
from evalkit.report.page import write_page
from evalkit.report.sections import stops
from evalkit.report.terminal import headline

VOID = {"meta", "link", "input", "img", "br"}


class Outline(HTMLParser):
    """The elements of a page: names with attributes, whether they nest, and the text of each script and style."""

    def __init__(self) -> None:
        """Begin with nothing."""
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.raw: dict[str, list[str]] = {"script": [], "style": []}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep an element."""
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag in self.raw:
            self.raw[tag].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep an element that ends where it starts."""
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        """Close the element that is open."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Keep the text of scripts and styles."""
        if self.open and self.open[-1] in self.raw:
            self.raw[self.open[-1]][-1] += data

    def of(self, tag: str) -> list[dict[str, str | None]]:
        """The attributes of each element of a name."""
        return [attributes for name, attributes in self.elements if name == tag]


def outline(html: str) -> Outline:
    """Read a page; its elements must nest."""
    found = Outline()
    found.feed(html)
    found.close()
    assert found.open == []
    return found


def sha(text: str) -> str:
    """The name of an inline script or style in a content policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def packages(html: str) -> dict[str, Any]:
    """The packed values of a page by their ids."""
    found = re.findall(r'<script type="application/json" id="([^"]*)">"([^"]*)"</script>', html)
    return {name: json.loads(zlib.decompress(base64.b64decode(text))) for name, text in found}


@pytest.fixture(scope="module")
def ordinary() -> str:
    """An ordinary page."""
    return a_page()


@pytest.fixture(scope="module")
def hostile() -> str:
    """A page in which every text is hostile."""
    return a_hostile_page()


@pytest.mark.parametrize("kind", ["ordinary", "hostile"])
def test_a_page_nests_and_runs_one_script_that_its_policy_names(kind: str, request: pytest.FixtureRequest) -> None:
    html: str = request.getfixturevalue(kind)
    found = outline(html)
    policy = next(meta["content"] for meta in found.of("meta") if meta.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    running = [text for text, attributes in zip(found.raw["script"], found.of("script"), strict=True) if not attributes]
    assert len(running) == 1
    (style,) = found.raw["style"]
    assert policy == (
        f"default-src 'none'; script-src '{sha(running[0])}'; style-src '{sha(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )


@pytest.mark.parametrize("kind", ["ordinary", "hostile"])
def test_a_page_holds_nothing_that_runs_loads_or_leads_elsewhere(kind: str, request: pytest.FixtureRequest) -> None:
    found = outline(request.getfixturevalue(kind))
    for tag, attributes in found.elements:
        assert tag not in {"img", "iframe", "object", "embed", "link", "base"}
        assert not [
            name for name in attributes if name.startswith("on") or name in {"src", "style", "srcdoc", "action"}
        ]
        assert (attributes.get("href") or "#").startswith("#")
    assert [meta.get("http-equiv") for meta in found.of("meta") if "http-equiv" in meta] == ["Content-Security-Policy"]


def test_hostile_text_adds_no_element_and_no_control_character(hostile: str) -> None:
    found = outline(hostile)
    assert len(found.of("style")) == 1
    assert "49" not in re.findall(r"\b49\b", hostile)
    assert "&lt;script&gt;window.pwned=1&lt;/script&gt;" in hostile
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202e]", hostile)
    assert hostile.encode("utf-8")


def test_ids_are_unique_and_links_lead_somewhere(ordinary: str) -> None:
    found = outline(ordinary)
    ids = [attributes["id"] for _, attributes in found.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for link in found.of("a"):
        target = (link["href"] or "").removeprefix("#")
        assert target in ids or re.fullmatch(r"trials/\d+/\d+", target)


def test_headings_and_table_headers_are_in_order(ordinary: str) -> None:
    found = outline(ordinary)
    levels = [int(tag[1]) for tag, _ in found.elements if re.fullmatch("h[1-6]", tag)]
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert all(header.get("scope") in ("col", "row") for header in found.of("th"))
    assert {"header", "nav", "main", "footer"} <= {tag for tag, _ in found.elements}


def test_every_section_of_the_report_is_there(ordinary: str) -> None:
    for text in (
        "◌ Simulated model",
        "✓ Complete: 384 of 384 trials judged",
        "Gate: FAIL",
        "<details open>\n<summary>2 rules: 1 fail, 1 pass</summary>",
        "plan loses 0.250 of pass^8 against react.",
        "How pass^k falls with k",
        "Differences to the baseline",
        'class="figure figure-decay"',
        'class="figure figure-stops"',
        'href="#trials/1/1"',
        "All traces are in this page.",
        "Every planned trial was judged",
        "/loop/kind",
        "evalkit run suites/support-desk.yaml -n 8 --seed 7",
    ):
        assert text in ordinary


def test_the_same_run_gives_the_same_bytes(ordinary: str) -> None:
    assert a_page() == ordinary


def test_each_row_leads_to_its_own_trace(ordinary: str) -> None:
    found = packages(ordinary)
    index = found["index"]
    assert len(index["task"]) == 48
    for row in range(48):
        head = found[f"block-{index['block'][row]}"][index["at"][row]]["head"]
        assert head["task"] == index["tasks"][index["task"][row]][1]
        assert head["variant"] == index["variants"][index["variant"][row]]
        assert head["index"] == index["trial"][row]
        assert head["outcome"] == ("failed", "error", "passed")[index["outcome"][row]]


def test_a_small_budget_leaves_traces_out_says_so_and_draws_no_more_than_fit() -> None:
    records = list(a_run(20, VARIANTS, size=2000))
    drawn = []
    give = keeper(records)

    def trace(row: TrialRecord) -> TrialRecord:
        drawn.append(row)
        return give(row)

    html = a_page(records, trace=trace, budget=920_000)
    index = packages(html)["index"]
    inside = [row for row, block in enumerate(index["block"]) if block >= 0]
    assert 0 < len(inside) < 320
    assert len(drawn) < 320
    assert len(html) <= 920_000
    assert f"{len(inside)} of 320 traces are in this page" in html
    failing = [row for row in range(320) if index["outcome"][row] != 2]
    assert set(inside) <= set(failing) or set(failing) <= set(inside)


def test_a_run_without_anything_is_still_a_page() -> None:
    html = a_page(
        [], summary=a_summary({}, natures=["live"]), tasks=[], comparisons=[], gate=None, about=an_about(natures=())
    )
    outline(html)
    assert "No trial has been measured." in html
    assert "Gate:" not in html


def test_where_every_trial_is_in_error_nothing_is_drawn_and_no_section_speaks_of_passing() -> None:
    hats = {str(k): an_estimate(None, why="in error") for k in (1, 2)}
    unknown = {"total": None, "per_trial": None, "per_reliable_success": None}
    ends: dict[str, Any] = {"stops": {"finished": 8}, "stops_passed": {}, "stops_errors": {"finished": 8}}
    one = a_variant_summary(pass_hat=hats, passed=0, failed=0, errors=8, trials=8, missing=0, usd=unknown, **ends)
    html = a_page([], summary=a_summary({"react": one}), comparisons=[], gate=None, about=an_about("react"))
    assert "No trial could be judged: 8 trials of 8 ended in error." in html
    assert "figure-decay" not in html.partition("</style>")[2]
    assert "figure-stops" not in html.partition("</style>")[2]
    assert "Every trial that ended is in error" in html
    assert "Ringed variants" not in html


def test_trials_in_error_are_on_neither_side_of_a_bar() -> None:
    ends: dict[str, Any] = {"stops": {"finished": 8}, "stops_passed": {"finished": 4}, "stops_errors": {"finished": 3}}
    row = stops(a_summary({"react": a_variant_summary(**ends)}))["rows"][0]
    assert (row["left"], row["right"]) == ([1 / 8], [4 / 8])


def test_what_is_undefined_is_a_dash_with_its_reason() -> None:
    hats = {"1": an_estimate(0.5), "2": an_estimate(None, why="1 of 3 tasks has fewer than 2 judged trials")}
    unknown = {"total": None, "per_trial": None, "per_reliable_success": None}
    none = {"p50": None, "p95": None}
    variant = a_variant_summary(pass_hat=hats, pass_at={}, usd=unknown, turns=none, seconds=none, errors=1, missing=2)
    lost = a_comparison(difference=None, low=None, high=None, p=None, p_adjusted=None)
    html = a_page(summary=a_summary({"react": variant}), comparisons=[lost])
    assert 'title="1 of 3 tasks has fewer than 2 judged trials">–' in html
    assert "react: pass^2 undefined, 1 of 3 tasks" in html
    assert "! Incomplete: 192 of 195 trials judged" in html
    assert "None" not in html.replace("application", "")
    assert "nan" not in re.sub("[A-Za-z0-9+/=]{100,}", "", html)


def test_long_lists_are_cut_and_what_is_left_out_is_counted() -> None:
    tasks = [a_task_row(f"task-{number}", react=number % 9, plan=8) for number in range(3000)]
    rules = [{**a_gate()["rules"][0], "task": f"t{number}"} for number in range(150)]
    stops = {f"detector:{number}": 1 for number in range(40)}
    summary = a_summary({"react": a_variant_summary(stops=stops)})
    html = a_page(tasks=tasks, gate={"verdict": "pass", "rules": rules}, summary=summary)
    assert re.search("2,[0-9]{3} of 3,000 tasks are not in this table", html)
    assert "50 more rules are not shown" in html
    assert "<details>\n<summary>150 rules: 150 pass</summary>" in html
    assert "33 others" in html
    assert len(outline(html).elements) < 5_000


def test_a_page_of_very_many_variants_tells_of_the_baseline_and_the_highest_and_says_so() -> None:
    names = [f"v{number:02d}" for number in range(60)]
    variants = {name: a_variant_summary(0.3 + 0.01 * place) for place, name in enumerate(names)}
    html = a_page(
        summary=a_summary(variants),
        tasks=[a_task_row(f"t{number}", "bench", **dict.fromkeys(names, number % 9)) for number in range(200)],
        comparisons=[
            a_comparison(variant=name, metric=metric) for name in names[1:] for metric in ("pass^8", "pass@1")
        ],
        about=an_about(*names),
    )
    assert "This page tells of 10 of 60 variants: the baseline and those whose pass^8 is highest." in html
    table = html.partition('<table class="headline">')[2].partition("</table>")[0]
    assert [name for name in names if f"<bdi>{name}</bdi>" in table] == [names[0], *names[-9:]]
    assert len(outline(html).elements) < 5_000


def test_where_a_page_is_full_the_caps_give_way_before_the_tasks_and_it_says_so() -> None:
    records = list(a_run(2, [f"v{number}" for number in range(10)]))
    names = sorted({record.key.variant for record in records})
    rules = [{**a_gate()["rules"][0], "task": f"t{number}"} for number in range(100)]
    alarms = {f"detector-{number}": an_alarm() for number in range(5)}
    html = a_page(
        records,
        table=a_table(records, baseline=names[0]),
        summary=a_summary({name: a_variant_summary(0.5, detectors=alarms) for name in names}),
        tasks=[a_task_row(f"t{number}", "bench", **dict.fromkeys(names, 5)) for number in range(100)],
        comparisons=[
            a_comparison(variant=name, metric=metric) for name in names[1:] for metric in ("pass^8", "pass@1")
        ],
        gate={"verdict": "pass", "rules": rules},
        about=an_about(*names),
    )
    assert re.search("Caps on tokens, .* are left out, for this page is full", html)
    assert html.count("<summary>Cap on") == 1
    assert html.partition('<table class="tasks">')[2].partition("</table>")[0].count('<th scope="row">') >= 10
    assert len(outline(html).elements) < 5_000


def test_tasks_that_tell_variants_apart_stand_first() -> None:
    tasks = [
        a_task_row("same", react=4, plan=4),
        a_task_row("far", react=8, plan=0),
        a_task_row("near", react=8, plan=7),
    ]
    html = a_page(tasks=tasks)
    places = [html.index(f">{name}</th>") for name in ("far", "near", "same")]
    assert places == sorted(places)


def test_a_page_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    records = list(a_run(1, VARIANTS))
    path = tmp_path / "report.html"
    path.write_text("old", encoding="utf-8")
    given: dict[str, Any] = {
        "summary": a_summary(),
        "tasks": [],
        "comparisons": [],
        "gate": None,
        "about": an_about(),
        "rows": [bare(record) for record in records],
    }

    def broken(row: TrialRecord) -> TrialRecord:
        raise OSError("the trace cannot be read")

    with pytest.raises(OSError, match="cannot be read"):
        write_page(path, **given, trace=broken)
    assert path.read_text(encoding="utf-8") == "old"
    write_page(path, **given, trace=keeper(records))
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]


def test_a_lone_nature_has_its_badge() -> None:
    for nature, text in (("live", "● Live model"), ("local", "◍ Local model"), ("replayed", "↻ Replayed trials")):
        assert text in a_page(about=an_about(*VARIANTS, natures=(nature,)))


def test_shifts_of_stops_stand_below_them_the_clearest_first_and_are_cut() -> None:
    reasons = [
        {
            "reason": f"cap:{place}",
            "variant": 0.5,
            "baseline": 0.1,
            "difference": 0.4,
            "low": 0.1,
            "high": 0.7,
            "p": 0.1,
            "p_adjusted": 1 - place / 100,
        }
        for place in range(30)
    ]
    html = a_page(shifts=[{"variant": "plan", "sentence": "plan ends otherwise.", "reasons": reasons}])
    section = html[html.index('id="stops"') : html.index('id="cost"')]
    assert "<li>plan ends otherwise.</li>" in section
    assert "cap:29" in section
    assert "cap:5<" not in section
    assert "10 more shifts are not listed" in section
    assert "Against the baseline" not in a_page()


def test_detectors_are_told_with_their_false_alarms_and_only_where_there_are_some() -> None:
    summary = a_summary({"react": a_variant_summary(detectors={"repeat_calls": an_alarm()})})
    html = a_page(summary=summary)
    table = html[html.index('class="detectors"') :]
    table = table[: table.index("</table>")]
    assert re.findall(r'class="n">(\d+)', table) == ["9", "4", "5", "0", "3", "1", "37"]
    assert "of 192" in table
    assert 'class="detectors"' not in a_page()
    assert "fired in 9 of 192 trials: passed 4, failed 5 (graders content 1)" in " ".join(headline(summary, 80).split())

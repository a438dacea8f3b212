"""Figures: the same bytes for the same numbers, no colour and no style of their own, names escaped."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator

import matplotlib as mpl
import pytest

from evalkit.report.canvas import MARKERS, palette
from evalkit.report.figures import FORMATS, Bar, Curve, Limits, Sketch, cap_curves, decay, drawn, saved, stacked
from evalkit.report.page import MARKERS as SWATCHES
from evalkit.report.page import TEMPLATES
from evalkit.report.svg import INKS, ROLES

CURVE = Curve(values=[0.9, 0.8, 0.7], lows=[0.7, 0.6, 0.5], highs=[1.0, 0.9, 0.8])
SHORT = Curve(values=[0.5, 0.4, None], lows=[0.3, 0.2, None], highs=[0.7, 0.6, None])
COSTS: list[list[float | None]] = [[0.01, 0.02, 0.03], [0.01, None, None]]
LIMITS = Limits(at=[4.0, 6.0, 8.0], meter="turns", k=8, write="{:.0f}".format)
HOSTILE = "</text><script>alert(1)</script>$\\frac{$"
BARS = [Bar(label=HOSTILE, left=[0.1, 0.2], right=[0.7, 0.0]), Bar(label="plan", left=[0, 0], right=[1, 0])]


def elements(drawing: str) -> Iterator[ET.Element]:
    """All elements of a drawing."""
    return ET.fromstring(drawing).iter()  # noqa: S314  # drawn by the code under test


def classes(drawing: str) -> Iterator[str]:
    """All classes of a drawing."""
    for element in elements(drawing):
        yield from element.get("class", "").split()


@pytest.fixture(scope="module")
def curves() -> str:
    """A drawing of two curves."""
    return drawn(decay([CURVE, SHORT], "pass^k"))


@pytest.fixture(scope="module")
def bars() -> str:
    """A drawing of two bars, one with a hostile label."""
    return drawn(stacked(BARS, "AB", "<stops>"))


@pytest.fixture(scope="module")
def caps() -> str:
    """A drawing of two variants over limits of a cap."""
    return drawn(cap_curves([CURVE, SHORT], COSTS, LIMITS, "caps"))


def test_a_drawing_holds_no_style_no_colour_and_no_stamp(curves: str, bars: str, caps: str) -> None:
    for drawing in (curves, bars, caps):
        assert not re.search(r"style=|<style|#0e0e|metadata|dc:date|matplotlib", drawing)
        assert set(re.findall(r"#[0-9a-fA-F]{6}\b", drawing)) <= {"#000000"}


def test_every_class_has_a_rule_in_the_style_sheet(curves: str, bars: str, caps: str) -> None:
    style = (TEMPLATES / "style.css").read_text(encoding="utf-8")
    for drawing in (curves, bars, caps):
        for name in set(classes(drawing)) - {"figure-decay", "figure-stops", "figure-cap-turns"}:
            assert f".{name} " in style
    for role in ROLES:
        assert f"--{role}:" in style


def test_the_same_numbers_give_the_same_bytes_in_another_process(curves: str) -> None:
    code = (
        "import sys; sys.path.insert(0, 'tests/report'); import matplotlib; matplotlib.rcParams['font.size'] = 30;"
        "from test_report_figures import *; sys.stdout.reconfigure(encoding='utf-8'); print(drawn(decay([CURVE, SHORT], 'pass^k')), end='')"
    )
    again = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout.decode()
    assert again == curves


def test_drawing_leaves_the_settings_of_others_alone() -> None:
    before = dict(mpl.rcParams)
    drawn(decay([CURVE], "x"))
    saved(decay([CURVE], "x"), "pdf")
    assert dict(mpl.rcParams) == before


def test_nothing_is_drawn_past_what_is_known(curves: str) -> None:
    paths = [element for element in elements(curves) if element.get("class") == "line-s1"]
    lines = [path.get("d", "") for path in paths if path.get("fill") == "none" and path.get("stroke-width") == "2.2"]
    assert [line.count("L") for line in lines] == [1]


def test_text_stays_text_and_labels_are_escaped(bars: str) -> None:
    texts = [element.text for element in elements(bars) if str(element.tag).endswith("text")]
    assert "plan" in texts
    assert "<script" not in bars
    assert any(text and text.startswith("</text>") for text in texts)
    assert 'aria-label="&lt;stops&gt;"' in bars


def test_ids_are_few_and_of_this_figure_alone(curves: str, bars: str, caps: str) -> None:
    for name, drawing in (("decay", curves), ("stops", bars), ("cap-turns", caps)):
        ids = re.findall(r'id="([^"]*)"', drawing)
        assert len(ids) == len(set(ids))
        assert all(one.startswith(f"{name}-") for one in ids)
        for reference in re.findall(r'(?:href="#|url\(#)([^")]*)', drawing):
            assert reference in ids


@pytest.mark.parametrize("number", [0, 1, 7, 20])
def test_any_number_of_curves_and_bars_is_drawn(number: int) -> None:
    assert drawn(decay([CURVE] * number, "x")).startswith("<svg ")
    assert drawn(stacked([Bar(label="v", left=[0.0], right=[1.0])] * number, "A", "x")).startswith("<svg ")
    assert drawn(cap_curves([CURVE] * number, [COSTS[0]] * number, LIMITS, "x")).startswith("<svg ")


def test_labels_in_any_script_are_drawn_without_a_warning(recwarn: pytest.WarningsRecorder) -> None:
    sketch = stacked([Bar(label="日本語の変種 👩‍💻", left=[0.5], right=[0.5])], "A", "x", ["変種"])
    drawn(sketch)
    for form in FORMATS:
        saved(sketch, form)
    assert not list(recwarn)


def test_many_ks_are_drawn_without_a_marker_for_each() -> None:
    long = Curve(values=[0.5] * 200, lows=[0.4] * 200, highs=[0.6] * 200)
    assert len(drawn(decay([long], "x"))) < 30_000


def test_each_series_has_its_own_ink_and_each_marker_its_swatch() -> None:
    assert len(set(INKS.values())) == len(INKS)
    assert len(SWATCHES) == len(MARKERS)


def test_unknown_points_of_a_cap_are_gaps_and_costs_have_axes_of_their_own(caps: str) -> None:
    paths = [element for element in elements(caps) if element.get("class") == "line-s1"]
    lines = [path.get("d", "") for path in paths if path.get("fill") == "none" and path.get("stroke-width") == "2.2"]
    assert sorted(line.count("L") for line in lines) == [0, 1]
    texts = [element.text for element in elements(caps) if str(element.tag).endswith("text")]
    assert {"pass^8", "$ / trial", "cap on turns", "4", "6", "8"} <= set(texts)
    unpriced = drawn(cap_curves([CURVE], [[None] * 3], LIMITS, "caps"))
    assert "$ / trial" not in unpriced


def test_one_limit_alone_can_be_drawn() -> None:
    one = Curve(values=[0.5], lows=[0.4], highs=[0.6])
    over = Limits(at=[4.0], meter="turns", k=1, write=str)
    assert "pass@1" in drawn(cap_curves([one], [[0.1]], over, "x"))


@pytest.fixture(scope="module")
def sketches() -> list[Sketch]:
    """A figure of each kind, with a legend."""
    names = ["react", HOSTILE]
    return [
        decay([CURVE, SHORT], "x", names),
        stacked(BARS, "AB", "x", names),
        cap_curves([CURVE, SHORT], COSTS, LIMITS, "x", names),
    ]


def test_a_file_of_any_kind_is_the_same_bytes_each_time(sketches: list[Sketch]) -> None:
    starts = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}
    assert set(starts) == set(FORMATS)
    for sketch in sketches:
        for form in FORMATS:
            made = saved(sketch, form)
            assert made.startswith(starts[form])
            assert made == saved(sketch, form)
            assert b"CreationDate" not in made
            assert len(made) < 300_000


def test_an_svg_file_stands_by_itself(sketches: list[Sketch]) -> None:
    colours = set(palette().values())
    for sketch in sketches:
        text = saved(sketch, "svg").decode("utf-8")
        root = ET.fromstring(text)  # noqa: S314  # drawn by the code under test
        assert float(root.get("width", "0")) > 0
        assert float(root.get("height", "0")) > 0
        assert not re.search(r"style=|<style|<script|class=\"(fill|line)-", text)
        assert set(re.findall(r"#[0-9a-f]{6}\b", text)) <= colours | {"#000000"}
        shown = [element.text for element in root.iter() if str(element.tag).endswith("text")]
        assert "react" in shown
        assert any(label and label.startswith("</text>") for label in shown)


def test_the_colours_of_a_file_are_the_pages_own_in_the_light() -> None:
    style = (TEMPLATES / "style.css").read_text(encoding="utf-8")
    found = palette()
    assert set(found) == set(ROLES)
    assert found["paper"] == "#ffffff"
    assert all(f"--{role}: {colour};" in style for role, colour in found.items() if role != "paper")
    assert len({found[f"s{place}"] for place in range(8)}) == 8

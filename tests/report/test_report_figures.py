"""Figures: the same bytes for the same numbers, no colour and no style of their own, names escaped."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator

import matplotlib as mpl
import pytest

from evalkit.report.figures import MARKERS, Bar, Curve, decay, stacked
from evalkit.report.page import MARKERS as SWATCHES
from evalkit.report.page import TEMPLATES
from evalkit.report.svg import INKS, ROLES

CURVE = Curve(values=[0.9, 0.8, 0.7], lows=[0.7, 0.6, 0.5], highs=[1.0, 0.9, 0.8])
SHORT = Curve(values=[0.5, 0.4, None], lows=[0.3, 0.2, None], highs=[0.7, 0.6, None])
HOSTILE = "</text><script>alert(1)</script>$\\frac{$"


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
    return decay([CURVE, SHORT], "pass^k")


@pytest.fixture(scope="module")
def bars() -> str:
    """A drawing of two bars, one with a hostile label."""
    return stacked(
        [Bar(label=HOSTILE, left=[0.1, 0.2], right=[0.7, 0.0]), Bar(label="plan", left=[0, 0], right=[1, 0])],
        "AB",
        "<stops>",
    )


def test_a_drawing_holds_no_style_no_colour_and_no_stamp(curves: str, bars: str) -> None:
    for drawing in (curves, bars):
        assert not re.search(r"style=|<style|#0e0e|metadata|dc:date|matplotlib", drawing)
        assert set(re.findall(r"#[0-9a-fA-F]{6}\b", drawing)) <= {"#000000"}


def test_every_class_has_a_rule_in_the_style_sheet(curves: str, bars: str) -> None:
    style = (TEMPLATES / "style.css").read_text(encoding="utf-8")
    for drawing in (curves, bars):
        for name in set(classes(drawing)) - {"figure-decay", "figure-stops"}:
            assert f".{name} " in style
    for role in ROLES:
        assert f"--{role}:" in style


def test_the_same_numbers_give_the_same_bytes_in_another_process(curves: str) -> None:
    code = (
        "import sys; sys.path.insert(0, 'tests/report'); import matplotlib; matplotlib.rcParams['font.size'] = 30;"
        "from test_report_figures import *; sys.stdout.reconfigure(encoding='utf-8'); print(decay([CURVE, SHORT], 'pass^k'), end='')"
    )
    again = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout.decode()
    assert again == curves


def test_drawing_leaves_the_settings_of_others_alone() -> None:
    before = dict(mpl.rcParams)
    decay([CURVE], "x")
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


def test_ids_are_few_and_of_this_figure_alone(curves: str, bars: str) -> None:
    for name, drawing in (("decay", curves), ("stops", bars)):
        ids = re.findall(r'id="([^"]*)"', drawing)
        assert len(ids) == len(set(ids))
        assert all(one.startswith(f"{name}-") for one in ids)
        for reference in re.findall(r'(?:href="#|url\(#)([^")]*)', drawing):
            assert reference in ids


@pytest.mark.parametrize("number", [0, 1, 7, 20])
def test_any_number_of_curves_and_bars_is_drawn(number: int) -> None:
    assert decay([CURVE] * number, "x").startswith("<svg ")
    assert stacked([Bar(label="v", left=[0.0], right=[1.0])] * number, "A", "x").startswith("<svg ")


def test_labels_in_any_script_are_drawn_without_a_warning(recwarn: pytest.WarningsRecorder) -> None:
    stacked([Bar(label="日本語の変種 👩‍💻", left=[0.5], right=[0.5])], "A", "x")
    assert not list(recwarn)


def test_many_ks_are_drawn_without_a_marker_for_each() -> None:
    long = Curve(values=[0.5] * 200, lows=[0.4] * 200, highs=[0.6] * 200)
    assert len(decay([long], "x")) < 30_000


def test_each_series_has_its_own_ink_and_each_marker_its_swatch() -> None:
    assert len(set(INKS.values())) == len(INKS)
    assert len(SWATCHES) == len(MARKERS)

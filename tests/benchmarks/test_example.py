"""The example report is what its command makes of the code and the suite as they are now."""

from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path
from typing import Any

import pytest

from benchmarks import example
from evalkit.cli.reading import REPORTS

AGAIN = "the example report is not what the code makes now: python -m benchmarks.example"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The example, made anew."""
    return example.make(tmp_path_factory.mktemp("example")).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def kept() -> str:
    """The example as it is committed."""
    return (example.FOLDER / "report.html").read_text(encoding="utf-8")


def packed(html: str) -> list[Any]:
    """What the page's packed elements hold."""
    found = re.findall(r'<script type="application/json"[^>]*>"([^"]*)"</script>', html)
    return [json.loads(zlib.decompress(base64.b64decode(text))) for text in found]


def bare(html: str) -> str:
    """The page without its figures, its packed elements and the versions: the same whatever libraries made it."""
    html = re.sub(r"<svg xmlns.*?</svg>", "<svg/>", html, flags=re.DOTALL)
    html = re.sub(r'(<script type="application/json"[^>]*>)"[^"]*"', r"\1", html)
    return re.sub(r'<dl class="facts-list">.*?</dl>', "", html, flags=re.DOTALL)


def figures(html: str) -> list[list[str]]:
    """The text in each figure."""
    return [re.findall(r"<text[^>]*>([^<]*)", one) for one in re.findall(r"<svg xmlns.*?</svg>", html, re.DOTALL)]


def test_the_example_says_what_the_code_says_now(made: str, kept: str) -> None:
    assert bare(made) == bare(kept), AGAIN
    assert packed(made) == packed(kept), AGAIN
    assert figures(made) == figures(kept), AGAIN


def test_with_the_same_libraries_it_has_the_same_bytes(made: str, kept: str) -> None:
    facts = [part.partition("</dl>")[0] for part in (one.partition('class="facts-list"')[2] for one in (made, kept))]
    if facts[0] != facts[1]:
        pytest.skip("the example was made with other libraries")
    assert made == kept, AGAIN


def test_the_example_is_honest_small_and_no_run(kept: str) -> None:
    assert "Simulated model" in kept
    assert "python -m benchmarks.example" in kept
    assert len(kept.encode()) < 1_500_000
    traces = json.dumps(packed(kept))
    assert not re.search(r"/(tmp|home|root|work)/", kept + traces)
    assert [path.name for path in example.FOLDER.iterdir()] == ["report.html"]
    assert example.FOLDER.parent.name == REPORTS.name, "a folder without run.json is none of `latest`"
    assert not list(example.FOLDER.glob("run.json"))
    assert Path(example.SUITE).is_file()

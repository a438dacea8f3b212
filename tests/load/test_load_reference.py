"""The page on parts, and the README's examples."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from evalkit import parts
from evalkit.load import load
from evalkit.load.reference import PAGE, page

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_page_on_parts_is_the_generated_one_and_names_every_kind() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()
    for family in parts.FAMILIES:
        assert all(f"### `{kind}`" in page() for kind in parts.kinds(family))


def test_the_files_of_the_readme_load_as_they_stand(tmp_path: Path) -> None:
    suite, config = re.findall(r"^```yaml\n(.*?)^```", README, re.MULTILINE | re.DOTALL)[:2]
    (tmp_path / "mine.yaml").write_text(suite)
    (tmp_path / "loops.yaml").write_text(config)
    for file in ("my-project/stats.py", "graders/test_stats.py"):
        (tmp_path / file).parent.mkdir()
        (tmp_path / file).write_text("")
    suites, variants = load([tmp_path / "mine.yaml"], [])
    assert len(suites[0].tasks) == 2
    assert [variant.name for variant in variants.variants] == ["react", "react-window"]


@pytest.mark.parametrize(
    "file", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", *sorted(p.name for p in (ROOT / "docs").glob("*.md"))]
)
def test_links_lead_somewhere(file: str) -> None:
    path = ROOT / file if (ROOT / file).exists() else ROOT / "docs" / file
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (path.parent / target).exists(), target

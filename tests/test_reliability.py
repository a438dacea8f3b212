"""`docs/reliability.md` names a test for each fault: each of them exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", PAGE)))


@pytest.mark.parametrize(("file", "name"), NAMED, ids=[name for _, name in NAMED])
def test_each_test_that_the_page_names_is_there(file: str, name: str) -> None:
    assert re.search(rf"^def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)


def test_each_fault_has_a_test() -> None:
    """A row of a table whose last column is `test` is a fault."""
    tables = [block.splitlines() for block in PAGE.split("\n\n") if block.startswith("| ")]
    faults = [row for head, _, *rows in tables for row in rows if head.endswith("| test |")]
    assert len(faults) >= 80
    assert [row for row in faults if "::test_" not in row] == []

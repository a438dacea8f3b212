"""`docs/reliability.md` names a test for each fault: each of them exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and "---" not in line]
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", PAGE)))


@pytest.mark.parametrize(("file", "name"), NAMED, ids=[name for _, name in NAMED])
def test_each_test_that_the_page_names_is_there(file: str, name: str) -> None:
    assert re.search(rf"^def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)


def test_each_fault_has_a_test() -> None:
    """A row of three cells is a fault, but for the heads of the tables and the levels of the sandbox."""
    heads = [row for row in ROWS if row.endswith("| test |")]
    levels = [
        row for row in ROWS if row.startswith(("| `auto`", "| `bubblewrap`", "| `require`", "| `none`", "| level"))
    ]
    faults = [row for row in ROWS if row not in heads + levels]
    assert len(faults) >= 80
    assert [row for row in faults if "::test_" not in row] == []

"""Functions that a suite names."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from evalkit.core.errors import ConfigurationError
from evalkit.parts._function import load_function

FILE = """
from dataclasses import dataclass
runs = []
runs.append(1)
@dataclass
class Held:
    number: int = 7
def give(): return Held().number
number = 3
"""


def test_a_file_beside_the_suite_runs_once_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(FILE)
    give = load_function("tools.py:give", tmp_path)
    assert give() == 7
    assert load_function("tools.py:Held", tmp_path)().number == 7
    assert sys.modules[give.__module__].runs == [1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tools.py"]


def test_two_suites_may_have_files_of_one_name(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "tools.py").write_text(f"def give(): return {name!r}")
    assert [load_function("tools.py:give", tmp_path / name)() for name in ("a", "b")] == ["a", "b"]


def test_a_module_is_imported_by_its_name(tmp_path: Path) -> None:
    assert load_function("os.path:basename", tmp_path)("a/b") == "b"


@pytest.mark.parametrize(
    "written", ["tools.py", ":x", "tools.py:", "none.py:x", "tools.py:none", "tools.py:number", "no_such_m:x"]
)
def test_what_names_no_function_is_a_mistake_in_the_suite(tmp_path: Path, written: str) -> None:
    (tmp_path / "tools.py").write_text(FILE)
    with pytest.raises(ConfigurationError, match=re.escape(written)):
        load_function(written, tmp_path)


def test_a_file_that_breaks_is_run_again_when_it_is_mended(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text("1 / 0")
    with pytest.raises(ZeroDivisionError):
        load_function("tools.py:give", tmp_path)
    (tmp_path / "tools.py").write_text("def give(): return 1")
    assert load_function("tools.py:give", tmp_path)() == 1

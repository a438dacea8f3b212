"""What pytest's own record says of the tests that had to pass.

Invariant: a test counts as passed only where the record names it and notes no failure, error or skip for it. The record is written while
the code under test runs, so it is bounded, and its XML may declare nothing.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

LARGEST = 20_000_000
NOT_PASSED = ("failure", "error", "skipped")


def missing(record: Path, expected: tuple[str, ...]) -> str:
    """Say which expected tests (`tests/test_a.py::TestB::test_c`) the record does not show as passed; empty where all passed."""
    try:
        data = record.read_bytes() if record.stat().st_size <= LARGEST else b""
        if not data or b"<!" in data.replace(b"<![CDATA[", b""):
            return "pytest's record is empty, too large or no plain XML"
        root = ET.fromstring(data)  # noqa: S314  # it is bounded and declares no entities, which is what makes XML dangerous
    except FileNotFoundError:
        return "pytest left no record: it did not run to its end"
    except ET.ParseError as error:
        return f"pytest's record is damaged: {error}"
    seen: dict[tuple[str, str], bool] = {}
    for case in root.iter("testcase"):
        key = (case.get("classname", ""), case.get("name", ""))
        passes = all(case.find(kind) is None for kind in NOT_PASSED)
        seen[key] = seen.get(key, True) and passes
    absent = [one for one in expected if names(one) not in seen]
    failing = [one for one in expected if seen.get(names(one)) is False]
    told = [
        f"{label}: {', '.join(tests[:10])}" for label, tests in (("not run", absent), ("not passed", failing)) if tests
    ]
    return "; ".join(told)


def names(test: str) -> tuple[str, str]:
    """A test's id as the record splits it: the module with its classes, and the function with its parameters."""
    head, bracket, parameters = test.partition("[")
    path, *inner = head.split("::")
    module = path.removesuffix(".py").replace("/", ".")
    return ".".join((module, *inner[:-1])), (inner[-1] if inner else "") + bracket + parameters

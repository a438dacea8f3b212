"""Whatever a file holds, an importer gives trials or a sentence: never another exception, never a message that moves a cursor."""

from __future__ import annotations

import copy
import json
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from importer_files import (
    harbor_trial,
    importer,
    inspect_header,
    inspect_sample,
    old_trial,
    promptfoo_output,
    promptfoo_result,
    tau2_results,
    tau2_simulation,
    tau_row,
    zipped,
)

from evalkit import parts
from evalkit.core.errors import ConfigurationError
from evalkit.parts.importers._rows import Header, Imported, Note

SMALL = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(10**40), 10**40)
    | st.floats()
    | st.text(max_size=6)
    | st.sampled_from(
        ["\x1b[2J", "\u202e", "=1+1", "\ud800", "\x00", "a" * 5000, "2025-01-01T00:00:00", "9999-12-31T23:59:59-23:59"]
    )
)
ANY = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)

FILES: dict[str, Any] = {
    "tau_bench": [tau_row(0, 0), tau_row(0, 1, 0.0)],
    "tau2_bench": tau2_results([tau2_simulation("a", 0), tau2_simulation("b", 1, None, termination_reason="timeout")]),
    "inspect_log": {
        **inspect_header(),
        "samples": [inspect_sample(1, 1), inspect_sample("x", 2, error={"message": "m"})],
    },
    "promptfoo": promptfoo_output([promptfoo_result(0), promptfoo_result(1, success=False)]),
    "harbor": harbor_trial(exception_info={"exception_type": "X", "exception_message": "m"}),
    "jsonl": [
        {"task_id": "a", "trial": 1, "passed": True, "turns": 3, "usd": 0.5, "stop": "x", "error": None, "input": "i"}
    ],
}
FORMATS = sorted(FILES)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value inside a value."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from places(one, (*path, key))


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """A value with another one at a path."""
    if not path:
        return new
    value = copy.deepcopy(value)
    inner = value
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = new
    return value


def texts(value: Any) -> Iterator[str]:
    """All text inside a value."""
    if isinstance(value, str):
        yield value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ():
        yield from texts(one)


def survives(kind: str, path: Path, **options: Any) -> None:
    """Read a file, and try to recognise it as every format."""
    for other in parts.kinds("importers"):
        assert isinstance(importer(other).recognise(path), str)
    said = ""
    try:
        for item in importer(kind, **options).read(path):
            assert isinstance(item, (Imported, Header, Note))
            for text in texts(asdict(item)):
                text.encode()
    except ConfigurationError as error:
        said = str(error)
    assert all(character.isprintable() or character == "\n" for character in said)
    assert len(said) < 5000


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder for the files of this module."""
    path = Path(tempfile.mkdtemp(prefix="evalkit-fuzz-"))
    yield path
    shutil.rmtree(path)


@pytest.mark.parametrize("kind", FORMATS)
@SMALL
@given(data=st.data())
def test_a_file_with_a_strange_value_somewhere(kind: str, folder: Path, data: st.DataObject) -> None:
    value = FILES[kind]
    for _ in range(data.draw(st.integers(1, 3))):
        value = changed(value, data.draw(st.sampled_from(list(places(value)))), data.draw(ANY))
    path = folder / "a.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    survives(kind, path, **({"scorer": "match"} if kind == "inspect_log" and data.draw(st.booleans()) else {}))


@pytest.mark.parametrize("kind", FORMATS)
@SMALL
@given(data=st.data())
def test_a_file_that_is_cut_or_damaged(kind: str, folder: Path, data: st.DataObject) -> None:
    text = bytearray(json.dumps(FILES[kind], indent=data.draw(st.sampled_from([None, 1]))).encode())
    for _ in range(data.draw(st.integers(0, 3))):
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.integers(0, 255))
    path = folder / "a.json"
    path.write_bytes(bytes(text[: data.draw(st.integers(0, len(text)))]))
    survives(kind, path)


@pytest.mark.parametrize("kind", parts.kinds("importers"))
@pytest.mark.parametrize("name", ["a.json", "a.csv", "a.jsonl.gz", "a.eval", "a"])
@settings(max_examples=15, deadline=None)
@given(
    data=st.binary(max_size=200)
    | st.sampled_from([b"", b"PK\x03\x04", b"\x1f\x8b\x08", b"[", b"{", b"\xef\xbb\xbf", b'"'])
)
def test_any_bytes(kind: str, name: str, folder: Path, data: bytes) -> None:
    path = folder / name
    path.write_bytes(data)
    survives(kind, path)


@SMALL
@given(data=st.data())
def test_an_archive_with_strange_members(folder: Path, data: st.DataObject) -> None:
    head, sample = inspect_header(), inspect_sample()
    head = changed(head, data.draw(st.sampled_from(list(places(head)))), data.draw(ANY))
    sample = changed(sample, data.draw(st.sampled_from(list(places(sample)))), data.draw(ANY))
    members = {"header.json": json.dumps(head), "samples/1_epoch_1.json": json.dumps(sample)}
    path = zipped(folder / "a.eval", members)
    if data.draw(st.booleans()):
        text = bytearray(path.read_bytes())
        text[data.draw(st.integers(0, len(text) - 1))] ^= data.draw(st.integers(1, 255))
        path.write_bytes(bytes(text))
    survives("inspect_log", path)


@SMALL
@given(data=st.data())
def test_a_folder_with_strange_results(folder: Path, data: st.DataObject) -> None:
    job = folder / "job"
    shutil.rmtree(job, ignore_errors=True)
    rows = [
        harbor_trial(),
        {"results": [old_trial(), old_trial(number=2)]},
        {"n_attempts": 2},
        {"task_ids": ["a"], "n_attempts": 3},
    ]
    names = ["t/result.json", "u/results.json", "config.json", "u/run_metadata.json"]
    for value, name in zip(rows, names, strict=True):
        strange = changed(value, data.draw(st.sampled_from(list(places(value)))), data.draw(ANY))
        (job / name).parent.mkdir(parents=True, exist_ok=True)
        (job / name).write_text(json.dumps(strange), encoding="utf-8")
    survives("harbor", job)


@SMALL
@given(
    rows=st.lists(st.lists(st.text(alphabet='ab,;"\n\r\t\x00=1.0 é', max_size=4), max_size=4), max_size=6),
    head=st.lists(st.sampled_from(["task_id", "passed", "reward", "trial", "turns", "x", ""]), max_size=5),
)
def test_a_table_of_any_cells(folder: Path, rows: list[list[str]], head: list[str]) -> None:
    path = folder / "a.csv"
    path.write_text("\n".join(",".join(row) for row in [head, *rows]), encoding="utf-8", newline="")
    survives("csv", path)

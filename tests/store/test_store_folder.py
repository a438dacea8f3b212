"""Names of run folders, and which one goes on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from store_makers import a_manifest

from evalkit.core.errors import StoreError
from evalkit.store.folder import find_resumable, new_folder, newest, run_folder_name, slug
from evalkit.store.manifest import write
from evalkit.store.redact import Redactor

MARK = "0123456789abcdef"


def a_run(reports: Path, name: str, created: float, fingerprint: str = MARK) -> Path:
    """A folder with a manifest."""
    folder = reports / name
    folder.mkdir(parents=True)
    write(folder, a_manifest(run=name, created=created, fingerprint=fingerprint), Redactor.of({}))
    return folder


def test_a_name_holds_time_suite_and_fingerprint() -> None:
    assert run_folder_name(["Support desk"], MARK, 1_764_555_555.9) == "20251201T021915Z-support-desk-01234567"
    assert run_folder_name(["b", "a", "c"], MARK, 0) == "19700101T000000Z-b-and-2-more-01234567"
    assert run_folder_name([], MARK, 0) == "19700101T000000Z-run-01234567"


@pytest.mark.parametrize(
    "name", ["..", "../../etc", "CON", "a\x00b", "\ud800", "x" * 5000, "", "名前", "a/b", "-rf", " ", "a\nb"]
)
def test_a_hostile_suite_name_makes_a_harmless_folder(name: str) -> None:
    assert re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?", slug(name))


def test_a_new_folder_never_is_an_old_one(tmp_path: Path) -> None:
    first = new_folder(tmp_path, ["s"], MARK, 0)
    first.mkdir()
    second = new_folder(tmp_path, ["s"], MARK, 0)
    second.mkdir()
    assert [path.name for path in (first, second)] == ["19700101T000000Z-s-01234567", "19700101T000000Z-s-2-01234567"]
    assert new_folder(tmp_path, ["s"], MARK, 0).name == "19700101T000000Z-s-3-01234567"


def test_the_newest_run_of_the_same_fingerprint_goes_on(tmp_path: Path) -> None:
    a_run(tmp_path, "b-01234567", 5.0)
    newest = a_run(tmp_path, "a-01234567", 7.0)
    a_run(tmp_path, "c-01234567", 6.0)
    a_run(tmp_path, "d-01234567", 9.0, fingerprint="01234567ffffffff")
    a_run(tmp_path, "e-ffffffff", 9.0, fingerprint="f" * 16)
    assert find_resumable(tmp_path, MARK) == newest


def test_where_there_is_none_none_goes_on(tmp_path: Path) -> None:
    assert find_resumable(tmp_path / "none", MARK) is None
    (tmp_path / "x-01234567").mkdir()
    (tmp_path / "y-01234567").touch()
    assert find_resumable(tmp_path, MARK) is None


def test_an_unreadable_run_is_not_passed_over(tmp_path: Path) -> None:
    folder = a_run(tmp_path, "a-01234567", 7.0)
    (folder / "run.json").write_text("{")
    with pytest.raises(StoreError, match="is damaged"):
        find_resumable(tmp_path, MARK)


def test_the_newest_run_is_the_one_that_was_begun_last(tmp_path: Path) -> None:
    assert newest(tmp_path) is None
    assert newest(tmp_path / "none") is None
    a_run(tmp_path, "zoo", 5.0)
    first = a_run(tmp_path, "20251201T021915Z-s-2-01234567", 1_764_555_555.9)
    assert newest(tmp_path) == first
    a_run(tmp_path, "20251201T021915Z-s-91234567", 1_764_555_555.1)
    assert newest(tmp_path) == first
    last = a_run(tmp_path, "main-run", 1_764_555_556.0)
    assert newest(tmp_path) == last
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    assert newest(tmp_path) == last


@pytest.mark.parametrize("text", ["", "[]", '{"created": 1e400}', '{"created": "x"}', '{"created": null}', "[" * 9999])
def test_a_damaged_run_is_as_new_as_its_file(text: str, tmp_path: Path) -> None:
    a_run(tmp_path, "whole", 5.0)
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    (damaged / "run.json").write_text(text)
    assert newest(tmp_path) == damaged

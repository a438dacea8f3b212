"""Files as streams: plain or gzip, bounded, every fault a sentence."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest
from importer_files import write

from evalkit.core.errors import ConfigurationError
from evalkit.parts.importers._open import FREELY, bare_suffix, head_of, lines, opened


def test_gzip_is_known_by_its_bytes_and_not_by_its_name(tmp_path: Path) -> None:
    packed, plain = tmp_path / "a.json", tmp_path / "b.json.gz"
    packed.write_bytes(gzip.compress(b"hello"))
    plain.write_bytes(b"hello")
    for path in (packed, plain):
        with opened(path) as source:
            assert source.read() == b"hello"


@pytest.mark.parametrize("cut", [3, 15, 40, -9, -1])
def test_a_truncated_gzip_is_a_sentence(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(os.urandom(200))[:cut])
    with pytest.raises(ConfigurationError, match=r"a\.gz: is (cut off|damaged)"), opened(path) as source:
        source.read()


def test_a_damaged_gzip_is_a_sentence(tmp_path: Path) -> None:
    data = bytearray(gzip.compress(b"hello" * 1000))
    data[20] ^= 0xFF
    (tmp_path / "a.gz").write_bytes(bytes(data))
    with pytest.raises(ConfigurationError, match=r"is damaged|cut off"), opened(tmp_path / "a.gz") as source:
        source.read()


def test_a_gzip_bomb_is_refused_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(bytes(2**20)) * (FREELY // 2**20 + 1))
    with opened(path) as source, pytest.raises(ConfigurationError, match=r"MiB, more than its size makes believable"):
        while source.read(2**20):
            pass


def test_a_small_file_may_be_very_regular(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(bytes(2**20)))
    with opened(path) as source:
        assert len(source.read()) == 2**20


def test_what_is_no_file_is_a_sentence(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, message in [
        (tmp_path, "is a folder"),
        (tmp_path / "absent", "cannot be read: No such file"),
        (tmp_path / "pipe", "is no regular file"),
        (Path("/dev/zero"), "is no regular file"),
    ]:
        with pytest.raises(ConfigurationError, match=message):
            opened(path)
        assert head_of(path) == ""


def test_lines_are_numbered_and_bounded(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "\ufeffone\ntwo\r\nthree")
    assert list(lines(path, 10)) == [(1, "one\n"), (2, "two\r\n"), (3, "three")]
    with pytest.raises(ConfigurationError, match=r"a\.txt: line 2: has more than 4 characters"):
        list(lines(path, 4))
    path.write_bytes(b"fine\n\xff\xfe\n")
    with pytest.raises(ConfigurationError, match=r"is no UTF-8 text"):
        list(lines(path, 100))


@pytest.mark.parametrize(
    ("name", "suffix"), [("A.CSV", ".csv"), ("a.b.jsonl.gz", ".jsonl"), ("a", ""), ("a.gz", ""), (".csv", ".csv")]
)
def test_the_ending_of_a_name(name: str, suffix: str) -> None:
    assert bare_suffix(Path(name)) == suffix

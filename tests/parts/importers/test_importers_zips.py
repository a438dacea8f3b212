"""Zip archives of others: bounded, checked, Zstandard too, and nothing of them is ever a path."""

from __future__ import annotations

import sys
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from importer_files import ZSTANDARD, zipped

from evalkit.core.errors import ConfigurationError
from evalkit.parts.importers._open import FREELY
from evalkit.parts.importers._zips import archived

TEXT = b"some text that is long enough to be packed " * 20


def read(path: Path, name: str = "a") -> bytes:
    """A member's bytes."""
    with archived(path) as archive, archive.member(name) as source:
        return source.read()


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_members_are_read_by_any_method_of_the_standard_library(tmp_path: Path, method: int) -> None:
    assert read(zipped(tmp_path / "a.zip", {"a": TEXT, "b": b""}, method)) == TEXT


def test_zstandard_is_read_across_frames(tmp_path: Path) -> None:
    pytest.importorskip("zstandard", reason="the extra `zstd` is not installed")
    path = zipped(tmp_path / "a.zip", {"a": TEXT, "b": b"", "c": TEXT * 500}, ZSTANDARD)
    assert (read(path), read(path, "b"), read(path, "c")) == (TEXT, b"", TEXT * 500)


def test_two_members_are_read_at_once_without_mixing(tmp_path: Path) -> None:
    pytest.importorskip("zstandard", reason="the extra `zstd` is not installed")
    path = zipped(tmp_path / "a.zip", {"a": TEXT * 900, "b": TEXT[::-1] * 900}, ZSTANDARD)
    with archived(path) as archive, archive.member("a") as one, archive.member("b") as other:
        pairs = [(one.read(1000), other.read(1000)) for _ in range(100)]
    assert b"".join(pair[0] for pair in pairs) == (TEXT * 900)[:100_000]
    assert b"".join(pair[1] for pair in pairs) == (TEXT[::-1] * 900)[:100_000]


def test_without_the_package_zstandard_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("zstandard", reason="the extra `zstd` is not installed")
    path = zipped(tmp_path / "a.zip", {"a": TEXT}, ZSTANDARD)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(ConfigurationError, match=r"a\.zip: a: is packed with Zstandard.*install the extra `zstd`"):
        read(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, ZSTANDARD])
def test_damage_inside_a_member_is_a_sentence(tmp_path: Path, method: int) -> None:
    if method == ZSTANDARD:
        pytest.importorskip("zstandard", reason="the extra `zstd` is not installed")
    path = zipped(tmp_path / "a.zip", {"a": bytes(range(256)) * 40}, method)
    data = bytearray(path.read_bytes())
    refused = 0
    for place in range(60, len(data) - 90, 7):
        changed = bytearray(data)
        changed[place] ^= 0x55
        path.write_bytes(bytes(changed))
        with suppress(ConfigurationError):
            refused += 1
            assert read(path) == bytes(range(256)) * 40
            refused -= 1
    assert refused


@pytest.mark.parametrize("cut", [0, 4, 30, 100, -1, -22])
def test_a_truncated_archive_is_a_sentence(tmp_path: Path, cut: int) -> None:
    path = zipped(tmp_path / "a.zip", {"a": TEXT})
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(ConfigurationError, match=r"a\.zip"):
        read(path)


def test_an_encrypted_member_is_a_sentence(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", {"a": TEXT})
    data = bytearray(path.read_bytes())
    data[6] |= 1
    data[data.rfind(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(bytes(data))
    with pytest.raises(ConfigurationError, match=r"encrypted"):
        read(path)


def test_a_member_that_unpacks_to_too_much_is_refused_while_it_is_read(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", {"a": bytes(FREELY + 2**20)})
    with pytest.raises(ConfigurationError, match=r"more than its size makes believable"):
        read(path)


def test_a_zstandard_bomb_that_declares_its_size_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("zstandard", reason="the extra `zstd` is not installed")
    path = zipped(tmp_path / "a.zip", {"a": bytes(FREELY + 2**20)}, ZSTANDARD)
    assert path.stat().st_size < 10_000
    with pytest.raises(ConfigurationError, match=r"more than its size makes believable"):
        read(path)


def test_too_many_members_are_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", {str(number): b"" for number in range(50)})
    with pytest.raises(ConfigurationError, match=r"holds 50 members"), archived(path, most=49):
        pass
    with pytest.raises(ConfigurationError, match=r"its table of contents has 2,390 bytes"), archived(path, table=100):
        pass


def test_names_that_would_lead_elsewhere_are_only_names(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", {"../../evil": b"x", "/etc/evil": b"y", "a": TEXT})
    assert (read(path, "../../evil"), read(path)) == (b"x", TEXT)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.zip"]

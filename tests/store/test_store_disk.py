"""Files are whole or absent, private, and on a disk that keeps its word."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from evalkit.core.errors import StoreError
from evalkit.store.disk import make_file, make_folder, network_type, refuse_network, write_whole


def mode(path: Path) -> int:
    """Permission bits."""
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_is_replaced_whole_and_privately(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    write_whole(path, b"one")
    write_whole(path, b"two")
    assert path.read_bytes() == b"two"
    assert mode(path) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_written_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.mkdir()
    (path / "x").touch()
    with pytest.raises(StoreError, match=r"run\.json: cannot be written"):
        write_whole(path, b"two")
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_is_made_private_and_an_old_one_left_as_it_is(tmp_path: Path) -> None:
    make_folder(tmp_path / "reports" / "run")
    assert mode(tmp_path / "reports" / "run") == 0o700
    (tmp_path / "own").mkdir(mode=0o755)
    make_folder(tmp_path / "own")
    assert mode(tmp_path / "own") == 0o755


def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for name in ("file", "file/below", "x" * 300):
        with pytest.raises(StoreError, match=r"cannot be made.*--out"):
            make_folder(tmp_path / name)


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="cannot be made"):
        make_file(tmp_path / "link")
    assert not (tmp_path / "elsewhere").exists()


TABLE = r"""/dev/sda / ext4 rw 0 0
server:/home {0}/far nfs4 rw 0 0
//server/share {0}/with\040blank cifs rw 0 0
me@host: {0}/far/away/sshfs fuse.sshfs rw 0 0
tmpfs {0}/far/near tmpfs rw 0 0
tmpfs {0}/early/near tmpfs rw 0 0
server:/early {0}/early nfs rw 0 0
broken
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (".", None),
        ("far", "nfs4"),
        ("far/run/deep", "nfs4"),
        ("farther", None),
        ("with blank/run", "cifs"),
        ("far/away/sshfs/run", "fuse.sshfs"),
        ("far/near/run", None),
        ("far/near/../run", "nfs4"),
        ("early/near/run", None),
        ("early/run", "nfs"),
    ],
)
def test_network_file_systems_are_known_by_the_longest_mount_point(tmp_path: Path, path: str, kind: str | None) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(TABLE.format(tmp_path.resolve()))
    assert network_type(tmp_path / path, mounts) == kind


def test_a_network_file_system_is_refused_with_the_reason(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(TABLE.format(tmp_path.resolve()))
    with pytest.raises(StoreError, match=r"network file system \(nfs4\).*--out"):
        refuse_network(tmp_path / "far", mounts)
    refuse_network(tmp_path / "near", mounts)


def test_where_mounts_are_not_told_nothing_is_refused(tmp_path: Path) -> None:
    assert network_type(tmp_path, tmp_path / "none") is None

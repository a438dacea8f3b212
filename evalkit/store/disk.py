"""What the store asks of the file system: private folders, files that are whole or absent, and a disk that keeps its word.

Invariant: whatever the file system refuses reaches a person as a `StoreError` with what, where and how to mend it.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evalkit.core.errors import Problem, StoreError

MOUNTS = Path("/proc/self/mounts")

_DIRECT = {
    "nfs",
    "nfs3",
    "nfs4",
    "cifs",
    "smb",
    "smb2",
    "smb3",
    "smbfs",
    "ncpfs",
    "afs",
    "coda",
    "ceph",
    "glusterfs",
    "lustre",
}
_CLUSTER = {"gpfs", "beegfs", "orangefs", "pvfs2", "gfs2", "ocfs2", "davfs"}
_FUSE = {
    "sshfs",
    "s3fs",
    "gcsfuse",
    "goofys",
    "rclone",
    "mount-s3",
    "glusterfs",
    "ceph",
    "ceph-fuse",
    "blobfuse",
    "blobfuse2",
}
_MORE_FUSE = {"juicefs", "davfs2", "curlftpfs", "smbnetfs", "seaweedfs"}

NETWORK = frozenset(_DIRECT | _CLUSTER | {f"fuse.{name}" for name in _FUSE | _MORE_FUSE})
"""File systems on which locks and shared memory cannot be relied on across machines, by the names that the kernel gives them."""

_OCTAL = re.compile(r"\\([0-7]{3})")


def fault(where: Path | str, what: str, mend: str = "") -> StoreError:
    """Make a `StoreError` that says where, what and how to mend it."""
    return StoreError(str(Problem(where=str(where), what=what, mend=mend)))


@contextmanager
def told(where: Path, what: str, mend: str = "") -> Iterator[None]:
    """Turn an `OSError` of the block into a `StoreError`."""
    try:
        yield
    except OSError as error:
        raise fault(where, f"{what}: {error.strerror or error}", mend) from error


def exists(path: Path) -> bool:
    """Tell whether a path leads to something; False for one that cannot lead anywhere or may not be looked at."""
    return os.path.exists(path)  # noqa: PTH110  # pathlib raises for those


def make_folder(folder: Path) -> None:
    """Make a run's folder for its owner alone (mode 0700); one that exists keeps the mode that it has."""
    with told(folder, "the run's folder cannot be made", "choose another with --out"):
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)


def make_file(path: Path) -> None:
    """Make an empty file for its owner alone (mode 0600) where there is none."""
    with told(path, "cannot be made", "see that the folder can be written to"):
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))


def write_whole(path: Path, data: bytes) -> None:
    """Replace a file so that a reader sees the old one or the new one, whatever happens meanwhile (mode 0600)."""
    with told(path, "cannot be written", "see that there is room and that the folder can be written to"):
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(path)
        finally:
            Path(name).unlink(missing_ok=True)
        folder = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def network_type(path: Path, mounts: Path = MOUNTS) -> str | None:
    """The name of the network file system that a path lies on; None where it lies on none, or where that cannot be known."""
    try:
        table = mounts.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    place, kind, longest = path.resolve(), "", -1
    for line in table.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = Path(_OCTAL.sub(lambda match: chr(int(match[1], 8)), fields[1]))
        if len(point.parts) >= longest and place.is_relative_to(point):
            kind, longest = fields[2], len(point.parts)
    return kind if kind in NETWORK else None


def refuse_network(folder: Path, mounts: Path = MOUNTS) -> None:
    """Raise a `StoreError` where a run would be written over a network."""
    kind = network_type(folder, mounts)
    if kind is not None:
        raise fault(
            folder,
            f"lies on a network file system ({kind}), where a crash or a second machine can damage a run that is being written",
            "write to a local folder with --out and copy it afterwards; reading one from here is fine",
        )

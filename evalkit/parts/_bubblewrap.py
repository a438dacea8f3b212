"""What a sandbox shows, as arguments of bubblewrap: the system's programs, the interpreter that runs evalkit, and the folders given.

Invariant: nothing else is there. Whatever is shown beyond the folders given is read-only; no part of a home, of a suite or of a report is
shown unless the interpreter's own programs and packages lie in it, and then those alone.
"""

from __future__ import annotations

import os
import shutil
import site
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

PROGRAM = "bwrap"
SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64", "libx32", "libexec", "nix/store", "gnu/store")
"""Besides /usr: folders of programs and libraries, links into /usr on most machines."""

SETTINGS = (
    *(
        "alternatives",
        "ca-certificates",
        "ca-certificates.conf",
        "chromium",
        "chromium.d",
        "crypto-policies",
        "debian_version",
    ),
    *("fonts", "gitconfig"),
    *("group", "host.conf", "hosts", "inputrc", "java", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "locale.alias"),
    *("localtime", "magic", "mime.types", "nsswitch.conf", "os-release", "passwd", "perl", "pki", "protocols", "R"),
    *("services", "ssl/certs", "ssl/openssl.cnf", "terminfo", "timezone"),
)
"""Of /etc: what programs look for, and no secret. Folders whose name ends with a version are taken too (`java-17-openjdk`, `python3.11`)."""

KERNEL = ("/proc", "/sys", "/dev")
"""What the kernel shows of the machine and its processes: a sandbox has its own, or none."""

VERSIONED = ("java-*", "python3*", "lua*")
NETWORK = ("resolv.conf",)
OWN = ("bin", "lib", "lib64", "libexec", "include", "share", "etc", "ssl", "pyvenv.cfg")
"""Of an interpreter's folder: a virtual environment may lie in the midst of a project, whose other files are no one's business."""


def arguments(
    folders: Sequence[Path], temporary: Path, read: Sequence[Path], *, network: bool, links: Sequence[Path] = ()
) -> Iterator[str]:
    """The words that start a sandbox, up to the program in it; `links` stay links, so that a program finds what lies beside what they lead to.

    Where two folders lie in one another, the later is seen: so a trial's own folders come last, and /tmp before those in it.
    """
    yield shutil.which(PROGRAM) or PROGRAM
    yield from ("--unshare-user", "--unshare-all", "--die-with-parent", "--as-pid-1", "--cap-drop", "ALL", "--clearenv")
    yield from ("--hostname", "sandbox", "--ro-bind", "/usr", "/usr")
    if network:
        yield "--share-net"
    if forbids_namespaces():
        yield "--disable-userns"
    yield from _system()
    for path in _settings(network=network):
        yield from ("--ro-bind-try", str(path), str(path))
    yield from ("--proc", "/proc", "--dev", "/dev", "--dir", "/run", "--dir", "/var")
    yield from ("--symlink", "../tmp", "/var/tmp", "--bind", str(temporary), "/tmp")  # noqa: S108  # the sandbox's own
    yield from ("--bind", str(temporary), "/dev/shm", "--remount-ro", "/dev")  # noqa: S108  # memory as a folder would be bounded by nothing
    for path in (*interpreter(), *read):
        yield from ("--ro-bind-try", str(path), str(path))
    for path in links:
        yield from ("--symlink", str(path.resolve()), str(path))
    for path in folders:
        yield from ("--bind", str(path), str(path))
    if (
        os.geteuid() == 0
    ):  # to the kernel it is still root who writes to the settings in /proc/sys, whatever else was taken from it
        yield from ("--remount-ro", "/proc")
    yield from ("--remount-ro", "/", "--chdir", "/", "--")


def _system() -> Iterator[str]:
    """The words for the system's own folders beside /usr."""
    for path in (Path("/", name) for name in SYSTEM):
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), str(path))
        elif path.is_dir():
            yield from ("--ro-bind", str(path), str(path))


@cache
def forbids_namespaces() -> bool:
    """Whether namespaces inside can be forbidden here (bubblewrap 0.8 and later): in one of its own, code could mount memory as files, which nothing bounds.

    It is tried once a process: that the program knows the word says little of the machine.
    """
    words = (shutil.which(PROGRAM) or PROGRAM, "--unshare-user", "--disable-userns", "--ro-bind", "/", "/", "/bin/true")
    try:
        return subprocess.run(words, capture_output=True, timeout=20, check=False, env={}, cwd="/").returncode == 0  # noqa: S603  # fixed words
    except (OSError, subprocess.TimeoutExpired):
        return False


def interpreter() -> list[Path]:
    """Where the interpreter that runs evalkit has its programs and packages, besides /usr."""
    roots = {Path(one) for one in (sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix)}
    roots |= {root.resolve() for root in roots}
    found = [root / name for root in sorted(roots) for name in OWN]
    found += [Path(one) for one in sys.path if Path(one).name in ("site-packages", "dist-packages")]
    own = Path(site.getuserbase()) if site.ENABLE_USER_SITE else None
    return [
        path
        for path in found
        if path.is_absolute() and not path.is_relative_to("/usr") and path != own and path.exists()
    ]


def _settings(*, network: bool) -> Iterator[Path]:
    """The files and folders of /etc that are shown."""
    etc = Path("/etc")
    yield from (etc / name for name in (*SETTINGS, *(NETWORK if network else ())))
    for pattern in VERSIONED:
        yield from sorted(etc.glob(pattern))

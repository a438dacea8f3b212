"""A run among keys, end to end: whatever tools, graders, files and faults bring to light, no key is found in what a run leaves."""

from __future__ import annotations

import base64
import itertools
import json
import re
import signal
import sqlite3
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote
from urllib.request import Request as Asking
from urllib.request import urlopen

import pytest
from cli_makers import run, start

from evalkit.cli.main import main
from evalkit.core.errors import ProviderError
from evalkit.core.message import Message, Reply, Request, Text, ToolCall
from evalkit.serve.faults import Faults
from evalkit.serve.messages import MessagesServer

KEYS = {
    "ANTHROPIC_API_KEY": "canary-one-Vw3X9tJm2Rb5Yd8Hn4Lp6",
    "OPENAI_API_KEY": "sk-proj-canary2Zz09Zz09Zz09Zz09Zz09",
    "DB_PASSWORD": 'canary"three/+ä\\Qq7',
    "SOME_VARIABLE_KEY": "canary-four-Gs1Fc0Kx8",
    "DATABASE_URL": "postgres://me:canary-five-Tt6Uu7@db/x",
}
SECRETS = [*list(KEYS.values())[:4], "canary-five-Tt6Uu7"]

SUITE = """\
version: 1
suite: leaky
configs: [config.yaml]
defaults: {trials: 2}
tasks:
  - id: leak
    prompt: Show everything.
    environment: {kind: workspace, folder: box}
    tools:
      - {kind: python, function: "tools.py:show"}
      - {kind: python, function: "tools.py:crash"}
    graders:
      - {kind: python, function: "tools.py:echo"}
      - {kind: command, run: "env; cat notes.txt; echo $ANTHROPIC_API_KEY; false"}
"""
CONFIG = """\
version: 1
variants:
  v:
    provider: {kind: anthropic, model: m, usd_price: {input: 1, output: 1}}
    retries: {model: 8, base: 1ms, longest: 2ms}
    caps: {turns: 20}
    prompt: PROMPT
"""
TOOLS = '''\
import base64, json, os, urllib.parse

def everything():
    plain = "\\n".join(f"{name}={value}" for name, value in os.environ.items())
    pieces = [value[: len(value) // 2] + "\\n    " + value[len(value) // 2 :] for value in os.environ.values()]
    return [plain, json.dumps(dict(os.environ)), repr(dict(os.environ)), *pieces,
            *(base64.b64encode(b"x" * shift + plain.encode()).decode() for shift in range(3)),
            *(urllib.parse.quote(value, safe="") for value in os.environ.values())]

def show() -> str:
    """Show the environment in every dress."""
    return "\\n".join(everything())

def crash() -> str:
    """Crash with it."""
    raise RuntimeError("\\n".join(everything()))

def echo(evidence):
    return False, "\\n".join(everything())[:1900]
'''
NUMBERS = itertools.count(1)


def answer(request: Request, _: str | None) -> Reply:
    """Call one tool after the other, say what they gave, and repeat the file that was read."""
    done = sum(bool(message.results) for message in request.messages)
    calls: list[tuple[str, dict[str, str]]] = [
        ("show", {}), ("crash", {}), ("read_file", {"path": "notes.txt"}), ("run_command", {"command": "env; cat notes.txt"}),
        ("no_such_tool", {"key": KEYS["DB_PASSWORD"]}),
    ]  # fmt: skip
    heard = "\n".join(result.content for message in request.messages for result in message.results) or "nothing yet"
    if done < len(calls):
        name, given = calls[done]
        call = ToolCall(id=f"toolu_{next(NUMBERS)}", name=name, input=given)
        return Reply(message=Message(role="assistant", content=(Text(text=heard), call)), stop_reason="tool_use")
    return Reply(message=Message(role="assistant", content=(Text(text=heard),)), stop_reason="end_turn")


def refusing(status: int) -> object:
    """An answer that refuses and quotes the keys while it does."""

    def refuse(request: Request, _: str | None) -> Reply:
        raise ProviderError(
            f"no: {' '.join(KEYS.values())} {base64.b64encode(SECRETS[0].encode()).decode()}", status=status
        )

    return refuse


def layers(data: bytes) -> Iterator[bytes]:
    """Bytes as they are and, where they hold packed pieces, those unpacked."""
    yield data
    for found in re.findall(rb"[A-Za-z0-9+/=]{64,}", data):
        for wbits in (zlib.MAX_WBITS, -zlib.MAX_WBITS, zlib.MAX_WBITS | 16):
            try:
                yield zlib.decompress(base64.b64decode(found + b"=" * (-len(found) % 4)), wbits)
            except (ValueError, zlib.error):
                continue


def left_by(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Everything that a run left on disk, unpacked."""
    for path in folder.rglob("*"):
        if path.is_file():
            yield from ((path.name, layer) for layer in layers(path.read_bytes()))
    with sqlite3.connect(folder / "trials.sqlite") as connection:
        for head, text in connection.execute("select head, text from body"):
            for part in (head, text):
                raw = part if isinstance(part, bytes) else str(part).encode()
                for wbits in (zlib.MAX_WBITS, -zlib.MAX_WBITS):
                    try:
                        yield "a trace", zlib.decompress(raw, wbits)
                    except zlib.error:
                        continue
                yield "a trace", raw


def forms(secret: str) -> Iterator[bytes]:
    """How a key may stand somewhere, the ends of base64 left out that hang on what stands beside it; and its own ends alone."""
    yield secret.encode()
    yield secret.encode("ascii", "backslashreplace")
    yield quote(secret, safe="").encode()
    yield secret.replace("\\", "\\\\").replace('"', '\\"').encode()
    for shift in range(3):
        yield base64.b64encode(b"x" * shift + secret.encode())[4:-4]
    for half in (secret[: len(secret) // 2], secret[len(secret) // 2 :]):
        yield half.encode()
        yield json.dumps(half)[1:-1].encode()


def assert_clean(where: str, data: bytes) -> None:
    for secret, form in ((one, form) for one in SECRETS for form in forms(one)):
        assert form not in data, f"{secret} as {form!r} in {where}: …{data[max(0, data.find(form) - 80) :][:200]!r}"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the leaky suite, in an environment full of keys."""
    (tmp_path / "suite.yaml").write_text(SUITE)
    (tmp_path / "config.yaml").write_text(CONFIG.replace("PROMPT", f"The key is {SECRETS[0]}."))
    (tmp_path / "tools.py").write_text(TOOLS)
    (tmp_path / "box").mkdir()
    (tmp_path / "box" / "notes.txt").write_text("\n".join(KEYS.values()))
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_against(url: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> bytes:
    """Run the suite and every command that shows a run; give all that was printed."""
    monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
    for words in (
        ("run", "suite.yaml", "-o", "out", "--junit", "out/junit.xml", "--retries", "1"),
        ("show", "out", "leak", "1"),
        ("show", "out", "leak", "1", "--json"),
        ("export", "out", "--events", "--format", "jsonl"),
        ("export", "out", "--replies"),
        ("export", "out", "--format", "csv"),
        ("show", "out", "--json"),
    ):
        main(list(words))
    return "\n".join(capfd.readouterr()).encode()


def test_no_key_is_left_of_a_run_whose_tools_graders_and_files_show_them_all(
    here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    storm = Faults(rate_limit=0.1, overloaded=0.1, cut_body=0.1, html_200=0.1, wrong_shape_200=0.1, retry_after=0.0)
    with MessagesServer(answer, storm) as server:
        printed = run_against(server.url, monkeypatch, capfd)
    found = [("the terminal", printed), *left_by(here / "out")]
    names = {name for name, _ in found}
    assert {"run.json", "report.html", "trials.jsonl", "replies.jsonl", "junit.xml", "trials.csv", "a trace"} <= names
    assert any(name == "a trace" and b"[redacted]" in data and b"no_such_tool" in data for name, data in found)
    assert any(name == "report.html" and b"no_such_tool" in data for name, data in found)
    for name, data in found:
        assert_clean(name, data)


@pytest.mark.parametrize("status", [401, 500])
def test_no_key_is_left_of_a_server_that_quotes_them(
    status: int, here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with MessagesServer(refusing(status)) as server:  # type: ignore[arg-type]  # a function of the right shape
        printed = run_against(server.url, monkeypatch, capfd)
    assert f"HTTP {status}".encode() in printed
    for name, data in [("the terminal", printed), *left_by(here / "out")]:
        assert_clean(name, data)


OWN_SUITE = """\
version: 1
suite: own
configs: [config.yaml]
tasks:
  - {id: leak, prompt: Show everything., environment: {kind: workspace, folder: box}, graders: [{kind: contains, text: nothing}]}
"""
OWN_CONFIG = """\
version: 1
common: {caps: {seconds: 60s}}
vary: [/loop]
variants:
  line: {loop: {kind: command, run: "env; env >&2; env > left; exit 3", env: [NAMES]}}
  says: {loop: {kind: python, agent: "agents.py:says", env: [NAMES]}}
  dies: {loop: {kind: python, agent: "agents.py:dies", env: [NAMES]}}
  hangs: {loop: {kind: python, agent: "agents.py:hangs", env: [NAMES]}}
"""
AGENTS = (
    TOOLS
    + """
import pathlib, time

def says(task, session):
    print("\\n".join(everything()))
    return "\\n".join(everything())

def dies(task, session):
    pathlib.Path("note").write_text(os.environ["DB_PASSWORD"])
    raise RuntimeError("\\n".join(everything()))

def hangs(task, session):
    print("\\n".join(everything()), flush=True)
    pathlib.Path(BEGUN).touch()
    time.sleep(60)
"""
)


def own_agents(here: Path) -> None:
    """Agents of one's own in the place of the leaky suite: each is given every key by name and shows them all."""
    (here / "suite.yaml").write_text(OWN_SUITE)
    (here / "config.yaml").write_text(OWN_CONFIG.replace("NAMES", ", ".join(KEYS)))
    (here / "agents.py").write_text(AGENTS.replace("BEGUN", repr(str(here / "begun"))))


def test_no_key_is_left_of_agents_that_are_given_them(
    here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Nor of what a workflow on GitHub is told of the run."""
    own_agents(here)
    told = {"GITHUB_STEP_SUMMARY": here / "summary.md", "GITHUB_OUTPUT": here / "output"}
    for name, path in told.items():
        monkeypatch.setenv(name, str(path))
    only = [word for name in ("line", "says", "dies") for word in ("--variant", name)]
    for words in (
        ("run", "suite.yaml", "-o", "out", "-n", "1", *only, "--github", "--junit", "out/junit.xml"),
        ("doctor", "out"),
        ("show", "out", "leak", "1", "--variant", "says"),
        ("show", "out", "--json"),
        *(("export", "out", "--format", kind) for kind in ("csv", "jsonl", "parquet")),
        ("export", "out", "--events", "--format", "jsonl"),
        ("report", "out"),
    ):
        main(list(words))
    found = [("the terminal", "\n".join(capfd.readouterr()).encode()), *left_by(here / "out")]
    found += [(name, path.read_bytes()) for name, path in told.items()]
    assert {"run.json", "report.html", "trials.jsonl", "junit.xml", "trials.csv", "trials.parquet"} <= {
        name for name, _ in found
    }
    assert all(data for name, data in found if name in told)
    shown = b"".join(data for name, data in found if name == "a trace")
    assert shown.count(b"[redacted]") >= 3
    for name, data in found:
        assert_clean(name, data)


def test_no_key_is_left_of_a_run_that_was_killed(here: Path) -> None:
    """Nor of what looks at it afterwards; the file beside the database, with what was not yet put in, counts too."""
    own_agents(here)
    process = start("run", "suite.yaml", "-o", "out", "-n", "1", "-j", "1", folder=here)
    for _ in range(1_500):
        if (here / "begun").exists():
            break
        time.sleep(0.02)
    process.kill()
    printed = "".join(process.communicate())
    left = [(path.name, path.read_bytes()) for path in (here / "out").rglob("*") if path.is_file()]
    for words in (("doctor", "out"), ("show", "out", "--json"), ("report", "out"), ("export", "out", "--events")):
        done = run(*words, folder=here)
        printed += done.stdout + done.stderr
    assert (here / "begun").exists()
    for name, data in [("the terminal", printed.encode()), *left, *left_by(here / "out")]:
        assert_clean(name, data)


def test_a_served_model_says_nothing_of_who_asks(here: Path) -> None:
    """Neither a key in a header nor one in a path or body is written anywhere."""
    (here / "suite.yaml").write_text(OWN_SUITE.replace("graders:", "simulate: {steps: [], answer: a}, graders:"))
    process = start("serve-sim", "suite.yaml", folder=here)
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    body = {"model": SECRETS[0], "max_tokens": 9, "messages": [{"role": "user", "content": SECRETS[1]}]}
    headers = {"x-api-key": SECRETS[0], "authorization": f"Bearer {SECRETS[1]}", "content-type": "application/json"}
    for path, data in (
        ("/v1/messages", json.dumps(body).encode()),
        (f"/{quote(SECRETS[0])}", b"{}"),
        ("/v1/messages", b"{"),
    ):
        with suppress(OSError):
            urlopen(Asking(url + path, data=data, headers=headers), timeout=20).close()  # noqa: S310  # a server of our own
    process.send_signal(signal.SIGINT)
    told = "".join(process.communicate(timeout=30))
    assert "ANTHROPIC_BASE_URL" in told
    assert_clean("the log", told.encode())

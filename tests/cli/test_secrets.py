"""A run among keys, end to end: whatever tools, graders, files and faults bring to light, no key is found in what a run leaves."""

from __future__ import annotations

import base64
import itertools
import re
import sqlite3
import zlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

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
    yield secret[: len(secret) // 2].encode()
    yield secret[len(secret) // 2 :].encode()


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

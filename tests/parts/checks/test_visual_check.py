"""The check that pictures a page: what it decides, and what a hostile page can do to it, which is nothing but fail."""

from __future__ import annotations

import base64
import io
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from evidence_makers import evidence, judge
from PIL import Image, ImageDraw

from evalkit.core.errors import GraderBroke
from evalkit.core.message import Message, Picture, Request
from evalkit.core.plan import Task
from evalkit.core.protocols import CheckResult, Evidence
from evalkit.core.sandbox import PLAIN, Sandbox
from evalkit.engine.grading import WorldEvidence
from evalkit.engine.ground import TrialGround
from evalkit.parts import faults
from evalkit.parts._sandbox import probe
from evalkit.parts.providers.scripted import Line, Scripted, ScriptedProvider

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")

GREEN = "<!doctype html><body style='margin:0;background:#080'>"
BOX = """<!doctype html><link rel=stylesheet href="{css}"><div></div>"""
STYLE = "body {{ margin: 0 }} div {{ position: absolute; left: 40px; top: 30px; width: {width}px; height: 50px; background: #c03 }}"
TURN_GREEN = "document.documentElement.innerHTML = ''; document.documentElement.style.background = '#080';"

Ask = Callable[..., CheckResult]


@pytest.fixture
def ask(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Ask]:
    """Ask about the page of a workspace; references are a box on white, and all green."""
    box = Image.new("RGB", (200, 120), "white")
    ImageDraw.Draw(box).rectangle((40, 30, 139, 79), fill="#cc0033")
    box.save(tmp_path / "box.png")
    Image.new("RGB", (200, 120), "#008800").save(tmp_path / "green.png")
    (tmp_path / "broken.png").write_text("no picture")
    with TrialGround(tmp_path, getattr(request, "param", PLAIN)) as ground:

        def asked(files: dict[str, str], /, **options: Any) -> CheckResult:
            given = evidence(ground, environment={"kind": "workspace", "files": files})
            return judge("visual", given, **{"page": "index.html", "reference": "green.png"} | options)

        yield asked
    assert leftovers() == []


def leftovers() -> list[str]:
    """Browsers whose check is over."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().decode("utf-8", "replace")
        except OSError:
            continue
        folder = re.search(r"(?<=[\0=])/[^\0=]*?/evalkit-visual-\w+", words)
        if folder is not None and not Path(folder[0]).exists():
            found.append(words)
    return found


@pytest.mark.browser
@needs_browser
def test_a_page_that_looks_like_the_reference_passes(ask: Ask) -> None:
    pages = {"index.html": BOX.format(css="css/a.css"), "css/a.css": STYLE.format(width=100)}
    result = ask(pages, reference="box.png", tolerance=0.0, threshold=0)
    assert (result.verdict, "0 of 24,000 pixels differ" in result.reason) == ("pass", True)


@pytest.mark.browser
@needs_browser
def test_one_that_does_not_fails_and_says_how_much_and_where(ask: Ask) -> None:
    pages = {"sub dir/index.html": BOX.format(css="/css/a.css"), "css/a.css": STYLE.format(width=103)}
    result = ask(pages, page="sub dir/index.html", reference="box.png")
    assert result.verdict == "fail"
    assert "sub dir/index.html: 150 of 24,000 pixels differ from box.png (0.6250%, 0.1000% may)" in result.reason
    assert "within 3 × 50 pixels that begin 140 from the left and 30 from the top" in result.reason
    assert ask(pages, page="sub dir/index.html", reference="box.png", tolerance=0.00625).verdict == "pass"


MODULES = """<script type=module src=a.mjs></script><img src=none.png><script src=none.js></script><link rel=stylesheet href=//cdn.invalid/a.css>"""
MOVING = """<style>@keyframes fade { to { opacity: 0 } } p { height: 90px; background: red; animation: fade 1s 9s forwards }</style><p>"""
WINDOWS = """<script>alert(1); confirm(2); prompt(3); print(); if (![..."0123456789"].some(() => open('/'))) { LAST }</script>"""
MEMORY = """<script>const kept = []; try { while (kept.length < 12) kept.push(new ArrayBuffer(1e9)) } catch { LAST }</script>"""
PAGES = {
    "modules, and files that are missing": {
        "index.html": MODULES,
        "a.mjs": f"import {{ go }} from './b.mjs'; if (go) {{ {TURN_GREEN} }}",
        "b.mjs": "export const go = true",
    },
    "an animation on 100,000 pixels": {"index.html": f"{GREEN}<div style='height:100000px;width:100000px'>{MOVING}"},
    "dialogs and windows": {"index.html": WINDOWS.replace("LAST", TURN_GREEN)},
    "twelve gigabytes": {"index.html": MEMORY.replace("LAST", TURN_GREEN)},
}


@pytest.mark.browser
@needs_browser
@pytest.mark.parametrize("files", PAGES.values(), ids=PAGES)
def test_a_page_may_do_this_and_the_picture_is_made(ask: Ask, files: dict[str, str]) -> None:
    result = ask(files)
    assert result.verdict == "pass", result.reason


ENDLESS = {
    "a script": "for (;;);",
    "a script later on": "addEventListener('load', () => setTimeout(() => { for (;;); }))",
    "frames": "for (;;) document.body.append(document.createElement('iframe'))",
    "loading": "const more = () => { const it = new Image(); it.onerror = more; it.src = 'x' + Math.random() }; more()",
}


@pytest.mark.browser
@needs_browser
@pytest.mark.parametrize("script", ENDLESS.values(), ids=ENDLESS)
def test_a_page_that_does_not_come_to_rest_fails(ask: Ask, script: str) -> None:
    result = ask({"index.html": f"{GREEN}<script>{script}</script>"}, timeout="2s")
    assert result.verdict == "fail"
    assert re.match(r"index\.html: it (did not come to rest within 2 seconds|cannot be shown)", result.reason)


class Ear:
    """Listens on loopback; `heard` is whatever came."""

    def __init__(self) -> None:
        """Open a port of TCP and one of UDP."""
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 0))
        self.heard: list[str] = []
        for listen in (self._connections, self._packets):
            threading.Thread(target=listen, daemon=True).start()

    @property
    def ports(self) -> dict[str, str]:
        """Both ports, as a page names them."""
        return {"AT_TCP": f"127.0.0.1:{self.tcp.getsockname()[1]}", "AT_UDP": f"127.0.0.1:{self.udp.getsockname()[1]}"}

    def _connections(self) -> None:
        while True:
            try:
                connection, _ = self.tcp.accept()
            except OSError:
                return
            self.heard.append("a connection")
            connection.close()

    def _packets(self) -> None:
        while True:
            try:
                self.udp.recvfrom(100)
            except OSError:
                return
            self.heard.append("a packet")


@pytest.fixture
def ear() -> Iterator[Ear]:
    """An ear."""
    listening = Ear()
    yield listening
    listening.tcp.close()
    listening.udp.close()


@pytest.mark.browser
@needs_browser
def test_a_page_that_goes_elsewhere_gets_nowhere_and_fails(ask: Ask, ear: Ear) -> None:
    result = ask({"index.html": f"{GREEN}<script>location = 'http://{ear.ports['AT_TCP']}/'</script>"})
    assert ear.heard == []
    assert result.verdict == "fail", result.reason


CALLS_OUT = """<!doctype html><link rel=preconnect href=http://AT_TCP><link rel=dns-prefetch href=http://AT_TCP><link rel=prefetch href=http://AT_TCP/a>
<link rel=stylesheet href=http://AT_TCP/b><script type=speculationrules>{"prerender":[{"source":"list","urls":["http://AT_TCP/c"]}]}</script>
<img src=http://AT_TCP/d><iframe src=http://AT_TCP/e></iframe><object data=http://AT_TCP/f></object>
<a id=ping ping=http://AT_TCP/g href=#h>x</a><form id=form action=http://AT_TCP/i method=post target=_blank></form>
<script>
const ways = [
  () => fetch('http://AT_TCP/k', {mode: 'no-cors'}).catch(() => 0), () => navigator.sendBeacon('http://AT_TCP/l', 'x'),
  () => new WebSocket('ws://AT_TCP/m'), () => new EventSource('http://AT_TCP/n'), () => new WebTransport('https://AT_UDP/o'),
  () => new Worker(URL.createObjectURL(new Blob(["new WebSocket('ws://AT_TCP/p'); importScripts('http://AT_TCP/q')"]))),
  () => new SharedWorker(URL.createObjectURL(new Blob(["new WebSocket('ws://AT_TCP/r'); fetch('http://AT_TCP/s', {mode: 'no-cors'})"]))),
  () => open('http://AT_TCP/t'), () => document.getElementById('ping').click(), () => document.getElementById('form').submit(),
  () => { const it = document.createElement('a'); it.href = '/u'; it.download = 'v'; it.click() },
  () => { const it = document.createElement('iframe'); document.body.append(it); new it.contentWindow.WebSocket('ws://AT_TCP/w') },
  () => { const peer = new RTCPeerConnection({iceServers: [{urls: 'stun:AT_UDP'}, {urls: 'turn:AT_TCP?transport=tcp', username: 'a', credential: 'b'}]});
          peer.createDataChannel('x'); peer.createOffer().then((offer) => peer.setLocalDescription(offer)) },
];
for (const way of ways) { try { way() } catch {} }
const until = performance.now() + 1500;
const hold = () => { if (performance.now() > until) { LAST } else { const it = new Image(); it.onerror = hold; it.src = '/none?' + Math.random() } };
hold();
</script>"""
"""A page that tries every way out, then holds its loading up for a while so that each has the time to arrive, and turns green."""


@pytest.mark.browser
@needs_browser
def test_a_page_reaches_no_network(ask: Ask, ear: Ear) -> None:
    page = CALLS_OUT.replace("LAST", TURN_GREEN)
    for name, port in ear.ports.items():
        page = page.replace(name, port)
    result = ask({"index.html": page})
    assert ear.heard == []
    assert result.verdict == "pass", result.reason


READS = """<!doctype html><body style="margin:0"><script>
const read = (url) => { const it = new XMLHttpRequest(); it.open('GET', url, false); try { it.send(); return it.responseText } catch { return '' } };
const told = ['/secret.txt', '/../secret.txt', '/%2e%2e/secret.txt', '/..%2fsecret.txt', '/%2fSECRET', 'file://SECRET', 'view-source:file://SECRET',
  '/out.txt', '/out/secret.txt', '/index.html%00', '/.'].map(read);
if (told.every((text) => text === '') && read('/inside.txt') === 'inside') { LAST }
</script><iframe src="file://SECRET" style="position:absolute;left:0;top:0;width:200px;height:120px;border:0"></iframe>
<script>open('file://SECRET'); document.querySelector('iframe').contentWindow.location = 'file://SECRET'</script>"""


@pytest.mark.browser
@needs_browser
def test_a_page_reads_no_file_but_its_own(tmp_path: Path) -> None:
    from evalkit.parts.checks.visual import Visual  # noqa: PLC0415  # the part itself, for a folder made by hand

    secret = tmp_path / "secret.txt"
    secret.write_text("root:x:0:0 secret")
    Image.new("RGB", (200, 120), "#008800").save(tmp_path / "green.png")
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "inside.txt").write_text("inside")
    (copy / "out.txt").symlink_to(secret)
    (copy / "out").symlink_to(tmp_path)
    page = READS.replace("SECRET", str(secret)).replace("LAST", TURN_GREEN)
    (copy / "index.html").write_text(page)

    class Given:
        """Evidence that is a folder as it stands, links that lead out of it and all."""

        task = Task(suite="s", id="t", prompt="p", graders=(), base=str(tmp_path))
        sandbox = PLAIN

        def copy(self) -> Path:
            """Give the folder."""
            return copy

    result = Visual(page="index.html", reference="green.png").judge(cast("Evidence", Given()))
    assert result.verdict == "pass", result.reason


def test_a_page_that_is_not_there_fails_without_a_browser(ask: Ask) -> None:
    result = ask({"a.html": GREEN})
    assert (result.verdict, "there is no index.html" in result.reason) == ("fail", True)
    assert ask({"index.html/a": ""}).verdict == "fail"


@pytest.mark.parametrize(("reference", "words"), [("broken.png", "no PNG file"), ("none.png", "No such file")])
def test_a_reference_that_is_none_breaks_the_check(ask: Ask, reference: str, words: str) -> None:
    with pytest.raises(GraderBroke, match=f"{reference} cannot be used: .*{words}"):
        ask({"index.html": GREEN}, reference=reference)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"page": "../a.html"}, "leads upwards"),
        ({"page": "/a.html"}, "not relative"),
        ({"page": "."}, "is no page"),
        ({"page": "a.png"}, "is no page"),
        ({"tolerance": 1}, "less than 1"),
        ({"tolerance": -0.1}, "greater than or equal to 0"),
        ({"threshold": 255}, "less than or equal to 254"),
        ({"timeout": 20}, "wants a unit"),
        ({"reference": None}, "nothing says how the page should look"),
        ({"reference": None, "rubric": " "}, "nothing says how the page should look"),
        ({"width": 100}, "those of the reference"),
        ({"reference": None, "rubric": "r", "width": 0}, "greater than or equal to 1"),
    ],
)
def test_options_that_cannot_work_are_refused(options: dict[str, Any], words: str) -> None:
    (fault,) = faults("checks", "visual", {"page": "index.html", "reference": "a.png"} | options)
    assert words in f"{fault}"


def looked_at(
    ground: TrialGround, *script: Line, page: str = GREEN, **options: Any
) -> tuple[CheckResult, list[Message]]:
    """Have a page looked at by a model that follows a script; give what it was shown too."""
    model = ScriptedProvider(Scripted(script=script))
    shown: list[Message] = []
    left = evidence(ground, environment={"kind": "workspace", "files": {"index.html": page}})

    def asking(messages: tuple[Message, ...], max_tokens: int) -> Any:
        """Ask the script."""
        shown.extend(messages)
        return model.complete(Request(system="", messages=messages, max_tokens=max_tokens))

    given = WorldEvidence(task=left.task, answer="", transcript=(), world=left.world, ground=ground, asking=asking)
    return judge("visual", given, page="index.html", **options), shown


@pytest.mark.browser
@needs_browser
@pytest.mark.parametrize("verdict", ["pass", "fail", "unknown"])
def test_a_model_that_sees_the_page_decides_by_the_rubric(tmp_path: Path, verdict: str) -> None:
    line = Line(text=f'{{"reason": "it is green", "verdict": "{verdict}"}}')
    with TrialGround(tmp_path) as ground:
        result, (message,) = looked_at(ground, line, rubric="It is green.", width=320, height=200)
    assert (result.verdict, result.reason, result.picture) == (verdict, "index.html, by the rubric: it is green", None)
    (picture,) = [block for block in message.content if isinstance(block, Picture)]
    assert (picture.width, picture.height) == (320, 200)
    assert Image.open(io.BytesIO(base64.b64decode(picture.data))).convert("RGB").getpixel((9, 9)) == (0, 136, 0)
    assert "It is green." in message.text


@pytest.mark.browser
@needs_browser
def test_a_page_that_is_not_like_its_reference_is_shown_and_no_model_is_asked(tmp_path: Path) -> None:
    Image.new("RGB", (40, 30), "#cc0033").save(tmp_path / "red.png")
    with TrialGround(tmp_path) as ground:
        result, shown = looked_at(ground, reference="red.png", rubric="It is red.", show=True)
    assert (result.verdict, shown) == ("fail", [])
    assert result.picture is not None
    assert (result.picture.width, result.picture.height) == (40, 30)


ALONE = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
for name in {without!r}:
    sys.modules[name] = None
from evidence_makers import evidence, judge
from evalkit.engine.ground import TrialGround
with TrialGround(Path({base!r})) as ground:
    given = evidence(ground, environment={{"kind": "workspace", "files": {{"index.html": "x"}}}})
    try:
        judge("visual", given, page="index.html", reference="green.png")
    except Exception as error:
        print(type(error).__name__, error)
"""


@pytest.mark.parametrize(
    ("without", "path", "words"),
    [
        (
            ["playwright"],
            None,
            "visual needs Playwright and Pillow, which the extra brings: pip install -e '.[visual]'",
        ),
        (["PIL"], None, "visual needs Playwright and Pillow"),
        ([], "/none", "visual needs a browser: install Chromium; none of chromium, chromium-browser"),
        ([], "fake", "fake/chromium made no picture"),
    ],
)
def test_what_is_missing_is_named(tmp_path: Path, without: list[str], path: str | None, words: str) -> None:
    Image.new("RGB", (20, 12)).save(tmp_path / "green.png")
    fake = tmp_path / "fake" / "chromium"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\nset > {tmp_path}/seen\nexit 3\n")
    fake.chmod(0o755)
    program = ALONE.format(tests=str(Path(__file__).parent), without=without, base=str(tmp_path))
    variables = (
        os.environ
        | {"SOME_API_KEY": "sk-secret"}
        | ({"PATH": str(fake.parent) if path == "fake" else path} if path else {})
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=variables)
    assert done.stdout.startswith("GraderBroke ")
    assert words in done.stdout
    assert path != "fake" or "sk-secret" not in (tmp_path / "seen").read_text()


def test_naming_the_kind_loads_no_browser_and_no_arrays() -> None:
    program = "from evalkit.parts import faults; import sys; print(faults('checks', 'visual', {'page': 'a.html', 'reference': 'a.png'}), sorted({'playwright', 'PIL', 'numpy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "() []"


@pytest.mark.skipif(bool(probe()), reason=f"no sandbox: {probe()}")
@pytest.mark.parametrize("ask", [Sandbox(kind="bubblewrap")], indirect=True, ids=["held"])
def test_in_a_sandbox_pages_are_pictured_as_without(ask: Ask) -> None:
    assert ask({"index.html": GREEN}).verdict == "pass"

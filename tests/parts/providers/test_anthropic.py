"""The live provider: the real SDK against a real server on loopback, and every fault as the engine gets to see it."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from evalkit.core.errors import ContextOverflow, ProviderError
from evalkit.core.message import Message, Price, Reply, Request, Text, ToolCall, ToolResult, ToolSpec, Usage, user
from evalkit.core.plan import Spec, Task, Trial, TrialKey, Variant
from evalkit.parts import build, faults
from evalkit.parts.providers.anthropic import Anthropic, AnthropicProvider, _client
from evalkit.serve.faults import Faults
from evalkit.serve.messages import MessagesServer

KEY = TrialKey(suite="s", task="t", variant="v", index=1, task_digest="0", variant_digest="0")
TRIAL = Trial(
    key=KEY,
    task=Task(suite="s", id="t", prompt="do it", graders=()),
    variant=Variant(name="v", provider=Spec(kind="anthropic")),
    seed=0xABC,
)
LOOK = ToolSpec(name="look", description="Looks.", input_schema={"type": "object", "properties": {}})
ASK = Request(system="Be brief.", messages=(user("hi"),), seed=0xABC, call=3)


@pytest.fixture(autouse=True)
def no_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Start each test as on a machine without any key."""
    for name in ("API_KEY", "AUTH_TOKEN", "CUSTOM_HEADERS", "BASE_URL", "PROFILE", "CONFIG_DIR", "FEDERATION_RULE_ID"):
        monkeypatch.delenv(f"ANTHROPIC_{name}", raising=False)
    for name in ("HOME", "APPDATA"):
        monkeypatch.setenv(name, str(tmp_path))


class Script:
    """An answering function that gives, or raises, one thing after another and remembers what it was asked."""

    def __init__(self, *lines: Reply | Exception) -> None:
        """Keep the lines; the last one is given again and again."""
        self.lines = list(lines)
        self.asked: list[Request] = []
        self.askers: list[str | None] = []

    def __call__(self, request: Request, user_id: str | None) -> Reply:
        """Give the next line."""
        self.asked.append(request)
        self.askers.append(user_id)
        line = self.lines[min(len(self.asked), len(self.lines)) - 1]
        if isinstance(line, Exception):
            raise line
        return line


def reply(*content: Text | ToolCall, verbatim: Any = None, **changes: Any) -> Reply:
    message = Message(role="assistant", content=content or (Text(text="hello"),), verbatim=verbatim)
    return Reply(
        **{"message": message, "stop_reason": "end_turn", "usage": Usage(input=10, output=5), "model": "m-1", **changes}
    )


def provider(server: MessagesServer | str, **options: Any) -> AnthropicProvider:
    url = server if isinstance(server, str) else server.url
    return Anthropic(**{"model": "claude-sonnet-5-5", "base_url": url, "timeout": 10.0, **options}).open(TRIAL)


@contextmanager
def canned(*bodies: bytes, status: int = 200, headers: dict[str, str] | None = None) -> Iterator[tuple[str, list[Any]]]:
    """Serve given bytes one after another, whatever is asked; yields the URL and what came in: headers and bodies."""
    seen: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            return

        def do_POST(self) -> None:
            seen.append((dict(self.headers), json.loads(self.rfile.read(int(self.headers["content-length"])))))
            body = bodies[min(len(seen), len(bodies)) - 1]
            self.send_response(status)
            for name, value in {"content-length": str(len(body)), **(headers or {})}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", seen
        finally:
            server.shutdown()
            thread.join()


def message_bytes(**changes: Any) -> bytes:
    usage = {"input_tokens": 1, "output_tokens": 1}
    whole = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
    return json.dumps({**whole, "stop_reason": "end_turn", "stop_sequence": None, **changes}).encode()


def fault(server: MessagesServer | str, request: Request = ASK, **options: Any) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        provider(server, **options).complete(request)
    return caught.value


def test_text_comes_back_with_usage_model_and_price() -> None:
    script = Script(reply())
    with MessagesServer(script) as server:
        got = provider(server).complete(ASK)
    assert got == reply(usd=(10 * 2 + 5 * 10) / 1e6, nature="simulated")
    assert script.asked == [Request(system="Be brief.", messages=ASK.messages, seed=0, call=0)]


def test_the_server_gets_the_very_request_that_a_model_in_the_same_process_would() -> None:
    """Law: with `identify` the request on the other side is equal to the one on this side, tools and results included."""
    call = ToolCall(id="c1", name="look", input={"at": [1, {"é": None}]})
    asked = Request(
        system="Be brief.",
        messages=(
            user("hi"),
            Message(role="assistant", content=(Text(text="I look."), call, ToolCall(id="c2", name="look", input={}))),
            Message(
                role="user",
                content=(
                    ToolResult(tool_use_id="c1", content="a\nb"),
                    ToolResult(tool_use_id="c2", content="no", is_error=True),
                ),
            ),
            user("two turns are left"),
        ),
        tools=(LOOK,),
        max_tokens=77,
        seed=2**64 - 1,
        call=12,
    )
    script = Script(reply())
    with MessagesServer(script) as server:
        provider(server, identify=True).complete(asked)
    assert script.asked == [asked]
    assert script.askers == ["evalkit-ffffffffffffffff-12"]


def test_a_tool_round_goes_on_with_the_models_own_blocks() -> None:
    call = ToolCall(id="c1", name="look", input={"at": 1})
    blocks = (
        {"type": "thinking", "thinking": "let me see", "signature": "sig=="},
        {"type": "redacted_thinking", "data": "xx"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": 1}},
    )
    script = Script(reply(Text(text="I look."), call, verbatim=blocks, stop_reason="tool_use"), reply())
    with MessagesServer(script) as server:
        trial = provider(server)
        first = trial.complete(Request(system="", messages=(user("hi"),), tools=(LOOK,)))
        assert (first.stop_reason, first.calls, first.text) == ("tool_use", (call,), "I look.")
        result = Message(role="user", content=(ToolResult(tool_use_id="c1", content="a cat"),))
        trial.complete(Request(system="", messages=(user("hi"), first.message, result), tools=(LOOK,)))
    assert script.asked[1].messages == (user("hi"), first.message, result)
    assert script.asked[1].messages[1].verbatim == blocks


@pytest.mark.parametrize(
    "stop",
    ["end_turn", "tool_use", "max_tokens", "stop_sequence", "pause_turn", "refusal", "model_context_window_exceeded"],
)
def test_each_stop_reason_passes_through(stop: Any) -> None:
    with MessagesServer(Script(reply(stop_reason=stop))) as server:
        assert provider(server).complete(ASK).stop_reason == stop


def test_usage_and_dollars_to_the_cent() -> None:
    usage = Usage(input=1_000_000, output=500_000, cache_read=2_000_000, cache_write_5m=400_000, cache_write_1h=100_000)
    with MessagesServer(Script(reply(usage=usage))) as server:
        got = provider(server, model="claude-opus-5-5").complete(ASK)
        free = provider(server, usd_price=Price(input=0, output=0)).complete(ASK)
        unknown = provider(server, model="gemma3").complete(ASK)
    assert got.usage == usage
    assert got.usd == pytest.approx(4.00 + 10.00 + 0.40 + 2.00 + 0.80)
    assert free.usd == 0.0
    assert unknown.usd is None


def test_the_price_is_known_before_the_first_call() -> None:
    listed = Anthropic(model="claude-opus-5-5").price()
    assert listed is not None
    assert listed.output == 20
    assert Anthropic(model="gemma3").price() is None
    own = Price(input=1, output=2)
    assert Anthropic(model="claude-opus-5-5", usd_price=own).price() == own


def test_a_call_that_was_not_billed_as_listed_has_no_known_price() -> None:
    body = message_bytes(usage={"input_tokens": 1, "output_tokens": 1, "speed": "fast"})
    with canned(body) as (url, _):
        assert provider(url).complete(ASK).usd is None
        assert provider(url, usd_price=Price(input=1e6, output=0)).complete(ASK).usd == 1.0


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("rate_limit", 429),
        ("overloaded", 529),
        ("server_error", 500),
        ("cut_body", None),
        ("drop_connection", None),
        ("html_200", 200),
        ("wrong_shape_200", 200),
    ],
)
def test_each_fault_that_passes_is_transient(name: str, status: int | None) -> None:
    chosen: dict[str, Any] = {name: 1.0, "retry_after": 7.0}
    with MessagesServer(Script(reply()), Faults(**chosen)) as server:
        found = fault(server)
    assert (found.transient, found.fatal, found.status) == (True, False, status)
    assert found.retry_after == (7.0 if name == "rate_limit" else None)


def test_one_request_is_one_request_on_the_wire() -> None:
    script = Script(ProviderError("busy", status=529))
    with MessagesServer(script) as server:
        assert fault(server).transient
    assert len(script.asked) == 1


def test_a_slow_answer_is_awaited_for_so_long_and_no_longer() -> None:
    with MessagesServer(Script(reply()), Faults(slow=1.0, slow_seconds=0.05)) as server:
        assert provider(server).complete(ASK).text == "hello"
    with MessagesServer(Script(reply()), Faults(slow=1.0, slow_seconds=60.0)) as server:
        found = fault(server, timeout=0.1)
    assert found.transient
    assert "Timeout" in str(found)


def test_nobody_listening_is_transient() -> None:
    with MessagesServer(Script(reply())) as server:
        url = server.url
    found = fault(url)
    assert found.transient
    assert "refused" in str(found)


@pytest.mark.parametrize(
    ("raised", "transient", "fatal"),
    [
        (ProviderError("bad key", status=401), False, True),
        (ProviderError("not yours", status=403), False, True),
        (ProviderError("model: nope", status=404), False, True),
        (ProviderError("month is full", status=429, fatal=True), False, True),
        (ProviderError("no", status=400), False, False),
        (ProviderError("not made", status=501), False, False),
        (ProviderError("timeout", status=408), True, False),
        (ProviderError("conflict", status=409), True, False),
    ],
)
def test_each_refusal_has_its_meaning(raised: ProviderError, transient: bool, fatal: bool) -> None:
    with MessagesServer(Script(raised)) as server:
        found = fault(server)
    assert (found.transient, found.fatal, found.status) == (transient, fatal, raised.status)
    assert str(raised) in str(found)


def test_an_hours_wait_is_reported_not_slept() -> None:
    with MessagesServer(Script(ProviderError("busy", status=429, retry_after=3600))) as server:
        assert fault(server).retry_after == 3600.0


@pytest.mark.parametrize("raised", [ContextOverflow("9 tokens > 5 maximum"), ProviderError("too large", status=413)])
def test_a_prompt_that_is_too_long_is_a_context_overflow(raised: Exception) -> None:
    with MessagesServer(Script(raised)) as server, pytest.raises(ContextOverflow):
        provider(server).complete(ASK)


def test_an_invalid_history_is_permanent_and_names_the_place() -> None:
    orphan = Message(role="user", content=(ToolResult(tool_use_id="c9", content="x"),))
    with MessagesServer(Script(reply())) as server:
        found = fault(server, Request(system="", messages=(orphan,)))
    assert (found.transient, found.fatal, found.status) == (False, False, 400)
    assert "messages.0" in str(found)


@pytest.mark.parametrize(
    ("body", "transient", "said"),
    [
        (b"", True, "no JSON"),
        (b"<html>oh</html>", True, "no JSON"),
        (b'{"type": "message", ', True, "no JSON"),
        (b"\xff\xfe\x00", True, "no JSON"),
        (b"[" * 100_000, True, "no JSON"),
        (message_bytes(content=[{"type": "text", "text": "x"}]).replace(b'"x"', b"NaN"), True, "no JSON"),
        (b"[]", True, "no message"),
        (message_bytes(stop_reason=None), True, "stop_reason"),
        (message_bytes(usage={}), True, "usage"),
        (message_bytes(stop_reason="out_of_patience"), False, "'out_of_patience'"),
    ],
)
def test_an_odd_answer_with_status_200(body: bytes, transient: bool, said: str) -> None:
    with canned(body, headers={"content-type": "application/json"}) as (url, _):
        found = fault(url)
    assert (found.transient, found.fatal, found.status) == (transient, False, 200)
    assert said in str(found)


def test_json_is_json_whatever_its_type_is_called() -> None:
    with canned(message_bytes(), headers={"content-type": "text/plain"}) as (url, _):
        assert provider(url).complete(ASK).message.content == ()


def test_a_cut_tool_call_and_an_unknown_block_do_no_harm() -> None:
    odd = [{"type": "kind_of_next_year", "x": 1}, {"type": "tool_use", "id": "c1", "name": "look", "input": '{"a": '}]
    with canned(message_bytes(content=odd, stop_reason="max_tokens")) as (url, _):
        got = provider(url).complete(ASK)
    assert got.stop_reason == "max_tokens"
    assert got.calls[0].input == {"not_an_object": '{"a": '}


def test_options_reach_the_wire() -> None:
    options: dict[str, Any] = {"thinking": {"type": "adaptive"}, "sampling": {"temperature": 0.5}, "cache": True}
    with canned(message_bytes()) as (url, seen):
        provider(url, identify=True, **options).complete(ASK)
        provider(url).complete(Request(system=" ", messages=(user("hi"),)))
    (_, full), (_, bare) = seen
    assert full == {
        "model": "claude-sonnet-5-5",
        "max_tokens": 4096,
        "system": "Be brief.",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
        "thinking": {"type": "adaptive"},
        "temperature": 0.5,
        "cache_control": {"type": "ephemeral"},
        "metadata": {"user_id": "evalkit-abc-3"},
    }
    assert set(bare) == {"model", "max_tokens", "messages"}


def test_tools_stay_in_the_request_of_a_call_that_may_not_use_them() -> None:
    call = ToolCall(id="c1", name="look", input={})
    held = (
        user("hi"),
        Message(role="assistant", content=(call,)),
        Message(role="user", content=(ToolResult(tool_use_id="c1", content="a cat"),)),
    )
    with canned(message_bytes()) as (url, seen):
        trial = provider(url)
        trial.complete(Request(system="", messages=held[:1]))
        trial.complete(Request(system="", messages=held[:1], tools=(LOOK,)))
        trial.complete(Request(system="", messages=held))
    planned, offered, reflected = (body for _, body in seen)
    assert "tools" not in planned
    assert "tool_choice" not in offered
    assert reflected["tools"] == offered["tools"]
    assert reflected["tool_choice"] == {"type": "none"}


def test_a_thinking_budget_that_caps_have_left_no_room_for_is_left_out() -> None:
    budget = {"type": "enabled", "budget_tokens": 2000}
    with canned(message_bytes()) as (url, seen):
        trial = provider(url, thinking=budget)
        trial.complete(Request(system="", messages=(user("hi"),), max_tokens=4096))
        trial.complete(Request(system="", messages=(user("hi"),), max_tokens=1500))
        found = fault(url, thinking={"type": "enabled", "budget_tokens": 4096})
    assert [body.get("thinking") for _, body in seen] == [budget, None]
    assert found.fatal
    assert "budget_tokens" in str(found)


def test_what_no_encoding_takes_is_spelt_out() -> None:
    with canned(message_bytes()) as (url, seen):
        provider(url).complete(Request(system="", messages=(user("a\ud800b é"),)))
    assert seen[0][1]["messages"][0]["content"][0]["text"] == "a\\ud800b é"


def test_what_is_nested_too_deeply_is_refused_not_crashed_on() -> None:
    deep: Any = {}
    for _ in range(5_000):
        deep = {"x": deep}
    held = Message(role="assistant", content=(ToolCall(id="c", name="look", input=deep),))
    with canned(message_bytes()) as (url, _):
        found = fault(url, Request(system="", messages=(user("hi"), held)))
    assert not found.transient
    assert "RecursionError" in str(found)


def test_without_a_key_nothing_is_sent_and_the_text_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    part = Anthropic(model="claude-sonnet-5-5")
    problem = part.ready()
    assert problem is not None
    assert "ANTHROPIC_API_KEY" in problem
    assert "simulated" in problem
    with pytest.raises(ProviderError) as caught:
        part.open(TRIAL).complete(ASK)
    assert caught.value.fatal
    assert str(caught.value) == problem
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-something")
    assert part.ready() is None


@pytest.mark.parametrize(
    "environment",
    [
        {"ANTHROPIC_AUTH_TOKEN": "token"},
        {"ANTHROPIC_PROFILE": "work"},
        {"ANTHROPIC_CUSTOM_HEADERS": "X-Other: 1\nAuthorization: Bearer x"},
        {"ANTHROPIC_FEDERATION_RULE_ID": "a", "ANTHROPIC_ORGANIZATION_ID": "b"},
        {"ANTHROPIC_BASE_URL": "http://localhost:1"},
    ],
)
def test_each_way_of_the_sdk_to_sign_in_counts(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert Anthropic(model="m").ready() is None


def test_a_profile_on_disk_counts(tmp_path: Path) -> None:
    folder = tmp_path / ".config" / "anthropic" / "configs"
    folder.mkdir(parents=True)
    (folder / "default.json").write_text("not json")
    part = Anthropic(model="m")
    assert part.ready() is None
    with pytest.raises(ProviderError, match="API") as caught:
        part.open(TRIAL).complete(ASK)
    assert caught.value.fatal


@pytest.mark.parametrize("key", ["sk-ant-1\n", " sk-ant-1", "sk-änt", "sk-ant\t1"])
def test_a_key_that_was_pasted_badly_is_seen_before_the_first_call(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", key)
    problem = Anthropic(model="m").ready()
    assert problem is not None
    assert "ANTHROPIC_API_KEY" in problem
    assert key.strip() not in problem


def test_a_bad_address_in_the_environment_is_seen_before_the_first_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "localhost:8080")
    assert "ANTHROPIC_BASE_URL must start with http" in (Anthropic(model="m").ready() or "")


def test_the_key_of_a_peer_goes_to_the_peer_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-the-real-one")
    assert "PEER_KEY" in (Anthropic(model="m", api_key_env="PEER_KEY").ready() or "")
    monkeypatch.setenv("PEER_KEY", "the-key-of-the-peer")
    with canned(message_bytes()) as (url, seen):
        provider(url, api_key_env="PEER_KEY").complete(ASK)
    headers = json.dumps(seen[0][0])
    assert "the-key-of-the-peer" in headers
    assert "sk-ant-the-real-one" not in headers


def test_no_error_shows_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    key = "sk-ant-api03-secret"
    monkeypatch.setenv("ANTHROPIC_API_KEY", key)
    body = json.dumps({"type": "error", "error": {"type": "x", "message": f"key {key} is wrong"}}).encode()
    with canned(body, status=401) as (url, _):
        trial = provider(url)
        with pytest.raises(ProviderError) as caught:
            trial.complete(ASK)
    assert "[key] is wrong" in str(caught.value)
    assert key not in repr(trial)
    assert caught.value.__cause__ is None


def test_a_proxy_in_the_environment_is_not_asked_for_a_server_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with MessagesServer(Script(reply())) as server:
        assert provider(server).complete(ASK).text == "hello"


def test_threads_share_one_client() -> None:
    script = Script(reply())
    replies: list[Reply] = []
    with MessagesServer(script) as server:

        def play() -> None:
            trial = provider(server)
            replies.extend(trial.complete(ASK) for _ in range(5))

        threads = [threading.Thread(target=play) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        clients = {id(_client(server.url, None)) for _ in range(3)}
        other = _client(server.url, "another-key")
    assert [got.text for got in replies] == ["hello"] * 80
    assert len(clients) == 1
    assert id(other) not in clients


def test_building_and_asking_whether_it_is_ready_loads_no_sdk() -> None:
    program = (
        "import sys\n"
        "from evalkit.core.plan import Spec\n"
        "from evalkit.parts import build\n"
        "part = build('providers', Spec(kind='anthropic', options={'model': 'claude-opus-5-5'}))\n"
        "part.ready(), part.price()\n"
        "assert not {'anthropic', 'httpx2'} & set(sys.modules), 'the SDK was loaded'\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_options_are_built_from_yaml() -> None:
    options = {"model": "m", "usd_price": {"input": 0, "output": 0}, "timeout": "30s", "thinking": {"type": "adaptive"}}
    part = build("providers", Spec(kind="anthropic", options=options))
    assert part == Anthropic(model="m", usd_price=Price(input=0, output=0), timeout=30.0, thinking={"type": "adaptive"})
    assert part.nature == "live"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "required"),
        ({"model": " "}, "model is empty"),
        ({"model": "m", "base_url": "localhost:8080"}, "must start with http"),
        ({"model": "m", "base_url": "http://u:p@host"}, "password"),
        ({"model": "m", "base_url": "http://host:port"}, "is no address"),
        ({"model": "m", "base_url": "http://["}, "is no address"),
        ({"model": "m", "timeout": "0s"}, "timeout is 0.0"),
        ({"model": "m", "timeout": 30}, "wants a unit"),
        ({"model": "m", "sampling": {"model": "n"}}, "sampling holds model"),
        ({"model": "m", "temperature": 1}, "unexpected"),
    ],
)
def test_options_that_no_call_could_be_made_with_are_refused(options: dict[str, Any], said: str) -> None:
    found = faults("providers", "anthropic", options)
    assert said.lower() in found[0][1].lower()

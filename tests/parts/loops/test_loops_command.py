"""The user's own agent as a program: what it tells becomes the trace, and however it behaves, the trial ends well."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pytest
from own_agents import play_agent, reported

from evalkit.core.errors import ConfigurationError
from evalkit.core.plan import Caps, Spec, Variant, Verify
from evalkit.core.record import Acted, Asked, TrialRecord
from evalkit.parts import build

FAKE = Path(__file__).parent.parent / "streams" / "fake_claude.py"


def claude(tmp_path: Path, course: str, caps: Caps | None = None, **other: Any) -> TrialRecord:
    """Play a trial with the stand-in for Claude Code."""
    run = [sys.executable, str(FAKE), course, "{prompt}"]
    return play_agent("command", {"run": run, "events": "stream-json"}, base=tmp_path, caps=caps, **other)


def shell(tmp_path: Path, line: str, **other: Any) -> TrialRecord:
    """Play a trial with a line for the shell."""
    return play_agent("command", {"run": line}, base=tmp_path, **other)


def python(tmp_path: Path, program: str, events: str = "text", **other: Any) -> TrialRecord:
    """Play a trial with a Python program."""
    return play_agent("command", {"run": [sys.executable, "-c", program], "events": events}, base=tmp_path, **other)


def test_events_become_trace_turns_tokens_and_cost(tmp_path: Path) -> None:
    record = claude(tmp_path, "working")
    asked = [one for one in record.events if isinstance(one, Asked)]
    acted = [one for one in record.events if isinstance(one, Acted)]
    assert (record.outcome, record.stop.reason, record.answer) == ("passed", "finished", "The answer is 42.")
    assert record.nature == "external"
    assert [one.reply.text for one in asked] == ["I write the file.", "The answer is 42."]
    assert [(one.call.name, one.call.input["content"], one.turn) for one in acted] == [("Write", "42", 1)]
    tally = record.tally
    assert (tally.turns, tally.tool_calls, tally.usd, tally.uncounted) == (2, 1, 0.0123, ())
    assert (tally.input_tokens, tally.output_tokens) == (20, 70), "the result's totals, not the sum of partial counts"
    assert (tally.cache_read_tokens, tally.cache_write_5m_tokens) == (2000, 200)
    assert record.models == ("claude-sonnet-4-5",)


def test_a_cap_on_turns_ends_the_program_while_it_runs(tmp_path: Path) -> None:
    record = claude(tmp_path, "endless", Caps(seconds=30.0, turns=3))
    assert record.stop.reason == "cap:turns"
    assert record.stop.cap is not None
    assert (record.stop.cap.value, record.stop.cap.overshoot, record.tally.turns) == (3, 0, 3)
    assert record.tally.usd is None, "what it had cost by then was never told"


def test_a_cap_on_tokens_ends_the_program_and_keeps_the_overshoot(tmp_path: Path) -> None:
    record = claude(tmp_path, "endless", Caps(seconds=30.0, tokens=2000))
    assert record.stop.reason == "cap:tokens"
    assert record.stop.cap is not None
    assert record.stop.cap.overshoot == 260, "two turns of 1,130 tokens"


def test_a_final_answer_on_the_last_allowed_turn_counts(tmp_path: Path) -> None:
    assert claude(tmp_path, "working", Caps(seconds=30.0, turns=2)).outcome == "passed"
    assert claude(tmp_path, "working", Caps(seconds=30.0, turns=1)).stop.reason == "cap:turns"


def test_a_cap_on_dollars_is_asked_when_the_program_has_told_its_cost(tmp_path: Path) -> None:
    record = claude(tmp_path, "working", Caps(seconds=30.0, usd=0.01))
    assert (record.stop.reason, record.outcome, record.tally.usd) == ("cap:usd", "failed", 0.0123)


def test_a_helper_is_counted_aside(tmp_path: Path) -> None:
    record = claude(tmp_path, "helped")
    helper = [one for one in record.events if isinstance(one, Asked | Acted) and one.agent == "helper"]
    assert (record.tally.turns, record.tally.calls, record.tally.tool_errors, len(helper)) == (2, 3, 1, 2)


def test_a_named_provider_that_only_a_judge_may_ask_is_not_the_agents(tmp_path: Path) -> None:
    said = Spec(kind="scripted", options={"script": [{"text": '{"reason": "it does", "verdict": "pass"}'}]})
    assert shell(tmp_path, "echo 42 > answer.txt", provider=said).nature == "external"
    judged = Spec(kind="judge", options={"rubric": "anything will do"})
    assert shell(tmp_path, "echo 42", provider=said, grader=judged).nature == "simulated"


def test_a_detector_sees_what_is_overheard(tmp_path: Path) -> None:
    watch = Spec(kind="repeat_calls", options={"then": "stop"})
    assert claude(tmp_path, "endless", detectors=(watch,)).stop.reason == "detector:repeat_calls"


@pytest.mark.parametrize(
    ("course", "stop", "outcome"),
    [
        ("max-turns", "cap:turns", "failed"),
        ("max-budget", "cap:usd", "failed"),
        ("crashed", "agent_error", "failed"),
        ("overloaded", "error:provider", "error"),
        ("silent", "agent_error", "failed"),
        ("working!3", "agent_error", "failed"),
    ],
)
def test_how_the_agent_says_that_it_ended_decides_the_stop(
    tmp_path: Path, course: str, stop: str, outcome: str
) -> None:
    record = claude(tmp_path, course)
    assert (record.stop.reason, record.outcome) == (stop, outcome), record.stop


def test_what_was_never_told_is_unknown_and_not_nothing(tmp_path: Path) -> None:
    silent = claude(tmp_path, "silent").tally
    assert set(silent.uncounted) == {"turns", "tokens", "tool_calls"}
    text = shell(tmp_path, "echo 42 > answer.txt").tally
    assert (text.known("turns"), text.known("tokens"), text.usd) == (None, None, None)
    ended = shell(tmp_path, "sleep 60", caps=Caps(seconds=0.3)).tally
    assert (ended.known("turns"), ended.usd) == (None, None), "nor where it was ended before it could tell"


def test_the_prompt_comes_by_input_argument_or_file(tmp_path: Path) -> None:
    assert shell(tmp_path, "cat").answer == "Write 42 into answer.txt"
    assert shell(tmp_path, 'cat "$EVALKIT_PROMPT_FILE"').answer == "Write 42 into answer.txt"
    echo = "import sys; print(sys.argv[1], sys.stdin.read())"
    for word, text in (("{prompt}", "Write 42 into answer.txt"), ("<{prompt}>", "<Write 42 into answer.txt>")):
        run = [sys.executable, "-c", echo, word]
        assert play_agent("command", {"run": run}, base=tmp_path).answer == text
    read = [sys.executable, "-c", "import sys; print(open(sys.argv[1]).read())", "{prompt_file}"]
    assert play_agent("command", {"run": read}, base=tmp_path).answer == "Write 42 into answer.txt"


def test_it_works_in_the_workspace_and_beside_it_has_a_home_of_its_own(tmp_path: Path) -> None:
    record = shell(
        tmp_path, 'echo 42 > answer.txt; echo x > "$HOME/.config"; ls -A; [ "$HOME" != "$PWD" ] && echo apart'
    )
    assert (record.outcome, record.answer) == ("passed", "answer.txt\napart")


def test_only_named_variables_are_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OWN_AGENT_KEY", "sesame-open-now")
    monkeypatch.setenv("OTHER_KEY", "hidden-from-it")
    options = {"run": "env", "env": ["OWN_AGENT_KEY"], "variables": {"MODE": "fast"}}
    told = play_agent("command", options, base=tmp_path).answer
    assert "OWN_AGENT_KEY=sesame-open-now" in told
    assert "MODE=fast" in told
    assert "hidden-from-it" not in told


def test_a_variable_that_is_not_set_and_a_program_that_is_not_there_are_told_before_the_run() -> None:
    for options, word in (
        ({"run": "true", "env": ["NOT_SET_HERE"]}, "NOT_SET_HERE"),
        ({"run": ["no-such-agent"]}, "no-such-agent"),
    ):
        loop = build("loops", Spec(kind="command", options=options))
        assert word in loop.ready(Variant(name="mine"))


def test_a_failed_check_goes_back_with_the_prompt(tmp_path: Path) -> None:
    line = 'if grep -q "check of your work failed"; then echo 42 > answer.txt; else echo 41 > answer.txt; fi'
    record = shell(
        tmp_path,
        line,
        verify=Verify(self_correct=1),
        task={"checks": (Spec(kind="state", options={"files": {"answer.txt": "42\n"}}),)},
    )
    assert record.outcome == "passed"


HOSTILE = {
    "no output and status 0": ("", "finished"),
    "status 3": ("import sys; print('bye'); sys.exit(3)", "agent_error"),
    "killed by a signal": ("import os; os.kill(os.getpid(), 9)", "agent_error"),
    "deletes its workspace": ("import os, shutil; shutil.rmtree(os.getcwd())", "finished"),
    "ignores SIGTERM": (
        "import signal, time\nfor one in (15, 2, 1): signal.signal(one, signal.SIG_IGN)\ntime.sleep(99)",
        "cap:seconds",
    ),
    "closes its output and hangs": ("import os, time; os.close(1); os.close(2); time.sleep(99)", "cap:seconds"),
    "writes gigabytes": ("import os\nwhile True: os.write(1, b'x' * 65536)", "agent_error"),
    "writes gigabytes of errors": ("import os\nwhile True: os.write(2, b'x' * 65536)", "cap:seconds"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_program_ends_with_a_clear_stop(tmp_path: Path, name: str) -> None:
    program, stop = HOSTILE[name]
    record = python(tmp_path, program, caps=Caps(seconds=1.5))
    if name == "writes gigabytes" and record.stop.reason == "cap:seconds":
        return  # a slow machine gets there first
    assert (record.stop.reason, record.outcome) == (stop, "failed"), record.stop
    assert len(record.answer) < 1_100_000


EVENTS = {
    "no JSON": b"Error: not logged in\n",
    "a cut line": b'{"type":"result","subtype":"succ',
    "megabytes without a newline": b"x" * 9_000_000,
    "wrong shapes": b'[]\n3\nnull\n{}\n{"type":7}\n{"type":"assistant"}\n{"type":"assistant","message":{"content":7,"usage":[]}}\n'
    b'{"type":"user","message":{"content":[7,{"type":"tool_result","content":{"a":1}}]}}\n'
    b'{"type":"result","subtype":[],"is_error":"no","usage":{"input_tokens":-5},"num_turns":true,"total_cost_usd":"NaN"}\n',
    "deep": b"[" * 200_000 + b"\n",
    "no UTF-8": b"\xff\xfe\x00\n",
}


@pytest.mark.parametrize("name", EVENTS)
def test_what_is_no_stream_of_events_is_a_failure_of_the_agent(tmp_path: Path, name: str) -> None:
    (tmp_path / "stream").write_bytes(EVENTS[name])
    record = play_agent("command", {"run": ["cat", str(tmp_path / "stream")], "events": "stream-json"}, base=tmp_path)
    assert (record.stop.reason, record.outcome) == ("agent_error", "failed"), record.stop
    assert record.tally.usd is None


def test_noise_between_events_is_told_and_changes_nothing(tmp_path: Path) -> None:
    run = f'echo "a warning"; {sys.executable} {FAKE} working x; echo oops >&2'
    record = play_agent("command", {"run": run, "events": "stream-json"}, base=tmp_path)
    assert record.outcome == "passed"
    assert "a warning" in reported(record, "unreadable")[0]
    assert reported(record, "stderr") == ["oops"]


def test_what_it_left_running_is_ended(tmp_path: Path) -> None:
    beat = tmp_path / "beat"
    child = f"import time\nwhile True:\n  open({str(beat)!r}, 'a').write('x'); time.sleep(0.02)"
    twice = f"import os, subprocess, sys, time\nif os.fork() == 0:\n  os.setsid()\n  subprocess.Popen([sys.executable, '-c', {child!r}], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n  os._exit(0)\nwhile not os.path.exists({str(beat)!r}): time.sleep(0.01)"
    record = python(tmp_path, twice)
    assert record.stop.reason == "finished"
    size = beat.stat().st_size
    time.sleep(0.2)
    assert beat.stat().st_size == size


def test_a_line_for_the_shell_refuses_the_prompt_as_a_word() -> None:
    with pytest.raises(ConfigurationError, match="EVALKIT_PROMPT_FILE"):
        build("loops", Spec(kind="command", options={"run": "agent '{prompt}'"}))
    with pytest.raises(ConfigurationError, match="stream-json"):
        build("loops", Spec(kind="command", options={"run": "agent", "events": "codex"}))


def test_caps_that_cannot_be_held_are_said() -> None:
    caps = Caps(seconds=1.0, turns=3, usd=1.0)
    for events, doubts in (
        ("text", ["caps.turns cannot", "caps.usd cannot"]),
        ("stream-json", ["caps.usd is asked when"]),
    ):
        loop = build("loops", Spec(kind="command", options={"run": "agent", "events": events}))
        found = list(loop.doubts(Variant(name="mine", caps=caps)))
        assert [one.startswith(start) for one, start in zip(found, doubts, strict=True)] == [True] * len(doubts)


def test_nothing_is_left_on_the_disk(tmp_path: Path) -> None:
    home = shell(tmp_path, 'echo "$HOME"').answer
    assert home.startswith("/")
    assert not Path(home).exists()

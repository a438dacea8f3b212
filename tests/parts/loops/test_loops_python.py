"""The user's own agent as a function: with the session it is capped and traced, without it still bounded, graded and recorded."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from own_agents import play_agent, reported

from evalkit.core.plan import Caps, Spec, Verify
from evalkit.core.record import Acted, Asked, TrialRecord

LOOP = """
def agent(task, session):
    while calls := session.ask().calls:
        session.act(calls)
"""

SCRIPT = [{"calls": [["write_file", {"path": "answer.txt", "content": "42\n"}]]}, {"text": "Written."}]
SCRIPTED = Spec(kind="scripted", options={"script": SCRIPT})


def play(tmp_path: Path, code: str, *, scripted: bool = False, **other: Any) -> TrialRecord:
    """Play a trial with an agent of this code."""
    (tmp_path / "agent.py").write_text(code)
    other |= {"provider": SCRIPTED} if scripted else {}
    return play_agent("python", {"agent": "agent.py:agent", **other.pop("options", {})}, base=tmp_path, **other)


def test_an_agent_that_uses_the_session_is_counted_and_traced(tmp_path: Path) -> None:
    record = play(tmp_path, LOOP, scripted=True)
    assert (record.outcome, record.stop.reason, record.answer) == ("passed", "finished", "Written."), record.error
    assert (record.tally.turns, record.tally.tool_calls, record.tally.uncounted) == (2, 1, ())
    assert [type(one) for one in record.events][:3] == [Asked, Acted, Asked]


def test_a_cap_ends_an_agent_that_would_swallow_the_stop(tmp_path: Path) -> None:
    code = """
def agent(task, session):
    while True:
        try:
            session.ask()
        except BaseException:
            pass
"""
    record = play(tmp_path, code, scripted=True, caps=Caps(seconds=30.0, turns=1))
    assert (record.stop.reason, record.tally.turns) == ("cap:turns", 1)


def test_an_agent_that_ignores_the_session_is_graded_and_its_counts_are_unknown(tmp_path: Path) -> None:
    code = """
import pathlib
async def agent(task, session):
    pathlib.Path("answer.txt").write_text("42\\n")
    assert pathlib.Path(task.folder) == pathlib.Path.cwd()
    return "done: " + task.prompt
"""
    record = play(tmp_path, code)
    assert (record.outcome, record.answer, record.nature) == ("passed", "done: Write 42 into answer.txt", "external")
    assert (record.tally.known("turns"), record.tally.known("tokens"), record.tally.usd) == (None, None, None)


ASKS = "def agent(task, session):\n    return session.ask().text"
ASIDE = "def agent(task, session):\n    return session.consult('hm').text"
ALONE = "def agent(task, session):\n    return 'by myself'"
FAILS = "def agent(task, session):\n    raise KeyError('lost')"
HANGS = "import time\ndef agent(task, session):\n    time.sleep(60)"
JUDGED = Spec(kind="judge", options={"rubric": "anything will do"})


@pytest.mark.parametrize(
    ("code", "other", "nature"),
    [
        (ASKS, {}, "simulated"),
        (ASIDE, {}, "simulated"),
        (ALONE, {}, "external"),
        (HANGS, {"caps": Caps(seconds=0.3)}, "external"),
        (FAILS, {}, "simulated"),
        (ALONE, {"grader": JUDGED}, "simulated"),
        (ALONE, {"task": {"checks": (JUDGED,)}, "verify": Verify()}, "simulated"),
    ],
)
def test_a_trial_is_what_was_really_asked(tmp_path: Path, code: str, other: dict[str, Any], nature: str) -> None:
    """An agent that leaves the named provider alone is its own model's word; one that failed before it asked tells nothing."""
    said = [{"text": '{"reason": "it does", "verdict": "pass"}'}]
    record = play(tmp_path, code, provider=Spec(kind="scripted", options={"script": said}), **other)
    assert record.nature == nature, record


def test_it_is_told_nothing_of_what_decides(tmp_path: Path) -> None:
    code = "import json\ndef agent(task, session):\n    return json.dumps(sorted(f for f in dir(task) if f[0] != '_')) + repr(task)"
    answer = play(tmp_path, code).answer
    assert "grader" not in answer
    assert "42\\n" not in answer
    assert json.loads(answer[: answer.index("]") + 1]) == ["checklist", "folder", "id", "prompt", "suite"]


def test_an_exception_is_a_failure_with_its_traceback_in_the_trace(tmp_path: Path) -> None:
    record = play(tmp_path, "def agent(task, session):\n    print('hello')\n    raise KeyError('lost')")
    assert (record.outcome, record.stop.reason) == ("failed", "agent_error")
    assert "KeyError: 'lost'" in record.stop.detail
    assert "line 3, in agent" in reported(record, "traceback")[0]
    assert reported(record, "stdout") == ["hello"]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("def agent(task, session): return {'a': 1}", "returned dict"),
        ("def agent(task, session): raise SystemExit(3)", "exit status 3"),
        ("import os\ndef agent(task, session): os._exit(0)", "exit status 0"),
        ("import os\ndef agent(task, session): os.kill(os.getpid(), 9)", "signal 9"),
        ("def other(task, session): pass", "AttributeError"),
        ("import no_such_module", "no_such_module"),
        ("def agent(task): pass", "TypeError"),
        ("def agent(task, session): session.act([3])", "AttributeError"),
        ("import os\ndef agent(task, session): os.write(session._end.fileno(), b'nonsense\\n')", "its own connection"),
        ("def agent(task, session): session._step('launch')", "no such step"),
    ],
)
def test_every_way_to_fail_is_the_agents_own(tmp_path: Path, code: str, said: str) -> None:
    record = play(tmp_path, code)
    assert (record.outcome, record.stop.reason) == ("failed", "agent_error"), record.stop
    assert said in record.stop.detail


def test_giving_up_is_a_stop_of_its_own(tmp_path: Path) -> None:
    record = play(tmp_path, "def agent(task, session): session.give_up('no way')")
    assert (record.stop.reason, record.stop.detail, record.outcome) == ("gave_up", "no way", "failed")


def test_a_hang_is_ended_by_the_clock_with_all_that_it_started(tmp_path: Path) -> None:
    beat = tmp_path / "beat"
    code = f"""
import os, time
def agent(task, session):
    if os.fork() == 0:
        os.setsid()
    while True:
        open({str(beat)!r}, "a").write("x")
        time.sleep(0.02)
"""
    record = play(tmp_path, code, caps=Caps(seconds=4.0))
    assert (record.stop.reason, record.outcome) == ("cap:seconds", "failed")
    size = beat.stat().st_size
    time.sleep(0.2)
    assert beat.stat().st_size == size


def test_asking_without_a_provider_ends_the_run_with_the_reason(tmp_path: Path) -> None:
    record = play(tmp_path, LOOP)
    assert (record.stop.reason, record.fatal) == ("error:provider", True)
    assert "names no `provider`" in record.error


def test_modules_beside_the_config_and_variables_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OWN_AGENT_KEY", "sesame-open-now")
    monkeypatch.setenv("OTHER_KEY", "hidden-from-it")
    (tmp_path / "beside.py").write_text("import os\ndef told(): return ' '.join(os.environ.values())")
    code = "import beside\ndef agent(task, session): return beside.told()"
    answer = play(tmp_path, code, options={"env": ["OWN_AGENT_KEY"]}).answer
    assert "sesame-open-now" in answer
    assert "hidden-from-it" not in answer


def test_trials_share_no_state(tmp_path: Path) -> None:
    code = "seen = []\ndef agent(task, session):\n    seen.append(1)\n    return str(len(seen))"
    assert [play(tmp_path, code).answer for _ in range(2)] == ["1", "1"]

"""A trial from plan to record: stops, caps, what is a failure and what is an error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from evalkit.core.clock import ManualClock
from evalkit.core.errors import GraderBroke, Stopped
from evalkit.core.message import JSON, Price, ToolCall, ToolSpec, Usage
from evalkit.core.plan import Caps, Retries, Trial
from evalkit.core.protocols import CheckResult, Ground, Session
from evalkit.core.record import Acted, Asked, Checked, Halted, Noted, Outcome, Stop, TrialRecord, Unanswered, Verdict
from evalkit.engine.trial import outcome_of
from evalkit.parts.environments.bare import Bare
from evalkit.parts.providers.scripted import Line, Scripted

Play = Callable[..., TrialRecord]
MakeTrial = Callable[..., Trial]
END = Line(text="done")


def loop_line() -> Line:
    """A reply that asks for one tool."""
    return Line(calls=(("t", {}),))


@pytest.fixture
def tool(does: Any) -> Any:
    """A tool that works."""
    return does(name="t", action=lambda _: "ok")


def test_a_trial_that_ends_by_itself_and_passes_its_graders_passed(play: Play, tool: Any) -> None:
    record = play(loop_line(), END, tools=[tool])
    assert (record.outcome, record.stop.reason, record.graded, record.answer) == ("passed", "finished", "pass", "done")
    kinds = [type(event) for event in record.events]
    assert kinds == [Asked, Acted, Asked, Halted, Checked]
    assert (record.tally.turns, record.tally.calls, record.tally.tool_calls) == (2, 2, 1)
    assert record.tally.tokens == 240


@pytest.mark.parametrize(
    ("caps", "reason", "turns", "overshoot"),
    [
        (Caps(turns=2), "cap:turns", 2, 0.0),
        (Caps(tokens=240), "cap:tokens", 2, 0.0),
        (Caps(tokens=239), "cap:tokens", 2, 1.0),
        (Caps(usd=0.0019), "cap:usd", 2, 0.0001),
    ],
)
def test_the_cap_that_fires_is_data(
    play: Play, make_trial: MakeTrial, tool: Any, caps: Caps, reason: str, turns: int, overshoot: float
) -> None:
    trial = make_trial(variant={"caps": caps})
    provider = Scripted(script=(loop_line(),) * 9, usd_price=Price(input=5.0, output=25.0))
    record = play(trial=trial, tools=[tool], provider=provider)
    assert (record.stop.reason, record.outcome, record.graded) == (reason, "failed", "pass")
    assert record.stop.cap is not None
    assert record.stop.cap.turn == turns
    assert record.stop.cap.overshoot == pytest.approx(overshoot)
    assert record.stop.cap.value == pytest.approx(getattr(record.tally, reason.removeprefix("cap:")))


def test_a_final_answer_exactly_at_the_turn_cap_finishes(play: Play, make_trial: MakeTrial, tool: Any) -> None:
    record = play(loop_line(), END, tools=[tool], trial=make_trial(variant={"caps": Caps(turns=2)}))
    assert (record.stop.reason, record.outcome) == ("finished", "passed")


def test_the_last_allowed_turn_still_runs_its_tools(play: Play, make_trial: MakeTrial, tool: Any) -> None:
    record = play(loop_line(), loop_line(), tools=[tool], trial=make_trial(variant={"caps": Caps(turns=1)}))
    assert record.stop.reason == "cap:turns"
    assert len(tool.given) == 1


def test_the_seconds_cap_counts_working_time_between_tool_calls_too(
    play: Play, make_trial: MakeTrial, does: Any
) -> None:
    clock = ManualClock()

    def work(_: object) -> str:
        clock.sleep(6.0)
        return "ok"

    slow = does(name="t", action=work, writes=True)
    line = Line(calls=(("t", {}), ("t", {}), ("t", {})))
    record = play(line, END, tools=[slow], trial=make_trial(variant={"caps": Caps(seconds=10.0)}), clock=clock)
    assert record.stop.reason == "cap:seconds"
    assert len(slow.given) == 2
    assert record.stop.cap is not None
    assert record.stop.cap.overshoot == pytest.approx(2.0)


def test_waiting_for_a_rate_limit_is_no_working_time(play: Play, make_trial: MakeTrial) -> None:
    trial = make_trial(variant={"caps": Caps(seconds=10.0)})
    # One call of the script is one try: the first is refused, the second is the answer.
    record = play(Line(fault="transient", retry_after=9.0), END, trial=trial)
    assert (record.stop.reason, record.outcome) == ("finished", "passed")
    assert record.tally.waited == pytest.approx(9.0)
    assert record.tally.seconds == pytest.approx(0.0)
    (asked,) = [event for event in record.events if isinstance(event, Asked)]
    assert [attempt.waited for attempt in asked.attempts] == [9.0]


def test_a_provider_that_is_gone_is_an_error_with_every_attempt_on_record(play: Play, make_trial: MakeTrial) -> None:
    trial = make_trial(variant={"retries": Retries(model=3)})
    record = play(*[Line(fault="transient")] * 9, trial=trial)
    assert (record.outcome, record.stop.reason, record.graded) == ("error", "error:provider", None)
    (unanswered,) = [event for event in record.events if isinstance(event, Unanswered)]
    assert len(unanswered.attempts) == 3
    assert record.tally.retries == 2
    assert "after 3 tries" in record.error
    assert not record.fatal


def test_a_fatal_provider_error_says_that_no_trial_can_succeed(play: Play) -> None:
    record = play(Line(fault="fatal"))
    assert (record.outcome, record.fatal) == ("error", True)


def test_a_provider_that_crashes_is_an_error_of_the_provider(play: Play) -> None:
    class Broken:
        """Raises what no provider should."""

        nature: Literal["simulated"] = "simulated"

        def ready(self) -> None:
            return None

        def window(self) -> None:
            return None

        def price(self) -> None:
            return None

        def open(self, trial: Trial) -> Broken:
            return self

        def complete(self, request: object) -> Any:
            raise KeyError("surprise")

    record = play(provider=Broken())
    assert record.stop.reason == "error:provider"
    assert "KeyError: 'surprise'" in record.error


@pytest.mark.parametrize(
    ("line", "reason", "outcome"),
    [
        (Line(text="I won't", stop="refusal"), "refusal", "failed"),
        (Line(text="half an ans", stop="max_tokens"), "truncated", "failed"),
        (Line(text="", stop="model_context_window_exceeded"), "context_overflow", "failed"),
        (Line(fault="overflow"), "context_overflow", "failed"),
        (Line(text="x", stop="stop_sequence"), "finished", "passed"),
        (Line(text=""), "finished", "passed"),
    ],
)
def test_stop_reasons_of_the_model(play: Play, line: Line, reason: str, outcome: Outcome) -> None:
    record = play(line)
    assert (record.stop.reason, record.outcome) == (reason, outcome)


def test_a_paused_turn_is_asked_again_and_pauses_are_bounded(play: Play) -> None:
    assert play(Line(text="hm", stop="pause_turn"), END).stop.reason == "finished"
    endless = play(*[Line(text="hm", stop="pause_turn")] * 99)
    assert endless.stop.reason == "error:provider"
    assert endless.tally.turns == 16


def test_a_call_that_was_cut_off_is_not_run_and_the_model_is_told(play: Play, tool: Any) -> None:
    cut = Line(calls=(("t", {}),), stop="max_tokens")
    record = play(cut, END, tools=[tool])
    assert tool.given == []
    assert record.stop.reason == "finished"
    assert record.tally.tool_calls == 0
    assert play(cut, cut, cut, cut, tools=[tool]).stop.reason == "truncated"


def test_an_unknown_price_under_a_dollar_cap_is_an_error_not_a_free_ride(play: Play, make_trial: MakeTrial) -> None:
    record = play(END, trial=make_trial(variant={"caps": Caps(usd=1.0)}))
    assert record.stop.reason == "error:price"


@dataclass(frozen=True)
class Stubborn:
    """A loop that swallows everything, its stop too, and tries to go on."""

    def play(self, session: Session) -> None:
        """Ask again and again."""
        for _ in range(50):
            try:
                for reply in [session.ask()]:
                    session.act(reply.calls)
            except BaseException:  # noqa: BLE001, S112  # that is the point of this loop
                continue


def test_a_stop_is_sticky_even_for_a_loop_that_swallows_it(play: Play, make_trial: MakeTrial, tool: Any) -> None:
    trial = make_trial(variant={"caps": Caps(turns=3)})
    record = play(*[loop_line()] * 50, tools=[tool], trial=trial, loop=Stubborn())
    assert record.stop.reason == "cap:turns"
    assert record.tally.turns == 3
    assert len(tool.given) == 3


def test_stopped_is_no_exception_so_that_ordinary_handlers_let_it_pass() -> None:
    assert not issubclass(Stopped, Exception)


@dataclass(frozen=True)
class Crashing:
    """A loop with a bug."""

    def play(self, session: Session) -> None:
        """Crash."""
        session.ask()
        raise RuntimeError("bug in the loop")


def test_a_loop_that_crashes_is_an_error_and_what_it_did_is_kept(play: Play) -> None:
    record = play(END, loop=Crashing())
    assert (record.outcome, record.stop.reason) == ("error", "error:loop")
    assert "bug in the loop" in record.error
    assert record.tally.turns == 1


@dataclass(frozen=True)
class Careless:
    """A loop that notes and asks without answering the model's calls."""

    def play(self, session: Session) -> None:
        """Leave a call unanswered."""
        session.ask()
        session.note("hurry up", "nagging")
        session.ask()


def test_calls_that_a_loop_left_open_are_answered_before_the_model_is_asked_again(play: Play, tool: Any) -> None:
    provider = Scripted(script=(loop_line(), END))
    opened: list[Any] = []

    class Watching:
        """The scripted provider, kept so that its requests can be read."""

        nature = provider.nature
        price = provider.price
        ready = provider.ready
        window = provider.window

        def open(self, trial: Trial) -> Any:
            opened.append(provider.open(trial))
            return opened[-1]

    record = play(provider=Watching(), tools=[tool], loop=Careless())
    sent = opened[0].requests[1].messages
    assert [message.role for message in sent] == ["user", "assistant", "user", "user"]
    assert sent[2].results[0].tool_use_id == sent[1].calls[0].id
    assert sent[2].results[0].is_error
    assert sent[3].text == "hurry up"
    assert [event.text for event in record.events if isinstance(event, Noted)] == ["hurry up"]


@dataclass(frozen=True)
class GivesUp:
    """A loop with a reason of its own to stop."""

    def play(self, session: Session) -> None:
        """Stop."""
        session.stop("gave_up", "no way")


def test_a_loop_may_stop_for_a_reason_of_its_own(play: Play) -> None:
    record = play(END, loop=GivesUp())
    assert (record.stop.reason, record.stop.detail, record.outcome) == ("gave_up", "no way", "failed")


@pytest.mark.parametrize(
    ("reason", "verdict", "graded", "outcome"),
    [
        ("finished", "pass", False, "passed"),
        ("finished", "fail", False, "failed"),
        ("finished", "unknown", False, "error"),
        ("cap:turns", "pass", False, "failed"),
        ("cap:turns", "pass", True, "passed"),
        ("cap:turns", "fail", True, "failed"),
        ("gave_up", "pass", True, "failed"),
        ("error:provider", None, False, "error"),
    ],
)
def test_outcome_follows_from_two_facts(reason: str, verdict: Verdict | None, graded: bool, outcome: Outcome) -> None:
    assert outcome_of(Stop(reason=reason), verdict, graded=graded) == outcome


def test_a_grader_that_crashes_or_cannot_say_is_an_error_and_never_a_verdict(play: Play, says: Any) -> None:
    crashed = play(END, grader=says(error=ZeroDivisionError("oops")))
    assert (crashed.outcome, crashed.stop.reason, crashed.graded) == ("error", "finished", "unknown")
    assert "ZeroDivisionError: oops" in crashed.error
    broke = play(END, grader=says(error=GraderBroke("hung after 5 s")))
    assert "hung after 5 s" in broke.error
    assert play(END, grader=says(verdict="unknown")).outcome == "error"


class World(Bare):
    """An environment that breaks where it is told to, and remembers what was done to it."""

    def __init__(self, breaks: str = "") -> None:
        """Break in this method."""
        object.__setattr__(self, "breaks", breaks)
        object.__setattr__(self, "done", [])

    breaks: str
    done: list[str]

    def _do(self, name: str) -> None:
        self.done.append(name)
        if self.breaks == name:
            raise OSError(f"{name} broke")

    def open(self, ground: Ground) -> World:
        """Break or open."""
        self._do("open")
        return self

    def tools(self) -> tuple[ToolSpec, ...]:
        """One tool."""
        return (ToolSpec(name="t", description="", input_schema={"type": "object"}),)

    def call(self, call: ToolCall) -> str:
        """Break or answer."""
        self._do("call")
        return "ok"

    def close(self) -> None:
        """Break or close."""
        self._do("close")

    def export(self, into: Path) -> None:
        """Write one file."""
        self._do("export")
        (into / "state.txt").write_text("final")

    def state(self) -> JSON:
        """Nothing."""
        return None


@pytest.mark.parametrize("breaks", ["open", "call", "close"])
def test_an_environment_that_breaks_is_an_error_and_is_closed(play: Play, breaks: str) -> None:
    world = World(breaks)
    record = play(loop_line(), END, environment=world)
    assert (record.outcome, record.stop.reason) == ("error", "error:environment")
    assert f"{breaks} broke" in record.error
    assert ("close" in world.done) == (breaks != "open")


def test_graders_get_copies_after_the_world_is_closed_and_nothing_is_left_on_disk(play: Play) -> None:
    world, seen = World(), []

    class Looks:
        """A grader that uses up its copy."""

        def judge(self, evidence: Any) -> Any:
            for _ in range(2):
                folder = evidence.copy()
                seen.append((folder, (folder / "state.txt").read_text()))
                (folder / "state.txt").unlink()
            return CheckResult(verdict="pass")

    record = play(END, environment=world, grader=Looks())
    assert record.outcome == "passed"
    assert [text for _, text in seen] == ["final", "final"]
    assert world.done.index("close") < world.done.index("export")
    assert not any(folder.exists() for folder, _ in seen)


def test_two_tools_of_one_name_are_refused(play: Play, does: Any) -> None:
    record = play(END, tools=[does(name="t", action=lambda _: ""), does(name="t", action=lambda _: "")])
    assert record.stop.reason == "error:setup"
    assert "two tools are named 't'" in record.error


def test_usage_is_counted_by_bucket(play: Play) -> None:
    usage = Usage(input=1, output=2, cache_read=3, cache_write_5m=4, cache_write_1h=5)
    record = play(Line(text="x", usage=usage))
    assert record.tally.usage == usage
    assert record.tally.tokens == 15
    assert record.tally.usd is None


class JumpingClock(ManualClock):
    """A clock whose time of day goes back a year with each look, as when somebody sets it; its monotonic time is sound."""

    looks: int = 0

    def time(self) -> float:
        """An ever earlier day."""
        self.looks += 1
        return self.now - 31_536_000.0 * self.looks


def test_a_clock_that_is_set_back_moves_stamps_and_nothing_else(play: Play, make_trial: MakeTrial, tool: Any) -> None:
    trial = make_trial(variant={"caps": Caps(seconds=60.0, turns=5)})
    clock = JumpingClock(step=0.5)
    record = play(Line(calls=(("t", {}),)), END, tools=[tool], trial=trial, clock=clock)
    assert (record.stop.reason, record.outcome) == ("finished", "passed")
    assert clock.looks > 3
    assert 0.0 < record.tally.seconds < 60.0
    assert 0.0 < record.seconds < 60.0
    assert all(event.seconds >= 0.0 for event in record.events if isinstance(event, Asked | Acted))

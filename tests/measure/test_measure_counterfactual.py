"""Tighter caps read off traces: the same as if they had been set, and nothing said where that cannot be known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measure_traces import Call, a_key, a_trial, acted, asked, read, turns_cap

from evalkit.core.clock import ManualClock
from evalkit.core.errors import ConfigurationError, RunInvalid
from evalkit.core.message import JSON, Price, Reply, Request, ToolSpec, Usage
from evalkit.core.plan import Caps, Retries, Spec, Task, Trial, Variant, WrapUp, trial_key
from evalkit.core.protocols import CheckResult, Evidence, Parts
from evalkit.core.record import Attempt, CapFired, Stop, Tally, TrialRecord
from evalkit.engine.trial import play_trial
from evalkit.measure.cap_curve import curve, limits, one_cap, point, rounded_up
from evalkit.measure.counterfactual import METERS, capped, cut, unknown, warned, whatif
from evalkit.measure.courses import Courses
from evalkit.measure.table import OUTCOMES, Table
from evalkit.parts.context.full import Full
from evalkit.parts.environments.bare import Bare
from evalkit.parts.loops.react import React
from evalkit.parts.providers.scripted import Line, Scripted, ScriptedProvider

CALL: Call = ("look", {}, "seen", None)
LOOSE = Caps(turns=10**6, tokens=10**9, seconds=10.0**6, usd=10.0**6)
PRICE = Price(input=1000.0, output=2000.0)


TASK = Task(suite="s", id="t", prompt="look", graders=(Spec(kind="equals"),))


@dataclass(frozen=True, slots=True)
class Look:
    """A tool that shows the same thing each time, in 0.7 s; it says that it writes, so that calls come one after the other."""

    clock: ManualClock

    def spec(self, base: object) -> ToolSpec:
        """Describe it."""
        return ToolSpec(name="look", description="look", input_schema={"type": "object"}, writes=True)

    def use(self, arguments: Mapping[str, JSON], world: object, base: object) -> str:
        """Look."""
        self.clock.sleep(0.7)
        return "seen"


@dataclass(frozen=True, slots=True, kw_only=True)
class Slow(Scripted):
    """A scripted model that thinks for 0.5 s."""

    clock: ManualClock

    def open(self, trial: Trial) -> ScriptedProvider:
        """Start the script anew."""
        return Thinking(self)


class Thinking(ScriptedProvider):
    """Thinks before it answers."""

    def complete(self, request: Request) -> Reply:
        """Think, then answer."""
        if isinstance(self.part, Slow):
            self.part.clock.sleep(0.5)
        return ScriptedProvider.complete(self, request)


class Content:
    """A grader that is content with everything."""

    def judge(self, evidence: Evidence) -> CheckResult:
        """Pass."""
        return CheckResult(verdict="pass")


def row_of(table: Table, row: int = 0) -> tuple[Any, ...]:
    """What a table says of a trial."""
    facts = (OUTCOMES[table.outcome[row]], table.stops[table.stop[row]], int(table.turns[row]), int(table.tokens[row]))
    return (*facts, pytest.approx(float(table.usd[row]), rel=1e-12))


lines = st.lists(
    st.builds(
        lambda calls, prompt, output, fault: Line(
            calls=(("look", {}),) * calls, usage=Usage(input=prompt, output=output), fault=fault
        ),
        st.integers(1, 3),
        st.integers(0, 50),
        st.integers(0, 9),
        st.sampled_from([None, None, None, "transient"]),
    ),
    max_size=7,
)
tight = st.builds(
    Caps,
    turns=st.sampled_from([LOOSE.turns, 1, 2, 3, 4, 6]),
    tokens=st.sampled_from([LOOSE.tokens, 20, 60, 100, 160]),
    seconds=st.sampled_from([LOOSE.seconds, 0.4, 1.0, 1.9, 2.45, 4.0, 7.1]),
    usd=st.sampled_from([LOOSE.usd, 0.02, 0.06, 0.11]),
)


@settings(max_examples=120, deadline=None)
@given(script=lines, caps=tight)
def test_a_tighter_cap_read_off_a_trace_is_the_cap_itself(script: list[Line], caps: Caps) -> None:
    def played(limit: Caps) -> TrialRecord:
        clock, retries = ManualClock(), Retries(model=9, base=0.001, longest=0.01)
        variant = Variant(name="v", provider=Spec(kind="scripted"), caps=limit, retries=retries)
        key = trial_key(TASK, TASK.digest, variant, variant.digest, 1)
        parts = Parts(
            loop=React(),
            provider=Slow(script=(*script, Line(text="done")), usd_price=PRICE, clock=clock),
            policies=lambda _: (("full", Full()),),
            environment=Bare(),
            tools=(Look(clock),),
            graders=(Content(),),
        )
        return play_trial(Trial(key=key, task=TASK, variant=variant, seed=7), parts, clock)

    free, bound = played(LOOSE), played(caps)
    table, courses = read([free])
    expected = (bound.outcome, bound.stop.reason, bound.tally.turns, bound.tally.tokens, bound.tally.usd)
    assert row_of(capped(table, courses, caps)) == expected
    again, own = read([bound])
    assert row_of(capped(again, own, caps)) == expected
    assert not cut(again, own, caps).moved.any()


def test_a_limit_may_be_reached_but_not_crossed() -> None:
    table, courses = read([a_trial([CALL] * 4)])
    for meter, reached in (("turns", 5), ("tokens", 500), ("usd", 0.05)):
        assert row_of(capped(table, courses, one_cap(meter, reached * 1.000001)))[0] == "passed", meter
        assert row_of(capped(table, courses, one_cap(meter, reached * 0.99)))[:2] == ("failed", f"cap:{meter}"), meter


def test_a_trial_costs_what_it_had_cost_by_then() -> None:
    table, courses = read([a_trial([CALL] * 4)])
    assert row_of(capped(table, courses, Caps(turns=2))) == ("failed", "cap:turns", 2, 200, 0.02)
    assert row_of(capped(table, courses, Caps(tokens=250))) == ("failed", "cap:tokens", 3, 300, 0.03)
    assert row_of(capped(table, courses, Caps(seconds=1.55))) == ("failed", "cap:seconds", 2, 200, 0.02)


def test_of_several_caps_the_first_to_fire_is_named() -> None:
    table, courses = read([a_trial([CALL] * 4)])
    assert row_of(capped(table, courses, Caps(turns=3, tokens=150)))[1:3] == ("cap:tokens", 2)
    assert row_of(capped(table, courses, Caps(turns=2, tokens=200)))[1:3] == ("cap:turns", 2)


def test_calls_aside_and_delegated_ones_cost_but_are_no_turns() -> None:
    aside = asked(1, 1.7, purpose="reflect")
    handed = asked(7, 1.8, agent="scout#1")
    record = a_trial([CALL] * 2)
    events = (*record.events[:2], aside, handed, acted(1, CALL, 1.85, agent="scout#1"), *record.events[2:])
    tally = replace(record.tally, calls=5, input_tokens=500, usd=0.05)
    table, courses = read([replace(record, events=events, tally=tally)])
    assert row_of(capped(table, courses, Caps(turns=3)))[0] == "passed"
    assert row_of(capped(table, courses, Caps(turns=1))) == ("failed", "cap:turns", 1, 300, 0.03)
    assert row_of(capped(table, courses, Caps(tokens=300)))[1:4] == ("cap:tokens", 1, 300)


def test_waiting_for_a_provider_is_no_working_time() -> None:
    record = a_trial([CALL] * 2)
    first = asked(1, 1.0, seconds=60.5, attempts=(Attempt(error="busy", status=429, waited=60.0),))
    later = tuple(replace(event, at=event.at + 60.0) for event in record.events[1:])
    waited = replace(record, events=(first, *later), tally=replace(record.tally, waited=60.0))
    for one in (record, waited):
        table, courses = read([one])
        assert row_of(capped(table, courses, Caps(seconds=2.6)))[0] == "passed"
        assert row_of(capped(table, courses, Caps(seconds=2.4)))[:2] == ("failed", "cap:seconds")
        assert courses.flat(table).seconds.tolist() == pytest.approx([0.0, 0.5, 0.6, 1.0, 1.5, 1.6, 2.0, 2.5])


def test_a_trial_that_is_ended_between_its_last_tool_calls_is_moved() -> None:
    stop = Stop(reason="cap:seconds", cap=CapFired(meter="seconds", limit=1.9, value=2.0, turn=1))
    record = a_trial([CALL], outcome="failed", stop=stop)
    events = (*record.events[:2], acted(1, CALL, 1.9), acted(1, CALL, 2.9), *record.events[2:])
    halted = replace(record, events=events, tally=replace(record.tally, seconds=2.0))
    table, courses = read([halted])
    assert cut(table, courses, Caps(seconds=1.65)).moved.tolist() == [True]
    assert cut(table, courses, Caps(seconds=1.9)).moved.tolist() == [False]


def test_errors_and_missing_trials_stay_what_they_are() -> None:
    broke = a_trial([CALL] * 6, outcome="error", stop=Stop(reason="error:provider"), key=a_key(2))
    table, courses = read([a_trial([CALL] * 4), broke], planned=3)
    tighter = capped(table, courses, Caps(turns=1))
    assert (tighter.failed.sum(), tighter.errors.sum(), tighter.missing.sum()) == (1, 1, 1)
    assert row_of(tighter, 1) == row_of(table, 1)


def test_what_a_looser_cap_would_have_done_is_not_known() -> None:
    ended = a_trial([CALL] * 3, outcome="failed", stop=turns_cap(3))
    table, courses = read([ended, replace(ended, key=a_key(variant="w"), stop=Stop(reason="gave_up"))])
    assert not cut(table, courses, Caps(turns=3)).open.any()
    found = cut(table, courses, Caps(turns=4))
    assert found.open.tolist() == [True, False]
    assert "1 trial ended by its own cap before turns=4 would have fired" in unknown(table, found, Caps(turns=4), "v")
    told = {one.variant: one for one in whatif(table, courses, Caps(turns=4))}
    assert told["v"].after is None
    assert told["w"].after is not None
    assert told["w"].cut == 0
    with pytest.raises(ConfigurationError, match="tighter caps only"):
        whatif(*read([ended]), Caps(turns=4))


def test_another_cap_that_fires_first_settles_what_its_own_would_leave_open() -> None:
    table, courses = read([a_trial([CALL] * 3, outcome="failed", stop=turns_cap(3))])
    assert not cut(table, courses, Caps(turns=4, tokens=150)).open.any()


def test_an_agent_that_is_told_of_its_turns_is_not_judged_by_others() -> None:
    table, courses = read([a_trial([CALL] * 3)])
    variant = Variant(name="v", provider=Spec(kind="scripted"), wrap_up=WrapUp())
    names = warned([variant, replace(variant, name="w", wrap_up=None)])
    assert names == ("v",)
    with pytest.raises(ConfigurationError, match="told when its turns run out"):
        whatif(table, courses, Caps(turns=2), told=names)
    (one,) = whatif(table, courses, Caps(tokens=200), told=names)
    assert (one.cut, one.lost) == (1, 1)


def test_a_dollar_cap_needs_prices_and_no_other_cap_does() -> None:
    record = a_trial([CALL] * 2)
    blind = tuple(asked(event.turn, event.at, usd=None) if event.type == "asked" else event for event in record.events)
    unpriced = replace(record, events=blind, tally=replace(record.tally, usd=None))
    table, courses = read([unpriced])
    with pytest.raises(ConfigurationError, match="price of 1 trial is not known"):
        whatif(table, courses, Caps(usd=0.01))
    (one,) = whatif(table, courses, Caps(turns=1))
    assert one.after is not None
    assert one.after.spent.total is None
    assert one.after.spent.unknown == 1


def test_a_trial_without_a_trace_is_cut_at_its_end_and_its_cost_then_is_unknown() -> None:
    bare = a_trial([CALL] * 4, events=())
    table, courses = read([bare])
    assert row_of(capped(table, courses, Caps(turns=5)))[0] == "passed"
    ended = capped(table, courses, Caps(turns=4))
    assert row_of(ended)[:3] == ("failed", "cap:turns", 5)
    assert math.isnan(ended.usd[0])
    assert row_of(capped(table, courses, Caps(seconds=4.9)))[:2] == ("failed", "cap:seconds")


def test_only_a_state_that_was_graded_keeps_its_grade() -> None:
    table, courses = read([a_trial([CALL] * 4)])
    assert capped(table, courses, Caps(tokens=499)).graded.tolist() == table.graded.tolist()
    assert capped(table, courses, Caps(tokens=399)).graded.tolist() != table.graded.tolist()


def test_every_k_and_the_costs_of_both_sides_are_told() -> None:
    records = [a_trial([CALL] * size, key=a_key(index)) for index, size in enumerate((1, 1, 2, 5), 1)]
    table, courses = read(records, planned=4)
    (one,) = whatif(table, courses, Caps(turns=3))
    assert (one.variant, one.cut, one.lost) == ("v", 1, 1)
    assert [found.value for found in one.before.pass_hat] == [1.0] * 4
    assert one.after is not None
    assert [found.value for found in one.after.pass_hat] == [0.75, 0.5, 0.25, 0.0]
    assert one.after.cap_rate.value == 0.25
    assert one.after.spent.total == pytest.approx(0.02 + 0.02 + 0.03 + 0.03)
    assert one.before.reliable.value == pytest.approx(0.13)


def test_a_curve_rises_to_what_was_measured() -> None:
    records = [a_trial([CALL] * size, key=a_key(index)) for index, size in enumerate((1, 2, 3, 4, 5, 9), 1)]
    table, courses = read(records, planned=6)
    for meter in METERS:
        at = limits(table, courses, meter)
        (found,) = curve(table, courses, meter, at, k=1)
        values = [
            one.pass_hat.value for one in found.points if one.pass_hat is not None and one.pass_hat.value is not None
        ]
        costs = [one.usd for one in found.points if one.usd is not None]
        assert values == sorted(values), meter
        assert costs == sorted(costs), meter
        assert values[-1] == 1.0, meter
    last = point(table, "v", 1)
    assert last.usd == pytest.approx(table.usd.mean())
    assert [one.limit for one in curve(table, courses, "turns", (2, 3))[0].points] == [2, 3]


def test_limits_are_few_ascending_and_hold_the_longest_passing_trial() -> None:
    records = [a_trial([CALL] * size, key=a_key(index)) for index, size in enumerate(range(60), 1)]
    table, courses = read(records, planned=60)
    turns = limits(table, courses, "turns", 5)
    assert turns == tuple(sorted(turns))
    assert len(turns) <= 6
    assert turns[-1] == 60.0
    assert limits(table, courses, "tokens", 5)[-1] == 6000.0
    nothing, none = read([a_trial([CALL], outcome="failed")])
    assert limits(nothing, none, "turns") == ()
    assert curve(nothing, none, "turns", ()) != ()


def test_a_point_of_a_variant_that_is_not_known_says_why() -> None:
    ended = a_trial([CALL] * 3, outcome="failed", stop=turns_cap(3))
    table, courses = read([ended, a_trial([CALL] * 8, key=a_key(variant="w"))])
    one, other = curve(table, courses, "turns", (3, 6))
    assert [bool(at.why) for at in one.points] == [False, True]
    assert [bool(at.why) for at in other.points] == [False, False]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (5604.0, 5610.0),
        (5610.0, 5610.0),
        (1.0, 1.0),
        (0.018231, 0.0183),
        (999.5, 1000.0),
        (7.0, 7.0),
        (123456.0, 124000.0),
    ],
)
def test_limits_are_rounded_up_to_three_digits(value: float, expected: float) -> None:
    assert rounded_up(value) == pytest.approx(expected)
    assert rounded_up(value) >= value * (1 - 1e-9)


def test_a_question_without_a_cap_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="no cap is given"):
        whatif(*read([a_trial([CALL])]), Caps())


def test_traces_that_are_missing_doubled_or_foreign_are_refused() -> None:
    records = [a_trial([CALL]), a_trial([CALL], key=a_key(2))]
    table, courses = read(records, planned=3)
    with pytest.raises(RunInvalid, match="the traces of 2 measured trials were not read"):
        capped(table, Courses(), Caps(turns=1))
    courses.add(records[0])
    with pytest.raises(RunInvalid, match="or twice"):
        capped(table, courses, Caps(turns=1))
    foreign = Courses()
    foreign.add(a_trial([CALL], key=a_key(3)))
    with pytest.raises(RunInvalid, match="no part of the run"):
        capped(table, foreign, Caps(turns=1))


def test_a_run_without_trials_asks_nothing() -> None:
    table, courses = read([])
    assert whatif(table, courses, Caps(turns=1)) == ()


def test_a_clock_that_jumps_changes_no_outcome_of_other_caps() -> None:
    record = a_trial([CALL] * 3)
    jumped = tuple(
        replace(event, at=event.at - 1e6) if place > 2 else event for place, event in enumerate(record.events)
    )
    table, courses = read([replace(record, events=jumped)])
    assert row_of(capped(table, courses, Caps(turns=4)))[0] == "passed"
    flat = courses.flat(table)
    assert (flat.seconds[1:] >= flat.seconds[:-1]).all()
    assert flat.seconds.max() <= record.tally.seconds


def test_what_the_tally_knows_beyond_the_events_is_held_against_caps() -> None:
    record = a_trial([CALL] * 3)
    more = replace(record, tally=replace(record.tally, input_tokens=9_000, usd=0.9))
    table, courses = read([more])
    assert row_of(capped(table, courses, Caps(tokens=5_000))) == ("failed", "cap:tokens", 4, 9_000, 0.9)
    assert row_of(capped(table, courses, Caps(tokens=9_000)))[0] == "passed"


def test_a_trial_that_never_began_is_read_too() -> None:
    never = a_trial(outcome="error", stop=Stop(reason="error:setup"), tally=Tally(), events=())
    table, courses = read([never, a_trial([CALL], key=a_key(2))], planned=2)
    assert row_of(capped(table, courses, Caps(turns=1)), 0)[0] == "error"

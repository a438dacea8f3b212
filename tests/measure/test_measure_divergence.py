"""Where failing trials leave the passing ones of their task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from measure_traces import Call, a_key, a_trial, acted

from evalkit.core.record import Outcome, TrialRecord
from evalkit.measure.divergence import Divergence, Divergences, clusters, steps


def call(tool: str, error: Any = None, **arguments: Any) -> Call:
    """A tool call whose result says nothing."""
    return (tool, arguments, "", error)


FIND, READ, PAY, CLOSE = call("find", name="x"), call("read", id=1), call("pay", sum=5), call("close")
GOOD = [FIND, READ, PAY, CLOSE]


def passed(calls: Sequence[Call], index: int, **key: Any) -> TrialRecord:
    """A passing trial."""
    return a_trial(calls, key=a_key(index, **key))


def failed(calls: Sequence[Call], index: int, outcome: Outcome = "failed", **key: Any) -> TrialRecord:
    """A failing trial."""
    return a_trial(calls, key=a_key(index, **key), outcome=outcome)


def found(*records: TrialRecord) -> list[Divergence]:
    """What is found in some records."""
    gathered = Divergences()
    for record in records:
        gathered.add(record)
    return gathered.found()


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([FIND, READ, CLOSE], ("other tool", 3, "close", ("pay",), "", "")),
        ([FIND, READ, call("pay", sum=6)], ("other arguments", 3, "pay", ("pay",), "", "")),
        (
            [FIND, call("read", "malformed_args", id="one")],
            ("other arguments", 2, "read", ("read",), "malformed_args", ""),
        ),
        ([FIND, call("read", "transient", id=1), CLOSE], ("other tool", 3, "close", ("pay",), "", "transient")),
        ([FIND, READ], ("ended early", 3, "read", ("pay",), "", "")),
        ([], ("ended early", 1, "", ("find",), "", "")),
        (GOOD, ("same steps", 4, "close", (), "", "")),
        ([*GOOD, READ], ("went on", 5, "read", (), "", "")),
        ([CLOSE], ("other tool", 1, "close", ("find",), "", "")),
    ],
)
def test_a_failing_trial_is_followed_to_the_first_step_that_no_passing_one_took(
    calls: list[Call], expected: tuple[Any, ...]
) -> None:
    (one,) = found(passed(GOOD, 1), failed(calls, 2))
    assert (one.how, one.step, one.tool, one.instead, one.error, one.after) == expected
    assert (one.task, one.variant, one.index, one.stop) == ("t", "v", 2, "finished")


def test_any_passing_trial_may_lead_the_way() -> None:
    other = [READ, FIND, CLOSE]
    assert found(passed(GOOD, 1), passed(other, 2), failed([READ, FIND, PAY], 3))[0].step == 3
    one = found(passed(GOOD, 1), passed([FIND, READ], 2), failed([FIND, READ], 3))[0]
    assert one.how == "same steps"
    (many,) = found(passed(GOOD, 1), passed([FIND, CLOSE], 2), failed([FIND, PAY], 3))
    assert many.instead == ("close", "read")


def test_trials_are_held_against_those_of_their_own_task_and_variant() -> None:
    records = [
        passed(GOOD, 1),
        failed([FIND], 1, task="u"),
        failed([FIND], 1, variant="w"),
        failed([FIND], 2, outcome="error"),
        a_trial([FIND], key=a_key(3), outcome="failed", events=()),
    ]
    gathered = Divergences()
    for record in records:
        gathered.add(record)
    assert gathered.found() == []
    assert gathered.alone() == 2
    assert gathered.untraced == 1


def test_the_order_of_arguments_makes_no_difference_and_their_values_do() -> None:
    first, second = a_trial([call("f", a=1, b=[2])]), a_trial([call("f", b=[2], a=1)])
    assert steps(first) == steps(second)
    assert steps(first) != steps(a_trial([call("f", a=1, b=[3])]))
    assert steps(first) != steps(a_trial([call("g", a=1, b=[2])]))


def test_a_path_is_named_by_all_of_its_steps_in_order() -> None:
    one, other = steps(a_trial([FIND, READ])), steps(a_trial([READ, FIND]))
    assert one[-1].path != other[-1].path
    assert one[0].path != one[1].path


def test_what_a_delegated_conversation_did_is_no_step() -> None:
    assert len(steps(a_trial([FIND], more=[acted(1, READ, agent="scout#1")]))) == 1


def test_arguments_of_any_kind_can_be_followed() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    strange = [call("f", x=deep), call("f", x=object()), call("f", x=float("nan")), call("f", x="\ud800")]
    assert len(steps(a_trial(strange))) == 4


def test_like_divergences_stand_together_the_most_frequent_first() -> None:
    records = [
        passed(GOOD, 1),
        passed(GOOD, 1, task="u"),
        failed([FIND, READ, CLOSE], 2),
        failed([FIND, CLOSE], 2, task="u"),
        failed([FIND, READ, CLOSE], 3),
        failed([FIND], 4),
    ]
    first, second = clusters(found(*records))
    assert (first.how, first.tool, len(first.found), first.tasks, first.step) == ("other tool", "close", 3, 2, 3)
    assert first.instead == ("pay", "read")
    assert (second.how, len(second.found)) == ("ended early", 1)
    assert clusters([]) == []


def test_the_same_trials_in_another_order_are_told_the_same() -> None:
    records = [passed(GOOD, 1), failed([FIND], 3), failed([READ], 2), passed([READ], 4)]
    assert found(*records) == found(*records[::-1])


def test_the_passing_trial_that_goes_along_longest_is_named_the_first_of_several() -> None:
    records = [passed([CLOSE], 1), passed(GOOD, 3), passed([*GOOD, READ], 2), failed([FIND, READ, CLOSE], 4)]
    (one,) = found(*records)
    assert (one.beside, one.common) == (2, 2)
    (none,) = found(passed(GOOD, 1), failed([CLOSE], 2))
    assert (none.beside, none.common) == (1, 0)

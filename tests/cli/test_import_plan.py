"""What is made of imported trials: outcomes, numbers, plans, and everything that is refused instead of guessed."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from import_makers import Told, adopted, kept, numbers, row, source, surveyed

from evalkit.cli.adopt import adopt, records
from evalkit.cli.survey import Choices, decide
from evalkit.core.errors import ConfigurationError, EvalkitError, RunInvalid
from evalkit.core.plan import Spec
from evalkit.parts.importers._rows import Header, Imported, Note


def told(**facts: Any) -> Imported:
    """A trial of which nothing is said but this."""
    return Imported(where="row 1", task="a", **facts)


@pytest.mark.parametrize(
    ("trial", "choices", "outcome", "graded", "stop"),
    [
        (told(passed=True, stop="finished"), {}, "passed", "pass", "finished"),
        (told(passed=False), {}, "failed", "fail", "unknown"),
        (told(passed=True, stop="cap:turns"), {}, "passed", "pass", "cap:turns"),
        (told(reward=1.0), {}, "passed", "pass", "unknown"),
        (told(reward=0.9999999), {}, "passed", "pass", "unknown"),
        (told(reward=0.0), {}, "failed", "fail", "unknown"),
        (told(reward=0.5), {"threshold": 0.5}, "passed", "pass", "unknown"),
        (told(reward=0.4), {"threshold": 0.5}, "failed", "fail", "unknown"),
        (told(reward=1.0), {"threshold": 2.0}, "failed", "fail", "unknown"),
        (told(passed=True, reward=0.1), {"threshold": 0.5}, "passed", "pass", "unknown"),
        (told(error="boom", stop="error:harness", reward=0.0), {}, "error", None, "error:harness"),
        (told(error="boom", stop="error:harness"), {"errors": "fail"}, "failed", None, "other:error"),
        (told(error="boom", stop="cap:turns"), {"errors": "fail"}, "failed", None, "cap:turns"),
        (told(error="boom"), {}, "error", None, "error:harness"),
        (told(), {}, "error", None, "error:verdict"),
        (told(reward=math.nan), {}, "error", None, "error:verdict"),
        (told(reward=math.inf), {"threshold": 0.5}, "error", None, "error:verdict"),
        (told(), {"errors": "fail"}, "failed", None, "other:error"),
    ],
)
def test_outcomes(trial: Imported, choices: dict[str, Any], outcome: str, graded: str | None, stop: str) -> None:
    found = decide(trial, Choices(**choices))
    assert found is not None
    assert (found.outcome, found.graded, found.stop.reason) == (outcome, graded, stop)
    assert bool(found.error) == (trial.passed is None and outcome != "passed" and graded is None)


def test_a_reward_between_wants_a_threshold_and_all_such_are_told_at_once() -> None:
    assert decide(told(reward=0.5), Choices()) is None
    several = [row(trial=number, passed=None, reward=reward) for number, reward in enumerate([1.0, 0.5, 0.25])]
    with pytest.raises(
        ConfigurationError, match=r"gpt\.json: row a/1: the reward 0\.5 is neither 0 nor 1; so are 1 more .*--threshold"
    ):
        surveyed(source(*several))
    assert [one.outcome for one in kept(source(*several), threshold=0.5)] == ["passed", "passed", "failed"]
    with pytest.raises(ConfigurationError, match=r"--threshold: the files hold verdicts"):
        surveyed(source(row()), threshold=0.5)


def test_trials_are_numbered_from_one_in_the_order_of_their_own_numbers() -> None:
    assert numbers(kept(source(row(trial=2), row(trial=0), row(trial=1)))) == [("a", 3), ("a", 1), ("a", 2)]
    assert numbers(kept(source(row(trial="x"), row(trial=None), row(trial=5)))) == [("a", 1), ("a", 2), ("a", 3)]


def test_a_gap_is_no_missing_trial_unless_the_file_says_how_many_were_planned() -> None:
    gap = (row(trial=0), row(trial=1), row(trial=3))
    found = adopted(source(*gap))
    assert list(found.planned.values()) == [3]
    assert "the trial numbers of 1 task have gaps ('a' has 0, 1, 3)" in found.notes[0]
    found = adopted(source(Header(trials=4, first=0), *gap))
    assert (list(found.planned.values()), list(found.number), found.notes) == ([4], [1, 2, 4], ())
    found = adopted(source(*gap), planned=5)
    assert (list(found.planned.values()), list(found.number)) == ([5], [1, 2, 4])


def test_numbers_from_one_are_told_from_numbers_from_zero() -> None:
    assert list(adopted(source(row(trial=1), row(trial=2), row(trial=4)), planned=4).number) == [1, 2, 4]
    assert list(adopted(source(Header(trials=4, first=1), row(trial=4))).number) == [4]


def test_more_than_planned_is_refused_and_names_that_do_not_fit_the_plan_are_ranked() -> None:
    with pytest.raises(ConfigurationError, match=r"task 'a': has 2 trials under gpt, but 1 were planned .--planned 2"):
        adopted(source(Header(trials=1), row(trial=0), row(trial=1)))
    assert list(adopted(source(Header(trials=3, first=0), row(trial=7), row(trial=5))).number) == [2, 1]


def test_a_planned_task_without_any_trial_is_missing_whole() -> None:
    found = adopted(source(Header(trials=2, first=0, tasks=("a", "b")), row(trial=0)))
    assert found.planned == {("tau_bench", "a", "gpt"): 2, ("tau_bench", "b", "gpt"): 2}
    assert [task.id for task in found.suites[0].tasks] == ["a", "b"]


def test_planned_max_is_what_the_largest_task_of_the_variant_has() -> None:
    rows = [row("a", n) for n in range(3)] + [row("b", 0)]
    other = [row("a", 0, variant="v"), row("b", 0, variant="v")]
    found = adopted(source(*rows, *other), planned="max")
    assert {key[1:]: count for key, count in found.planned.items()} == {
        ("a", "gpt"): 3, ("b", "gpt"): 3, ("a", "v"): 1, ("b", "v"): 1,
    }  # fmt: skip


def test_unequal_numbers_of_trials_are_kept_as_they_are() -> None:
    found = adopted(source(row("a", 0), row("a", 1), row("b", 0)))
    assert {key[1]: count for key, count in found.planned.items()} == {"a": 2, "b": 1}


def test_doubled_trials_are_refused_by_name_or_numbered_on() -> None:
    double = source(row(trial=0), row(trial=1), row(trial=1, passed=False))
    with pytest.raises(ConfigurationError, match=r"trial 1 of task 'a' under gpt, 2 times .*--duplicates renumber"):
        adopted(double)
    found = kept(double, duplicates="renumber")
    assert [(one.key.index, one.outcome) for one in found] == [(1, "passed"), (2, "passed"), (3, "failed")]


def test_two_files_of_one_variant_are_further_trials_and_of_two_variants_are_compared() -> None:
    one, two = source(row(trial=0), file="x/gpt.json"), source(row(trial=0), file="y/gpt.json")
    with pytest.raises(ConfigurationError, match=r"--name where they are of different variants"):
        adopted(one, two)
    assert list(adopted(one, two, duplicates="renumber").planned.values()) == [2]
    named = adopted(replace(one, name="first"), replace(two, name="second"))
    assert [variant.name for variant in named.variants] == ["first", "second"]


def test_plans_of_two_files_of_one_variant_add_up() -> None:
    one = source(Header(trials=2, first=0, variant="v"), row(trial=0, variant="v"), row(trial=1, variant="v"))
    two = source(Header(trials=2, first=0, variant="v"), row(trial=2, variant="v"))
    found = adopted(one, two)
    assert (list(found.planned.values()), list(found.number)) == ([4], [1, 2, 3])


def test_one_name_does_not_pool_two_variants() -> None:
    both = source(row(variant="x"), row(trial=1, variant="y"), name="all")
    with pytest.raises(ConfigurationError, match=r"--name all: gpt\.json holds 2 variants"):
        surveyed(both)


def test_different_inputs_under_one_id_are_refused_or_made_tasks_of_their_own() -> None:
    mixed = source(
        row(trial=0, input_digest="aaaaaaaaaa", input="one"),
        row(trial=1, input_digest="bbbbbbbbbb", input="two"),
        row(trial=2, input_digest="aaaaaaaaaa"),
        row(trial=3),
    )
    with pytest.raises(
        ConfigurationError, match=r"task 'a': its trials have 2 different inputs(?s:.*)pass\^k.*--group-by-input"
    ):
        adopted(mixed)
    found = kept(mixed, by_input=True)
    assert numbers(found) == [("a [aaaaaaaa]", 1), ("a [bbbbbbbb]", 1), ("a [aaaaaaaa]", 2), ("a [unknown input]", 1)]
    tasks = adopted(mixed, by_input=True).suites[0].tasks
    assert [(task.id, task.prompt) for task in tasks] == [
        ("a [aaaaaaaa]", "one"),
        ("a [bbbbbbbb]", "two"),
        ("a [unknown input]", "(imported)"),
    ]


def test_an_unknown_input_is_no_other_input() -> None:
    assert numbers(kept(source(row(trial=0, input_digest="x"), row(trial=1)))) == [("a", 1), ("a", 2)]


def test_the_same_input_is_the_same_task_in_another_import() -> None:
    one = adopted(source(row(input_digest="x", input="do it"))).suites[0].tasks[0]
    two = adopted(source(row(input_digest="x", input="do it"), file="other.json")).suites[0].tasks[0]
    three = adopted(source(row(input_digest="y", input="do it"))).suites[0].tasks[0]
    assert one.digest == two.digest != three.digest


def test_a_variant_says_what_is_known_of_it() -> None:
    (variant,) = adopted(source(Header(settings={"model": "m", "max_steps": 3}), row(model="other"))).variants
    assert (variant.name, variant.provider) == ("gpt", Spec(kind="imported", options={"model": "m", "max_steps": 3}))
    (variant,) = adopted(source(row(model="m"))).variants
    assert variant.provider.options == {"model": "m"}
    (variant,) = adopted(source(row(trial=0, model="m"), row(trial=1, model="n"))).variants
    assert variant.provider.options == {}


@pytest.mark.parametrize(
    ("file", "kind", "suite", "variant"),
    [
        ("d/gpt-4.1.json.gz", "tau_bench", "tau_bench", "gpt-4.1"),
        ("a.csv", "csv", "imported", "a"),
        (".json", "jsonl", "imported", ".json"),
    ],
)
def test_names_come_from_the_format_and_the_file_where_nobody_gives_them(
    file: str, kind: str, suite: str, variant: str
) -> None:
    (key,) = adopted(source(row(), file=file, kind=kind)).planned
    assert key == (suite, "a", variant)
    (key,) = adopted(source(row(suite="s", variant="v"), file=file, kind=kind)).planned
    assert key == ("s", "a", "v")
    (key,) = adopted(source(row(suite="s", variant="v"), file=file, kind=kind, name="n"), suite="mine").planned
    assert key == ("mine", "a", "n")


def test_a_record_holds_what_the_file_told() -> None:
    whole = row(
        turns=3, input_tokens=10, output_tokens=2, usd=0.5, seconds=4.0, started=7.0, answer="yes", model="m",
        stop="finished", stop_detail="user_stop",
    )  # fmt: skip
    (found,) = kept(source(whole))
    tally = found.tally
    assert (tally.turns, tally.tokens, tally.usd, tally.seconds, found.started) == (3, 12, 0.5, 4.0, 7.0)
    assert (found.answer, found.models, found.nature, found.stop.detail) == ("yes", ("m",), "live", "user_stop")
    (bare,) = kept(source(row()))
    assert (bare.tally.usd, bare.tally.turns, bare.models) == (None, 0, ())


def test_nothing_and_only_errors_are_refused() -> None:
    with pytest.raises(RunInvalid, match=r"gpt\.json: holds no trials"):
        surveyed(source(Note(text="x")))
    broken = source(row(passed=None, error="rate limit\x1b[2J"), row(trial=1, passed=None, error="x"))
    with pytest.raises(
        RunInvalid, match=r"no trial passed or failed, 2 trials broke: rate limit\\x1b\[2J .--errors fail"
    ):
        adopted(broken)
    assert [one.outcome for one in kept(broken, errors="fail")] == ["failed", "failed"]


@pytest.mark.parametrize(
    "later",
    [
        [row(trial=0)],
        [row(trial=0), row(trial=1), row(trial=2)],
        [row(trial=0), row(trial=1, passed=False)],
        [row(trial=0), row("b", 1)],
    ],
)
def test_a_file_that_changes_between_its_two_readings_is_refused(later: list[Imported]) -> None:
    first = source(row(trial=0), row(trial=1))
    survey = surveyed(first)
    with pytest.raises(RunInvalid, match=r"changed while"):
        list(records(survey, [replace(first, importer=Told(later))], adopt(survey), "live"))


ROWS = st.lists(
    st.builds(
        row,
        st.sampled_from(["a", "b"]),
        st.none() | st.integers(0, 4) | st.sampled_from(["x", "y"]),
        passed=st.none() | st.booleans(),
        variant=st.none() | st.sampled_from(["v", "w"]),
        input_digest=st.sampled_from(["", "", "p" * 16, "q" * 16]),
    ),
    max_size=12,
)


@settings(deadline=None)
@given(
    rows=ROWS,
    header=st.none() | st.builds(Header, trials=st.none() | st.integers(1, 6), first=st.sampled_from([None, 0, 1])),
    more=ROWS,
    planned=st.none() | st.integers(1, 9) | st.just("max"),
    by_input=st.booleans(),
    duplicates=st.sampled_from(["refuse", "renumber"]),
)
def test_every_trial_is_kept_once_under_a_number_of_the_plan(
    rows: list[Imported], header: Header | None, more: list[Imported], planned: Any, by_input: bool, duplicates: Any
) -> None:
    sources = [source(*([header] if header else []), *rows), source(*more, file="gpt.json")]
    try:
        survey = surveyed(*sources, planned=planned, by_input=by_input, duplicates=duplicates)
        run = adopt(survey)
    except EvalkitError:
        return
    found = list(records(survey, sources, run, "live"))
    assert len(found) == len(rows) + len(more) == len({one.key.digest for one in found})
    for one, given_row in zip(found, [*rows, *more], strict=True):
        assert one.key.task.split(" [")[0] == given_row.task
        assert 1 <= one.key.index <= run.planned[one.key.suite, one.key.task, one.key.variant]
    if planned is None and header is None:
        assert sum(run.planned.values()) == len(found)

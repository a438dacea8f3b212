"""What comes first, and what must be said with it."""

from __future__ import annotations

from typing import Any

import pytest
from report_json import a_comparison, a_gate, a_summary, a_variant_summary, an_estimate

from evalkit.report.headline import bare, caveats, deepest, depths, hat, possible, reasons, size, verdict


@pytest.mark.parametrize(
    ("most", "shown"),
    [(0, []), (1, []), (2, [2]), (3, [2, 3]), (5, [2, 4, 5]), (8, [2, 4, 8]), (12, [4, 8, 12]), (16, [4, 8, 16])],
)
def test_powers_of_two_are_shown_and_the_deepest_k(most: int, shown: list[int]) -> None:
    assert depths(most) == shown


def test_one_variant_is_summed_up_in_one_sentence() -> None:
    summary = a_summary({"react": a_variant_summary(0.9)})
    assert verdict(summary).sentence == (
        "react passes all 8 of 8 attempts with probability 0.550 (95% interval 0.450–0.650; 24 tasks)."
    )
    assert verdict(summary).word == ""


def test_the_highest_of_several_is_named_with_its_curse() -> None:
    sentence = verdict(a_summary()).sentence
    assert sentence.startswith("react passes all 8 of 8")
    assert sentence.endswith("It is the highest of 2, and the highest of several overstates.")


def test_the_curse_has_a_size_where_the_summary_knows_it() -> None:
    highest = {"variant": "react", "k": 8, "value": 0.55, "of": 2, "overstates": 0.0312}
    assert verdict(a_summary(highest=highest)).sentence.endswith(
        "It is the highest of 2, and the highest of 2 equal ones comes out about 0.03 too high by chance: run it again before you quote it."
    )
    small = verdict(a_summary(highest=highest | {"overstates": 0.001})).sentence
    assert "comes out less than 0.01 too high by chance: run it again" in small
    other = verdict(a_summary(highest=highest | {"variant": "plan"})).sentence
    assert other.endswith("the highest of several overstates.")


def test_a_single_trial_a_task_is_pass_at_1() -> None:
    summary = a_summary({"react": a_variant_summary(0.9, n=1)})
    assert verdict(summary).sentence.startswith("react passes with probability 0.900")


def test_a_comparison_at_the_deepest_k_comes_before_the_estimate() -> None:
    small = a_comparison(variant="b", difference=0.1, sentence="b gains little.")
    other = a_comparison(metric="pass@1", difference=-0.9, sentence="another metric.")
    unknown = a_comparison(difference=None, sentence="unknown.")
    assert verdict(a_summary(), [small, a_comparison(), other, unknown]).sentence == a_comparison()["sentence"]
    assert verdict(a_summary(), [other, unknown]).sentence.startswith("react passes all")
    bare = a_comparison(variant="b", difference=-0.9, better=1, worse=3)
    assert verdict(a_summary(), [a_comparison(), bare]).sentence.startswith("react passes all")


@pytest.mark.parametrize(("word", "symbol"), [("pass", "✓"), ("fail", "✗"), ("inconclusive", "?"), ("invalid", "!")])
def test_a_gate_gives_the_word(word: str, symbol: str) -> None:
    found = verdict(a_summary(), gate=a_gate(word))
    assert (found.symbol, found.word) == (symbol, word.upper())


def test_nothing_measured_and_nothing_defined_are_said() -> None:
    assert verdict(a_summary({})).sentence == "No trial has been measured."
    hats = {"1": an_estimate(None, why="one task has no trial")}
    none = a_variant_summary(pass_hat=hats, passed=0, failed=0, errors=0, trials=0, missing=8)
    assert verdict(a_summary({"react": none})).sentence == "No trial has been run yet, of 8 planned."
    broken = {**none, "errors": 3, "trials": 3, "missing": 5}
    assert verdict(a_summary({"react": broken})).sentence == "No trial could be judged: 3 trials of 8 ended in error."
    undefined = a_summary({"react": a_variant_summary(pass_hat=hats)})
    assert verdict(undefined).sentence == "pass@1 is undefined: trials are missing, in error, or too few."
    assert list(reasons(undefined, [1])) == ["react: pass@1 undefined, one task has no trial"]


def test_each_reason_is_said_once() -> None:
    hats = {"1": an_estimate(0.5), "8": an_estimate(None, why="2 tasks have fewer than 8 trials")}
    summary = a_summary({name: a_variant_summary(pass_hat=hats) for name in ("a", "b")})
    assert list(reasons(summary, [1, 4, 8])) == [
        "a: pass^4 undefined, fewer than 4 trials",
        "a: pass^8 undefined, 2 tasks have fewer than 8 trials",
        "b: pass^4 undefined, fewer than 4 trials",
        "b: pass^8 undefined, 2 tasks have fewer than 8 trials",
    ]


def test_a_k_that_a_variant_does_not_reach_is_undefined_and_not_0() -> None:
    found = hat(a_variant_summary(n=4), 8)
    assert found["value"] is None
    assert found["why"] == "fewer than 8 trials"


def test_what_is_missing_and_what_is_simulated_is_said() -> None:
    lacking = a_summary({"react": a_variant_summary(errors=1, missing=3)}, natures=["live"])
    assert list(caveats(lacking)) == ["Incomplete: 3 trials missing and 1 trial in error, of 196 planned."]
    errors = a_summary({"react": a_variant_summary(errors=2)}, natures=["live"])
    assert list(caveats(errors)) == ["Incomplete: 2 trials in error, of 194 planned."]
    assert [text.split(":")[0] for text in caveats(a_summary())] == ["Simulated model"]
    assert not list(caveats(a_summary(natures=["live"])))


def test_what_an_undefined_value_can_still_turn_out_to_be_is_said() -> None:
    lost = {**an_estimate(None, why="1 of 24 tasks with trials in error"), "worst": 0.5, "best": 0.54}
    summary = a_summary({"react": a_variant_summary(pass_hat={"8": lost})})
    assert possible(lost) == "0.500…0.540"
    assert list(reasons(summary, [8])) == [
        "react: pass^8 undefined, 1 of 24 tasks with trials in error",
        "A range a…b reaches from all of these trials failed to all of them passed.",
    ]
    assert possible(an_estimate(None)) == ""


def test_the_sentence_says_where_others_are_undefined() -> None:
    lost = a_variant_summary(pass_hat={"8": an_estimate(None, why="an error")})
    sentence = verdict(a_summary({"react": a_variant_summary(), "plan": lost})).sentence
    assert sentence.endswith("24 tasks). pass^8 of 1 other variant is undefined.")


def test_the_size_of_a_run_is_said_as_it_is() -> None:
    assert size(a_summary()) == "2 variants × 24 tasks × 8 trials"
    uneven: Any = {"a": a_variant_summary(n=8), "b": a_variant_summary(n=4, tasks=20)}
    assert size(a_summary(uneven)) == "2 variants × up to 24 tasks × up to 8 trials"
    assert deepest(a_summary(uneven)) == 8
    assert size(a_summary({})) == "no variants"


def test_variants_that_tie_are_not_called_the_highest() -> None:
    def three(*starts: float) -> str:
        names = ("a", "b", "c")
        summary = a_summary({name: a_variant_summary(start) for name, start in zip(names, starts, strict=True)})
        return verdict(summary).sentence

    assert "It is the highest of 3, and the highest of several overstates." in three(0.9, 0.8, 0.7)
    assert "It shares the highest value of 3 with c, and the highest of several overstates." in three(0.9, 0.8, 0.9)
    assert three(0.9, 0.9, 0.9).endswith("All 3 variants have this value, so that none is the better by it.")


def bared(n: tuple[int, int] = (8, 8), **changes: Any) -> list[str]:
    """What is said of the data of one variant, pass^1 as given."""
    value = changes.pop("value", 0.5)
    hats = {str(k): {**an_estimate(value, 0.1, 0.9), "n": list(n)} for k in range(1, n[1] + 1)}
    return list(bare(a_summary({"react": a_variant_summary(**{"pass_hat": hats, **changes})})))


def test_bare_data_say_what_they_can_show_and_what_not() -> None:
    assert bared() == []
    assert bared(tasks=1)[0].startswith("One task: its own trials can be told, but nothing of other tasks")
    assert bared((1, 1))[0].startswith("One trial a task: pass@1 can be told; whether the same task works again")
    assert bared((3, 9)) == ["Tasks have 3 to 9 trials: pass^k can be told up to k = 3, and not beyond."]
    assert bared(value=1.0)[0].endswith("pass^8 is at least 0.100 (95% interval).")
    assert bared(value=0.0)[0].endswith("pass^8 is at most 0.900 (95% interval).")
    hats = {"1": an_estimate(None, why="all in error")}
    assert bared(passed=0, failed=0, errors=9, pass_hat=hats)[0].startswith("All trials that were played are in error")
    two = a_summary({"react": a_variant_summary(tasks=1), "plan": a_variant_summary()})
    assert next(bare(two)).startswith("react: one task: ")


def test_the_deepest_k_that_can_be_told_is_told_where_the_deepest_cannot() -> None:
    hats = {"1": an_estimate(0.9), "2": an_estimate(0.8), "3": an_estimate(None, why="too few")}
    said = verdict(a_summary({"react": a_variant_summary(pass_hat=hats)})).sentence
    assert said.startswith("react passes all 2 of 2 attempts with probability 0.800")
    assert said.endswith("pass^3 is undefined: trials are missing, in error, or too few.")

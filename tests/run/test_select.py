"""Choosing tasks and variants."""

from __future__ import annotations

import pytest

from evalkit.core.errors import ConfigurationError, RunInvalid
from evalkit.core.plan import Config, Spec, Suite, Task, Variant
from evalkit.run.select import Choice, select

GRADERS = (Spec(kind="equals"),)


def task(name: str, *tags: str) -> Task:
    """A task of a suite."""
    return Task(suite="s", id=name, prompt="p", graders=GRADERS, tags=tags)


SUITES = (
    Suite(name="one", tasks=(task("refund", "money"), task("greet"))),
    Suite(name="two", tasks=(task("ship", "money", "slow"),)),
)
CONFIG = Config(
    variants=tuple(Variant(name=name, provider=Spec(kind="scripted")) for name in ("react", "window")), baseline="react"
)


def chosen(**choice: object) -> tuple[list[str], list[str], str | None]:
    """Ids of the tasks and names of the variants chosen, and the baseline."""
    suites, config = select(SUITES, CONFIG, Choice(**choice))  # type: ignore[arg-type]  # fields of any type
    return [t.id for s in suites for t in s.tasks], [v.name for v in config.variants], config.baseline


def test_all_by_default() -> None:
    assert chosen() == (["refund", "greet", "ship"], ["react", "window"], "react")


def test_by_name_by_tag_and_by_number() -> None:
    assert chosen(tasks=("ship",))[0] == ["ship"]
    assert chosen(tags=("money",))[0] == ["refund", "ship"]
    assert chosen(limit=2)[0] == ["refund", "greet"]
    assert chosen(tags=("money",), limit=1)[0] == ["refund"]
    assert chosen(variants=("window",)) == (["refund", "greet", "ship"], ["window"], None)


def test_the_number_of_trials_is_replaced() -> None:
    suites, _ = select(SUITES, CONFIG, Choice(trials=3))
    assert {t.trials for s in suites for t in s.tasks} == {3}


def test_all_unknown_names_are_told_at_once_with_the_near_ones() -> None:
    with pytest.raises(ConfigurationError) as caught:
        select(SUITES, CONFIG, Choice(variants=("reakt",), tasks=("shop",), tags=("blue",)))
    text = str(caught.value)
    assert "--variant reakt: matches nothing (did you mean react?)" in text
    assert "--task shop: matches nothing (did you mean ship?)" in text
    assert "--tag blue: matches nothing (there are: money, slow)" in text


def test_a_choice_that_leaves_nothing_is_an_invalid_run() -> None:
    with pytest.raises(RunInvalid, match="nothing is selected"):
        select(SUITES, CONFIG, Choice(tasks=("greet",), tags=("slow",)))

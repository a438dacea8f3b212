"""Identity of plans: content and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evalkit.core.plan import Caps, Spec, Task, Variant, digest, trial_key, trial_seed

TASK = Task(suite="s", id="t", prompt="p", graders=(Spec(kind="equals", options={"text": "x"}),))
VARIANT = Variant(name="v", provider=Spec(kind="simulated"))


@pytest.mark.parametrize(
    "change",
    [
        {"prompt": "q"},
        {"graders": (Spec(kind="equals", options={"text": "y"}),)},
        {"environment": Spec(kind="workspace")},
        {"files": {"a.txt": "00"}},
        {"simulate": {"steps": []}},
        {"count_capped": "graded"},
        {"id": "u"},
        {"suite": "r"},
    ],
)
def test_an_edited_task_is_another_task(change: dict[str, object]) -> None:
    assert replace(TASK, **change).digest != TASK.digest  # type: ignore[arg-type]  # fields of any type


@pytest.mark.parametrize("change", [{"base": "/elsewhere"}, {"tags": ("slow",)}, {"trials": 99}])
def test_where_it_lies_and_how_often_it_is_tried_are_no_part_of_a_task(change: dict[str, object]) -> None:
    assert replace(TASK, **change).digest == TASK.digest  # type: ignore[arg-type]  # fields of any type


def test_a_variant_is_its_configuration_without_its_name() -> None:
    assert replace(VARIANT, name="w", source="elsewhere.yaml").digest == VARIANT.digest
    assert replace(VARIANT, caps=Caps(turns=3)).digest != VARIANT.digest
    assert replace(VARIANT, provider=Spec(kind="anthropic")).digest != VARIANT.digest
    assert replace(VARIANT, provider=Spec(kind="anthropic")).design_digest == VARIANT.design_digest
    assert replace(VARIANT, errors="generic").design_digest != VARIANT.design_digest


def test_a_field_that_nobody_set_is_no_part_of_an_identity() -> None:
    given = {"provider": {"kind": "simulated", "options": {}}}
    assert VARIANT.digest == digest(given)
    assert replace(VARIANT, max_tokens=VARIANT.max_tokens, caps=Caps()).digest == digest(given)


def test_keys_and_seeds_tell_all_trials_apart() -> None:
    keys = [
        trial_key(TASK, TASK.digest, VARIANT, VARIANT.digest, 1),
        trial_key(TASK, TASK.digest, VARIANT, VARIANT.digest, 2),
        trial_key(TASK, TASK.digest, replace(VARIANT, name="w"), VARIANT.digest, 1),
        trial_key(replace(TASK, id="u"), TASK.digest, VARIANT, VARIANT.digest, 1),
    ]
    assert len({key.digest for key in keys}) == 4
    assert len({trial_seed(key, VARIANT.design_digest, 0) for key in keys}) == 4
    assert trial_seed(keys[0], VARIANT.design_digest, 0) != trial_seed(keys[0], VARIANT.design_digest, 1)
    assert 0 <= trial_seed(keys[0], VARIANT.design_digest, 0) < 2**64

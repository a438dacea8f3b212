"""A loop design as text, and how often one failed call may be tried."""

from __future__ import annotations

from typing import Any

import pytest

from evalkit.core.plan import Retries, Spec, Variant, Verify
from evalkit.report.variants import retry_warnings, variants_text

PLAIN: dict[str, Any] = {"name": "v", "provider": Spec(kind="scripted")}
TEAM = Spec(kind="planner_executor", options={"executors": {"a": {"attempts": 1}, "b": {"attempts": 2}}})


@pytest.mark.parametrize(
    ("given", "model", "tool"),
    [
        ({"retries": Retries(model=5, tool=3)}, 5, 3),
        ({"retries": Retries(model=1, tool=1)}, 1, 1),
        ({"retries": Retries(tool=3), "verify": Verify(self_correct=2)}, 5, 9),
        ({"retries": Retries(tool=3), "loop": TEAM}, 5, 6),
        ({"retries": Retries(tool=2), "loop": TEAM, "verify": Verify(self_correct=1)}, 5, 8),
    ],
)
def test_the_worst_case_is_the_product_of_the_layers_that_multiply(
    given: dict[str, Any], model: int, tool: int
) -> None:
    text = variants_text([Variant(**PLAIN, **given)], None)
    assert f"model call {model:>6} = " in text
    assert f"tool call  {tool:>6} = " in text
    assert "warning" not in text


def test_more_than_nine_tries_are_warned_of() -> None:
    deep = Variant(**PLAIN, loop=TEAM, retries=Retries(model=10, tool=3), verify=Verify(self_correct=3))
    model, tool = retry_warnings([Variant(**PLAIN), deep])
    assert model.startswith("v: a model call may be tried 10 times: 10 tries in the session;")
    assert (
        "24 times: 3 tries in the dispatcher × 2 attempts at a subtask by the loop × 4 rounds of self-correction"
        in tool
    )
    assert f"warning: {tool}" in " ".join(variants_text([deep], "v").split())

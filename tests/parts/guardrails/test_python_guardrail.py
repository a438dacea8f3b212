"""Tripwires by a function."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalkit.core.errors import ConfigurationError
from evalkit.core.message import ToolCall, ToolResult
from evalkit.core.plan import Spec
from evalkit.core.record import Acted
from evalkit.load.config import load_config
from evalkit.parts import build, faults

ACTED = Acted(
    turn=1,
    call=ToolCall(id="c", name="pay", input={"euros": 90}),
    result=ToolResult(tool_use_id="c", content="paid"),
    at=0.0,
    seconds=0.0,
)
RULES = """
def dear(event):
    return event.type == "acted" and event.call.input.get("euros", 0) > 50

def why(event):
    return f"{event.call.input['euros']} euros" if dear(event) else None

def number(event):
    return 3
"""


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A folder with rules."""
    (tmp_path / "rules.py").write_text(RULES)
    return tmp_path


def rule(name: str) -> Any:
    """A guardrail by a function of that file."""
    return build("guardrails", Spec(kind="python", options={"name": "dear", "function": f"rules.py:{name}"}))


def test_true_or_a_text_trips_and_the_text_is_the_reason(base: Path) -> None:
    assert rule("dear").trips(ACTED, base) == "rules.py:dear said so"
    assert rule("why").trips(ACTED, base) == "90 euros"
    cheap = Acted(
        turn=1, call=ToolCall(id="c", name="pay", input={"euros": 9}), result=ACTED.result, at=0.0, seconds=0.0
    )
    assert rule("dear").trips(cheap, base) is None
    assert rule("why").trips(cheap, base) is None


def test_an_answer_that_is_none_is_refused(base: Path) -> None:
    with pytest.raises(TypeError, match="gave a int; it has to give true"):
        rule("number").trips(ACTED, base)
    (fault,) = faults("guardrails", "python", {"name": "x", "function": "rules"})
    assert "names none" in f"{fault}"


CONFIG = """\
version: 1
variants:
  v:
    provider: {kind: simulated}
    loop: {kind: react}
    guardrails: [{kind: python, name: dear, function: "rules.py:dear"}]
"""


def test_a_rule_that_was_edited_makes_another_variant(base: Path) -> None:
    path = base / "config.yaml"
    path.write_text(CONFIG)
    (before,) = load_config(path).variants
    assert before.base == str(base)
    (base / "rules.py").write_text(RULES + "# edited\n")
    (after,) = load_config(path).variants
    assert before.digest != after.digest
    path.write_text(CONFIG.replace("rules.py:dear", "none.py:dear"))
    with pytest.raises(ConfigurationError, match=r"config.yaml:6:\d+.*none.py"):
        load_config(path)

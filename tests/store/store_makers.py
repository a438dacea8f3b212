"""Makers of small runs, and of any record that the types allow."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from evalkit.core.message import Block, Message, Reply, Text, ToolCall, ToolResult, Usage
from evalkit.core.plan import Spec, Suite, Task, Trial, TrialKey, Variant
from evalkit.core.record import Acted, Asked, Checked, Halted, Stop, Tally, TrialRecord
from evalkit.store.manifest import Manifest, fingerprint, new_manifest, planned_keys
from evalkit.store.origin import Origin
from evalkit.store.runstore import RunStore

ORIGIN = Origin(evalkit="0", python="3", system="here", cpus=1)

TEXT = st.text(max_size=30) | st.sampled_from(["", "\x00", "\u2028</script>", "\x1b[2J", "𝕏🙂", "a" * 500, '"\\n'])
NUMBERS = st.integers(-(2**70), 2**70)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | FLOATS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)


def values_of(kind: Any) -> st.SearchStrategy[Any]:
    """Any value of a type of core: written once, so that a new event or field is tested the day it is born."""
    origin, arguments = get_origin(kind), get_args(kind)
    plain = {str: TEXT, int: NUMBERS, float: FLOATS, bool: st.booleans(), type(None): st.none(), Any: JSON_VALUES}
    if kind in plain:
        return plain[kind]
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (Union, types.UnionType):
        return st.one_of(*map(values_of, arguments))
    if origin is tuple:
        return st.lists(values_of(arguments[0]), max_size=2).map(tuple)
    if origin is not None and issubclass(origin, Mapping):
        return st.dictionaries(TEXT, values_of(arguments[1]), max_size=3)
    assert is_dataclass(kind), kind
    hints = get_type_hints(kind)
    made: Any = kind
    return st.builds(
        made, **{field.name: values_of(hints[field.name]) for field in fields(kind) if field.name != "schema"}
    )


def a_task(name: str = "t1", trials: int = 2, prompt: str = "do it") -> Task:
    """A task."""
    return Task(suite="s", id=name, prompt=prompt, graders=(Spec(kind="equals"),), trials=trials)


def a_variant(name: str = "v1", prompt: str = "") -> Variant:
    """A variant."""
    return Variant(name=name, provider=Spec(kind="scripted"), prompt=prompt)


def a_manifest(
    tasks: tuple[Task, ...] = (a_task(), a_task("t2")), variants: tuple[Variant, ...] = (a_variant(),), **more: Any
) -> Manifest:
    """A run of one suite; one task or several, one variant or several."""
    suites = (Suite(name="s", tasks=tasks),)
    given = {"run": "r", "created": 1.0, "seed": 0, "origin": ORIGIN, "fingerprint": fingerprint(suites, variants, 0)}
    return new_manifest(suites=suites, variants=variants, **{**given, **more})


def a_record(
    key: TrialKey, outcome: str = "passed", *, attempt: int = 1, answer: str = "fine", **more: Any
) -> TrialRecord:
    """A record of two model calls, a tool call and a grader."""
    call = ToolCall(id="c1", name="add", input={"x": 1})
    blocks: tuple[Block, ...] = (call, Text(text=answer))
    asked = [
        Asked(
            turn=turn,
            call=turn,
            purpose="act",
            sent=turn,
            held=turn,
            reply=Reply(
                message=Message(role="assistant", content=(block,)),
                stop_reason="end_turn",
                usage=Usage(input=10),
                usd=0.5,
            ),
            at=1.0,
            seconds=0.25,
        )
        for turn, block in enumerate(blocks, 1)
    ]
    acted = Acted(turn=1, call=call, result=ToolResult(tool_use_id="c1", content="2"), at=1.0, seconds=0.1)
    checked = Checked(turn=2, stage="grader", kind="equals", verdict="pass", reason="equal", at=2.0, seconds=0.0)
    stop = Stop(reason="error:provider", detail="gone") if outcome == "error" else Stop(reason="finished")
    given: dict[str, Any] = {
        "key": key,
        "seed": 2**64 - 1,
        "outcome": outcome,
        "stop": stop,
        "graded": {"passed": "pass", "failed": "fail"}.get(outcome),
        "answer": answer,
        "tally": Tally(turns=2, calls=2, input_tokens=20, usd=1.0, tool_calls=1, seconds=0.5),
        "nature": "simulated",
        "started": 5.0,
        "seconds": 0.75,
        "attempt": attempt,
        "events": (asked[0], acted, asked[1], Halted(turn=2, stop=stop, at=2.0), checked),
    }
    return TrialRecord(**{**given, **more})


def a_start(manifest: Manifest, key: TrialKey, attempt: int = 1) -> Trial:
    """The trial of a planned key."""
    task = next(task for suite in manifest.suites for task in suite.tasks if task.id == key.task)
    variant = next(variant for variant in manifest.variants if variant.name == key.variant)
    return Trial(key=key, task=task, variant=variant, seed=1, attempt=attempt)


def play_all(store: RunStore, outcome: str = "passed") -> list[TrialKey]:
    """Keep a record of every planned trial that is not done."""
    done = store.done()
    keys = [key for key in planned_keys(store.manifest) if key.digest not in done]
    for key in keys:
        store.begin(a_start(store.manifest, key))
        store.keep(a_record(key, outcome))
    return keys

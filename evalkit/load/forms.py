"""The shapes of both files: core's own dataclasses, with what YAML writes differently and a word on each key for editors.

Invariant: no field is listed here that core does not have (but those of a file as a whole), and none of core's is forgotten: a new
cap or a new field of a task is a line in `core/plan.py`, and YAML, its validation and its JSON Schema follow.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, field, fields, make_dataclass
from types import GenericAlias
from typing import Annotated, Any, Literal, get_args, get_type_hints

from pydantic import AfterValidator, WithJsonSchema
from pydantic import Field as Described

from evalkit.core.plan import (
    Caps,
    Gate,
    Item,
    Retries,
    Task,
    ToolOutput,
    ToolStyle,
    Variant,
    Verify,
    WrapUp,
)
from evalkit.load.node import shown
from evalkit.load.problems import meant
from evalkit.parts._duration import Duration
from evalkit.parts.providers._simulate import Simulate

LONGEST_NAME = 200

METRIC = re.compile(
    r"pass[\^@][1-9][0-9]{0,3}|cap_rate\((turns|tokens|seconds|usd|any)\)|usd_per_reliable_success|error_rate"
)
"""How a metric of a gate is written."""

METRICS = ("pass^8", "pass@1", *(f"cap_rate({meter})" for meter in ("turns", "tokens", "seconds", "usd", "any")))
METRICS = (*METRICS, "usd_per_reliable_success", "error_rate")

PART = "part of"
"""What stands in a form's JSON Schema for the parts of a family, until `schema` puts them there."""


def _name(text: str) -> str:
    """Accept what can name something in a table and on a command line: one printable line; raises `ValueError`."""
    if not text.strip():
        raise ValueError("a name is a text of at least one letter or digit")
    if text != text.strip() or not text.isprintable():
        raise ValueError("a name has no blanks around it, no line breaks and no control characters")
    if len(text) > LONGEST_NAME:
        raise ValueError(f"a name has at most {LONGEST_NAME} characters, this one has {len(text)}")
    return text


def _prompt(text: str) -> str:
    """Refuse a prompt of nothing; raises `ValueError`."""
    if not text.strip():
        raise ValueError("the agent is asked nothing: write a text")
    return text


def _pointer(text: str) -> str:
    """Accept a JSON Pointer to something of a variant; raises `ValueError`."""
    if not text.startswith("/") or text.endswith("/"):
        raise ValueError("no JSON Pointer into a variant: write /loop or /caps/turns")
    return text


def _metric(text: str) -> str:
    """Accept a metric as people write it; raises `ValueError`."""
    if METRIC.fullmatch(text):
        return text
    if re.fullmatch(r"pass\W?\w*", text):
        raise ValueError(f"there is no metric {shown(text)}; k is a number from 1: write pass^8 or pass@1")
    raise ValueError(f"there is no metric {shown(text)}; {meant(text, METRICS)}")


Name = Annotated[str, AfterValidator(_name)]
Metric = Annotated[str, AfterValidator(_metric), Described(json_schema_extra={"pattern": f"^({METRIC.pattern})$"})]
Pointer = Annotated[str, AfterValidator(_pointer), Described(json_schema_extra={"pattern": "^/"})]
Prompt = Annotated[str, AfterValidator(_prompt)]
Values = Annotated[tuple[Any, ...], Described(min_length=1)]
Version = Annotated[Literal[1], Described(description="version of the file's format: 1")]


def part_of(family: str) -> Any:
    """The type of a part in a file: `{kind: NAME, option: value}`. It is read by `specs`; here it is only named."""
    return Annotated[Any, WithJsonSchema({PART: family})]


def many(kind: Any) -> Any:
    """The type of a list."""
    return GenericAlias(tuple, (kind, ...))


def named(key: Any, kind: Any) -> Any:
    """The type of a mapping."""
    return GenericAlias(dict, (key, kind))


def told(kind: Any, description: str, **bounds: Any) -> Any:
    """A type with bounds, and a word for editors."""
    return Annotated[kind, Described(description=description, **bounds)]


def form(
    origin: type,
    name: str,
    kinds: Mapping[str, Any],
    *,
    without: tuple[str, ...] = (),
    optional: tuple[str, ...] = (),
) -> Any:
    """Make a form of a dataclass of core: its fields but some, with other types where `kinds` has them.

    The keys that are `optional` may be left to another place.
    """
    hints = get_type_hints(origin)
    kept = [one for one in fields(origin) if one.name not in without]
    shapes = [(one.name, kinds.get(one.name, hints[one.name]), _default(one, optional)) for one in kept]
    return shape(name, *shapes)


def shape(name: str, *shapes: tuple[Any, ...]) -> Any:
    """Make a class of the fields of a form, and of nothing else: no method that takes time to make."""
    return make_dataclass(name, shapes, kw_only=True, repr=False, eq=False)


def _default(one: Field[Any], optional: tuple[str, ...]) -> Any:
    """Carry a field's default over."""
    if one.default_factory is not MISSING:
        return field(default_factory=one.default_factory)
    if one.default is not MISSING:
        return field(default=one.default)
    return field(default=None) if one.name in optional else field()


def _positive(caps: type) -> dict[str, Any]:
    """The type of each cap: more than nothing, and a duration where it is a time."""
    found = {}
    for name, hint in get_type_hints(caps).items():
        unit = Duration if name == "seconds" else next(one for one in get_args(hint) if one is not type(None))
        found[name] = told(Annotated[unit, Described(gt=0)] | None, f"limit of {name} in one trial; null is no limit")
    return found


CAPS = form(Caps, "Caps", _positive(Caps))

RETRIES = form(
    Retries,
    "Retries",
    {
        "model": told(int, "tries of a model call, the first one counted", ge=1, le=100),
        "tool": told(int, "tries of a tool call that failed in passing, the first one counted", ge=1, le=100),
        "base": told(Annotated[Duration, Described(ge=0)], "wait before the second try; it doubles"),
        "longest": told(Annotated[Duration, Described(ge=0)], "longest wait between two tries"),
    },
)

VERIFY = form(
    Verify, "Verify", {"self_correct": told(int, "how often a failed check goes back to the model", ge=0, le=100)}
)

WRAP_UP = form(WrapUp, "WrapUp", {"turns": told(int, "turns that are left when the note comes", ge=1, le=1000)})

TOOL_OUTPUT = form(
    ToolOutput,
    "ToolOutput",
    {
        "tokens": told(int, "tokens, by estimate, of one result that the model is shown at most", ge=1),
        "keep": told(Literal["head", "tail", "both"], "which part of a longer one is shown"),
    },
)

TOOL_STYLE = form(
    ToolStyle,
    "ToolStyle",
    {
        "naming": told(Literal["plain", "prefix", "suffix"], "where the name of a tool's home goes in its own"),
        "verbosity": told(
            Literal["concise", "detailed", "agent"],
            "how much tools say that have a choice; `agent` lets the model choose",
        ),
    },
)

_TASK: dict[str, Any] = {
    "id": told(Name, "name of the task, unique in the suite"),
    "prompt": told(Prompt, "what the agent is asked"),
    "graders": told(
        many(part_of("checks")), "what decides the trial, hidden from the agent; all must pass", min_length=1
    ),
    "checks": told(many(part_of("checks")), "what the loop may look at while it works"),
    "environment": told(part_of("environments"), "the world that the agent acts on"),
    "tools": told(many(part_of("tools")), "tools beside those of the environment"),
    "checklist": told(tuple[Item, ...], "features of a long task in their order, for loops that keep a list"),
    "simulate": told(Simulate, "how the simulated model would solve it"),
    "count_capped": told(
        Literal["failed", "graded"], "what a trial counts as that a cap ended: failed, or what the graders say"
    ),
    "tags": told(tuple[Name, ...], "words to choose tasks by (--tag); joined with those of `defaults`"),
    "trials": told(int, "how often the task is tried, unless -n says otherwise", ge=1, le=10_000),
}

TASK = form(Task, "Task", _TASK, without=("suite", "base", "files"))
WRITTEN = form(Task, "Task", _TASK, without=("suite", "base", "files"), optional=("graders",))
DEFAULTS = form(Task, "Defaults", _TASK, without=("suite", "base", "files", "id", "prompt"), optional=("graders",))

_VARIANT: dict[str, Any] = {
    "provider": told(part_of("providers"), "the model; not needed where the loop's agent has one of its own"),
    "loop": told(part_of("loops"), "the control flow"),
    "context": told(part_of("context"), "what of the conversation the model is shown"),
    "condense": told(many(part_of("context")), "context policies that are applied before `context`"),
    "caps": told(CAPS, "limits of one trial; the first that is crossed ends it"),
    "retries": told(RETRIES, "how often a call that failed in passing is tried"),
    "errors": told(Literal["verbatim", "generic"], "what the model is shown of a failed tool call"),
    "prompt": told(str, "the system prompt"),
    "max_tokens": told(int, "tokens of one reply at most", ge=1, le=1_000_000),
    "fragments": told(tuple[str, ...], "pieces of a system prompt by name, put before `prompt`"),
    "verify": told(VERIFY | None, "run the task's checks when the loop thinks that it is done"),
    "wrap_up": told(WRAP_UP | None, "tell the model to end when few turns are left"),
    "detectors": told(many(part_of("detectors")), "what watches for a lack of progress"),
    "guardrails": told(many(part_of("guardrails")), "tripwires that end a trial"),
    "tool_output": told(TOOL_OUTPUT, "how much of a tool's result the model is shown"),
    "tools": told(TOOL_STYLE, "how tools are named and how much they say"),
    "extra_tools": told(many(part_of("tools")), "tools of the loop beside the task's own"),
}

_UNWRITTEN = ("name", "source", "base", "files")
VARIANT = form(Variant, "Variant", _VARIANT, without=_UNWRITTEN)
SHARED = form(Variant, "Shared", _VARIANT, without=_UNWRITTEN)

GATE = form(
    Gate,
    "Gate",
    {
        "metric": told(Metric, "pass^K, pass@K, cap_rate(turns), usd_per_reliable_success or error_rate"),
        "variant": told(Name | None, "the variant that must meet it; without it each one"),
        "task": told(Name | None, "the task that must meet it; without it the suite as a whole"),
        "min": told(float | None, "the least value that passes; shares are from 0 to 1", ge=0),
        "max": told(float | None, "the greatest value that passes; shares are from 0 to 1", ge=0),
        "baseline": told(Name | None, "the variant to compare with; goes with max_drop"),
        "max_drop": told(float | None, "how much worse than the baseline it may be; goes with baseline", ge=0),
        "rule": told(
            Literal["lower", "point", "not-worse", "anytime"],
            "how a bound is held: shown, met by the bare value, not shown to be missed, or shown by evidence that may be looked at all the time",
        ),
    },
)

SUITE = shape(
    "SuiteFile",
    ("version", Version),
    ("suite", told(Name, "name of the suite")),
    ("tasks", told(many(WRITTEN), "what is tried", min_length=1)),
    ("configs", told(tuple[str, ...], "files of variants to use when none are named, relative to this file"), ()),
    ("defaults", told(DEFAULTS, "values of all tasks that do not give their own"), None),
)

CONFIG = shape(
    "ConfigFile",
    ("version", Version),
    ("extends", told(str | None, "a file of variants that this one is laid over, relative to this file"), None),
    ("baseline", told(Name | None, "the variant that others are compared with"), None),
    ("vary", told(tuple[Pointer, ...], "JSON Pointers of everything in which the variants may differ"), ()),
    ("common", told(SHARED, "what all variants of the file share"), None),
    ("variants", told(named(Name, SHARED | None), "loop designs by name, each laid over `common`", min_length=1)),
    ("matrix", told(named(Pointer, Values), "values to expand each variant by, by JSON Pointer"), None),
    ("gates", told(many(GATE), "rules that a run must meet"), ()),
)

"""What is to be run: suites, tasks, variants, and the trials that they make.

Invariant: a plan is data and complete. A `Trial` can be pickled, sent anywhere and played there; its key holds
digests of the task and the variant, so an edited task is another trial and an untouched one is never run again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from typing import Literal

from evalkit.core.message import JSON
from evalkit.core.sandbox import PLAIN, Sandbox


def digest(value: JSON) -> str:
    """Hash a JSON value: 16 hex digits of the SHA-256 of its canonical form (keys sorted, no blanks)."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def differing(plan: Task | Variant, *, without: tuple[str, ...]) -> dict[str, JSON]:
    """Take the fields of a plan that differ from their defaults, as JSON: what its identity is made of.

    A field that is added later, and that nobody set, leaves every older identity as it was.
    """
    usual = {
        one.name: one.default_factory()
        if one.default is MISSING and one.default_factory is not MISSING
        else one.default
        for one in fields(plan)
    }
    content = asdict(plan)
    return {
        name: content[name] for name, value in usual.items() if name not in without and getattr(plan, name) != value
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """A part by name: the `kind` of a file in `evalkit/parts/<family>/` and the options that it is built with."""

    kind: str
    options: Mapping[str, JSON] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """Limits of one trial, stacked; None is no limit.

    A field's name is the name of the meter on `Tally` that it limits, so a cap on something counted is one line
    here. `turns` counts model calls of the loop's own conversation, `tokens` prompt and output of every model call, `seconds`
    working time on a monotonic clock (waiting for a provider's rate limit is counted apart), `usd` dollars.
    """

    turns: int | None = None
    tokens: int | None = None
    seconds: float | None = None
    usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """How often a call that failed in passing is tried, the first try counted; waits double from `base` up to `longest` seconds."""

    model: int = 5
    tool: int = 3
    base: float = 1.0
    longest: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WrapUp:
    """With `turns` turns left under the `turns` cap, a note tells the model to sum up and end."""

    turns: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Verify:
    """The task's checks run whenever the loop thinks that it is done; `self_correct` is how often a failed one goes back."""

    self_correct: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutput:
    """How much of one tool result the model is shown, in estimated tokens, and which part of a longer one is kept."""

    tokens: int = 25_000
    keep: Literal["head", "tail", "both"] = "head"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStyle:
    """How tools are named and how much they say.

    `naming` puts the name of the tool's home before or after its own. `verbosity` `agent` lets the model choose per call.
    """

    naming: Literal["plain", "prefix", "suffix"] = "plain"
    verbosity: Literal["concise", "detailed", "agent"] = "detailed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One feature of a long task: what must be proven to work."""

    id: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One thing to do, what the agent is given for it, and what decides.

    `base` is the folder that relative paths in options start from; it and the text of `tags` are no part of the
    task's identity. `files` maps each file that the task uses to a digest of its bytes, so that an edited
    fixture makes another task. `checklist` names the parts of a long task, for loops that keep one. `simulate` says how a simulated model would solve it; `trials` is how often it is to be tried.
    """

    suite: str
    id: str
    prompt: str
    graders: tuple[Spec, ...]
    checks: tuple[Spec, ...] = ()
    environment: Spec = Spec(kind="bare")
    tools: tuple[Spec, ...] = ()
    checklist: tuple[Item, ...] = ()
    simulate: Mapping[str, JSON] = field(default_factory=dict)
    count_capped: Literal["failed", "graded"] = "failed"
    tags: tuple[str, ...] = ()
    trials: int = 8
    base: str = "."
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """Identity of the task's content: everything but where it lies, its tags and how often it is tried."""
        return digest(differing(self, without=("base", "tags", "trials")))


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A named list of tasks; `configs` are the variant files to use when none are named, `files` as in `Task`."""

    name: str
    tasks: tuple[Task, ...]
    configs: tuple[str, ...] = ()
    source: str = ""


PLACES = ("name", "source", "base")
"""What says how a variant is called and where it lies, and nothing of what it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One loop configuration: everything that may move pass^k, and nothing else.

    `condense` are context policies that are applied before `context`. `errors` is what a model is shown of a failed tool call: `verbatim`
    the text of the failure, `generic` the words "tool failed". `prompt` is the system prompt, before it the `fragments` by
    name. `extra_tools` come beside the task's own. `max_tokens` bounds one reply. `provider` may be left out where the loop asks no
    model. `base` is the folder that relative paths of loop, guardrails and extra tools start from, and no part of the identity;
    `files` maps each of their files to a digest of its bytes, so that an edited agent or tool is another variant.
    """

    name: str
    provider: Spec = Spec(kind="absent")
    loop: Spec = Spec(kind="react")
    context: Spec = Spec(kind="full")
    condense: tuple[Spec, ...] = ()
    caps: Caps = Caps()
    retries: Retries = Retries()
    errors: Literal["verbatim", "generic"] = "verbatim"
    fragments: tuple[str, ...] = ()
    prompt: str = ""
    max_tokens: int = 4096
    verify: Verify | None = None
    wrap_up: WrapUp | None = None
    detectors: tuple[Spec, ...] = ()
    guardrails: tuple[Spec, ...] = ()
    tool_output: ToolOutput = ToolOutput()
    tools: ToolStyle = ToolStyle()
    extra_tools: tuple[Spec, ...] = ()
    source: str = ""
    base: str = "."
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """Identity of the configuration's content, without its name, the file that it came from and where that lies."""
        return digest(differing(self, without=PLACES))

    @property
    def design_digest(self) -> str:
        """Identity of the loop design alone: `digest` with the provider left out."""
        return digest(differing(self, without=(*PLACES, "provider")))

    def content(self) -> dict[str, JSON]:
        """The configuration as a JSON object, without its name and place: what two variants are compared by."""
        content = asdict(self)
        for name in PLACES:
            del content[name]
        return content


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """A rule that a run must meet: a metric of one variant over a bound, or its drop from a baseline within a margin.

    `metric` is written as people write it: `pass^8`, `pass@1`, `cap_rate(turns)`, `usd_per_reliable_success`.
    `variant` None means each variant of the run. `min` and `max` bound the metric's value.
    `baseline` with `max_drop` bounds the loss of the metric against another variant of the same run. `rule` says how a bound is held.
    """

    metric: str = "pass^8"
    variant: str | None = None
    task: str | None = None
    min: float | None = None
    max: float | None = None
    baseline: str | None = None
    max_drop: float | None = None
    rule: Literal["lower", "point", "not-worse", "anytime"] = "lower"


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """A file of variants: the loop designs to compare, which of them is the baseline, and the gates to meet."""

    variants: tuple[Variant, ...]
    baseline: str | None = None
    gates: tuple[Gate, ...] = ()
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialKey:
    """Which attempt this is; `index` counts a task's attempts under a variant from 1."""

    suite: str
    task: str
    variant: str
    index: int
    task_digest: str
    variant_digest: str

    @property
    def digest(self) -> str:
        """The primary key of the trial: 32 hex digits over all fields."""
        text = "\x00".join(
            (self.suite, self.task, self.variant, str(self.index), self.task_digest, self.variant_digest)
        )
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def trial_key(task: Task, task_digest: str, variant: Variant, variant_digest: str, index: int) -> TrialKey:
    """Name the `index`-th attempt of a task under a variant; the digests are given because they are dear to compute."""
    return TrialKey(
        suite=task.suite,
        task=task.id,
        variant=variant.name,
        index=index,
        task_digest=task_digest,
        variant_digest=variant_digest,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One attempt, ready to be played anywhere: playing it is a pure function of this value and the world it calls.

    `attempt` counts how often our own world broke under it: 1 the first time. `sandbox` is a matter of the machine, no part of the key.
    """

    key: TrialKey
    task: Task
    variant: Variant
    seed: int
    attempt: int = 1
    sandbox: Sandbox = PLAIN


def trial_seed(key: TrialKey, design_digest: str, run_seed: int) -> int:
    """Derive a trial's 64-bit seed from what it is.

    The provider is left out (`design_digest` stands for the variant): one loop design asked of a simulated
    model in this process and of the same model behind a server draws the same numbers, and can be compared
    trial by trial.
    """
    text = "\x00".join(
        (key.suite, key.task, key.variant, str(key.index), key.task_digest, design_digest, str(run_seed))
    )
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")

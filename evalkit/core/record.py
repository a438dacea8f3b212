"""What happened: the events of a trace, why a trial stopped, what it cost, how it was decided.

Invariant: a record is complete and never edited. `outcome` and `stop` are two independent facts; `graded` keeps
the graders' own word, so that either reading of a capped trial can be recomputed without a new run.
`SCHEMA` is raised when a field changes its meaning; the store keeps a reader for each older one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from evalkit.core.errors import ToolErrorKind
from evalkit.core.message import Nature, Picture, Reply, ToolCall, ToolResult, Usage
from evalkit.core.plan import TrialKey

SCHEMA = 1

Outcome = Literal["passed", "failed", "error"]
Verdict = Literal["pass", "fail", "unknown"]


UNKNOWN = "unknown"
"""The reason of a stop that nobody told: of a trial that another harness played. A cap may have ended it, or not."""

Counter = Literal["turns", "tokens", "tool_calls", "seconds"]
"""What may be untold: by an agent that is a program of its own, and of trials that another harness played its time too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Everything counted so far in a trial; `usd` is None as soon as one reply's price is unknown.

    `uncounted` names the counters that nobody could count (an agent with a model of its own may not tell): what stands
    in them is not the number. `known` asks for a meter's value.
    """

    turns: int = 0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_5m_tokens: int = 0
    cache_write_1h_tokens: int = 0
    usd: float | None = 0.0
    tool_calls: int = 0
    tool_errors: int = 0
    retries: int = 0
    seconds: float = 0.0
    waited: float = 0.0
    uncounted: tuple[Counter, ...] = ()

    def known(self, meter: str) -> float | None:
        """The value of a meter, None where it is not known."""
        value: float | None = None if meter in self.uncounted else getattr(self, meter)
        return value

    @property
    def tokens(self) -> int:
        """Prompt and output tokens of every model call, cached or not."""
        return (
            self.input_tokens
            + self.output_tokens
            + self.cache_read_tokens
            + self.cache_write_5m_tokens
            + self.cache_write_1h_tokens
        )

    @property
    def usage(self) -> Usage:
        """The five token counters as one value."""
        return Usage(
            input=self.input_tokens,
            output=self.output_tokens,
            cache_read=self.cache_read_tokens,
            cache_write_5m=self.cache_write_5m_tokens,
            cache_write_1h=self.cache_write_1h_tokens,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CapFired:
    """Which cap ended a trial: its meter, the limit, the value that crossed it, and the turn at which it did."""

    meter: str
    limit: float
    value: float
    turn: int

    @property
    def overshoot(self) -> float:
        """How far the value went past the limit, 0 where the cap was only reached."""
        return max(0.0, self.value - self.limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """Why a trial ended.

    `reason` is one of `finished`, `cap:turns|tokens|seconds|usd`, `gave_up`, `detector:NAME`, `guardrail:NAME`, `tool_error`, `refusal`,
    `truncated`, `context_overflow`, `agent_error` (the user's own agent raised, or ended as no agent should), `error:NAME`; of imported
    trials also `UNKNOWN`. Only `error:*` is void: our own world broke.
    """

    reason: str
    detail: str = ""
    cap: CapFired | None = None

    @property
    def is_error(self) -> bool:
        """True where our own world broke, so that the trial says nothing of the agent."""
        return self.reason.startswith("error:")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One failed try of a call that was tried again: what went wrong and how long was waited before the next, in seconds."""

    error: str
    status: int | None = None
    waited: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A model call: how much of the transcript was sent (`sent` of `held` messages), the reply, and the failed attempts before it.

    `asked` is the request's fingerprint, by which a replay sees whether it is asked the same.
    """

    turn: int
    call: int
    purpose: str
    sent: int
    held: int
    reply: Reply
    at: float
    seconds: float
    attempts: tuple[Attempt, ...] = ()
    agent: str = ""
    asked: str = ""
    type: Literal["asked"] = "asked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unanswered:
    """A model call that failed for good: the last error and every failed attempt, the last one included; `asked` as in `Asked`."""

    turn: int
    call: int
    error: str
    at: float
    seconds: float
    attempts: tuple[Attempt, ...] = ()
    agent: str = ""
    asked: str = ""
    type: Literal["unanswered"] = "unanswered"


@dataclass(frozen=True, slots=True, kw_only=True)
class Acted:
    """A tool call: what was asked, what the model was shown, and what really happened (`error`, `detail`)."""

    turn: int
    call: ToolCall
    result: ToolResult
    at: float
    seconds: float
    error: ToolErrorKind | None = None
    detail: str = ""
    attempts: tuple[Attempt, ...] = ()
    agent: str = ""
    type: Literal["acted"] = "acted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """A user message that the loop, not the user, put into the conversation; `origin` names the mechanism."""

    turn: int
    origin: str
    text: str
    at: float
    agent: str = ""
    pictures: tuple[Picture, ...] = ()
    type: Literal["noted"] = "noted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A check or grader that ran, its answer and its reason."""

    turn: int
    stage: Literal["ladder", "grader"]
    kind: str
    verdict: Verdict
    reason: str
    at: float
    seconds: float
    agent: str = ""
    type: Literal["checked"] = "checked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Halted:
    """The end of the conversation."""

    turn: int
    stop: Stop
    at: float
    type: Literal["halted"] = "halted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """A digest of the world's observable state after a turn; made only where a detector wants it."""

    turn: int
    state: str
    at: float
    agent: str = ""
    type: Literal["observed"] = "observed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Flagged:
    """A detector saw no progress: what it saw, and whether that warned the model or stopped the trial."""

    turn: int
    detector: str
    pattern: str
    then: Literal["warn", "stop"]
    at: float
    agent: str = ""
    type: Literal["flagged"] = "flagged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflected:
    """A reflection checkpoint: what the model said of its own progress, or why its reply could not be read (`error`)."""

    turn: int
    at: float
    on_track: bool | None = None
    confidence: float | None = None
    issues: tuple[str, ...] = ()
    recommendation: Literal["continue", "revise_approach", "abort"] | None = None
    revised_plan: str = ""
    error: str = ""
    agent: str = ""
    type: Literal["reflected"] = "reflected"


@dataclass(frozen=True, slots=True, kw_only=True)
class Condensed:
    """A context policy replaced a part of the view by a text of the model's: tokens (estimated) before and after.

    `covered` counts the messages that the text stands for; `error` says why none came of it.
    """

    turn: int
    policy: str
    covered: int
    before: int
    after: int
    text: str
    at: float
    error: str = ""
    agent: str = ""
    type: Literal["condensed"] = "condensed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delegated:
    """A piece of work that went to a loop of its own: what it was asked, what came back, why it stopped, what it used."""

    turn: int
    agent: str
    prompt: str
    answer: str
    stop: Stop
    tally: Tally
    at: float
    type: Literal["delegated"] = "delegated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """Something happened to a durable checklist: an item was proven, or a change to the list was refused."""

    turn: int
    item: str
    action: Literal["passed", "refused", "window"]
    detail: str
    at: float
    agent: str = ""
    type: Literal["listed"] = "listed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """What the user's own agent let out beside its conversation: its traceback, what it printed, a line that could not be read."""

    turn: int
    origin: Literal["traceback", "stdout", "stderr", "unreadable"]
    text: str
    at: float
    agent: str = ""
    type: Literal["reported"] = "reported"


Event = (
    Asked
    | Unanswered
    | Acted
    | Noted
    | Checked
    | Observed
    | Flagged
    | Reflected
    | Condensed
    | Delegated
    | Listed
    | Reported
    | Halted
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRecord:
    """Everything that is kept of one trial.

    `graded` is what the graders said of the final state, None where they were not asked. `started` is seconds since
    the epoch; `seconds` is the wall time of the whole trial with set-up and grading. `grading` is what the graders used, which no cap bounds and
    `tally` leaves out. `error` is the text of what broke.
    `fatal` says that no other trial of the run can succeed either. `models` are the names that the provider answered with.
    """

    key: TrialKey
    seed: int
    outcome: Outcome
    stop: Stop
    graded: Verdict | None
    answer: str
    tally: Tally
    nature: Nature
    started: float
    seconds: float
    grading: Tally = Tally()
    attempt: int = 1
    error: str = ""
    fatal: bool = False
    models: tuple[str, ...] = ()
    events: tuple[Event, ...] = ()
    schema: int = SCHEMA

"""Every seam of evalkit, to be read in one sitting.

A part is a frozen dataclass in `evalkit/parts/<family>/<kind>.py`, named as its file in CamelCase; its fields are the
options that YAML may give. What has no state of its own *is* the part (a check, a context policy, a loop, a tool);
what has state is opened by the part once a trial (a provider, an environment), so no trial sees another's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NoReturn, Protocol, runtime_checkable

from evalkit.core.message import (
    JSON,
    Message,
    Nature,
    Picture,
    Price,
    Reply,
    Request,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
)
from evalkit.core.plan import Caps, Spec, Task, Trial, Variant
from evalkit.core.record import Counter, Event, Stop, Tally, TrialRecord, Verdict
from evalkit.core.sandbox import Needs, Sandbox


class Provider(Protocol):
    """A model, as one trial sees it."""

    def complete(self, request: Request) -> Reply:
        """Answer, or raise `ProviderError` or `ContextOverflow`; never retries by itself."""


class ProviderPart(Protocol):
    """How a variant names a model."""

    @property
    def nature(self) -> Nature:
        """Where its replies come from; recorded with each trial."""

    def ready(self) -> str | None:
        """What keeps it from being asked at all (no key, no model), and how to mend it; None where nothing does. Cheap."""

    def price(self) -> Price | None:
        """Price of its tokens, None where unknown: a dollar cap is then refused before the first call."""

    def window(self) -> int | None:
        """Tokens that a prompt may have, None where unknown: policies that need it are then refused."""

    def open(self, trial: Trial) -> Provider:
        """Make the provider of one trial; clients that are dear to make are shared behind it."""


class Ground(Protocol):
    """The place on disk that an environment gets for one trial; it is removed when the trial has been graded."""

    @property
    def base(self) -> Path:
        """The folder that relative paths in a suite start from: read it, never write to it."""

    @property
    def sandbox(self) -> Sandbox:
        """What is to hold the processes that the environment starts."""

    def folder(self) -> Path:
        """An empty folder of this trial alone, made at the first call."""


class Environment(Protocol):
    """The world that an agent acts on, fresh for each trial."""

    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools that the environment itself offers."""

    def call(self, call: ToolCall) -> str:
        """Run one of them with arguments that fit its schema; raises a `ToolError` where it fails."""

    def state(self) -> JSON:
        """The observable state as a JSON value: equal values mean that nothing changed. Works after `close` too."""

    def close(self) -> None:
        """End everything that still runs in it; what it left on disk stays until the trial has been graded."""

    def export(self, into: Path) -> None:
        """Copy the final state into an empty folder for a grader. Works after `close` too, as often as asked."""


@runtime_checkable
class Housed(Protocol):
    """An environment that is a folder, in which an agent that is a program can work."""

    @property
    def home(self) -> Path:
        """The folder."""


class EnvironmentPart(Protocol):
    """How a task names its world.

    The class variable `OPEN_TO_PROGRAMS` says that an agent which is a program can do there what the tools do: it is a folder, or nothing.
    """

    def open(self, ground: Ground) -> Environment:
        """Make the environment of one trial."""


class Tool(Protocol):
    """A tool that a suite declares beside those of its environment."""

    def spec(self, base: Path) -> ToolSpec:
        """What the model is told of it; relative paths in its options start from `base`."""

    def use(self, arguments: Mapping[str, JSON], world: Environment, base: Path) -> str:
        """Run it with arguments that fit its schema; raises a `ToolError` where it fails. `base` as in `spec`."""


class Announces(Protocol):
    """What a tool or an environment may say of its tools before anything is opened; only what is announced is checked in `simulate.steps`."""

    def announce(self) -> Mapping[str, JSON]:
        """The schema of each tool's arguments by the tool's name, None in its place where a file of the suite had to be run to know it."""


@runtime_checkable
class StartsProcesses(Protocol):
    """What a part of any family says of itself where it may start processes on what an agent wrote."""

    @property
    def starts_processes(self) -> bool:
        """True where it does with the options that it has: a run then wants a sandbox."""


@runtime_checkable
class RunsOutside(Protocol):
    """What a loop says of itself where it runs code of the user's own that no sandbox holds."""

    @property
    def runs_outside(self) -> bool:
        """True where it does."""


@runtime_checkable
class RunsInside(Protocol):
    """What a loop says of itself where it runs a program of the user's own, in the trial's sandbox if there is one."""

    def needs(self, variant: Variant) -> Needs:
        """What that program has to find there; it is told before the run, and refused where it would show a grader."""


class SessionTool(Protocol):
    """A tool that works through the session itself, such as one that hands a question to another loop."""

    def spec(self, base: Path) -> ToolSpec:
        """What the model is told of it."""

    def converse(self, arguments: Mapping[str, JSON], session: Session) -> str:
        """Run it; raises a `ToolError` where it fails."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """A check's answer and why; `unknown` is an answer, not an error. A `picture` is shown to the model together with the reason."""

    verdict: Verdict
    reason: str = ""
    picture: Picture | None = None


class Evidence(Protocol):
    """What a check may look at: the task, the answer, the conversation, and the state of the world."""

    @property
    def task(self) -> Task:
        """The task as planned; its `base` is where a check's own files are found."""

    @property
    def answer(self) -> str:
        """The text with which the agent ended; empty where it ended without one."""

    @property
    def transcript(self) -> tuple[Message, ...]:
        """The whole conversation."""

    @property
    def sandbox(self) -> Sandbox:
        """What is to hold the processes that the check starts."""

    def state(self) -> JSON:
        """The environment's observable state."""

    def copy(self) -> Path:
        """A fresh folder with a copy of the state, out of the agent's reach, for the caller alone to use up."""

    def consult(self, messages: tuple[Message, ...], max_tokens: int) -> Reply:
        """Ask the variant's model; what that costs is counted. Raises `ProviderError` where it does not answer."""


class Check(Protocol):
    """A rung of the loop's ladder, or a grader that decides the trial: one seam for both."""

    def judge(self, evidence: Evidence) -> CheckResult:
        """Answer pass, fail or unknown; raises `GraderBroke` where the check itself could not be made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memo:
    """A text of the model's that stands for a part of the conversation: the first `upto` messages, as of `turn`."""

    text: str
    upto: int
    turn: int


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What a context policy chooses from: messages, its own memos so far (the newest last), and the counts.

    `messages[0]` is the user's request. `prompt_tokens` is the size of the last prompt as the provider reported it, an
    estimate before the first reply; `window_tokens` is the model's context window, None where unknown.
    """

    messages: tuple[Message, ...]
    memos: tuple[Memo, ...]
    tally: Tally
    prompt_tokens: int
    window_tokens: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoRequest:
    """A memo that a policy wants written now: the messages to ask the model with, and how many messages it will stand for.

    `must_shrink` says that the view is to become smaller by it.
    """

    messages: tuple[Message, ...]
    upto: int
    max_tokens: int
    must_shrink: bool = True


class ContextPolicy(Protocol):
    """What of the transcript the model is shown: a pure view that the Messages API accepts."""

    def due(self, history: History) -> MemoRequest | None:
        """The memo to be written before the next view, None where none is; pure, like the view."""

    def view(self, history: History) -> tuple[Message, ...]:
        """Choose; `messages[0]`, the user's request, is always kept."""


class Detector(Protocol):
    """Watches one trial for a lack of progress, with a memory of its own."""

    def watch(self, event: Event) -> str | None:
        """Take in an event; give what was seen where the trial makes no progress, None otherwise."""


class DetectorPart(Protocol):
    """How a variant names a detector, and what is done when it sees something."""

    @property
    def then(self) -> Literal["warn", "stop"]:
        """Warn the model, or stop the trial."""

    @property
    def wants_state(self) -> bool:
        """True where it needs `Observed` events, which cost a digest of the world each turn."""

    def open(self) -> Detector:
        """Make the detector of one trial."""


class Guardrail(Protocol):
    """A tripwire: a hit ends the trial."""

    @property
    def name(self) -> str:
        """What the stop is called: `guardrail:NAME`."""

    def trips(self, event: Event, base: Path) -> str | None:
        """Say what tripped it, None where nothing did; relative paths in its options start from `base`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of a piece of work that was delegated: the answer, why it stopped, and what it used."""

    answer: str
    stop: Stop
    tally: Tally


class Session(Protocol):
    """A loop's only way to the model and the world. Using it gives a loop its caps, trace and counting.

    A stop is sticky: once a cap fired, every further `ask` and `act` ends the loop again.
    """

    @property
    def task(self) -> Task:
        """What is to be done."""

    @property
    def sandbox(self) -> Sandbox:
        """What is to hold the processes that the loop itself starts."""

    @property
    def variant(self) -> Variant:
        """How: the configuration that the loop is a part of."""

    @property
    def folder(self) -> Path | None:
        """The folder that the environment is; None where it is none."""

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """All tools, the environment's and the suite's."""

    @property
    def transcript(self) -> tuple[Message, ...]:
        """The conversation so far; it is never edited."""

    @property
    def events(self) -> Sequence[Event]:
        """Everything that happened so far."""

    @property
    def tally(self) -> Tally:
        """Everything counted so far."""

    def now(self) -> float:
        """Seconds since the epoch, for the stamps of events."""

    def ask(self, *, tools: bool = True, purpose: str = "act") -> Reply:
        """Let the model take its turn on the transcript; `tools` False offers none. The reply joins the transcript."""

    def act(self, calls: Sequence[ToolCall]) -> tuple[ToolResult, ...]:
        """Run tool calls; the results join the transcript in call order."""

    def note(self, text: str, origin: str) -> None:
        """Put a user message of the loop's own into the conversation."""

    def consult(self, messages: tuple[Message, ...], *, purpose: str, max_tokens: int = 1024) -> Reply:
        """Ask the model aside: counted in every cap but `turns`, and no part of the transcript."""

    def delegate(
        self,
        prompt: str,
        *,
        agent: str,
        loop: Loop,
        caps: Caps,
        extra: Sequence[SessionTool] = (),
        system: str | None = None,
        context: Spec | None = None,
    ) -> Result:
        """Hand work to a fresh conversation in the same world, with caps of its own; what it uses counts here too.

        `extra` are tools of that conversation alone; `system` and `context` None are the variant's. Raises `ToolFailed`
        where conversations are nested too deep.
        """

    def hold(self) -> None:
        """End the loop where a cap is crossed or a stop is due: for loops that wait for something of their own."""

    def overhear(self, reply: Reply, *, agent: str = "") -> None:
        """Take in a turn that the loop's own program took with a model of its own: counted, recorded, held to the caps.

        `agent` names a helper of that program; its replies are calls, but no turns, and join no transcript.
        """

    def overhear_results(self, results: Sequence[ToolResult], *, agent: str = "") -> None:
        """Take in what the tools of such a program gave back; the caps are asked as before a further model call."""

    def settle(self, *, turns: int, usage: Usage, usd: float | None, uncounted: tuple[Counter, ...] = ()) -> None:
        """Close the account of such a program: what it used beyond the turns that were overheard, its cost in all, what it left untold.

        Never ends the loop, and may be called after a stop: `hold` asks the caps.
        """

    def conclude(self, answer: str) -> None:
        """Give the answer, where it is not the text of the last reply."""

    def record(self, event: Event) -> None:
        """Add an event of the loop's own to the trace."""

    def stop(self, reason: str, detail: str = "") -> NoReturn:
        """End the trial for a reason of the loop's own, such as `gave_up`."""


class Loop(Protocol):
    """Control flow, and nothing else.

    Class variables say what a loop wants: `MODEL` whether it asks the variant's provider (`asked`, which is what a loop without the
    variable does), may ask it (`may_ask`) or has a model of its own (`own`); `TOOLS` False that it cannot use a task's tools;
    `WANTS_SECONDS` that it needs a `seconds` cap. Where a loop has them, `ready(variant)` says what keeps it from being played at all, None
    where nothing does, and `doubts(variant)` what in the variant will not work as it is meant.
    """

    def play(self, session: Session) -> None:
        """Work on the session's task until done; returning means that the agent stopped by itself."""


class Stream(Protocol):
    """Follows what a program writes on its standard output, and tells the session."""

    def hear(self, piece: bytes) -> None:
        """Take in the next bytes, cut anywhere; ends the trial where they cannot be those of an agent."""

    def end(self, code: int) -> None:
        """Take in that the program ended by itself with an exit status; ends the trial unless its agent finished."""

    def settle(self) -> None:
        """Close the account of this run, however it ended; called once, at the end, and never ends the trial."""


class StreamPart(Protocol):
    """How a `command` loop names the shape of its program's output.

    The class variables `HOLDS` and `TELLS` name the caps that can be held while the program runs, because the output tells, and those
    that can be asked only when it has ended.
    """

    def open(self, session: Session) -> Stream:
        """Begin to follow one run of the program."""


Play = Callable[[Trial], TrialRecord]
"""Plays one trial: pure, picklable, and never raising."""


class Backend(Protocol):
    """Where trials are played."""

    def map(self, play: Play, trials: Iterable[Trial]) -> Iterator[TrialRecord]:
        """Play lazily drawn trials, several at a time, and yield records as they come; raises `WorkerDied`, after which it can be asked anew."""


class Store(Protocol):
    """Where records are kept."""

    def done(self) -> frozenset[str]:
        """Digests of the keys whose trials passed or failed; an errored trial is not done."""

    def begin(self, trial: Trial) -> None:
        """Note durably that an attempt starts."""

    def keep(self, record: TrialRecord) -> None:
        """Keep a record durably; a key that is done already keeps its first record."""

    def records(self) -> Iterator[TrialRecord]:
        """All kept records without their events, one a key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """All parts of a trial, built: what the engine needs to play it."""

    loop: Loop
    provider: ProviderPart
    policies: Callable[[Sequence[Spec]], tuple[tuple[str, ContextPolicy], ...]]
    environment: EnvironmentPart
    tools: tuple[Tool | SessionTool, ...] = ()
    checks: tuple[Check, ...] = ()
    graders: tuple[Check, ...] = ()
    detectors: tuple[DetectorPart, ...] = ()
    guardrails: tuple[Guardrail, ...] = ()
    fragments: tuple[str, ...] = ()

    @property
    def nature(self) -> Nature:
        """Where the agent's replies come from."""
        return nature_of(self.loop, self.provider)


def nature_of(loop: Loop, provider: ProviderPart) -> Nature:
    """Where an agent's replies are to come from: those of a loop with a model of its own are not seen, whatever the variant's provider is."""
    return "external" if getattr(loop, "MODEL", "asked") == "own" else provider.nature

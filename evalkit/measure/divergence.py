"""Where failures begin: the first step at which a failing trial leaves every passing trial of its task.

The steps of a trial are its own tool calls in order, each as its signature: the tool and its arguments. A failing trial is
followed along the passing trials of the same task under the same variant for as long as one of them took the same steps; the next
thing that it does is where it diverges. What agents say is left out: two texts differ where two acts do not.

Invariant: every failing trial is counted once: by its divergence where its task also has passing trials, else as one that
has nothing to be compared with, or no trace.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Literal

from evalkit.core.message import JSON
from evalkit.core.record import Acted, TrialRecord

How = Literal["other tool", "other arguments", "ended early", "went on", "same steps"]
"""What a failing trial did where it left: another tool than all passing trials there, the same tool with other arguments, no further
call where they all made one, a further call where they had all ended, or nothing else at all: only its words or results differ."""

NONE = ""

_ENCODE = json.JSONEncoder(sort_keys=True).encode


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A tool call: the name of its tool, the kind of its error (empty where there is none), and what names the steps up to it."""

    tool: str
    error: str
    path: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence:
    """The first divergence of one failing trial.

    `step` counts tool calls from 1; `tool` is the tool called there, the last one called where there is no such call, and `instead` are the
    tools that passing trials called there. `error` is the kind of that call's error, `after` that of the call before it, each empty
    where there is none. `beside` is the passing trial that goes along longest (the first of several), `common` how many calls the two share.
    """

    suite: str
    task: str
    variant: str
    index: int
    how: How
    step: int
    tool: str
    instead: tuple[str, ...]
    error: str
    after: str
    stop: str
    beside: int
    common: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Divergences that are alike in how, tool, error and the error before: `found` of them, in order of task and trial."""

    how: How
    tool: str
    error: str
    after: str
    found: tuple[Divergence, ...]

    @property
    def tasks(self) -> int:
        """How many tasks they are of."""
        return len({(one.suite, one.task) for one in self.found})

    @property
    def instead(self) -> tuple[str, ...]:
        """The tools that passing trials called there, the most frequent first."""
        named = Counter(tool for one in self.found for tool in one.instead if tool != self.tool)
        return tuple(tool for tool, _ in sorted(named.items(), key=lambda item: (-item[1], item[0])))

    @property
    def step(self) -> int:
        """The middle one of their steps."""
        steps = sorted(one.step for one in self.found)
        return steps[(len(steps) - 1) // 2]


@dataclass(slots=True, kw_only=True)
class _Way:
    """What is kept of one trial: where it belongs, why it stopped, its steps."""

    index: int
    stop: str
    steps: tuple[Step, ...]


@dataclass(slots=True)
class Divergences:
    """Gathers the steps of trials, record after record, and then tells where the failing ones left the passing ones."""

    _passed: defaultdict[tuple[str, str, str], list[_Way]] = field(default_factory=lambda: defaultdict(list))
    _failed: defaultdict[tuple[str, str, str], list[_Way]] = field(default_factory=lambda: defaultdict(list))
    untraced: int = 0
    """Failing trials whose events were not kept, so that nobody can follow them."""

    def add(self, record: TrialRecord) -> None:
        """Read a record with its events; a trial in error says nothing, and one whose trace was not kept cannot be followed."""
        if record.outcome == "error" or not record.events:
            self.untraced += record.outcome == "failed"
            return
        place = (record.key.suite, record.key.task, record.key.variant)
        way = _Way(index=record.key.index, stop=record.stop.reason, steps=steps(record))
        (self._passed if record.outcome == "passed" else self._failed)[place].append(way)

    def found(self) -> list[Divergence]:
        """Tell the first divergence of each failing trial whose task has passing trials, in order of suite, task, variant and trial."""
        told = []
        for place in sorted(self._failed):
            if place in self._passed:
                ways = sorted(self._passed[place], key=lambda one: one.index)
                passing = _Passing.of(ways)
                told += [
                    _diverged(place, way, passing, ways)
                    for way in sorted(self._failed[place], key=lambda one: one.index)
                ]
        return told

    def alone(self) -> int:
        """Count failing trials of tasks that never passed under the same variant."""
        return sum(len(ways) for place, ways in self._failed.items() if place not in self._passed)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Passing:
    """The passing trials of a task as a tree: for each path the tools that come next, and the paths at which a trial ended."""

    next: dict[int, frozenset[str]]
    ends: frozenset[int]

    @classmethod
    def of(cls, ways: Iterable[_Way]) -> _Passing:
        """Lay trials over each other."""
        tools: defaultdict[int, set[str]] = defaultdict(set)
        ends = set()
        for way in ways:
            at = 0
            for step in way.steps:
                tools[at].add(step.tool)
                at = step.path
            ends.add(at)
        return cls(next={path: frozenset(names) for path, names in tools.items()}, ends=frozenset(ends))


def clusters(found: Sequence[Divergence]) -> list[Cluster]:
    """Put divergences that are alike together, the largest cluster first."""
    alike: dict[tuple[How, str, str, str], list[Divergence]] = {}
    for one in found:
        alike.setdefault((one.how, one.tool, one.error, one.after), []).append(one)
    made = [
        Cluster(how=how, tool=tool, error=error, after=after, found=tuple(members))
        for (how, tool, error, after), members in alike.items()
    ]
    return sorted(made, key=lambda one: (-len(one.found), one.how, one.tool, one.error, one.after))


def steps(record: TrialRecord) -> tuple[Step, ...]:
    """List a trial's own tool calls, each with a number that names all calls up to it."""
    told = []
    path = 0
    for event in record.events:
        if isinstance(event, Acted) and not event.agent:
            path = _followed(path, event.call.name, event.call.input)
            error = event.error or ("error" if event.result.is_error else NONE)
            told.append(Step(tool=event.call.name, error=error, path=path))
    return tuple(told)


def _followed(path: int, tool: str, arguments: JSON) -> int:
    """Name a path with one more step, within this process: a hash of 64 bits, never 0; the order of arguments makes no difference."""
    try:
        text = _ENCODE([tool, dict(arguments)])
    except (TypeError, ValueError, RecursionError):
        text = _ENCODE([tool, "arguments that are no JSON"])
    return hash((path, text)) or 1


def shared(one: Sequence[Step], other: Sequence[Step]) -> int:
    """Count the steps that two trials share from their beginnings on."""
    alike = (a.path == b.path for a, b in zip(one, other, strict=False))
    return sum(takewhile(bool, alike))


def _diverged(place: tuple[str, str, str], way: _Way, passing: _Passing, ways: Sequence[_Way]) -> Divergence:
    """Follow a failing trial until no passing one goes with it."""
    at, count = 0, 0
    known = passing.next
    while count < len(way.steps) and (way.steps[count].path in known or way.steps[count].path in passing.ends):
        at = way.steps[count].path
        count += 1
    step = way.steps[count] if count < len(way.steps) else None
    before = way.steps[count - 1] if count else None
    how: How
    if step is not None:
        how = "went on" if at not in known else "other arguments" if step.tool in known[at] else "other tool"
    else:
        how = "same steps" if at in passing.ends else "ended early"
    shown = step or before
    beside = max(ways, key=lambda one: (shared(way.steps, one.steps), -one.index))
    return Divergence(
        suite=place[0],
        task=place[1],
        variant=place[2],
        index=way.index,
        how=how,
        step=count + (step is not None or how == "ended early"),
        tool=shown.tool if shown else NONE,
        instead=tuple(sorted(known.get(at, ()))),
        error=step.error if step else NONE,
        after=before.error if before else NONE,
        stop=way.stop,
        beside=beside.index,
        common=shared(way.steps, beside.steps),
    )

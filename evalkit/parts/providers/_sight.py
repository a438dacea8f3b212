"""What the simulated model makes of the messages that it is shown: which steps are done, what went wrong, which facts stand there.

Invariant: everything is read from the visible messages and nothing is remembered between calls. What a context policy has
dropped did not happen as far as the model knows; what a summary or a note still says is known.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from evalkit.core.message import JSON, Message, Text, ToolCall, ToolResult
from evalkit.parts.providers._simulate import Simulate, Step

PLAN_HEAD = "Plan:\n"
"""How a plan of the model's own begins: a turn that is one closes nothing."""

DONE = "Done: {tool}({arguments})"
_DONE = re.compile(r"^Done: ([\w.-]+)\((\{.*\})\)$", re.MULTILINE)
_CLEARED = "[cleared"
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class Solution:
    """A solution made ready for matching: what a slip and a repair of each step look like, and which steps use a tool."""

    simulate: Simulate
    slipped: tuple[Mapping[str, JSON], ...]
    mended: tuple[Mapping[str, JSON], ...]
    by_tool: Mapping[str, tuple[int, ...]]

    @classmethod
    def of(cls, simulate: Simulate) -> Solution:
        """Derive what is the same for every call of the model."""
        by_tool: dict[str, tuple[int, ...]] = {}
        for at, step in enumerate(simulate.steps):
            by_tool[step.tool] = (*by_tool.get(step.tool, ()), at)
        slipped = tuple(step.slipped for step in simulate.steps)
        return cls(simulate, slipped, tuple(step.mended for step in simulate.steps), by_tool)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps in order."""
        return self.simulate.steps

    def turn_of(self, at: int) -> range:
        """The steps that are taken in the same turn as a step."""
        first, end = at, at + 1
        while self.steps[first].together:
            first -= 1
        while end < len(self.steps) and self.steps[end].together:
            end += 1
        return range(first, end)

    def match(self, call: ToolCall, furthest: int) -> tuple[int, bool] | None:
        """Find the step that a call is for and whether its arguments are right; None for a call that is none of them.

        Where one call fits several steps it is the first past `furthest`, else the last one before.
        """
        found: tuple[int, bool] | None = None
        for at in self.by_tool.get(call.name, ()):
            right = call.input in (self.steps[at].args, self.mended[at])
            if not right and call.input != self.slipped[at]:
                continue
            found = (at, right)
            if at > furthest:
                break
        return found


@dataclass(frozen=True, slots=True)
class Made:
    """A visible call with its result, the step that it is for, and how it stands to that step.

    `right` is None for a call that is no step's; `failing` says that the result lacks what its step expects.
    """

    call: ToolCall
    result: ToolResult | None
    step: int | None
    right: bool | None
    failing: bool

    @property
    def at_fault(self) -> bool:
        """Whether it failed, or shows that something before it did."""
        return self.failing or self.result is None or self.result.is_error

    @property
    def shown(self) -> str:
        """The text that it gave back."""
        return self.result.content if self.result else ""


@dataclass(slots=True)
class Sight:
    """What stands in the messages.

    `done` says of each step whether its last visible call without a fault had the right arguments; `furthest` is the last of these
    steps. `last` are the calls of the last turn, `before` those of the turn with calls before it. Where the last turn made no
    calls, `said` is its text. `notes` are the user's texts that stand after the last turn. `planned` says that a plan is in view.
    """

    messages: Sequence[Message]
    done: dict[int, bool] = field(default_factory=dict)
    furthest: int = -1
    last: tuple[Made, ...] = ()
    before: tuple[Made, ...] = ()
    said: str | None = None
    notes: str = ""
    planned: bool = False

    @property
    def stuck(self) -> bool:
        """Whether the last two turns are the same calls with the same results, and nobody has said anything since.

        Numbers in results do not count: a time that was measured is no news, and would make a trial hang on the clock.
        """
        return bool(self.last) and not self.notes and _calls(self.last) == _calls(self.before) and self._no_news()

    def _no_news(self) -> bool:
        """Whether the last two turns, of equal calls, gave the same but for numbers."""
        pairs = zip(self.last, self.before, strict=True)
        return all(_NUMBER.sub("#", last.shown) == _NUMBER.sub("#", before.shown) for last, before in pairs)

    @property
    def faults(self) -> tuple[Made, ...]:
        """The calls of the last turn that failed or show that something before them did."""
        return tuple(made for made in self.last if made.at_fault)

    def knows(self, texts: Sequence[str], system: str) -> bool:
        """Whether all of some texts stand somewhere in the prompt."""
        if not texts:
            return True
        prompt = "\n".join((system, *_texts(self.messages)))
        return all(text in prompt for text in texts)


def look(messages: Sequence[Message], solution: Solution) -> Sight:
    """Read a conversation from its first message to its last."""
    sight = Sight(messages)
    calls: tuple[ToolCall, ...] = ()
    results: dict[str, ToolResult] = {}
    notes: list[str] | None = None
    for message in messages:
        if message.role == "assistant":
            _take_in(sight, solution, calls, results)
            calls, notes = message.calls, []
            sight.said = None if calls or message.text.startswith(PLAN_HEAD) else message.text
            sight.planned = sight.planned or message.text.startswith(PLAN_HEAD)
            continue
        for block in message.content:
            if isinstance(block, ToolResult):
                results[block.tool_use_id] = block
                continue
            if isinstance(block, Text):
                _take_over(sight, solution, block.text)
            if isinstance(block, Text) and notes is not None:
                notes.append(block.text)
    _take_in(sight, solution, calls, results)
    sight.notes = "\n".join(notes or ())
    if sight.said is not None:
        sight.last = sight.before = ()
    return sight


def _take_in(sight: Sight, solution: Solution, calls: Sequence[ToolCall], results: Mapping[str, ToolResult]) -> None:
    """Take in the calls of one turn with what they gave back."""
    if not calls:
        return
    turn = tuple(_made(call, results.get(call.id), solution, sight.furthest) for call in calls)
    sight.before, sight.last = sight.last, turn
    for made in turn:
        if made.step is not None and made.right is not None and not made.at_fault:
            sight.done[made.step] = made.right
            sight.furthest = max(sight.furthest, made.step)


def _take_over(sight: Sight, solution: Solution, text: str) -> None:
    """Take over what a summary says is done."""
    for tool, arguments in _DONE.findall(text):
        try:
            given = json.loads(arguments)
        except (ValueError, RecursionError):
            continue
        at, right = solution.match(ToolCall(id="", name=tool, input=given), sight.furthest) or (None, None)
        if at is not None and right is not None:
            sight.done[at] = right
            sight.furthest = max(sight.furthest, at)


def _made(call: ToolCall, result: ToolResult | None, solution: Solution, furthest: int) -> Made:
    """Read one call."""
    at, right = solution.match(call, furthest) or (None, None)
    expected = solution.steps[at].expect if at is not None else ""
    seen = result is not None and not result.is_error and not result.content.startswith(_CLEARED)
    lacking = bool(expected) and result is not None and seen and expected not in result.content
    return Made(call, result, at, right, lacking)


def _calls(turn: Sequence[Made]) -> list[tuple[str, Mapping[str, JSON]]]:
    """The calls of a turn, without their ids."""
    return [(made.call.name, made.call.input) for made in turn]


def _texts(messages: Sequence[Message]) -> Iterator[str]:
    """All that can be read in a conversation: texts, results, and the arguments of calls."""
    for message in messages:
        for block in message.content:
            if isinstance(block, Text):
                yield block.text
            elif isinstance(block, ToolResult):
                yield block.content
            elif isinstance(block, ToolCall):
                yield from map(str, block.input.values())

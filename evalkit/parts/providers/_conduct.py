"""What the simulated model does next: the rates of a profile, and the habits that they drive.

Invariant: a move follows from the visible messages, the offered tools, the solution, the profile, and draws that hang on the
request's seed and call alone. Each draw has a name, so a habit that is added later shifts none of the others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evalkit.core.message import JSON, Request, ToolSpec
from evalkit.parts.providers._profile import DULL, Profile, happens
from evalkit.parts.providers._scope import Scope, scope_of
from evalkit.parts.providers._sight import Made, Sight, Solution, look

ADVICE = "Call {tool} with {arguments}"
"""How a reflection spells a call."""

_ENDING = re.compile(r"\b(\d{1,6}) turns? (?:are|is) left\b")
_PLACE = re.compile(r"\bline \d|\btest_\w")
_QUOTED = re.compile(r"'([^'\n]{2,60})'")
_NUMBER = re.compile(r"\w*\d(?:[\w.-]*\w)?")
_SHORTEST, _LONGEST = 2, 60


@dataclass(frozen=True, slots=True)
class Move:
    """What the model does with its turn: a short text, and calls as pairs of tool and arguments."""

    text: str
    calls: tuple[tuple[str, Mapping[str, JSON]], ...] = ()


@dataclass(frozen=True, slots=True)
class Conduct:
    """One call of the model: what it sees, and its draws. `prompt_tokens` is the length of the prompt."""

    solution: Solution
    profile: Profile
    request: Request
    prompt_tokens: float
    sight: Sight
    scope: Scope

    def move(self) -> Move:
        """Choose the next move."""
        sight, profile = self.sight, self.profile
        if (not self.request.tools and self.scope.first < self.scope.end) or self._ends_here():
            return self._account()
        if advised := self._advised():
            return advised
        if not sight.stuck and (sight.faults or (sight.said is not None and sight.notes)):
            return self._react()
        if sight.stuck or (sight.last and self._happens(profile.spin, "spin")):
            return _again(sight.last, "I do that once more.")
        return self._go_on()

    def _advised(self) -> Move | None:
        """Follow a note that spells the right call of a step that was done wrong."""
        for at, right in sorted(self.sight.done.items()):
            tool, given = self.solution.steps[at].tool, self.solution.mended[at]
            if not right and spelled(tool, given) in self.sight.notes and self._happens(self.profile.heed, "advice"):
                return Move("I do as the review says.", ((tool, given),))
        return None

    def _ends_here(self) -> bool:
        """Whether it gives in to a note that few turns are left, because the rest of the work would take more than those."""
        found = _ENDING.search(self.sight.notes)
        if found is None:
            return False
        left = sum(not self.solution.steps[at].together for at in range(self._furthest + 1, self.scope.end))
        return left >= int(found[1]) and self._happens(self.profile.heed, "wrap up")

    def _react(self) -> Move:
        """Answer a failure, or what came back after a closing answer: mend it, or do the same again."""
        sight, faults = self.sight, self.sight.faults
        told = "\n".join((*(made.shown for made in faults), sight.notes))
        heed = self.profile.heed if self._points_somewhere(told) else self.profile.heed * DULL
        if not self._happens(heed, "heed"):
            return _again(faults, "I try that again.") if faults else Move(sight.said or self.scope.answer)
        origin = self._origin(faults)
        if origin is None:
            return self._go_on()
        if origin in sight.done:
            step, text = self.solution.steps[origin], "That points to a mistake in an earlier call, which I put right."
            return Move(text, ((step.tool, self.solution.mended[origin]),))
        return self._take((origin,), "I can no longer see how I came here, so I look again.")

    def _origin(self, faults: Sequence[Made]) -> int | None:
        """The step that a failure comes from: a slip that is in view, or the first step that is out of view; None for the failed call itself.

        A call that failed by its own arguments is to blame itself. Before a result that lacks what it should hold, everything counts.
        """
        sight = self.sight
        if any(made.right is not True for made in faults):
            return None
        slips = [at for at, right in sorted(sight.done.items()) if not right]
        if slips:
            return slips[0]
        failing = [made.step for made in faults if made.failing and made.step is not None]
        here = min(self.scope.first, min(failing, default=0))
        before = (*range(here, min(failing, default=0)), *range(here if failing else 0))
        return next((at for at in before if at not in sight.done), None)

    def _go_on(self) -> Move:
        """Take the next turn of the solution, or close it."""
        scope, turn = self.scope, self._next_turn()
        if turn and len(self.request.messages) > 1 and self._happens(self._premature(), "premature"):
            return Move(scope.answer if self._knows(scope.needs) else scope.wrong_answer)
        needs = [text for at in turn for text in self.solution.steps[at].needs] if turn else scope.needs
        if not self._knows(needs):
            return self._without(turn, needs)
        return self._take(turn, "That failed, so I correct it." if self.sight.faults else "") if turn else self._close()

    def _close(self) -> Move:
        """End the work: prove it where that is asked for, then answer."""
        scope = self.scope
        if scope.proof is not None and not self._proven(scope.proof[0]):
            tool, item = scope.proof
            seen = [step.expect or step.tool for step in self.solution.steps[scope.first : scope.end]]
            evidence = "; ".join(("seen: " + ", ".join(dict.fromkeys(seen)), *self._kept()))
            return Move(f"I have seen {item} work.", ((tool, {"id": item, "passes": True, "evidence": evidence}),))
        if self._happens(self._slip(), "answer"):
            return Move(scope.wrong_answer)
        return Move("\n- ".join((scope.answer, *self._kept())))

    def _kept(self) -> tuple[str, ...]:
        """The facts for others that are in view and that it thinks of."""
        known = (text for text in self.scope.facts if self._knows((text,)))
        return tuple(text for text in known if self._happens(self.profile.recall, f"recall {text}"))

    def _proven(self, tool: str) -> bool:
        """Whether a proof was accepted."""
        asked = {call.id for message in self.request.messages for call in message.calls if call.name == tool}
        results = (result for message in self.request.messages for result in message.results)
        return any(result.tool_use_id in asked and not result.is_error for result in results)

    def _premature(self) -> float:
        """The chance of a claim to be done: a plan in view, also one that this is a part of, makes it smaller."""
        planned = self.sight.planned or self.scope.end - self.scope.first < len(self.solution.steps)
        return self.profile.premature * (1.0 - self.profile.insight) if planned else self.profile.premature

    @property
    def _furthest(self) -> int:
        """The last step of the scope that is done, or the one before the scope."""
        scope = self.scope
        return max((at for at in self.sight.done if scope.first <= at < scope.end), default=scope.first - 1)

    def _next_turn(self) -> tuple[int, ...]:
        """The steps to take now: what of the furthest turn in view is not done, else the turn after it."""
        solution, furthest = self.solution, self._furthest
        if furthest >= self.scope.first:
            left = tuple(at for at in solution.turn_of(furthest) if at not in self.sight.done)
            if left:
                return left
            furthest = solution.turn_of(furthest)[-1]
        following = furthest + 1
        return tuple(solution.turn_of(following)) if following < self.scope.end else ()

    def _without(self, turn: Sequence[int], needs: Sequence[str]) -> Move:
        """Go on although a fact is out of view: act on a guess, or look it up where it was shown."""
        steps = self.solution.steps
        if not self.request.tools or self._happens(self.profile.forget, "forget"):
            if not turn:
                return Move(self.scope.wrong_answer)
            calls = ((at, steps[at].args if self._knows(steps[at].needs) else self.solution.slipped[at]) for at in turn)
            return Move("I go by what I remember.", tuple((steps[at].tool, given) for at, given in calls))
        missing = next(text for text in needs if not self._knows((text,)))
        before = steps[: turn[0]] if turn else steps
        source = max(at for at, step in enumerate(before) if any(missing in shown for shown in step.shows))
        return self._take((source,), "I do not have in view what I need, so I look it up.")

    def _take(self, turn: Sequence[int], text: str) -> Move:
        """Make the calls of some steps, each with its own chance of going wrong."""
        tools = {spec.name: spec for spec in self.request.tools}
        names = [self.solution.steps[at].tool for at in turn]
        lacking = [name for name in names if name not in tools]
        if lacking:
            return Move(f"I would need a tool named {lacking[0]}, which I do not have.")
        calls = tuple((name, self._arguments(at, tools[name])) for at, name in zip(turn, names, strict=True))
        return Move(text or f"Next I use {' and '.join(dict.fromkeys(names))}.", calls)

    def _arguments(self, at: int, spec: ToolSpec) -> Mapping[str, JSON]:
        """Write the arguments of a step: right, slipped, or not fitting the tool at all."""
        right = self.solution.steps[at].args
        if self._happens(self.profile.malformed, f"malformed {at}"):
            return misshapen(right, spec.input_schema)
        return self.solution.slipped[at] if self._happens(self._slip(), f"slip {at}") else right

    def _account(self) -> Move:
        """Say how far things are, where no tools are offered."""
        done, scope = self._furthest + 1, self.scope
        if done == scope.end:
            return self._go_on()
        steps = f"{done - scope.first} of {scope.end - scope.first} steps are done"
        return Move(f"{steps}. Next I would use {self.solution.steps[done].tool}.")

    def _slip(self) -> float:
        """The chance of a slip under a prompt of this length."""
        return self.profile.slip * (1.0 + self.profile.rot * self.prompt_tokens / 1000.0)

    def _knows(self, texts: Sequence[str]) -> bool:
        """Whether some texts stand in the prompt."""
        return self.sight.knows(texts, self.request.system)

    def _points_somewhere(self, told: str) -> bool:
        """Whether an error names something to go by: a line, a test, an argument or a value of the calls in question, or a piece of one that it quotes.

        After a closing answer any call in view, the answer itself, and what was still to be done may be in question.
        """
        if _PLACE.search(told):
            return True
        calls = [made.call for made in self.sight.last] or [call for one in self.request.messages for call in one.calls]
        used = {call.name for call in calls}
        names = [
            name for spec in self.request.tools if spec.name in used for name in spec.input_schema.get("properties", ())
        ]
        meant = [] if self.sight.said is None else [step.args for step in self.solution.steps]
        values = [str(value) for given in (*(call.input for call in calls), *meant) for value in given.values()]
        if any(quoted in value for quoted in _QUOTED.findall(told) for value in values):
            return True
        said = _NUMBER.findall(self.sight.said or "")
        return any(_names(told, word) for word in (*names, *_short(values), *said))

    def _happens(self, rate: float, name: str) -> bool:
        """Draw: whether something of this rate happens at this call."""
        return happens(self.request, rate, name)


def spelled(tool: str, arguments: Mapping[str, JSON]) -> str:
    """Spell a call as a piece of advice."""
    return ADVICE.format(tool=tool, arguments=json.dumps(dict(arguments)))


def conduct(solution: Solution, profile: Profile, request: Request, prompt_tokens: float) -> Move:
    """Choose what the model does when it gets this request."""
    scope = scope_of(request, solution)
    sight = look(request.messages, scope.solution)
    return Conduct(scope.solution, profile, request, prompt_tokens, sight, scope).move()


def misshapen(arguments: Mapping[str, JSON], schema: Mapping[str, JSON]) -> dict[str, JSON]:
    """Spoil arguments for a schema: leave out the last required one, else give one of a wrong type; unchanged where all would fit."""
    needed = [name for name in schema.get("required", ()) if name in arguments]
    if needed:
        return {name: value for name, value in arguments.items() if name != needed[-1]}
    for name, inner in schema.get("properties", {}).items():
        if isinstance(inner, dict) and "type" in inner:
            return {**arguments, name: 7 if inner["type"] == "string" else "unknown"}
    return dict(arguments)


def _again(turn: Sequence[Made], text: str) -> Move:
    """Make the same calls once more."""
    return Move(text, tuple((made.call.name, made.call.input) for made in turn))


def _short(values: Sequence[str]) -> list[str]:
    """The values that an error could name: short ones, and not too short to mean anything."""
    return [value for value in values if _SHORTEST <= len(value) <= _LONGEST]


def _names(text: str, word: str) -> bool:
    """Whether a word stands in a text as a word of its own."""
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None

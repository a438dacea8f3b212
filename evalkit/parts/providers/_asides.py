"""Requests that ask for something else than the next move: to judge, to sum up, to plan, to review.

Invariant: which of them a request is follows from its text, as it would for any model, and from nothing else; what is answered follows from
that text, the solution and the profile. A request that is none of them is left to `_conduct`.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalkit.core.message import JSON, Message, Request, ToolCall, ToolResult, user
from evalkit.parts.providers._conduct import Move, spelled
from evalkit.parts.providers._profile import Profile, happens
from evalkit.parts.providers._scope import PART, cut, items, tools_of
from evalkit.parts.providers._sight import DONE, PLAN_HEAD, Sight, Solution, look

TURNS_A_PART = 3
"""How many turns of a solution it puts into one part of a plan, as far as the number of parts allows."""

_CALL = re.compile(r"tool call: (\S+) (\{.*\})")
_RESULT = re.compile(r"tool (result|error): (.*)")
_STEP = re.compile(r"\d+\. ([\w.-]+)\((\{.*\})\) → (.*)")
_STEPS = re.compile(r"<steps so far>\n(.*)\n</steps so far>", re.DOTALL)
_ANSWER = re.compile(r"<answer>\n(.*)\n</answer>", re.DOTALL)
_WORK = re.compile(r"^([0-9a-f]+) BEGIN ANSWER\n(.*)\n\1 END ANSWER$", re.DOTALL | re.MULTILINE)
_RANGE = re.compile(r"(\d{1,3}) to (\d{1,3}) subtasks")
_AGENT = re.compile(r"^- (\S+): (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Aside:
    """One such request: its text, and what the model brings to it."""

    solution: Solution
    profile: Profile
    request: Request
    text: str

    def happens(self, rate: float, name: str) -> bool:
        """Draw."""
        return happens(self.request, rate, name)


def aside(solution: Solution, profile: Profile, request: Request) -> Move | None:
    """Answer a request that is no turn of the work; None for one that is."""
    if request.tools or not request.messages or request.messages[-1].role != "user":
        return None
    text = request.messages[-1].text
    if text.endswith("</conversation>"):
        return Move(summary(Aside(solution, profile, request, text)))
    for words, answer in KINDS:
        if all(word in text for word in words):
            return Move(answer(Aside(solution, profile, request, text)))
    return None


def reflection(asked: Aside) -> str:
    """Judge the steps so far: with insight, see a step that was done wrong, or a call that was only repeated."""
    made = _listed(asked.text)
    sight = look(_talk(made), asked.solution)
    wrong = next((at for at, right in sorted(sight.done.items()) if not right), None)
    repeats = len(made) > 1 and made[-1][:2] == made[-2][:2]
    verdict: dict[str, JSON] = {"on_track": True, "confidence": 0.8, "issues": [], "recommendation": "continue"}
    if (wrong is not None or repeats) and asked.happens(asked.profile.insight, "insight"):
        issue, plan = _revised(asked.solution, sight, wrong)
        verdict = {"on_track": False, "confidence": 0.8, "issues": [issue], "recommendation": "revise_approach"}
        verdict["revised_plan"] = plan
    return json.dumps(verdict)


def _revised(solution: Solution, sight: Sight, wrong: int | None) -> tuple[str, str]:
    """Say what is the matter and what to do instead: mend the wrong step, else go on."""
    if wrong is not None:
        step = solution.steps[wrong]
        return f"{step.tool} was called wrongly", f"{spelled(step.tool, solution.mended[wrong])}, then go on."
    following = sight.furthest + 1
    after = solution.steps[following].tool if following < len(solution.steps) else "your answer"
    return "the last call was only repeated", f"Do not repeat the last call. Go on with the next step: {after}."


def summary(asked: Aside) -> str:
    """Sum a conversation up: each fact in it with the chance of `recall`, and the calls that are done."""
    sight = look((user(asked.text.partition("<conversation>")[0]), *_talk(_written(asked.text))), asked.solution)
    known = [text for text in _facts(asked.solution) if text in asked.text]
    kept = [f"- {text}" for text in known if asked.happens(asked.profile.recall, f"recall {text}")]
    done = [
        DONE.format(tool=asked.solution.steps[at].tool, arguments=json.dumps(dict(_given(asked.solution, at, right))))
        for at, right in sorted(sight.done.items())
    ]
    return "\n".join(("Known:", *kept, *done)) if kept or done else "Nothing is known yet."


def plan(asked: Aside) -> str:
    """Split the goal into parts of a few turns each, and give each to the agent that speaks of its tools, else to the first."""
    solution = asked.solution
    least, most = map(int, found.groups()) if (found := _RANGE.search(asked.text)) else (1, 7)
    turns = sum(not step.together for step in solution.steps)
    parts = max(1, min(most, max(least, -(-turns // TURNS_A_PART)), turns))
    agents = _AGENT.findall(asked.text.rpartition("There are these agents:")[2])
    tasks = []
    for number in range(1, parts + 1):
        part = cut(solution, number, parts)
        steps = solution.steps[part.start : part.stop]
        task = f"{PART.format(number=number, parts=parts)}: use {tools_of(steps)}."
        fitting = [name for name, about in agents if any(step.tool in about for step in steps)]
        tasks.append({"task": task, "agent": (fitting or [name for name, _ in agents] or [""])[0]})
    return json.dumps(tasks)


def outline(asked: Aside) -> str:
    """List the steps by their tools."""
    lines = [f"{number}. {step.tool}" for number, step in enumerate(asked.solution.steps, 1)]
    return PLAN_HEAD + "\n".join((*lines, "Then I answer."))


def features(asked: Aside) -> str:
    """List the items that the solution works through."""
    found = items(asked.solution) or {"goal": range(len(asked.solution.steps))}
    steps = asked.solution.steps
    return json.dumps([{"id": name, "what": tools_of(steps[at.start : at.stop])} for name, at in found.items()])


def review(asked: Aside) -> str:
    """Say whether an answer is right, as often as it judges rightly."""
    found = _ANSWER.search(asked.text)
    if _judged(asked, found[1] if found else ""):
        return "OK: it does what was asked."
    return "WRONG: the results of the parts say otherwise."


def verdict(asked: Aside) -> str:
    """Give a verdict on an answer; work that is no answer it cannot tell."""
    found = _WORK.search(asked.text)
    if found is None:
        return json.dumps({"reason": "I was not shown an answer.", "verdict": "unknown"})
    fits = _judged(asked, found[2])
    reason = "It says what it should." if fits else "It does not say what it should."
    return json.dumps({"reason": reason, "verdict": "pass" if fits else "fail"})


KINDS: tuple[tuple[tuple[str, ...], Callable[[Aside], str]], ...] = (
    (("<steps so far>", '"recommendation"', '"revise_approach"'), reflection),
    (("JSON array", "subtasks", '"agent"'), plan),
    (("JSON array", "features", '"what"'), features),
    (("<answer>", "OK", "WRONG"), review),
    (("Rubric:", '"reason"', '"verdict"'), verdict),
    (("list the steps", "Do not call tools yet"), outline),
)
"""Words by which each kind of request is known."""


def _judged(asked: Aside, answer: str) -> bool:
    """Whether it takes an answer for right."""
    right = asked.solution.simulate.answer.strip() in answer
    return right == asked.happens(asked.profile.judge, "judge")


def _facts(solution: Solution) -> list[str]:
    """All texts that a solution speaks of, each once."""
    texts = [text for step in solution.steps for text in (*step.shows, *step.needs, step.expect) if text]
    return list(dict.fromkeys((*texts, *solution.simulate.answer_needs)))


def _given(solution: Solution, at: int, right: bool) -> Mapping[str, JSON]:
    """The arguments that a step was done with."""
    return solution.steps[at].args if right else solution.slipped[at]


Made = tuple[str, Mapping[str, JSON], str, bool]
"""A call read from a text: tool, arguments, what it gave back, and whether that was an error."""


def _listed(text: str) -> list[Made]:
    """Read the numbered calls of a question for a reflection."""
    found = _STEPS.search(text)
    lines = (_STEP.fullmatch(line) for line in (found[1] if found else "").split("\n"))
    return [(line[1], _mapping(line[2], json.loads), line[3], False) for line in lines if line]


def _written(text: str) -> list[Made]:
    """Read the calls and results of a conversation that was written out; results follow in the order of their calls."""
    calls: list[tuple[str, Mapping[str, JSON]]] = []
    results: list[tuple[str, bool]] = []
    inside = False
    for line in text.partition("<conversation>\n")[2].split("\n"):
        if call := _CALL.fullmatch(line):
            calls.append((call[1], _mapping(call[2], ast.literal_eval)))
            inside = False
        elif result := _RESULT.fullmatch(line):
            results.append((result[2], result[1] == "error"))
            inside = True
        elif line.startswith(("user: ", "assistant: ")):
            inside = False
        elif inside:
            results[-1] = (f"{results[-1][0]}\n{line}", results[-1][1])
    return [(*call, *result) for call, result in zip(calls, results, strict=False)]


def _mapping(text: str, parse: Callable[[str], Any]) -> Mapping[str, JSON]:
    """Read arguments; none where they cannot be read."""
    try:
        value = parse(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return {}
    return value if isinstance(value, dict) else {}


def _talk(made: Sequence[Made]) -> list[Message]:
    """Write calls as the conversation that they are from."""
    messages = []
    for at, (tool, given, content, error) in enumerate(made):
        call = ToolCall(id=f"read_{at}", name=tool, input=given)
        messages.append(Message(role="assistant", content=(call,)))
        result = ToolResult(tool_use_id=call.id, content=content, is_error=error)
        messages.append(Message(role="user", content=(result,)))
    return messages

"""What of a solution a conversation is about: all of it, one part of a plan, one item of a checklist, or a question that was handed on.

Invariant: the scope follows from the texts of the user's messages alone. A model that is given a part of the work knows of the
rest what those texts say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evalkit.core.message import Request
from evalkit.parts.providers._sight import Solution
from evalkit.parts.providers._simulate import Simulate, Step

PART = "Part {number} of {parts}"
_PART = re.compile(r"\APart (\d{1,3}) of (\d{1,3})\b")
_PARTS = re.compile(r"\bPart \d{1,3} of (\d{1,3})\b")
_ITEM = re.compile(r"^Work on (['\"])(.+)\1 only\.", re.MULTILINE)
_PROOF = re.compile(r"\bcall (\S+)\s+with passes true\b")
_SYNTHESIS, _REPORT, _SHORT = "parts of the work came to this", "items are proven", "Answer in at most"


@dataclass(frozen=True, slots=True)
class Scope:
    """The steps from `first` to before `end`, and how the work on them is closed.

    `answer` and `wrong_answer` end it, `needs` are texts that the answer has to have read. `facts` are texts that others
    will need and that the answer tells as far as they are known. `proof` is the tool and the item that a proof goes to before that.
    """

    solution: Solution
    first: int
    end: int
    answer: str
    wrong_answer: str
    needs: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    proof: tuple[str, str] | None = None


def scope_of(request: Request, solution: Solution) -> Scope:
    """Read what a conversation is about."""
    opening = request.messages[0].text if request.messages else ""
    if found := _PART.match(opening):
        return _part(solution, int(found[1]), int(found[2]))
    if (found := _ITEM.search(opening)) and (tool := _PROOF.search(opening)):
        return _item(solution, found[2], tool[1])
    if _SHORT in opening and (handed := _handed(solution, opening)):
        return handed
    if not request.tools:
        told = "\n".join(message.text for message in request.messages[1:] if message.role == "user")
        if _SYNTHESIS in told or _REPORT in told:
            return _closing(solution, told)
    simulate = solution.simulate
    return Scope(
        solution, 0, len(solution.steps), simulate.answer, simulate.slipped_answer, needs=simulate.answer_needs
    )


def cut(solution: Solution, number: int, parts: int) -> range:
    """The steps of one of so many parts, counted from 1: turns are not parted; empty where there is no such part."""
    starts = [at for at, step in enumerate(solution.steps) if not step.together]
    edges = [*starts, len(solution.steps)]
    if not 1 <= number <= parts:
        return range(0)
    return range(edges[(number - 1) * len(starts) // parts], edges[number * len(starts) // parts])


def items(solution: Solution) -> dict[str, range]:
    """The steps of each item: from the step that names it to before the next that names one."""
    starts = [at for at, step in enumerate(solution.steps) if step.item]
    ends = [*starts, len(solution.steps)][1:]
    return {solution.steps[at].item: range(at, end) for at, end in zip(starts, ends, strict=True)}


def tools_of(steps: Sequence[Step]) -> str:
    """Name the tools of some steps, each once."""
    return ", ".join(dict.fromkeys(step.tool for step in steps)) or "no tool"


def _part(solution: Solution, number: int, parts: int) -> Scope:
    """One part of a plan: its report names what later parts and the answer need."""
    steps, name = cut(solution, number, parts), PART.format(number=number, parts=parts)
    done = f"{name} is done."
    return Scope(solution, steps.start, steps.stop, done, done, facts=tuple(_wanted(solution, steps)))


def _item(solution: Solution, item: str, tool: str) -> Scope:
    """One item of a checklist; an item that the solution does not name is the whole of it."""
    steps = items(solution).get(item, range(len(solution.steps)))
    return Scope(
        solution,
        steps.start,
        steps.stop,
        f"{item} works.",
        f"{item} should work.",
        facts=tuple(_wanted(solution, steps)),
        proof=(tool, item),
    )


def _handed(solution: Solution, opening: str) -> Scope | None:
    """A question that a step hands on: its own steps, and as the answer what it shows; asked wrongly, the answer is no use."""
    for step, slipped in zip(solution.steps, solution.slipped, strict=True):
        right, wrong = step.args.get("question"), slipped.get("question")
        if isinstance(right, str) and opening.startswith(right):
            inner, told = _inner(step), "\n- ".join(("It is this.", *step.shows))
            if not inner.steps:
                return Scope(inner, 0, 0, told, "I found nothing.")
            return Scope(inner, 0, len(inner.steps), "It is this.", "I found nothing.", facts=step.shows)
        if isinstance(wrong, str) and opening.startswith(wrong):
            return Scope(_inner(step), 0, 0, "I found nothing.", "I found nothing.")
    return None


def _inner(step: Step) -> Solution:
    """What a helper does for a step."""
    return Solution.of(Simulate(steps=step.steps, answer="It is this."))


def _closing(solution: Solution, told: str) -> Scope:
    """The answer out of what others report: right only where all parts are done."""
    simulate, end = solution.simulate, len(solution.steps)
    parts = max((int(number) for number in _PARTS.findall(told)), default=0)
    done = all(f"{PART.format(number=number, parts=parts)} is done" in told for number in range(1, parts + 1))
    if (parts == 0 and _SYNTHESIS in told) or not done:
        return Scope(solution, end, end, simulate.slipped_answer, simulate.slipped_answer)
    return Scope(solution, end, end, simulate.answer, simulate.slipped_answer, needs=simulate.answer_needs)


def _wanted(solution: Solution, steps: range) -> Iterator[str]:
    """What some steps show and something after them needs, each once."""
    shown = [text for at in steps for text in solution.steps[at].shows]
    later = [text for step in solution.steps[steps.stop :] for text in step.needs]
    for need in dict.fromkeys((*later, *solution.simulate.answer_needs)):
        if any(need in text for text in shown):
            yield need

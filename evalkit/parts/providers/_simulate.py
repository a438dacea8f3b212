"""The `simulate:` block of a task: how the simulated model would solve it, and what a slip of it looks like.

Invariant: everything in it is data of the task. What a slipped step looks like is fixed with the step, so a slip can be
recognised in a conversation without knowing how it came about.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from evalkit.core.errors import ConfigurationError, Problem
from evalkit.core.message import JSON

_LAST_NUMBER = re.compile(r"\d{1,18}(?=\D*\Z)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One tool call of a solution.

    `needs` are texts without which the arguments cannot be right; each must be among what an earlier step `shows`, which
    are texts that its result brings. `wrong` are the arguments that a slip changes (a mechanical change of the last
    argument where it is left out), `mend` those that a repair after such a slip changes (none: the step is done over).
    `expect` is a text that the result must hold for the work so far to be right. `together` puts the call into the
    same turn as the step before it. `item` names the item of the task's checklist that the work turns to with this step.
    `steps` are what a helper does to whom the step hands its `question`.
    """

    tool: str
    args: Mapping[str, JSON] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    shows: tuple[str, ...] = ()
    expect: str = ""
    wrong: Mapping[str, JSON] | None = None
    mend: Mapping[str, JSON] | None = None
    together: bool = False
    item: str = ""
    steps: tuple[Step, ...] = ()

    @property
    def slipped(self) -> dict[str, JSON]:
        """The arguments that a slip gives; the right ones where there is nothing to get wrong."""
        return perturbed(dict(self.args)) if self.wrong is None else {**self.args, **self.wrong}

    @property
    def mended(self) -> dict[str, JSON]:
        """The arguments that put a slip of this step right."""
        return {**self.args, **(self.mend or {})}


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulate:
    """A solution: its steps in order, the closing answer, and what the answer has to have read before.

    `wrong_answer` is what is said instead where something went wrong (a mechanical change of the answer where it is left out).
    """

    steps: tuple[Step, ...]
    answer: str
    wrong_answer: str | None = None
    answer_needs: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a solution that cannot be played, with a `ValueError` that says where and why."""
        if not self.answer.strip():
            raise ValueError("answer is empty: a reply of the model holds calls or text")
        if self.wrong_answer is not None and not self.wrong_answer.strip():
            raise ValueError("wrong_answer is empty: leave it out for a mechanical change of the answer")
        shown: list[str] = []
        for at, step in enumerate(self.steps):
            before = self.steps[at - 1] if at else None
            if fault := _step_fault(step, before) or _mistaken(step, self.steps):
                raise ValueError(f"steps.{at}: {fault}")
            if step.steps:
                Simulate(steps=step.steps, answer=self.answer)
            if not step.together:
                shown = [text for earlier in self.steps[:at] for text in earlier.shows]
            _known(step.needs, shown, f"steps.{at}.needs")
        _known(self.answer_needs, [text for step in self.steps for text in step.shows], "answer_needs")

    @property
    def slipped_answer(self) -> str:
        """The answer that a slip gives."""
        return str(perturbed(self.answer.strip())) if self.wrong_answer is None else self.wrong_answer


def _step_fault(step: Step, before: Step | None) -> str | None:
    """Say what is wrong with a step, given the one before it."""
    if not step.tool:
        return "tool is empty"
    if step.together and (before is None or step.item):
        return "together: there is no step before the first, and the work on an item begins with a turn of its own"
    if step.steps and not isinstance(step.args.get("question"), str):
        return "steps are those of a helper, who needs a `question` in args"
    if before is not None and (step.tool, step.args) == (before.tool, before.args):
        return "the same call as the step before: it could not be told from a model that repeats itself"
    if step.wrong is not None and step.slipped == dict(step.args):
        return "wrong changes nothing"
    return None if all(step.needs) and all(step.shows) else "an empty text in needs or shows"


def _mistaken(step: Step, steps: Sequence[Step]) -> str | None:
    """Say which step a slip of this one would look like; None where it can be told from all of them."""
    slipped = step.slipped
    for at, other in enumerate(steps):
        if slipped != step.args and (other.tool, other.args) == (step.tool, slipped):
            return f"a slip of it would be the very call of steps.{at}: say under `wrong` what else it may be"
    return None


def _known(needs: Sequence[str], shown: Sequence[str], where: str) -> None:
    """Refuse a need that nothing before shows."""
    for text in needs:
        if not any(text in brought for brought in shown):
            raise ValueError(
                f"{where}: {text!r} is shown by no earlier turn; name it in the `shows` of the step that brings it"
            )


def perturbed(value: JSON) -> JSON:
    """Change a JSON value as a slip would: the last argument, the last number in a text, else its last word or letter."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return _perturbed_text(value)
    if isinstance(value, dict) and value:
        last = list(value)[-1]
        return {**value, last: perturbed(value[last])}
    if isinstance(value, list) and value:
        return [*value[:-1], perturbed(value[-1])]
    return value


def _perturbed_text(text: str) -> str:
    """Count the last number up by one; without a number drop the last word, and of a single word the last letter."""
    if number := _LAST_NUMBER.search(text):
        digits = number[0]
        return f"{text[: number.start()]}{int(digits) + 1:0{len(digits)}d}{text[number.end() :]}"
    words = text.split()
    if len(words) > 1:
        return text[: text.rindex(words[-1])].rstrip()
    return text[:-1] if len(text) > 1 else f"{text}x"


def faults(block: Mapping[str, JSON]) -> tuple[tuple[tuple[str | int, ...], str], ...]:
    """All that is wrong with a `simulate:` block, as pairs of the path inside it and a sentence; empty where all is well."""
    try:
        _read(block)
    except ValidationError as error:
        return tuple((tuple(fault["loc"][1:]), fault["msg"]) for fault in error.errors(include_url=False))
    return ()


def read(block: Mapping[str, JSON], where: str) -> Simulate:
    """Read a `simulate:` block; a `ConfigurationError` lists everything that is wrong with it, or says that there is none."""
    if not block:
        raise ConfigurationError.of(
            where,
            "it has no `simulate:` block, without which the simulated model does not know what to do",
            "write how the task is solved under `simulate:`, or name another provider",
        )
    wrong = faults(block)
    if wrong:
        raise ConfigurationError(
            *(Problem(where=".".join((where, "simulate", *map(str, path))), what=what) for path, what in wrong)
        )
    return _read(block)


@cache
def _adapter() -> TypeAdapter[Any]:
    """Make the validator once; a tuple of one lets the strict configuration reach the dataclass."""
    return TypeAdapter(tuple[Simulate], config=ConfigDict(extra="forbid", strict=True))


def _read(block: Mapping[str, JSON]) -> Simulate:
    """Validate strictly; raises pydantic's `ValidationError`."""
    made: Simulate = _adapter().validate_json(json.dumps([block]))[0]
    return made

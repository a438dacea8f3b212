"""A stochastic model of an agent: instant, free, seeded, and honest about what it is.

It is asked as a real model is asked and answers out of three things alone: what stands in the request, the task's
`simulate:` block, and a profile of rates (`_profile.Profile`). Which variant it plays under it cannot know, so a loop
mechanism moves its reliability only by what the mechanism changes in the messages.

Invariant: a reply is a pure function of the request, the block and the profile; all chance hangs on the request's seed and
call, so the same trial gives the same record on any backend and in any order.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import ClassVar

from evalkit.core.clock import SystemClock
from evalkit.core.errors import ConfigurationError, ContextOverflow, ProviderError
from evalkit.core.message import (
    Block,
    Message,
    Nature,
    Picture,
    Price,
    Reply,
    Request,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
)
from evalkit.core.plan import Task, Trial
from evalkit.parts._duration import Duration
from evalkit.parts.providers._asides import aside
from evalkit.parts.providers._conduct import Move, conduct
from evalkit.parts.providers._naming import longer_names, renamed
from evalkit.parts.providers._profile import Profile
from evalkit.parts.providers._sight import Solution
from evalkit.parts.providers._simulate import read

CHARACTERS_PER_TOKEN = 4
"""The estimate that stands for a tokenizer, prompt and output alike."""

USUAL_PRICE = Price(input=3.0, output=15.0, cache_read=0.3, cache_write_5m=3.75, cache_write_1h=6.0)
"""US dollars per million tokens where the variant names no price: those of a middling model."""

_CALL_ID = re.compile(r"toolu_([0-9a-f]{1,16})_(\d{1,9})_\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """An agent's model by its rates.

    `usd_price` goes before the usual price, in US dollars per million tokens. `context_window` is in tokens; a longer prompt is refused.
    `latency` is how long each reply takes to come.
    """

    profile: Profile = field(default_factory=Profile)
    usd_price: Price | None = None
    context_window: int = 200_000
    latency: Duration = 0.0
    nature: ClassVar[Nature] = "simulated"

    def ready(self) -> str | None:
        """Always."""
        return None

    def price(self) -> Price:
        """The price given, else the usual one."""
        return self.usd_price or USUAL_PRICE

    def window(self) -> int:
        """The context window."""
        return self.context_window

    def open(self, trial: Trial) -> SimulatedProvider:
        """Make the model of one trial; of the trial only the task's `simulate:` block is read.

        Raises `ConfigurationError` where there is none or it is wrong.
        """
        return SimulatedProvider(part=self, solution=_solution(trial.task))

    def answer(self, tasks: Sequence[Task]) -> Callable[[Request, str | None], Reply]:
        """Make the model that stands behind a server: it finds the task by the prompt in the conversation's first user turn.

        A request without a call number (one of an agent that does not name its trials) goes on with the seed that the
        ids of its tool calls carry, and a conversation without such ids gets a new seed: so nothing is kept between requests.
        Raises `ConfigurationError` where two tasks cannot be told apart; what is returned raises a `ProviderError` for an unknown prompt.
        """
        providers = _by_prompt(self, tasks)
        numbers = itertools.count(1)

        def reply(request: Request, _: str | None) -> Reply:
            """Answer a request; who asks is not looked at, since one name may stand for many trials."""
            provider = _find(providers, request.messages)
            if request.call < 1:
                seed, call = _place(request.messages) or (_new_seed(next(numbers)), 1)
                request = replace(request, seed=seed, call=call)
            return provider.complete(request)

        return reply


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedProvider:
    """The model of one task."""

    part: Simulated
    solution: Solution

    def complete(self, request: Request) -> Reply:
        """Answer; the n-th call of a trial always gets the same answer to the same request.

        Raises `ContextOverflow` for a prompt that is longer than the context window.
        """
        if self.part.latency:
            SystemClock().sleep(self.part.latency)
        prompt = (
            len(request.system)
            + sum(_size(block) for message in request.messages for block in message.content)
            + sum(_tool_size(tool) for tool in request.tools)
        )
        if _tokens(prompt) > self.part.context_window:
            raise ContextOverflow(f"prompt is too long: {_tokens(prompt)} tokens > {self.part.context_window} maximum")
        move = self._move(request, prompt / CHARACTERS_PER_TOKEN)
        return _reply(move, request, _tokens(prompt), self.part.price())

    def _move(self, request: Request, prompt_tokens: float) -> Move:
        """Choose what to say; tools go by the solution's names while it chooses."""
        names = longer_names((tool.name for tool in request.tools), self.solution.by_tool)
        asked = renamed(request, names) if names else request
        profile = self.part.profile
        move = aside(self.solution, profile, asked) or conduct(self.solution, profile, asked, prompt_tokens)
        offered = {own: name for name, own in names.items()}
        return Move(move.text, tuple((offered.get(name, name), given) for name, given in move.calls))


def _reply(move: Move, request: Request, prompt_tokens: int, price: Price) -> Reply:
    """Write a move as a reply; one that is longer than `max_tokens` is cut off as an API would cut it.

    Of a reply that was cut off the text stands as far as it came, and a call that was under way has no arguments.
    """
    calls = tuple(
        ToolCall(id=f"toolu_{request.seed:x}_{request.call}_{number}", name=name, input=given)
        for number, (name, given) in enumerate(move.calls, 1)
    )
    size = len(move.text) + sum(map(_size, calls))
    text, output, cut = move.text, _tokens(size), False
    if output > request.max_tokens:
        room = request.max_tokens * CHARACTERS_PER_TOKEN
        text, output, cut = move.text[:room], request.max_tokens, True
        calls = tuple(replace(call, input={}) for call in calls[:1]) if room > len(move.text) else ()
    usage = Usage(input=prompt_tokens, output=output)
    return Reply(
        message=Message(role="assistant", content=(Text(text=text), *calls)),
        stop_reason="max_tokens" if cut else "tool_use" if calls else "end_turn",
        usage=usage,
        usd=price.of(usage),
        model="simulated",
    )


def _tokens(characters: int) -> int:
    """Estimate tokens, rounded up."""
    return -(-characters // CHARACTERS_PER_TOKEN)


def _size(block: Block) -> int:
    """Count the characters of a block; a picture counts as the text that has as many tokens."""
    if isinstance(block, Picture):
        return block.tokens * CHARACTERS_PER_TOKEN
    if isinstance(block, Text):
        return len(block.text)
    if isinstance(block, ToolResult):
        return len(block.content)
    return len(block.name) + len(str(block.input))


def _tool_size(tool: ToolSpec) -> int:
    """Count the characters of what a model is told of a tool."""
    return len(tool.name) + len(tool.description) + len(str(tool.input_schema))


def _solution(task: Task) -> Solution:
    """Read how a task is solved, once for all of its trials; raises `ConfigurationError`."""
    return _read_solution(json.dumps(task.simulate), f"{task.suite}/{task.id}")


@lru_cache(maxsize=256)
def _read_solution(block: str, where: str) -> Solution:
    """Read a `simulate:` block from its JSON; a solution is never changed."""
    return Solution.of(read(json.loads(block), where))


def _by_prompt(part: Simulated, tasks: Sequence[Task]) -> dict[str, SimulatedProvider]:
    """Make the models of all tasks by their prompts, the longest prompt first; raises `ConfigurationError`."""
    found: dict[str, Task] = {}
    for task in sorted(tasks, key=lambda task: -len(task.prompt.strip())):
        other = found.setdefault(task.prompt.strip(), task)
        if other.simulate != task.simulate:
            where = f"{other.suite}/{other.id} and {task.suite}/{task.id}"
            raise ConfigurationError.of(where, "the same prompt, but solved differently", "serve one of the two")
    return {prompt: SimulatedProvider(part=part, solution=_solution(task)) for prompt, task in found.items()}


def _find(providers: dict[str, SimulatedProvider], messages: Sequence[Message]) -> SimulatedProvider:
    """Find the model whose task a conversation is about; an agent may have put its own words around the prompt."""
    opening = itertools.takewhile(lambda message: message.role == "user", messages)
    text = "\n".join(message.text for message in opening)
    exact = providers.get(text.strip())
    if exact is not None:
        return exact
    for prompt, provider in providers.items():
        if prompt in text:
            return provider
    raise ProviderError("the first user message holds the prompt of no task that is served here", status=400)


def _place(messages: Sequence[Message]) -> tuple[int, int] | None:
    """Read seed and call out of the last tool call's id, counting the turns since; None where no id tells."""
    for since, message in enumerate(_assistants(messages), 1):
        for block in message.calls:
            if found := _CALL_ID.fullmatch(block.id):
                return int(found[1], 16), int(found[2]) + since
    return None


def _assistants(messages: Sequence[Message]) -> Iterator[Message]:
    """The model's turns, the last one first."""
    return (message for message in reversed(messages) if message.role == "assistant")


def _new_seed(number: int) -> int:
    """Make the seed of a conversation that brought none."""
    return int.from_bytes(hashlib.blake2b(f"conversation {number}".encode(), digest_size=8).digest(), "big")

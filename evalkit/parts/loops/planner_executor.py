"""A planner splits the goal, executors work on the pieces, a synthesiser answers; a verifier may look at the answer.

Invariant: each executor has caps, context and retries of its own, and a subtask that failed is told as failed and does
not end the plan. What all of them use counts in the caps of the trial.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evalkit.core.message import user
from evalkit.core.plan import Caps, Spec
from evalkit.core.protocols import Result, Session
from evalkit.parts._plain_loop import PlainLoop

PLAN = """\
Split this goal into {least} to {most} subtasks that can be done one after the other.

<goal>
{goal}
</goal>

There are these agents:
{agents}

Answer with a JSON array and nothing else: [{{"task": "what to do, complete in itself", "agent": "one of the names"}}]"""
WORK = "{task}\n\nThis is a part of a larger goal:\n{goal}{results}"
SYNTHESISE = "[Notice from the harness] The parts of the work came to this:\n\n{results}\n\nGive the final answer to the request."
VERIFY = """\
<request>
{goal}
</request>

<answer>
{answer}
</answer>

<results of the parts>
{results}
</results>

Does the answer do what was asked, by these results? Begin your reply with OK or with WRONG, then say why."""
REDO = "[Notice from the harness] A reviewer found the answer wrong:\n{reason}\nGive a better final answer."


@dataclass(frozen=True, slots=True, kw_only=True)
class Executor:
    """One named agent: what it is for, its own caps and context, and how often it tries a subtask in all."""

    about: str = "does any subtask"
    system: str | None = None
    caps: Caps = Caps(turns=8)
    context: Spec | None = None
    attempts: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Subtask:
    """A piece of the plan."""

    task: str
    agent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannerExecutor:
    """Plan, execute each subtask in a conversation of its own, synthesise; `verifier` has the answer reviewed once."""

    executors: Mapping[str, Executor] = field(default_factory=lambda: {"worker": Executor()})
    least: int = 3
    most: int = 7
    verifier: bool = False
    max_tokens: int = 1024

    def __post_init__(self) -> None:
        """Refuse a plan of nothing and a team of nobody."""
        if not 1 <= self.least <= self.most:
            raise ValueError("least must be at least 1 and at most `most`")
        if not self.executors:
            raise ValueError("name at least one executor")

    def play(self, session: Session) -> None:
        """Plan and execute at the first call; called again (after a failed check), only answer again."""
        if session.tally.turns == 0:
            results = self._execute(session, self._plan(session))
            session.note(SYNTHESISE.format(results=results), "synthesise")
        answer = session.ask(tools=False, purpose="synthesise").text
        if self.verifier:
            self._review(session, answer)

    def _plan(self, session: Session) -> list[Subtask]:
        """Have the goal split; a plan that cannot be read becomes one subtask, the goal itself."""
        agents = "\n".join(f"- {name}: {executor.about}" for name, executor in self.executors.items())
        text = PLAN.format(least=self.least, most=self.most, goal=session.task.prompt, agents=agents)
        reply = session.consult((user(text),), purpose="plan", max_tokens=self.max_tokens)
        found = re.search(r"\[.*\]", reply.text, re.DOTALL)
        try:
            entries: Any = json.loads(found.group()) if found else None
        except ValueError:
            entries = None
        plan = [
            Subtask(task=str(entry["task"]), agent=str(entry.get("agent", "")))
            for entry in (entries if isinstance(entries, list) else [])
            if isinstance(entry, dict) and entry.get("task")
        ]
        return plan[: self.most] or [Subtask(task=session.task.prompt, agent=next(iter(self.executors)))]

    def _execute(self, session: Session, plan: list[Subtask]) -> str:
        """Work through the plan in order; each executor is told what came of the subtasks before its own."""
        results: list[str] = []
        for number, subtask in enumerate(plan, 1):
            executor = self.executors.get(subtask.agent)
            if executor is None:
                results.append(f"{number}. [there is no agent {subtask.agent!r}] skipped: {subtask.task}")
                continue
            before = "\n\nWhat came of the parts before:\n" + "\n".join(results) if results else ""
            prompt = WORK.format(task=subtask.task, goal=session.task.prompt, results=before)
            result = self._attempt(session, subtask.agent, executor, prompt)
            if result.stop.reason == "finished":
                results.append(f"{number}. {subtask.task}\n{result.answer}")
            else:
                results.append(f"{number}. [failed: {result.stop.reason}] {subtask.task}")
        return "\n\n".join(results)

    def _attempt(self, session: Session, name: str, executor: Executor, prompt: str) -> Result:
        """Let an executor try, again while it does not finish and has attempts left."""
        for _ in range(executor.attempts - 1):
            result = self._once(session, name, executor, prompt)
            if result.stop.reason == "finished":
                return result
        return self._once(session, name, executor, prompt)

    def _once(self, session: Session, name: str, executor: Executor, prompt: str) -> Result:
        """Delegate one attempt."""
        return session.delegate(
            prompt, agent=name, loop=PlainLoop(), caps=executor.caps, system=executor.system, context=executor.context
        )

    def _review(self, session: Session, answer: str) -> None:
        """Have the answer reviewed against the results; a bad review is told and the answer given once more."""
        results = next((message.text for message in session.transcript[1:] if message.role == "user"), "")
        text = VERIFY.format(goal=session.task.prompt, answer=answer, results=results)
        reply = session.consult((user(text),), purpose="verify", max_tokens=self.max_tokens)
        if not reply.text.strip().upper().startswith("OK"):
            session.note(REDO.format(reason=reply.text.strip()), "verify")
            session.ask(tools=False, purpose="synthesise")

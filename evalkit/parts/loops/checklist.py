"""A harness for work that is longer than a context window: a durable list of what is proven, and window after window.

Invariant: the list is the harness's. An item passes only when it is the first that has not, and only with evidence; items
can't be taken out, edited or unpassed, and a trial that tries is recorded and refused. Each window begins with nothing but the goal, the list, a
progress note and the world as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalkit.core.errors import ToolFailed
from evalkit.core.message import JSON, ToolSpec, user
from evalkit.core.plan import Caps, Item
from evalkit.core.protocols import Session
from evalkit.core.record import Listed
from evalkit.parts._plain_loop import PlainLoop

TOOL = "update_item"
MAKE = """\
List the features that must be proven to work before this goal is reached, in the order in which to build them.

<goal>
{goal}
</goal>

Answer with a JSON array and nothing else: [{{"id": "short-name", "what": "what must be seen to work"}}]"""
WINDOW = """\
{goal}

You work on this over several sessions and remember nothing between them but what stands here.

Checklist (worked in this order):
{items}

Progress note of the last session: {note}

Work on {current!r} only. Test it as a user would; reading the code is no evidence. Once you have seen it work, call {tool}
with passes true and what you saw as evidence. Removing or editing items is not acceptable. End your turn with a short note
for the next session."""
REPORT = "[Notice from the harness] All items are proven:\n{items}\nGive your final answer to the request."


@dataclass(frozen=True, slots=True, kw_only=True)
class Checklist:
    """Work through the task's `checklist` (or one that the model makes) in up to `windows` windows with `caps` each."""

    windows: int = 12
    caps: Caps = Caps(turns=12)
    max_tokens: int = 2000

    def __post_init__(self) -> None:
        """Refuse a harness without a window."""
        if self.windows < 1:
            raise ValueError("windows must be at least 1")

    def play(self, session: Session) -> None:
        """Open window after window until all items are proven; give up where the windows run out."""
        items = session.task.checklist or self._make(session)
        ledger = DurableList(items)
        note = "none, this is the first"
        for _ in range(self.windows):
            current = ledger.current
            if current is None:
                break
            event = Listed(turn=session.tally.turns, item=current.id, action="window", detail=note, at=session.now())
            session.record(event)
            prompt = WINDOW.format(
                goal=session.task.prompt, items=ledger.shown(), note=note, current=current.id, tool=TOOL
            )
            result = session.delegate(
                prompt, agent="window", loop=PlainLoop(), caps=self.caps, extra=(UpdateItem(ledger),)
            )
            note = result.answer or f"none: the session ended by {result.stop.reason}"
        if ledger.current is not None:
            session.stop("gave_up", f"{ledger.current.id!r} is not proven after {self.windows} windows")
        session.note(REPORT.format(items=ledger.shown()), "checklist")
        session.ask(tools=False, purpose="report")

    def _make(self, session: Session) -> tuple[Item, ...]:
        """Have the model list the features; a list that cannot be read becomes one item, the goal itself."""
        text = MAKE.format(goal=session.task.prompt)
        reply = session.consult((user(text),), purpose="checklist", max_tokens=self.max_tokens)
        found = re.search(r"\[.*\]", reply.text, re.DOTALL)
        try:
            entries: Any = json.loads(found.group()) if found else None
        except ValueError:
            entries = None
        items = {
            str(entry["id"]): Item(id=str(entry["id"]), what=str(entry["what"]))
            for entry in (entries if isinstance(entries, list) else [])
            if isinstance(entry, dict) and entry.get("id") and entry.get("what")
        }
        return tuple(items.values()) or (Item(id="goal", what=session.task.prompt),)


class DurableList:
    """The list of one trial: which items are proven, and by what."""

    def __init__(self, items: tuple[Item, ...]) -> None:
        """Begin with nothing proven."""
        self.items = items
        self.evidence: dict[str, str] = {}

    @property
    def current(self) -> Item | None:
        """The first item in declaration order that is not proven; None where all are."""
        return next((item for item in self.items if item.id not in self.evidence), None)

    def shown(self) -> str:
        """The list as JSON, as the model sees it."""
        rows = [
            {
                "id": item.id,
                "what": item.what,
                "passes": item.id in self.evidence,
                "evidence": self.evidence.get(item.id),
            }
            for item in self.items
        ]
        return json.dumps(rows, indent=1)

    def refusal(self, arguments: Mapping[str, JSON]) -> str | None:
        """Say why a change is not acceptable; None where it is a proof of the current item."""
        name, current = arguments["id"], self.current
        if name not in {item.id for item in self.items}:
            return f"there is no item {name!r}, and items cannot be added"
        if set(arguments) - {"id", "passes", "evidence"}:
            return "items cannot be removed or edited: only `passes` and `evidence` of the current item can be set"
        if arguments["passes"] is not True:
            return "an item cannot be set back to not passing"
        if current is None or name != current.id:
            wanted = f"{current.id!r} comes first" if current else "all items are proven already"
            return f"items are proven in their order: {wanted}"
        if not str(arguments.get("evidence") or "").strip():
            return "without evidence an item does not pass: say what you ran and what you saw"
        return None


@dataclass(frozen=True, slots=True)
class UpdateItem:
    """The one way to change the list."""

    ledger: DurableList

    def spec(self, base: Path) -> ToolSpec:
        """Other properties are let through, so that an attempt to edit an item is seen, recorded and refused."""
        schema = {
            "type": "object",
            "properties": {
                "id": {"type": "string", "description": "id of the item that you are working on"},
                "passes": {"type": "boolean", "description": "true once you have seen it work"},
                "evidence": {"type": "string", "description": "what you ran and what you saw"},
            },
            "required": ["id", "passes"],
        }
        description = (
            "Mark the current item of the checklist as proven, with evidence. Items cannot be removed or edited."
        )
        return ToolSpec(name=TOOL, description=description, input_schema=schema, writes=True)

    def converse(self, arguments: Mapping[str, JSON], session: Session) -> str:
        """Accept a proof, or record and refuse the attempt."""
        name, why = str(arguments["id"]), self.ledger.refusal(arguments)
        detail = why or str(arguments["evidence"])
        action: Any = "refused" if why else "passed"
        session.record(Listed(turn=session.tally.turns, item=name, action=action, detail=detail, at=session.now()))
        if why:
            raise ToolFailed(f"refused: {why}")
        self.ledger.evidence[name] = detail
        return f"{name} passes. " + (
            "All items are proven: end your turn." if self.ledger.current is None else "Well done."
        )

"""What the model is shown of a transcript where a memo does not help: it is asked for no more of them, and the view still stands."""

from __future__ import annotations

from dataclasses import dataclass, field

from evalkit.core.message import Message, Reply, user
from evalkit.core.protocols import History, MemoRequest
from evalkit.core.record import Tally
from evalkit.engine.viewing import FUTILE_IN_A_ROW, Viewer


@dataclass(frozen=True, slots=True)
class Always:
    """A policy that wants a memo of all but the request at every turn."""

    def due(self, history: History) -> MemoRequest | None:
        """Always."""
        return MemoRequest(messages=history.messages, upto=len(history.messages), max_tokens=100)

    def view(self, history: History) -> tuple[Message, ...]:
        """The request and the last memo, all where there is none."""
        return (history.messages[0], user(history.memos[-1].text)) if history.memos else history.messages


@dataclass(slots=True)
class Writer:
    """A model that writes what it was told to, or nothing."""

    texts: list[str]
    asked: int = 0
    views: list[tuple[Message, ...]] = field(default_factory=list)

    def consult(self, request: MemoRequest) -> tuple[Reply | None, str]:
        """Write the next text; an empty one stands for a call that failed."""
        self.asked += 1
        text = self.texts.pop(0)
        return (Reply(message=user(text), stop_reason="end_turn"), "") if text else (None, "the model is gone")

    def turns(self, count: int) -> list[str]:
        """Let so many views be made; give the error of each condensing."""
        viewer = Viewer(policies=[("always", Always())], window_tokens=None, now=lambda: 0.0)
        errors = []
        for _ in range(count):
            view, condensed = viewer.view((user("do it"), user("x" * 400)), Tally(), 100, self.consult)
            self.views.append(view)
            errors += [one.error for one in condensed]
        return errors


def test_a_memo_that_makes_nothing_smaller_is_asked_for_twice_and_no_more() -> None:
    writer = Writer(["y" * 4_000] * 9)
    assert writer.turns(6) == [""] * FUTILE_IN_A_ROW
    assert writer.asked == FUTILE_IN_A_ROW


def test_a_memo_that_cannot_be_had_is_asked_for_twice_and_the_whole_is_shown() -> None:
    writer = Writer([""] * 9)
    assert writer.turns(6) == ["the model is gone"] * FUTILE_IN_A_ROW
    assert writer.views == [(user("do it"), user("x" * 400))] * 6


def test_a_memo_that_helps_makes_up_for_one_that_did_not() -> None:
    writer = Writer(["", "short", "", "s", "", ""])
    writer.turns(9)
    assert writer.asked == 6

"""A loop of one's own: it looks its answer over once before it hands it in, and gives up rather than guess.

`session.ask` lets the variant's model take its turn, `session.act` runs the tools that it asked for; both are held to the caps, counted
and traced. Nothing else of evalkit is needed.
"""

from __future__ import annotations

from typing import Any

LOOK_AGAIN = (
    "Before you answer: does what the tools said bear this out? If not, look it up again; then give the final answer."
)
MOST_FAILURES = 4


def agent(task: Any, session: Any) -> str:
    """Work on a task until the model is done twice; the text that is returned is the answer."""
    looked_again = False
    failures = 0
    while True:
        reply = session.ask()
        if reply.calls:
            results = session.act(reply.calls)
            failures = failures + 1 if all(result.is_error for result in results) else 0
            if failures >= MOST_FAILURES:
                session.give_up(f"{failures} rounds of calls failed in a row")
            continue
        if looked_again or session.tally.turns < 2:
            return str(reply.text)
        looked_again = True
        session.note(LOOK_AGAIN)

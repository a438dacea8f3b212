"""Your agent: a function that is given a task and a session, and gives its answer.

`session.ask()` lets the model of config.yaml take its turn, and `session.act(calls)` runs the tools that it asked for: both are
held to the caps, counted and traced. An agent with a client of its own leaves the session alone, works in the folder
`task.folder`, and returns a text; its variant in config.yaml needs no `provider` then.
"""

from typing import Any

LOOK_AGAIN = "Look your work over once: is it all that was asked for, and nothing else? Then give your answer again."


def agent(task: Any, session: Any) -> str:
    """Work on `task.prompt` until the model is done, and let it look its work over once."""
    looked = False
    while True:
        reply = session.ask()
        if reply.calls:
            session.act(reply.calls)
        elif looked:
            return reply.text
        else:
            session.note(LOOK_AGAIN)
            looked = True

"""The one place where any exception is caught: code that is not the engine's own runs inside it.

Invariant: a failure of a part (a tool, a loop, a grader, an environment) becomes a value that the caller has to
look at, and never ends a run. `Stopped` and interrupts pass through: they are no failures.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import TypeVar

from evalkit.core.errors import EvalkitError

T = TypeVar("T")

TRACEBACK_LINES = 20


def contain(call: Callable[[], T]) -> tuple[T | None, Exception | None]:
    """Run `call`; give its value and None, or None and what it raised."""
    try:
        return call(), None
    except Exception as error:  # noqa: BLE001  # the one broad except: foreign code may raise anything, and a trial must end as data
        return None, error


def explain(error: Exception) -> str:
    """Write an exception for a record: an error of evalkit's own by its text, any other by its last traceback lines."""
    if isinstance(error, EvalkitError):
        return str(error)
    lines = "".join(traceback.format_exception(error)).rstrip().splitlines()
    return "\n".join(lines[-TRACEBACK_LINES:])

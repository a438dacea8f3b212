"""What all conversations of one trial share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evalkit.core.clock import Clock
from evalkit.core.message import Price
from evalkit.core.plan import Spec, Trial
from evalkit.core.protocols import ContextPolicy
from evalkit.engine.asking import Asker
from evalkit.engine.dispatch import Dispatcher
from evalkit.engine.toolbox import Toolbox
from evalkit.engine.watching import Watch


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit:
    """The trial, the way to its model and its tools, and how to make what each conversation has for itself."""

    trial: Trial
    asker: Asker
    dispatcher: Dispatcher
    box: Toolbox
    clock: Clock
    price: Price | None
    window_tokens: int | None
    watch: Callable[[], Watch]
    policies: Callable[[Sequence[Spec]], tuple[tuple[str, ContextPolicy], ...]]
    system: str

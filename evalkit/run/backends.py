"""Where trials are played: in this thread, in threads, in processes. The only file that knows joblib.

Invariant: trials are drawn lazily, one at a time as workers become free, and records come back as they are done, in
any order; no more than `AHEAD` wait to be taken. A trial never raises, so nothing in flight is ever lost to another's failure; where a
process dies, that is said (`WorkerDied`).
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from types import FrameType

from evalkit.core.errors import ConfigurationError, WorkerDied
from evalkit.core.plan import Trial
from evalkit.core.protocols import Backend, Play
from evalkit.core.record import TrialRecord

AHEAD = 512
"""Records that may be done and not yet taken: joblib's workers draw on whether or not anybody reads, and what waits is lost if the driver is killed."""


@dataclass(frozen=True, slots=True)
class Serial:
    """One trial after the other, in the calling thread."""

    jobs: int = 1

    def map(self, play: Play, trials: Iterable[Trial]) -> Iterator[TrialRecord]:
        """Play in order."""
        return map(play, trials)


@dataclass(frozen=True, slots=True)
class Joblib:
    """Several at once, on one of joblib's own backends."""

    name: str
    jobs: int

    def map(self, play: Play, trials: Iterable[Trial]) -> Iterator[TrialRecord]:
        """Play `jobs` at a time; one trial a batch, because trials differ in length."""
        from joblib import Parallel, delayed  # noqa: PLC0415  # loaded only when a run needs it

        parallel = Parallel(
            n_jobs=self.jobs,
            backend=self.name,
            return_as="generator_unordered",
            batch_size=1,
            pre_dispatch=self.jobs if self.name == "threading" else "2*n_jobs",
        )
        own = play if self.name == "threading" else Child(play=play, parent=os.getpid())
        lead = Lead(iter(trials), self.jobs + AHEAD)
        try:
            while not lead.exhausted:
                with nullcontext() if self.name == "threading" else deaf_to_interrupts():
                    records = parallel(delayed(own)(trial) for trial in lead.drawn())
                for record in records:
                    lead.open -= 1
                    yield record
        except BrokenExecutor as error:
            raise WorkerDied(str(error).split(". ")[0]) from error


@dataclass(slots=True)
class Lead:
    """Draws trials until `most` of them are `open`, which is under way or done and not taken; then what is open comes in before more are drawn.

    To wait inside of a draw is no way: joblib draws under the lock that its reader needs.
    """

    trials: Iterator[Trial]
    most: int
    open: int = field(default=0, init=False)
    exhausted: bool = field(default=False, init=False)

    def drawn(self) -> Iterator[Trial]:
        """Trials, as long as the lead is not too long."""
        while self.open < self.most:
            trial = next(self.trials, None)
            if trial is None:
                self.exhausted = True
                return
            self.open += 1
            yield trial


@contextmanager
def deaf_to_interrupts() -> Iterator[None]:
    """Ignore Ctrl-C for the moment in which workers are started: they inherit that until they are ready for it, and would die of it else."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """Plays trials in a worker for as long as the driver lives: an orphan begins no trial, because nobody would keep its record."""

    play: Play
    parent: int

    def __call__(self, trial: Trial) -> TrialRecord:
        """Play one."""
        signal.signal(signal.SIGINT, _leave_it_to_the_driver)
        if os.getppid() != self.parent:
            os._exit(1)
        return self.play(trial)


def _leave_it_to_the_driver(number: int, frame: FrameType | None) -> None:
    """Do nothing: Ctrl-C reaches all processes of a terminal, and it is the driver that lets running trials end."""


BACKENDS: dict[str, Callable[[int], Backend]] = {
    "serial": lambda jobs: Serial(),  # noqa: ARG005  # one signature for all
    "threads": lambda jobs: Joblib("threading", jobs),
    "processes": lambda jobs: Joblib("loky", jobs),
}


def backend(name: str, jobs: int) -> Backend:
    """Make a backend by name with so many workers."""
    if name not in BACKENDS:
        raise ConfigurationError.of(f"backend {name!r}", "no such backend", f"there are: {', '.join(BACKENDS)}")
    if jobs < 1:
        raise ConfigurationError.of(f"jobs {jobs}", "at least one worker is needed")
    return BACKENDS[name](jobs)

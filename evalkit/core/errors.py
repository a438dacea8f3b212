"""Every way in which something goes wrong, written once and named by the boundary at which it shows.

Invariant: an error that a person can mend carries what is wrong, where, and how to mend it. Errors that are
part of measuring (a tool that failed, a provider that is gone) are data on the record of their trial and
never end a run by themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


class EvalkitError(Exception):
    """The root of all errors that evalkit raises on purpose; its text is fit for a person to read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One mistake in something that a person wrote: where it stands, what is wrong, how to mend it."""

    where: str
    what: str
    mend: str = ""

    def __str__(self) -> str:
        """Write the problem as one line, the place first as compilers do."""
        return f"{self.where}: {self.what}" + (f" ({self.mend})" if self.mend else "")


class ConfigurationError(EvalkitError):
    """Usage or configuration is wrong (exit code 2); carries all problems found, not just the first."""

    def __init__(self, *problems: Problem) -> None:
        """Keep the problems in the order in which they were found."""
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems

    @classmethod
    def of(cls, where: str, what: str, mend: str = "") -> ConfigurationError:
        """Make an error of a single problem."""
        return cls(Problem(where=where, what=what, mend=mend))


class RunInvalid(EvalkitError):
    """A run cannot be made or judged as asked: nothing selected, errors over budget, unlike runs (exit code 4)."""


class StoreError(EvalkitError):
    """A run folder cannot be read or written: locked, damaged, foreign, read-only, disk full (exit code 4)."""


class WorkerDied(EvalkitError):
    """A process that plays trials was ended from outside or ended itself; what it was playing has given no record."""


ToolErrorKind = Literal["malformed_args", "transient", "unrecoverable"]


class ToolError(EvalkitError):
    """A tool call failed; the subclass tells the dispatcher what to do about it."""

    kind: ToolErrorKind = "unrecoverable"


class MalformedArgs(ToolError):
    """The arguments do not fit the tool: the text goes back to the model, which can mend the call."""

    kind = "malformed_args"


class TransientFault(ToolError):
    """A passing fault (rate limit, 5xx, timeout, connection): the dispatcher tries again, unseen by the model."""

    kind = "transient"


class ToolFailed(ToolError):
    """The call was right and the world said no: the text goes to the model verbatim, so that it replans."""

    kind = "unrecoverable"


class ProviderError(EvalkitError):
    """A model could not be asked.

    `transient` says that the same request may succeed later; `retry_after` is the wait in seconds that the
    other side asked for; `fatal` says that no trial of the run can succeed (a wrong key, an unknown model);
    `status` is the HTTP status where there was one.
    """

    def __init__(
        self,
        text: str,
        *,
        transient: bool = False,
        retry_after: float | None = None,
        fatal: bool = False,
        status: int | None = None,
    ) -> None:
        """Keep the facts that the retry policy and the run need."""
        super().__init__(text)
        self.transient = transient
        self.retry_after = retry_after
        self.fatal = fatal
        self.status = status


class ContextOverflow(EvalkitError):
    """The request does not fit the model's context window: the variant's doing, so the trial fails."""


class GraderBroke(EvalkitError):
    """A check crashed, hung or gave no usable answer: our world broke, so the trial is an error."""


class Stopped(BaseException):
    """The trial is over: raised through a loop to end it.

    Not an `Exception`, so that a loop which catches those for its own ends does not run on after its cap fired;
    one that catches even this is stopped again at its next step.
    """

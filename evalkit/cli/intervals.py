"""The flags that say how intervals are made, the same for every command that shows some.

Invariant: a flag that would change nothing is refused, so that nobody takes a number for something that it is not.
"""

from __future__ import annotations

from typing import get_args

from evalkit.cli.converters import share
from evalkit.cli.options import Command, Values
from evalkit.core.errors import ConfigurationError
from evalkit.measure.estimate import Ask
from evalkit.measure.interval import Method, Scope


def add_confidence(command: Command, what: str) -> None:
    """Add `--confidence`, the confidence of `what`."""
    command.option("--confidence", help=f"confidence of {what}", convert=share, default=0.95)


def add_interval(command: Command) -> None:
    """Add `--scope` and `--method`."""
    command.option(
        "--scope",
        help="what intervals speak of: more tasks of this kind (population), or these very tasks again (suite)",
        choices=get_args(Scope),
        default="population",
    )
    command.option(
        "--method",
        help="interval of the scope population: gaffke holds its level, jeffreys is shorter and holds it on average",
        choices=get_args(Method),
        default="gaffke",
    )


def confidence(values: Values) -> float:
    """Read `--confidence`; raises `ConfigurationError` for one that is none."""
    given: float = values.confidence
    if not 0.5 <= given < 1.0:
        raise ConfigurationError.of("--confidence", f"{given:g} is no confidence", "write 0.95 for 95%")
    return given


def asked(values: Values, *, sides: int = 2) -> Ask:
    """Read all three; raises `ConfigurationError` where one is wrong or goes with another for nothing."""
    if values.scope == "suite" and values.origins["method"] == "flag":
        what = "is for the scope population: the scope suite has one method of its own"
        raise ConfigurationError.of(f"--method {values.method}", what, "leave --method or --scope away")
    return Ask(confidence=confidence(values), sides=sides, scope=values.scope, method=values.method)


def idle(values: Values, why: str) -> None:
    """Refuse the flags that were given where none of them does anything; `why` says why not."""
    for name in ("scope", "method", "confidence"):
        if values.origins.get(name) == "flag":
            raise ConfigurationError.of(f"--{name}", f"does nothing here: {why}", f"leave --{name} away")

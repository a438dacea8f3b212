"""Options of a command, each with four places to come from: flag, environment, file, default.

Invariant: the value of an option comes from the first place that gives one, and `--print-config` tells which. The environment
variable of `--max-usd` is `EVALKIT_MAX_USD`; the file is the table `[tool.evalkit.COMMAND]` of `pyproject.toml` in the working folder.
"""

from __future__ import annotations

import argparse
import os
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from evalkit.cli.exits import TABLE
from evalkit.core.errors import ConfigurationError

TRUE, FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option: how it is written, what it takes, and what it is when nobody says."""

    name: str
    convert: Callable[[str], Any] | None
    default: Any
    many: bool
    choices: Sequence[str] | None


@dataclass(slots=True)
class Command:
    """A command's positional arguments and options."""

    name: str
    summary: str
    parser: argparse.ArgumentParser = field(init=False)
    options: dict[str, Option] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make the parser; every command can print where its values come from."""
        self.parser = argparse.ArgumentParser(
            prog=f"evalkit {self.name}",
            description=self.summary,
            epilog=TABLE,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        self.parser.add_argument(
            "--print-config", action="store_true", help="tell each option's value and origin, and end"
        )

    def argument(self, name: str, *, help: str, nargs: str | None = None) -> None:  # noqa: A002  # argparse's own word
        """Add a positional argument."""
        self.parser.add_argument(name, help=help, **({"nargs": nargs} if nargs else {}))  # type: ignore[arg-type]  # nargs is left out where there is none

    def option(
        self,
        *flags: str,
        help: str,  # noqa: A002  # argparse's own word
        convert: Callable[[str], Any] = str,
        default: Any = None,
        many: bool = False,
        choices: Sequence[str] | None = None,
        metavar: str | None = None,
    ) -> None:
        """Add an option that takes a value; `many` makes it repeatable (a comma separates values in the environment)."""
        name = flags[-1].lstrip("-").replace("-", "_")
        self.options[name] = Option(name=name, convert=convert, default=default, many=many, choices=choices)
        shown = f"{help} [{default}]" if default not in (None, ()) else help
        self.parser.add_argument(
            *flags,
            dest=name,
            help=shown.replace("%", "%%"),
            type=convert,
            default=argparse.SUPPRESS,
            choices=choices,
            metavar=metavar,
            action="append" if many else "store",
        )

    def switch(self, *flags: str, help: str) -> None:  # noqa: A002  # argparse's own word
        """Add an option that is on or off, off by default."""
        name = flags[-1].lstrip("-").replace("-", "_")
        self.options[name] = Option(name=name, convert=None, default=False, many=False, choices=None)
        self.parser.add_argument(
            *flags, dest=name, help=help.replace("%", "%%"), action="store_true", default=argparse.SUPPRESS
        )

    def parse(self, argv: Sequence[str]) -> Values:
        """Read flags, environment and file; raises `ConfigurationError` for a value that does not fit."""
        given = vars(self.parser.parse_args(list(argv)))
        filed = _file_values(self.name, self.options)
        values, origins = dict(given), {}
        for name, option in self.options.items():
            variable = f"EVALKIT_{name.upper()}"
            if name in given:
                origins[name] = "flag"
            elif variable in os.environ:
                values[name] = _from_text(option, os.environ[variable], variable)
                origins[name] = variable
            elif name in filed:
                values[name] = _from_text(option, filed[name], f"pyproject.toml [tool.evalkit.{self.name}] {name}")
                origins[name] = "pyproject.toml"
            else:
                values[name] = option.default
                origins[name] = "default"
        return Values(values=values, origins=origins)


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """What a command was told, and from where each option's value came."""

    values: dict[str, Any]
    origins: dict[str, str]

    def __getattr__(self, name: str) -> Any:
        """Give the value of an argument or option by name."""
        try:
            return self.values[name]
        except KeyError:
            raise AttributeError(name) from None

    def described(self) -> str:
        """One line an option: name, value, origin."""
        return "\n".join(f"{name} = {self.values[name]!r}  ({origin})" for name, origin in self.origins.items())


def whole(least: int) -> Callable[[str], int]:
    """Make a converter to a whole number of at least `least`."""

    def convert(text: str) -> int:
        """Convert, or say what was expected."""
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number of at least {least}")
        return number

    return convert


def positive(text: str) -> float:
    """Convert to a number above zero, or say what was expected."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0.0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")
    return number


def share(text: str) -> float:
    """Convert to a number from 0 to 1, or say what was expected."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0.0 <= number <= 1.0:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 to 1")
    return number


def _from_text(option: Option, given: Any, place: str) -> Any:
    """Convert a value of the environment or the file as a flag's would be."""
    if option.convert is None:
        text = str(given).lower()
        if text not in TRUE + FALSE:
            raise ConfigurationError.of(place, f"{given!r} is neither on nor off", "write true or false")
        return text in TRUE
    if option.many:
        parts = given if isinstance(given, list) else [part for part in str(given).split(",") if part]
        return [_converted(option, str(part), place) for part in parts]
    return _converted(option, str(given), place)


def _converted(option: Option, text: str, place: str) -> Any:
    """Convert one value."""
    try:
        value = option.convert(text) if option.convert else text
    except (argparse.ArgumentTypeError, ValueError) as error:
        raise ConfigurationError.of(place, str(error)) from error
    if option.choices is not None and value not in option.choices:
        raise ConfigurationError.of(place, f"{text!r} is not one of {', '.join(option.choices)}")
    return value


def _file_values(command: str, options: dict[str, Option]) -> dict[str, Any]:
    """Read the command's table of `pyproject.toml` in the working folder; unknown names are refused."""
    file = Path("pyproject.toml")
    if not file.is_file():
        return {}
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8")).get("tool", {}).get("evalkit", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError.of("pyproject.toml", f"cannot be read: {error}") from error
    table = tables.get(command, {}) if isinstance(tables, dict) else {}
    values = {str(name).replace("-", "_"): value for name, value in table.items()}
    for name in values:
        if name not in options:
            near = get_close_matches(name, options, 1)
            mend = f"did you mean {near[0]}?" if near else f"there are: {', '.join(options)}"
            raise ConfigurationError.of(f"pyproject.toml [tool.evalkit.{command}]", f"unknown option {name!r}", mend)
    return values

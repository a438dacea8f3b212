"""Options of a command, each with four places to come from: flag, environment, file, default.

Invariant: the value of an option comes from the first place that gives one, and `--print-config` tells which. The environment
variable of `--max-usd` is `EVALKIT_MAX_USD`; the file is the table `[tool.evalkit.COMMAND]` of `pyproject.toml` in the working folder.
"""

from __future__ import annotations

import argparse
import os
import sys
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

from evalkit.cli.commands import COMMANDS
from evalkit.cli.exits import TABLE
from evalkit.cli.help import Help
from evalkit.cli.output import say, tell
from evalkit.core.errors import ConfigurationError, Problem

PREFIX = "EVALKIT_"
TRUE, FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option: how it is written, what it takes, and what it is when nobody says."""

    name: str
    convert: Callable[[str], Any] | None
    default: Any
    many: bool
    choices: Sequence[str] | None
    once: Callable[[str], Any] | None = None

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return f"{PREFIX}{self.name.upper()}"


class Parser(argparse.ArgumentParser):
    """The standard library's parser; what it tells is written as everything else is."""

    def _print_message(self, message: str, file: Any = None) -> None:
        """Write help to stdout and mistakes to stderr."""
        (say if file is sys.stdout else tell)(message.removesuffix("\n"))

    def error(self, message: str) -> NoReturn:
        """Tell a mistake in the arguments; of a flag that is not known also the one that was perhaps meant."""
        strange = [word.partition("=")[0] for word in message.split() if word.startswith("--")]
        if message.startswith("unrecognized arguments") and strange:
            near = get_close_matches(strange[0], self._option_string_actions, 1)
            message += f" (did you mean {near[0]}?)" if near else ""
        super().error(message)


class Single(argparse.Action):
    """Takes a flag's value, and refuses a second one: which of them was meant is nobody's to guess."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Store the value."""
        if hasattr(namespace, self.dest):
            before = getattr(namespace, self.dest)
            parser.error(f"argument {option_string}: is given twice, {before!r} and {values!r}: give it once")
        setattr(namespace, self.dest, values)


@dataclass(slots=True)
class Command:
    """A command's positional arguments and options."""

    name: str
    summary: str
    parser: argparse.ArgumentParser = field(init=False)
    options: dict[str, Option] = field(default_factory=dict)
    files: str | None = None

    def __post_init__(self) -> None:
        """Make the parser; every command can print where its values come from."""
        self.parser = Parser(
            prog=f"evalkit {self.name}",
            description=self.summary,
            epilog=TABLE,
            formatter_class=Help,
            allow_abbrev=False,
        )
        self.parser.add_argument(
            "--print-config", action="store_true", help="tell each option's value and origin, and end"
        )

    def argument(self, name: str, *, help: str, nargs: str | None = None) -> None:  # noqa: A002  # argparse's own word
        """Add a positional argument; one that may be several is of files, none of them named twice."""
        if nargs == "+":
            self.files = name
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
        once: Callable[[Any], Any] | None = str,
    ) -> None:
        """Add an option that takes a value; `many` makes it repeatable (a comma separates values in the environment).

        No two values of a repeatable one may be alike by `once`; None lets them.
        """
        name = flags[-1].lstrip("-").replace("-", "_")
        self.options[name] = Option(name=name, convert=convert, default=default, many=many, choices=choices, once=once)
        shown = f"{help} [{default}]" if default not in (None, ()) else help
        self.parser.add_argument(
            *flags,
            dest=name,
            help=shown.replace("%", "%%"),
            type=convert,
            default=argparse.SUPPRESS,
            choices=choices,
            metavar=metavar,
            action="append" if many else Single,
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
            variable, place = option.variable, f"--{name.replace('_', '-')}"
            if name in given:
                origins[name] = "flag"
            elif variable in os.environ:
                place, origins[name] = variable, variable
                values[name] = _from_text(option, os.environ[variable], place)
            elif name in filed:
                place, origins[name] = f"pyproject.toml [tool.evalkit.{self.name}] {name}", "pyproject.toml"
                values[name] = _from_text(option, filed[name], place)
            else:
                values[name] = option.default
                origins[name] = "default"
            if option.many and option.once is not None:
                _refuse_twins(place, values[name], option.once)
        for name, found in given.items():
            _refuse_blank(name if name not in self.options else f"--{name.replace('_', '-')}", found)
        if self.files is not None:
            _refuse_twins("", values[self.files], os.path.realpath)
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


def _refuse_twins(place: str, given: Sequence[Any], once: Callable[[Any], Any]) -> None:
    """Refuse values that are alike by `once`: nobody can tell whether the second was meant to be another, or the same once more."""
    seen: dict[Any, Any] = {}
    for value in given:
        mark = once(value)
        if mark in seen:
            what = "is given twice" if seen[mark] == value else f"is the same as {seen[mark]}"
            raise ConfigurationError.of(f"{place} {value}".strip(), what, "give it once")
        seen[mark] = value


def _refuse_blank(place: str, given: Any) -> None:
    """Refuse a word of nothing, which is mostly a variable of a shell that is not set: what it would be taken for is nobody's to guess."""
    if any(isinstance(one, str) and not one.strip() for one in (given if isinstance(given, list) else [given])):
        raise ConfigurationError.of(place, "is empty", "give it a value, or leave it away")


def _from_text(option: Option, given: Any, place: str) -> Any:
    """Convert a value of the environment or the file as a flag's would be."""
    if option.convert is None:
        text = str(given).lower()
        if text not in TRUE + FALSE:
            raise ConfigurationError.of(place, f"{given!r} is neither on nor off", "write true or false")
        return text in TRUE
    if isinstance(given, dict) or (isinstance(given, list) and not option.many):
        raise ConfigurationError.of(place, f"{given!r} is not one value", "write one")
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


def _file_values(command: str, options: Mapping[str, Option]) -> dict[str, Any]:
    """Read the command's table of `pyproject.toml` in the working folder; unknown commands and options are refused."""
    file = Path("pyproject.toml")
    if not file.is_file():
        return {}
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8")).get("tool", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise ConfigurationError.of("pyproject.toml", f"cannot be read: {error}") from error
    ours = _table("tool.evalkit", _table("tool", tables).get("evalkit", {}))
    _refuse_unknown("tool.evalkit", "command", ours, COMMANDS)
    name = f"tool.evalkit.{command}"
    values = {key.replace("-", "_"): value for key, value in _table(name, ours.get(command, {})).items()}
    _refuse_unknown(name, "option", values, options)
    return values


def _table(name: str, found: Any) -> dict[str, Any]:
    """What should be a table of the file; raises `ConfigurationError` where it is none."""
    if not isinstance(found, dict):
        raise ConfigurationError.of(f"pyproject.toml {name}", f"{found!r} is no table", f"write [{name}] over its keys")
    return found


def _refuse_unknown(table: str, what: str, given: Collection[str], known: Collection[str]) -> None:
    """Refuse keys of the file that name nothing, all at once, each with what was meant."""
    problems = []
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, 1)
            mend = f"did you mean {near[0]}?" if near else f"there are: {', '.join(known)}"
            problems.append(Problem(where=f"pyproject.toml [{table}]", what=f"unknown {what} {name!r}", mend=mend))
    if problems:
        raise ConfigurationError(*problems)

"""`evalkit validate`: say everything that is wrong with suites and configs, and run nothing."""

from __future__ import annotations

from pathlib import Path

from evalkit.cli.exits import Exit
from evalkit.cli.options import Command, Values
from evalkit.cli.output import say
from evalkit.core.errors import ConfigurationError, Problem
from evalkit.load import doubts, load
from evalkit.load.config import load_config
from evalkit.load.document import read_document
from evalkit.load.problems import Problems
from evalkit.report.variants import retry_warnings

COMMAND = Command("validate", "Check suites and configs, each by itself and together, without running anything.")
COMMAND.argument("files", nargs="+", help="suite and config files; a suite is checked with the configs that it names")


def run(values: Values) -> int:
    """Check all files; every problem of every file is told."""
    problems: list[Problem] = []
    for name in values.files:
        path = Path(name)
        try:
            if _is_suite(path):
                suites, config = load([path], [])
                tasks = sum(len(suite.tasks) for suite in suites)
                say(f"{name}: a suite of {_count(tasks, 'task')}, {_count(len(config.variants), 'variant')}, fine")
                variants = config.variants
            else:
                found = load_config(path)
                say(f"{name}: a config of {_count(len(found.variants), 'variant')}, fine")
                variants = found.variants
            for warning in (*retry_warnings(variants), *doubts(variants)):
                say(f"{name}: warning: {warning}")
        except ConfigurationError as error:
            problems += [problem for problem in error.problems if problem not in problems]
    if problems:
        raise ConfigurationError(*problems)
    return Exit.OK


def _count(number: int, noun: str) -> str:
    """Write a number of things."""
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _is_suite(path: Path) -> bool:
    """True where a file has the keys of a suite; what is wrong with it is told by whoever loads it."""
    node = read_document(path, Problems())
    return node is not None and any(key in node.entries for key in ("suite", "tasks"))

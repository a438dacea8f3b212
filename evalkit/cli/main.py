"""The entry point: finds the command, runs it, turns errors into messages and exit codes.

Invariant: a user's mistake never shows a traceback, and `evalkit --help` imports no command.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import NoReturn

from evalkit import __version__
from evalkit.cli.commands import COMMANDS, MODULES
from evalkit.cli.exits import TABLE, Exit
from evalkit.cli.help import folded
from evalkit.cli.output import lost, say, tell, width
from evalkit.cli.variables import unknown
from evalkit.core.errors import ConfigurationError, EvalkitError
from evalkit.report.clean import clean

COLLECT = (50_000, 10, 10)
"""When a command's process looks for garbage: seldom, since next to none is made in cycles, and looking for it took a tenth of the time."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; gives the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    if not words or words[0] in ("-h", "--help", "help"):
        say(usage())
        return Exit.OK if words else Exit.USAGE
    if words[0] in ("-V", "--version"):
        say(f"evalkit {__version__}")
        return Exit.OK
    name, rest = words[0], words[1:]
    if name not in COMMANDS:
        near = get_close_matches(name, COMMANDS, 1)
        tell(f"evalkit: no command {name!r}" + (f"; did you mean {near[0]}?" if near else "; see evalkit --help"))
        return Exit.USAGE
    return _guarded(name, rest)


def usage() -> str:
    """The text of `evalkit --help`."""
    commands = "\n".join(f"  {name:<10} {summary}" for name, summary in COMMANDS.items())
    text = (
        "usage: evalkit COMMAND [ARGUMENTS]\n\n"
        "Will this agent do it every time? evalkit runs tasks n times under loop variants and measures pass^k, "
        "the share of tasks at which k attempts in a row succeed.\n\n"
        f"commands:\n{commands}\n\n"
        "evalkit COMMAND --help tells a command's options; every option may be set by EVALKIT_<OPTION> too.\n\n"
        f"{TABLE}"
    )
    return folded(text, width())


def _guarded(name: str, words: Sequence[str]) -> int:
    """Import and run one command; mistakes become messages."""
    try:
        command = import_module(MODULES[name])
        _stand()
        values = command.COMMAND.parse(words)
        if values.print_config:
            say(values.described())
            return Exit.OK
        for warning in unknown(os.environ):
            tell(clean(f"warning: {warning}"))
        code: int = command.run(values)
    except ConfigurationError as error:
        tell(clean(f"evalkit {name}: {error}" if len(error.problems) == 1 else f"evalkit {name}:\n{error}"))
        return Exit.USAGE
    except EvalkitError as error:
        tell(clean(f"evalkit {name}: {error}"))
        return Exit.INVALID
    except (OSError, UnicodeEncodeError) as error:
        tell(clean(f"evalkit {name}: {_refused(error)}"))
        return Exit.INVALID
    except KeyboardInterrupt:
        tell(f"evalkit {name}: interrupted")
        return Exit.INTERRUPTED
    return code


def _refused(error: OSError | UnicodeEncodeError) -> str:
    """What the system refused, where nobody nearer to it has said so; a text that no locale could take is a fault of evalkit."""
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}"
    if error.encoding == "utf-8":
        raise error
    mend = "set PYTHONUTF8=1, or a locale such as C.UTF-8"
    return f"{error.object}: a name that this locale's encoding, {error.encoding}, has no way to write ({mend})"


def _stand() -> None:
    """Refuse to work in a folder that was deleted: no path that starts from it leads anywhere."""
    try:
        Path.cwd()
    except OSError as error:
        raise ConfigurationError.of(
            "the working folder", f"is gone: {error.strerror}", "cd to one that is there"
        ) from None


def entry() -> None:
    """What the installed command calls."""
    hold_standard_streams()
    gc.set_threshold(*COLLECT)
    sys.excepthook = broke
    try:
        code = main()
    except SystemExit as ended:  # argparse, which has told of help or of a usage that is wrong
        code = ended.code if isinstance(ended.code, int) else Exit.OK
    if why := lost():
        tell(f"evalkit: stdout did not take the whole answer: {why}")
        code = code or Exit.INVALID
    sys.exit(code)


def broke(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> NoReturn:
    """Say that evalkit itself broke, and leave with a code that no gate gives: Python's own is 1, which says that a gate failed."""
    sys.__excepthook__(kind, error, trace)
    if isinstance(error, KeyboardInterrupt):
        sys.exit(Exit.INTERRUPTED)
    tell("evalkit broke, which is a fault of its own and no verdict: please report it with the lines above")
    sys.exit(Exit.INVALID)


def hold_standard_streams() -> None:
    """Make streams that take whatever is written: one that was closed, any character.

    A stream that was closed (`>&-`) is given to nobody, or the next file that is opened would get its number, a run's database among them. A
    character that the terminal's encoding lacks is written as an escape.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free, which is this one
            os.set_inheritable(number, True)  # noqa: FBT003  # the standard library's own shape
    for name, number in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w", encoding="utf-8", closefd=False))
        getattr(sys, name).reconfigure(errors="backslashreplace")

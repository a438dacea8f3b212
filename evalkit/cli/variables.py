"""Environment variables that look like ours and set nothing, so that a misspelt `EVALKIT_MAX_USD` is not taken for a bound.

Invariant: a variable that some command knows is never told of, and the commands are imported only where there is another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from importlib import import_module

from evalkit.cli.commands import MODULES
from evalkit.cli.options import PREFIX

OURS = (f"{PREFIX}PROMPT_FILE",)
"""Variables that evalkit sets for the agents that it starts."""


def unknown(environ: Mapping[str, str]) -> Iterator[str]:
    """Say of each variable that looks like one of ours and is none that it sets nothing, with the one that was meant where one is near."""
    given = sorted(name for name in environ if name.upper().startswith(PREFIX) and name not in OURS)
    if not given:
        return
    known = {
        option.variable for module in MODULES.values() for option in import_module(module).COMMAND.options.values()
    }
    for name in given:
        if name not in known:
            near = get_close_matches(name.upper(), known, 1)
            meant = f"did you mean {near[0]}?" if near else "evalkit COMMAND --help tells the options that there are"
            yield f"the environment variable {name} sets nothing: no command has such an option; {meant}"

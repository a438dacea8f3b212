"""`python -m evalkit` is `evalkit`."""

from evalkit.cli.main import entry

entry()

"""`evalkit schema`: the JSON Schema of suites or configs, with the parts that are installed here."""

from __future__ import annotations

from evalkit.cli.exits import Exit
from evalkit.cli.options import Command, Values
from evalkit.cli.output import say_json
from evalkit.core.errors import ConfigurationError
from evalkit.load.schema import config_schema, suite_schema

COMMAND = Command("schema", "Print the JSON Schema (draft-07) of a kind of file, for editors.")
COMMAND.argument("file", help="suite or config")


def run(values: Values) -> int:
    """Print one schema."""
    schemas = {"suite": suite_schema, "config": config_schema}
    if values.file not in schemas:
        raise ConfigurationError.of(values.file, "there is no such schema", "write suite or config")
    say_json(schemas[values.file]())
    return Exit.OK

"""The JSON Schemas for editors: shipped as generated, draft-07, and of one mind with the loader."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from evalkit import load as room
from evalkit import parts
from evalkit.load.config import load_config
from evalkit.load.document import read_document
from evalkit.load.problems import Problems
from evalkit.load.schema import config_schema, suite_schema, texts, write
from evalkit.load.suite import load_suite

ROOT = Path(__file__).parents[2]
SHIPPED = Path(room.__file__).parent


@pytest.mark.parametrize("name", ["suite.schema.json", "config.schema.json"])
def test_the_shipped_schema_is_the_generated_one(name: str) -> None:
    assert (SHIPPED / name).read_text() == texts()[name], "run `python -m evalkit.load.schema`"


def test_writing_gives_the_same_bytes_in_every_process(tmp_path: Path) -> None:
    write(tmp_path)
    code = "import sys; from pathlib import Path; from evalkit.load.schema import write; write(Path(sys.argv[1]))"
    (tmp_path / "again").mkdir()
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "again")], check=True)
    for name in texts():
        assert (tmp_path / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


@pytest.mark.parametrize("make", [suite_schema, config_schema])
def test_the_schemas_are_draft_07_and_refer_to_nothing_that_is_not_there(make: Callable[[], dict[str, Any]]) -> None:
    schema = make()
    Draft7Validator.check_schema(schema)
    assert schema["$schema"] == "http://json-schema.org/draft-07/schema#"
    for place in references(schema):
        assert place.removeprefix("#/definitions/") in schema["definitions"]
    assert "$defs" not in json.dumps(schema)
    assert "prefixItems" not in json.dumps(schema)


def references(schema: object) -> Iterator[str]:
    """All `$ref` in a schema."""
    if isinstance(schema, Mapping):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"]
        for value in schema.values():
            yield from references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from references(value)


def test_a_duration_s_default_is_written_as_one() -> None:
    base = config_schema()["definitions"]["Retries"]["properties"]["base"]
    assert (base["default"], base["type"]) == ("1s", "string")


def test_every_kind_of_every_family_has_its_options_in_a_schema() -> None:
    known = {**suite_schema()["definitions"], **config_schema()["definitions"]}
    for family in set(parts.FAMILIES) - {"fragments", "streams"}:  # those are written by name alone
        for kind in parts.kinds(family):
            assert known[f"{family}.{kind}"]["properties"]["kind"] == {"const": kind}
            assert known[f"{family}.{kind}"]["additionalProperties"] is False


def faults(schema: dict[str, Any], text: str) -> list[str]:
    """Where a text does not fit a schema, by JSON path."""
    path = Path("f.yaml")
    path.write_text(text)
    node = read_document(path, Problems())
    assert node is not None
    return sorted(error.json_path for error in Draft7Validator(schema).iter_errors(node.json()))


CONFIG = """version: 1
common: {provider: {kind: scripted, script: [{text: x, calls: [[name, {a: 1}]]}]}, caps: {seconds: 90s, turns: null}}
variants: {a: , b: {context: {kind: window, turns: 3}, retries: {base: 500ms}}}
vary: [/context, /retries]
matrix: {/caps/turns: [6, 12]}
gates: [{min: 0.5}, {metric: cap_rate(turns), max: 0.5}]
"""


def test_what_the_loader_takes_fits_the_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert faults(config_schema(), CONFIG) == []
    assert len(load_config(Path("f.yaml")).variants) == 4
    assert faults(config_schema(), "version: 1\nextends: f.yaml\n") == []
    assert faults(config_schema(), "version: 1\ncommon: {provider: {kind: anthropic}}\n") == []


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("turns: 3", "turn: 3", "$.variants.b"),
        ("90s", "90", "$.common.caps.seconds"),
        ("kind: window", "kind: windw", "$.variants.b"),
        ("base: 500ms", "base: soon", "$.variants.b"),
        ("cap_rate(turns)", "cap_rate", "$.gates[1].metric"),
        ("[name, {a: 1}]", "[name]", "$.common.provider.script[0].calls[0]"),
        ("vary:", "vari:", "$"),
    ],
)
def test_what_the_loader_refuses_an_editor_shows(
    old: str, new: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert place in faults(config_schema(), CONFIG.replace(old, new))


def test_a_suite_in_an_editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    good = "version: 1\nsuite: x\ndefaults: {trials: 3}\ntasks: [{id: a, prompt: b, environment: {kind: bare}}]\n"
    assert faults(suite_schema(), good) == []
    assert faults(suite_schema(), good.replace("bare", "bear")) == ["$.tasks[0].environment.kind"]
    assert faults(suite_schema(), good.replace("{kind: bare}", "{kid: bare}")) == ["$.tasks[0].environment"]
    assert faults(suite_schema(), good.replace("trials: 3", "trials: 0")) == ["$.defaults.trials"]


@pytest.mark.parametrize("path", sorted((ROOT / "configs").glob("*.yaml")), ids=lambda path: path.name)
def test_a_shipped_config_loads_and_fits_its_schema(path: Path) -> None:
    assert load_config(path).variants
    node = read_document(path, Problems())
    assert node is not None
    assert not list(Draft7Validator(config_schema()).iter_errors(node.json()))


@pytest.mark.parametrize("path", sorted((ROOT / "suites").glob("*.yaml")), ids=lambda path: path.name)
def test_a_shipped_suite_loads_and_fits_its_schema(path: Path) -> None:
    assert load_suite(path).tasks
    node = read_document(path, Problems())
    assert node is not None
    assert not list(Draft7Validator(suite_schema()).iter_errors(node.json()))

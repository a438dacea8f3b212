"""The examples of `docs/yaml.md` are files that load, and its tables name every key."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from evalkit.load import load
from evalkit.load.config import load_config
from evalkit.load.forms import CAPS, CONFIG, GATE, RETRIES, SUITE, TASK, VARIANT

TEXT = (Path(__file__).parents[2] / "docs" / "yaml.md").read_text(encoding="utf-8")
EXAMPLES = dict(re.findall(r"```yaml\n# (\w+\.yaml)\n(.*?)```", TEXT, re.DOTALL))


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in EXAMPLES.items():
        Path(name).write_text(content)


def test_the_examples_load() -> None:
    (suite,), config = load([Path("suite.yaml")], [])
    assert [task.tags for task in suite.tasks] == [("words",), ("words", "short")]
    assert [variant.name for variant in config.variants] == ["plain", "window", "tight"]
    assert {variant.provider.kind for variant in load_config(Path("live.yaml")).variants} == {"anthropic"}
    assert [variant.name for variant in load_config(Path("matrix.yaml")).variants] == ["plain-turns6", "plain-turns12"]
    assert set(EXAMPLES) == {"suite.yaml", "config.yaml", "live.yaml", "matrix.yaml"}


@pytest.mark.parametrize("form", [SUITE, TASK, CONFIG, VARIANT, CAPS, RETRIES, GATE], ids=lambda form: form.__name__)
def test_every_key_is_told(form: type) -> None:
    told = set(re.findall(r"`([a-z_]+)`", TEXT))
    assert {one.name for one in fields(form)} <= told

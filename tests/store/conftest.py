"""A run of two tasks and its store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from store_makers import a_manifest

from evalkit.store.manifest import Manifest
from evalkit.store.runstore import RunStore


@pytest.fixture
def manifest() -> Manifest:
    """A run of two tasks, two trials each, under one variant."""
    return a_manifest()


@pytest.fixture
def store(tmp_path: Path, manifest: Manifest) -> Iterator[RunStore]:
    """A store of that run, open for writing, in an environment without secrets."""
    with RunStore.create(tmp_path / "run", manifest, environ={}) as made:
        yield made

"""Functions that a suite names: `file.py:name`, the file relative to the suite, or `module:name` of an installed package.

Invariant: a file is run once a process, under a name of its own, so two suites may both have a `tools.py`. It stands alone: its folder
is not put on the import path.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import Any

from evalkit.core.errors import ConfigurationError

_loaded: dict[Path, ModuleType] = {}
_lock = RLock()


@lru_cache(maxsize=1024)
def load_function(written: str, base: str | Path) -> Callable[..., Any]:
    """Find a function by its written name; raises `ConfigurationError` where there is none, and whatever its file raises when it is run."""
    place, _, name = written.rpartition(":")
    if not place or not name:
        raise ConfigurationError.of(written, "names no function", "write file.py:name or module:name")
    module = _file(Path(base) / place, written) if place.endswith(".py") or "/" in place else _module(place, written)
    found: Any = module
    for word in name.split("."):
        found = getattr(found, word, None)
    if not callable(found):
        what = "is no function" if found is not None else f"{place} defines no {name!r}"
        raise ConfigurationError.of(written, what)
    function: Callable[..., Any] = found
    return function


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a source file and leaves nothing beside it: a suite's folder is read, never written to."""

    def set_data(self, path: str, data: Any, *, _mode: int = 0o666) -> None:
        """Keep no bytecode."""


def _file(path: Path, written: str) -> ModuleType:
    """Run a file as a module, once."""
    path = path.resolve()
    with _lock:
        if path in _loaded:
            return _loaded[path]
        if not path.is_file():
            raise ConfigurationError.of(written, f"there is no file {path}")
        name = f"evalkit_suite_{hashlib.sha256(str(path).encode()).hexdigest()[:16]}_{path.stem}"
        loader = _Loader(name, str(path))
        spec = importlib.util.spec_from_loader(name, loader)
        if spec is None:
            raise ConfigurationError.of(written, f"{path} cannot be loaded as Python")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # dataclasses and pydantic look their module up there
        try:
            loader.exec_module(module)
            _loaded[path] = module
        finally:
            if path not in _loaded:
                del sys.modules[name]
        return module


def _module(name: str, written: str) -> ModuleType:
    """Import an installed module."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise ConfigurationError.of(written, str(error), "is its package installed?") from error

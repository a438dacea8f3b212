"""Parts of another package, installed for as long as a test needs them, and ways to load texts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evalkit import parts
from evalkit.core.errors import ConfigurationError

MODULE = '''
from __future__ import annotations
from dataclasses import dataclass
from typing import Annotated, ClassVar
from annotated_types import Gt
from evalkit.core.errors import ConfigurationError
from evalkit.parts._duration import Duration

@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    word: str
    often: int = 1

@dataclass(frozen=True, slots=True, kw_only=True)
class Looks:
    """Looks at files."""
    file: str | None = None
    more: tuple[str, ...] = ()
    by: str | None = None
    inner: tuple[Inner, ...] = ()
    either: str | float | None = None
    wait: Annotated[Duration, Gt(0)] = 30.0
    FILES: ClassVar[tuple[str, ...]] = ("file", "more")
    FUNCTIONS: ClassVar[tuple[str, ...]] = ("by",)

    def __post_init__(self):
        if self.either == "wrong":
            raise ValueError("either is wrong: write right")
        if self.either == "worse":
            raise ConfigurationError.of("looks", "either is worse", "write better")
        if len(self.inner) > 1:
            raise ValueError("inner.1.word: one is enough")

    def judge(self, evidence):
        raise AssertionError

@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A world out of a folder."""
    folder: str = ""
    FILES: ClassVar[tuple[str, ...]] = ("folder",)

@dataclass(frozen=True, slots=True, kw_only=True)
class Free:
    """A model without a price."""
    name: str = ""
    nature: ClassVar[str] = "simulated"
    def price(self):
        return None
'''

POINTS = """
[evalkit.checks]
looks = evalkit_test_parts:Looks
lost = evalkit_no_such_module:Lost
nameless = evalkit_test_parts:Nameless
[evalkit.tools]
hammer = evalkit_test_parts:World
[evalkit.environments]
world = evalkit_test_parts:World
[evalkit.providers]
free = evalkit_test_parts:Free
"""


@contextmanager
def installed(folder: Path) -> Iterator[None]:
    """Install a package with parts of its own into a folder, and take it away again."""
    (folder / "evalkit_test_parts.py").write_text(MODULE)
    about = folder / "evalkit_test_parts-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: evalkit-test-parts\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(POINTS)
    sys.path.insert(0, str(folder))
    forget()
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop("evalkit_test_parts", None)
        forget()


def forget() -> None:
    """Let the finder of parts look anew."""
    for found in vars(parts).values():
        clear = getattr(found, "cache_clear", None)
        if clear is not None:
            clear()


def complaints(error: ConfigurationError) -> list[str]:
    """The lines of an error."""
    return [str(problem) for problem in error.problems]

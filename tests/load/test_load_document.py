"""The reader of YAML: what it takes, what it refuses, and where it says that."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalkit.core.errors import ConfigurationError
from evalkit.load.document import DEEPEST, LARGEST, parse_document, read_document
from evalkit.load.node import Node
from evalkit.load.problems import MOST, Problems


def parse(content: str | bytes) -> tuple[Any, list[str]]:
    """Parse a text; the JSON value or None, and the problems."""
    problems = Problems()
    node = parse_document(content.encode() if isinstance(content, str) else content, "f.yaml", problems)
    try:
        problems.throw()
    except ConfigurationError as error:
        return None, [str(problem) for problem in error.problems]
    assert node is not None
    return node.json(), []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 1", 1),
        ("a: -12", -12),
        ("a: +3", 3),
        ("a: 0", 0),
        ("a: 0x1F", 31),
        ("a: 9223372036854775807", 2**63 - 1),
        ("a: 0.5", 0.5),
        ("a: -1.", -1.0),
        ("a: .5", 0.5),
        ("a: 1.0e-3", 0.001),
        ("a: true", True),
        ("a: False", False),
        ("a:", None),
        ("a: ~", None),
        ("a: null", None),
        ("a: text", "text"),
        ("a: 90s", "90s"),
        ("a: 127.0.0.1:8080", "127.0.0.1:8080"),
        ("a: y", "y"),
        ("a: 'on'", "on"),
        ('a: "010"', "010"),
        ("a: '2024-01-02'", "2024-01-02"),
        ("a: '<<'", "<<"),
        ("a: |\n  on\n  010\n", "on\n010\n"),
        ("a: >-\n  one\n  two\n", "one two"),
        ('a: "\\ud83d\\ude00"', "\U0001f600"),
        ('a: "\\t\\u00e9\\e"', "\té\x1b"),
        ("a: [1, [two, {three: 3}]]", [1, ["two", {"three": 3}]]),
        ("a: {x: 1, y: 2}", {"x": 1, "y": 2}),
        ("? a\n: 1", 1),
        ("%YAML 1.2\n---\na: 1\n...\n", 1),
        ("\ufeff# yaml-language-server: $schema=x.json\na: 1 # why\n", 1),
        ("a: &anchor 1", 1),
        ("a: émoji \U0001f600", "émoji \U0001f600"),
        ("a: 1\r\nb: 2\r\n", 1),
    ],
)
def test_values_that_every_yaml_reads_alike(text: str, value: object) -> None:
    found, problems = parse(text)
    assert problems == []
    assert found["a"] == value
    assert type(found["a"]) is type(value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: on", "f.yaml:1:4: unquoted on is true or false to some YAML and text to other (write true, or 'on')"),
        ("a: [No]", "f.yaml:1:5: unquoted No is true or false to some YAML and text to other (write false, or 'No')"),
        ("on: 1", "f.yaml:1:1: unquoted on is true or false to some YAML and text to other (write true, or 'on')"),
        ("a: 010", "f.yaml:1:4: unquoted 010 is octal to some YAML (write 10, or '010')"),
        ("a: -007", "f.yaml:1:4: unquoted -007 is octal to some YAML (write -7, or '-007')"),
        ("a: 08", "f.yaml:1:4: unquoted 08 is octal to some YAML (write 8, or '08')"),
        ("a: 00", "f.yaml:1:4: unquoted 00 is octal to some YAML (write 0, or '00')"),
        (
            "a: 1:30",
            "f.yaml:1:4: unquoted 1:30 is a number to the base 60 to some YAML (write '1:30', or a duration such as 90s)",
        ),
        (
            "a: 1:30.5",
            "f.yaml:1:4: unquoted 1:30.5 is a number to the base 60 to some YAML (write '1:30.5', or a duration such as 90s)",
        ),
        ("a: 1e-3", "f.yaml:1:4: unquoted 1e-3 is text to some YAML and a number to other (write 0.001, or '1e-3')"),
        ("a: 1e-9", "f.yaml:1:4: unquoted 1e-9 is text to some YAML and a number to other (write 1.0e-09, or '1e-9')"),
        (
            "a: 1.5e3",
            "f.yaml:1:4: unquoted 1.5e3 is text to some YAML and a number to other (write 1500.0, or '1.5e3')",
        ),
        (
            "a: 1e999",
            "f.yaml:1:4: unquoted 1e999 is text to some YAML and a number to other (write a finite number, or '1e999')",
        ),
        (
            "a: 1_000",
            "f.yaml:1:4: unquoted 1_000 means different things to different YAML (write '1_000', or a plain decimal)",
        ),
        (
            "a: 0o17",
            "f.yaml:1:4: unquoted 0o17 means different things to different YAML (write '0o17', or a plain decimal)",
        ),
        (
            "a: 0b11",
            "f.yaml:1:4: unquoted 0b11 means different things to different YAML (write '0b11', or a plain decimal)",
        ),
        (
            "a: 2024-01-02",
            "f.yaml:1:4: unquoted 2024-01-02 is a date to some YAML and text to other (write '2024-01-02')",
        ),
        ("a: .inf", "f.yaml:1:4: .inf is no finite number (write a number, or quotes for text)"),
        ("a: -.INF", "f.yaml:1:4: -.INF is no finite number (write a number, or quotes for text)"),
        ("a: .nan", "f.yaml:1:4: .nan is no finite number (write a number, or quotes for text)"),
        ("a: 9223372036854775808", "f.yaml:1:4: a whole number of more than 64 bits (write it in quotes, as text)"),
        ("a: " + "9" * 5000, "f.yaml:1:4: a whole number of more than 64 bits (write it in quotes, as text)"),
        (
            "a: &x {b: 1}\nc: *x",
            "f.yaml:2:4: aliases (*x) are not read (write it out; `defaults`, `common` and `extends` share values)",
        ),
        (
            "a: {<<: 1}",
            "f.yaml:1:5: merge keys (<<) are not read (write it out; `defaults`, `common` and `extends` share values)",
        ),
        (
            "a: !!python/object/apply:os.system [ls]",
            "f.yaml:1:4: tags (!!python/object/apply:os.system) are not read (leave the tag out; quotes make a text)",
        ),
        ("a: !!str 1", "f.yaml:1:4: tags (!!str) are not read (leave the tag out; quotes make a text)"),
        ("a: !mine {b: 1}", "f.yaml:1:4: tags (!mine) are not read (leave the tag out; quotes make a text)"),
        ("a: ! b", "f.yaml:1:4: tags (!) are not read (leave the tag out; quotes make a text)"),
        ("a: 1\nb: 2\na: 3", "f.yaml:3:1: the key 'a' again (it stands at f.yaml:1:1 already)"),
        ("1: a", "f.yaml:1:1: the number 1 as a key (write '1')"),
        ("a: {~: b}", "f.yaml:1:5: nothing as a key (a key is a text in one line)"),
        ("? [a]\n: b", "f.yaml:1:3: a list as a key (a key is a text in one line)"),
        (
            'a: "b\\0"',
            "f.yaml:1:4: the character U+0000 in a text (leave it out: no file name, database or message takes it)",
        ),
        (
            'a: "\\ud800"',
            "f.yaml:1:4: the character U+D800 in a text (leave it out: no file name, database or message takes it)",
        ),
        (
            "a:\n\t- b",
            "f.yaml:2:1: no YAML: while scanning for the next token, found character '\\t' that cannot start any token (indent with blanks, not with tabs)",
        ),
        (
            "a: b: c",
            "f.yaml:1:5: no YAML: mapping values are not allowed here (quote a text that has ': ' in it, or mend the indentation)",
        ),
        (
            "a: @b",
            "f.yaml:1:4: no YAML: while scanning for the next token, found character '@' that cannot start any token (write the value in quotes)",
        ),
        (
            "a: 'b",
            "f.yaml:1:6: no YAML: while scanning a quoted scalar, found unexpected end of stream (is a closing quote missing?)",
        ),
        (
            "a:\n  - b\n c: d",
            "f.yaml:3:2: no YAML: while parsing a block mapping, expected <block end>, but found '<block mapping start>' (is a line indented as its neighbours are?)",
        ),
        ('a: "\\UFFFFFFFF"', "f.yaml:1:7: no YAML: an escape or a number out of range"),
        ("a: 1\n---\nb: 2", "f.yaml:2:1: a second document (keep one document a file)"),
        ("", "f.yaml:1:1: the file is empty (begin with `version: 1`)"),
        ("# only\n", "f.yaml:1:1: the file is empty (begin with `version: 1`)"),
        ("---\n", "f.yaml:2:1: the file holds nothing, not a mapping (begin with `version: 1`)"),
        ("- a", "f.yaml:1:1: the file holds a list, not a mapping (begin with `version: 1`)"),
        ("text", "f.yaml:1:1: the file holds the text 'text', not a mapping (begin with `version: 1`)"),
        ("version: 2\na: on", "f.yaml:1:10: the format's version is the number 2 (this evalkit reads 1)"),
        ("version: '1'", "f.yaml:1:10: the format's version is the text '1' (this evalkit reads 1)"),
        ("version: true", "f.yaml:1:10: the format's version is true (this evalkit reads 1)"),
        ("version: 1.0", "f.yaml:1:10: the format's version is the number 1.0 (this evalkit reads 1)"),
        ("version:", "f.yaml:1:9: the format's version is nothing (this evalkit reads 1)"),
        ("a: b\x00", 'f.yaml:1:5: the control character U+0000 (write it as an escape in double quotes: "\\x…")'),
        ("# é\na: \x1b", 'f.yaml:2:4: the control character U+001B (write it as an escape in double quotes: "\\x…")'),
        (b"a: b\n# \xff", "f.yaml:2:3: byte 0xff is no UTF-8 (save the file as UTF-8)"),
        ("a: b".encode("utf-16"), "f.yaml:1:1: the file is UTF-16 (save the file as UTF-8)"),
        ("[" * 100_000, f"f.yaml:1:{DEEPEST + 1}: nested more than {DEEPEST} deep (flatten it)"),
        ("- " * 100_000, f"f.yaml:1:{2 * DEEPEST + 1}: nested more than {DEEPEST} deep (flatten it)"),
        (
            b"#" * (LARGEST + 1),
            "f.yaml: the file has more than 5,000,000 bytes (split it, or keep long texts in files)",
        ),
    ],
    ids=lambda value: repr(value[:24]),
)
def test_what_is_refused_is_told_with_its_place_and_mend(text: str | bytes, told: str) -> None:
    _, problems = parse(text)
    assert problems[0] == told


def test_all_problems_of_a_file_are_told_at_once_and_in_its_order() -> None:
    _, problems = parse("a: on\nb: 010\na: *x\nc: [1:30, !!int 3]\n")
    assert [problem.split(":")[1:3] for problem in problems] == [
        ["1", "4"],
        ["2", "4"],
        ["3", "1"],
        ["3", "4"],
        ["4", "5"],
        ["4", "11"],
    ]


def test_a_flood_of_problems_is_cut_and_counted() -> None:
    _, problems = parse("a: &x 1\nb: [" + "*x," * 1000 + "]")
    assert len(problems) == MOST + 1
    assert problems[-1].endswith(f"{1000 - MOST} more problems from here on")


def test_a_bomb_of_aliases_grows_nothing() -> None:
    lines = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]
    _, problems = parse("\n".join(lines))
    assert all("are not read" in problem for problem in problems[:-1])


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_lines_are_counted_as_editors_count_them(ending: str) -> None:
    _, problems = parse(ending.join(["# one", 'a: "x\u2028y\x85z"', "b: on"]))
    assert problems[0].startswith("f.yaml:3:4:")


def test_every_key_and_value_knows_its_place() -> None:
    node = parse_document(b"a:\n  - b: 1\n    c: [x, yy]\n", "f.yaml", Problems())
    assert isinstance(node, Node)
    assert str(node.find(["a", 0, "c", 1]).mark) == "f.yaml:3:12"
    assert str(node.find(["a", 0]).key_mark("c")) == "f.yaml:3:5"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text("version: 1")
    problems = Problems()
    assert read_document(tmp_path / "suit.yaml", problems) is None
    assert read_document(tmp_path, problems) is None
    assert read_document(tmp_path / "a\0b", problems) is None
    assert read_document(tmp_path / ("x" * 400), problems) is None
    told = [str(problem) for problem in problems.found]
    assert (
        told[0]
        == f"{tmp_path}/suit.yaml: cannot be read: no such file or directory (did you mean {tmp_path}/suite.yaml?)"
    )
    assert told[1] == f"{tmp_path}: cannot be read: is a directory"
    assert "null byte" in told[2]
    assert "too long" in told[3]


WRITTEN = r"""a b version 1 : { } [ ] , ' " \ \x \u \UFFFFFFFF \ud800 \0 | |2 > # &a *a ! !!str !< ... ~ 010 1e-3 1:30
.inf 0x 999999999999999999999999999999 2024-01-01 yes = @ `"""
SPACED = (
    ": ",
    "- ",
    "? ",
    " #",
    "<<: ",
    "%YAML 1.1",
    "%TAG ! x",
    "---",
    "\n",
    "\n  ",
    "\n    ",
    "\t",
    "\r",
    "\u2028",
    "\x85",
)
PIECES = st.sampled_from([*WRITTEN.split(), *SPACED, "\ufeff", "é", "\U0001f600", "\x00"])
TEXTS = st.lists(PIECES, max_size=30).map("".join) | st.text(max_size=60)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(TEXTS.map(lambda text: text.encode("utf-8", "surrogatepass")) | st.binary(max_size=60))
def test_any_bytes_give_json_or_problems_and_no_other_error(content: bytes) -> None:
    problems = Problems()
    node = parse_document(content, "f.yaml", problems)
    assert node is not None or problems.found
    if node is not None:
        json.dumps(node.json(), allow_nan=False, ensure_ascii=False).encode()


SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**63) + 1, 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
)
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)
VALUES = st.recursive(
    SCALARS | WORDS, lambda under: st.lists(under, max_size=4) | st.dictionaries(WORDS, under, max_size=4)
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(WORDS.filter(lambda word: word != "version"), VALUES, max_size=4))
def test_what_was_written_as_json_is_read_back(value: dict[str, Any]) -> None:
    text = json.dumps(value).replace("\x7f", "\\u007f")
    found, problems = parse(text)
    refused = [problem for problem in problems if "is text to some YAML and a number to other" not in problem]
    assert refused == []
    if not problems:
        assert found == value


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text("0123456789.eE+-_:xobabcdefnytruls~<=", min_size=1, max_size=8))
def test_an_unquoted_value_that_is_taken_means_the_same_to_pyyaml(text: str) -> None:
    found, problems = parse(f"a: {text}\n")
    if not problems:
        assert found == yaml.safe_load(f"a: {text}\n")

"""A JSON text read piece by piece gives what the whole would have given, or a sentence with its place."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from importer_files import write

from evalkit.core.errors import ConfigurationError
from evalkit.parts.importers._json import Document, chosen, document, outline, outline_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


class Trickle(io.StringIO):
    """A stream that gives a few characters at a time, whatever it is asked for."""

    def __init__(self, text: str, length: int) -> None:
        """Give so many characters a read."""
        super().__init__(text)
        self.length = length

    def read(self, size: int | None = -1, /) -> str:
        """Give the next few characters."""
        return super().read(self.length)


def reader(text: str, length: int = 1) -> Document:
    """A document that is read a few characters at a time."""
    return Document(Trickle(text, length), Path("file.json"))


@given(JSON, st.integers(1, 7), st.sampled_from([None, 2]))
def test_a_value_is_what_the_whole_decoder_makes_of_it(value: Any, length: int, indent: int | None) -> None:
    text = reader(json.dumps(value, indent=indent, ensure_ascii=indent is None), length)
    assert text.value() == value
    text.end()


@given(st.lists(JSON, max_size=5), st.integers(1, 7))
def test_elements_are_those_of_the_list(values: list[Any], length: int) -> None:
    text = reader(f" {json.dumps(values)} ", length)
    assert list(text.elements()) == values
    text.end()


@given(st.dictionaries(st.text(max_size=4), JSON, max_size=5), st.integers(1, 7))
def test_members_are_those_of_the_object_and_skipping_leaves_nothing_behind(
    values: dict[str, Any], length: int
) -> None:
    text = reader(json.dumps(values), length)
    found = {}
    for place, key in enumerate(text.members()):
        if place % 2:
            text.skip()
        else:
            found[key] = text.value()
    assert found == {key: value for place, (key, value) in enumerate(values.items()) if not place % 2}
    text.end()


@pytest.mark.parametrize("number", ["12345678901", "-1.5e10", "1e-7", "-0", "NaN", "-Infinity"])
@pytest.mark.parametrize("length", [1, 2, 3])
def test_a_number_is_never_cut_where_the_reading_paused(number: str, length: int) -> None:
    assert repr(reader(number, length).value()) == repr(json.loads(number))
    assert repr(list(reader(f"[{number},{number}]", length).elements())) == repr(json.loads(f"[{number},{number}]"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "file.json: is empty"),
        ("  \n ", "file.json: is empty"),
        ('[{"a": 1}, {"a":', "is cut off: its JSON ends in the middle"),
        ('[{"a": "no end', "is cut off"),
        ("[1, 2", "is cut off"),
        ("[1 2]", "character 3: is no valid JSON: expected a comma or ]"),
        ("[1,,2]", "is no valid JSON: Expecting value"),
        ("[nope]", "is no valid JSON"),
        ("[1] []", "text follows the end"),
        ("{}", r"character 0: is no valid JSON: expected \["),
        ("[" + "1" * 5000 + "]", "a number of more than 4,300 digits"),
        ("[" + "[" * 50_000, "is nested too deep to be results"),
        ('["\\ud83"]', "is no valid JSON"),
    ],
)
@pytest.mark.parametrize("length", [1, 1000, 10**6])
def test_what_is_no_list_is_a_sentence_with_its_place(text: str, message: str, length: int) -> None:
    if length == 1 and len(text) > 1000:
        return
    with pytest.raises(ConfigurationError, match=message):
        found = reader(text, length)
        list(found.elements())
        found.end()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a" 1}', "expected a colon"),
        ("{1: 2}", "expected a key in quotes"),
        ('{"a": 1', "is cut off"),
        ('{"a"', "colon|cut"),
    ],
)
def test_what_is_no_object_is_a_sentence(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        for _ in (found := reader(text)).members():
            found.value()


def test_a_value_that_is_too_large_is_refused_and_a_list_of_many_is_not() -> None:
    many = Trickle(json.dumps(["x" * 500] * 50), 100)
    assert sum(1 for _ in Document(many, Path("file.json"), largest=1000).elements()) == 50
    large = Trickle(json.dumps(["x" * 5000]), 100)
    with pytest.raises(ConfigurationError, match=r"a value has more than 1,000 characters"):
        list(Document(large, Path("file.json"), largest=1000).elements())


def test_some_keys_of_a_file_are_read_and_the_others_passed_over(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json.gz", {"big": [1, {"x": []}], "info": {"n": 1}, "deep": {"a": {"b": 1}}, "last": 2})
    assert chosen(path, "info", "last", "absent") == {"info": {"n": 1}, "last": 2}
    with document(path) as text, pytest.raises(ConfigurationError, match=r"expected"):
        list(text.elements())


def test_an_outline_names_keys_by_their_paths_however_the_text_is_cut(tmp_path: Path) -> None:
    value = {
        "info": {"num": 1, "deep": {"deeper": {"deepest": 1}}},
        "list": [{"a": 'quoted "key": x', "b": [{"c": 1}]}],
    }
    paths = outline(write(tmp_path / "a.json", value))
    assert paths == {".info", ".info.num", ".info.deep", ".info.deep.deeper", ".list", ".list[].a", ".list[].b"}
    whole = json.dumps(value)
    assert all(outline_of(whole[:cut]) <= paths for cut in range(len(whole)))
    assert outline_of("task_id,trial\n") == outline_of("") == frozenset()


def test_an_outline_of_hostile_text_takes_no_time_to_speak_of() -> None:
    assert outline_of("[" * 200_000) == frozenset()
    assert outline_of('["' + '\\"' * 100_000) == frozenset()
    assert outline_of('{"a":' * 50_000) == {".a", ".a.a", ".a.a.a"}
    assert outline_of("]]]]{") == frozenset()

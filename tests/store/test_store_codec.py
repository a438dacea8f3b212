"""Records go to bytes and come back, whatever they hold."""

from __future__ import annotations

import io
import zlib
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from store_makers import a_record, values_of

from evalkit.core.errors import StoreError
from evalkit.core.message import JSON, ToolCall
from evalkit.core.plan import TrialKey
from evalkit.core.record import Acted, Event, Tally, TrialRecord
from evalkit.store.codec import READERS, decode, encode
from evalkit.store.redact import Redactor

NO_SECRETS = Redactor.of({})
KEY = TrialKey(suite="s", task="t", variant="v", index=1, task_digest="0" * 16, variant_digest="1" * 16)


def back(record: TrialRecord, redactor: Redactor = NO_SECRETS) -> TrialRecord:
    """What a reader gets of a record."""
    encoded = encode(record, redactor)
    return decode(1, encoded.head, io.BytesIO(encoded.text), events=True)


def with_input(value: JSON) -> TrialRecord:
    """A record whose tool call has an argument."""
    record = a_record(KEY)
    acted = record.events[1]
    assert isinstance(acted, Acted)
    return replace(record, events=(replace(acted, call=ToolCall(id="c", name="n", input={"a": value})),))


def input_of(record: TrialRecord) -> Any:
    """That argument."""
    acted = record.events[0]
    assert isinstance(acted, Acted)
    return acted.call.input["a"]


@given(values_of(TrialRecord))
@settings(max_examples=60, deadline=None)
def test_any_record_comes_back_as_it_was(record: TrialRecord) -> None:
    assert back(record) == record


@pytest.mark.parametrize("kind", get_args(Event), ids=lambda kind: kind.__name__)
def test_every_kind_of_event_comes_back_as_it_was(kind: type[Any]) -> None:
    @given(values_of(kind))
    @settings(max_examples=25, deadline=None)
    def holds(event: Any) -> None:
        found = back(replace(a_record(KEY), events=(event,))).events
        assert found == (event,)
        assert type(found[0]) is kind

    holds()


@pytest.mark.parametrize(
    ("text", "seen"),
    [("a\ud800b", "a\\ud800b"), ("\udcff", "\\udcff"), ("a\x00b", "a\x00b"), ("\ud83d\ude00", "\\ud83d\\ude00")],
)
def test_text_that_utf8_cannot_hold_is_escaped_everywhere(text: str, seen: str) -> None:
    record = replace(with_input({text: [text]}), answer=text, error=text)
    found = back(record)
    assert (found.answer, found.error, input_of(found)) == (seen, seen, {seen: [seen]})


@pytest.mark.parametrize("levels", [1, 50, 180, 195, 230, 250])
def test_deep_nesting_comes_back(levels: int) -> None:
    value: JSON = "end"
    for _ in range(levels):
        value = [value]
    found = input_of(back(with_input(value)))
    for _ in range(levels if levels < 240 else 100):
        (found,) = found
    assert levels > 240 or found == "end"


def test_endless_nesting_is_cut_and_said() -> None:
    value: JSON = {}
    for _ in range(50_000):
        value = {"a": value}
    assert "nested deeper" in str(input_of(back(with_input(value))))


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        (b"\xff\xfe", "\\xff\\xfe"),
        (object(), "[object]"),
        (1j, "1j"),
        ({1: {None: 2}}, {"1": {"None": 2}}),
        ({"x", "y"} - {"y"}, ["x"]),
        (10**400, 10**400),
    ],
)
def test_what_is_no_json_is_written_as_what_it_was(value: Any, seen: JSON) -> None:
    assert input_of(back(with_input(value))) == seen


def test_a_foreign_object_beside_a_surrogate_does_not_stop_the_record() -> None:
    value = {"s": "\ud800", "o": object(), 5: 10**5000, "b": b"\xff", "f": float("inf"), "n": None, "t": True}
    assert input_of(back(with_input(value))) == {
        "s": "\\ud800",
        "o": "[object]",
        "5": "[a number of more than 4000 digits]",
        "b": "\\xff",
        "f": float("inf"),
        "n": None,
        "t": True,
    }


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan")])
def test_numbers_that_json_lacks_come_back(number: float) -> None:
    found = back(replace(with_input(number), seconds=number, tally=Tally(usd=number)))
    assert [repr(one) for one in (found.seconds, found.tally.usd, input_of(found))] == [repr(number)] * 3


@pytest.mark.parametrize(
    ("field", "value", "place"),
    [
        ("graded", "perhaps", "0.graded"),
        ("outcome", None, "0.outcome"),
        ("answer", None, "0.answer"),
        ("seed", 1.5, "0.seed"),
    ],
)
def test_a_record_that_no_reader_could_read_is_refused_with_the_place(field: str, value: Any, place: str) -> None:
    with pytest.raises(StoreError, match=f"t: the record of a trial cannot be kept: {place}"):
        encode(replace(a_record(KEY), **{field: value}), NO_SECRETS)


def test_an_event_that_no_reader_could_read_is_refused_with_the_place() -> None:
    record = a_record(KEY)
    nothing: Any = None
    acted = record.events[1]
    assert isinstance(acted, Acted)
    broken = replace(acted, result=replace(acted.result, content=nothing))
    with pytest.raises(StoreError, match=r"0\.acted\.result\.content"):
        encode(replace(record, events=(broken,)), NO_SECRETS)


def test_only_as_much_is_read_as_the_record_without_its_events_needs() -> None:
    class Counting(io.BytesIO):
        taken = 0

        def read(self, size: int | None = -1, /) -> bytes:
            piece = super().read(size)
            Counting.taken += len(piece)
            return piece

    noise = "".join(chr(33 + number * number % 90) + str(hash(str(number))) for number in range(50_000))
    encoded = encode(with_input(noise), NO_SECRETS)
    assert decode(1, encoded.head, Counting(encoded.text), events=False).events == ()
    assert Counting.taken < len(encoded.text) / 10


def test_a_newer_schema_number_is_named() -> None:
    encoded = encode(a_record(KEY), NO_SECRETS)
    with pytest.raises(StoreError, match="schema number 99, this evalkit reads 1"):
        decode(99, encoded.head, io.BytesIO(encoded.text), events=True)


def test_there_is_a_reader_for_the_schema_that_records_are_written_with() -> None:
    assert a_record(KEY).schema in READERS


@pytest.mark.parametrize(
    "bytes_",
    [b"", b"no zlib", zlib.compress(b"[]"), zlib.compress(b"{"), zlib.compress(b"[1][2]"), zlib.compress(b"x" * 99)],
)
def test_damaged_bytes_are_a_clear_error(bytes_: bytes) -> None:
    with pytest.raises(StoreError, match="its record is damaged"):
        decode(1, 2, io.BytesIO(bytes_), events=True)


def test_a_record_that_was_cut_off_is_a_clear_error() -> None:
    encoded = encode(a_record(KEY), NO_SECRETS)
    with pytest.raises(StoreError, match="cut off"):
        decode(1, encoded.head, io.BytesIO(encoded.text[:-10]), events=True)

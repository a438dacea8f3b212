"""Keys do not reach a disk, and what is no key is left alone."""

from __future__ import annotations

import base64
import io
import json
from dataclasses import replace
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from store_makers import a_record

from evalkit.core.plan import TrialKey
from evalkit.store.codec import decode, encode
from evalkit.store.redact import MARK, SHAPES, Redactor, own_words

KEY = TrialKey(suite="s", task="t", variant="v", index=1, task_digest="0" * 16, variant_digest="1" * 16)
SECRET = 'c4nary/"+\\é\nvalue'  # noqa: S105  # it is to be found nowhere
REDACTOR = Redactor.of({"MY_API_KEY": SECRET})

KEYS = [
    "sk-ant-api03-" + "aB3_-" * 8,
    "sk-proj-" + "Zz09" * 10,
    "ghp_" + "a1" * 18,
    "gho_" + "a1" * 18,
    "ghu_" + "a1" * 18,
    "ghs_" + "a1" * 18,
    "ghr_" + "a1" * 18,
    "github_pat_" + "a1_" * 20,
    "AKIA" + "ABCD" * 4,
    "ASIA" + "ABC2" * 4,
    "AIza" + "a1_-x" * 7,
    "glpat-" + "a1b2c3d4e5" * 2,
    "xoxb-" + "123-abc" * 3,
    "xoxp-" + "123-abc" * 3,
    "xoxa-" + "123-abc" * 3,
    "xoxr-" + "123-abc" * 3,
    "xoxs-" + "123-abc" * 3,
    "hf_" + "aB" * 17,
    "npm_" + "aB" * 18,
    "pypi-" + "aB_-" * 20,
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.c2lnbmF0dXJlLWhlcmU",
    "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\nMIIabc+/=\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAA\n",
]


def kept(text: str, redactor: Redactor) -> tuple[str, str]:
    """A text as it comes back from an answer and from the trace."""
    encoded = encode(a_record(KEY, answer=text), redactor)
    found = decode(1, encoded.head, io.BytesIO(encoded.text), events=True)
    reply = found.events[2]
    return found.answer, getattr(reply, "reply").text  # noqa: B009  # the kind of event is known here


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key[:12])
@pytest.mark.parametrize("around", ["{}", "key={} end", "\n{}\n", '{{"a": "{}"}}', "\t{}", "é{}é", "\x00{}"])
def test_known_shapes_of_keys_are_replaced_wherever_they_stand(key: str, around: str) -> None:
    for found in kept(around.format(key), Redactor.of({})):
        assert MARK in found
        assert key[12:] not in found


def test_every_shape_has_an_example() -> None:
    assert all(any(shape.whole.search(key) for key in KEYS) for shape in SHAPES)


@pytest.mark.parametrize(
    "text",
    [
        "ask-me-anything-about-the-long-risk-register",
        "task-17-refund-of-a-damaged-item",
        "disk-abcdefghijklmnopqrstuvwxyz",
        "the ghp_ prefix",
        "AKIAABCDABCDABCDABCDX",
        "eyJ is how base64 of { begins",
        "toolu_01A09q90qw90lq917835lq9",
        "claude-sonnet-4-5-20250929",
    ],
)
def test_what_only_looks_a_little_like_a_key_is_left_alone(text: str) -> None:
    assert kept(text, Redactor.of({})) == (text, text)


FORMS = {
    "itself": SECRET,
    "inside": f"<<{SECRET}>>",
    "json": json.dumps({"env": SECRET}),
    "json, twice": json.dumps(json.dumps(SECRET, ensure_ascii=False), ensure_ascii=False),
    "url": quote(SECRET, safe=""),
    "base64": base64.b64encode(SECRET.encode()).decode(),
    "base64 of a header": base64.b64encode(b"user:" + SECRET.encode() + b"!").decode(),
    "base64, shifted": base64.b64encode(b"x" + SECRET.encode()).decode(),
    "base64, shifted by two": base64.urlsafe_b64encode(b"xy" + SECRET.encode() + b"zz").decode(),
}


@pytest.mark.parametrize("name", [name for name in FORMS if name != "json, twice"])
def test_values_of_the_environment_are_replaced_in_their_usual_disguises(name: str) -> None:
    for found in kept(FORMS[name], REDACTOR):
        assert MARK in found
        assert "c4nary" not in found
        assert base64.b64encode(SECRET.encode()).decode()[4:-4] not in found


@given(st.text(max_size=40), st.text(max_size=40), st.text(min_size=8, max_size=20))
@settings(max_examples=200, deadline=None)
def test_the_quick_look_never_misses_a_value(before: str, after: str, secret: str) -> None:
    secret = secret.strip()
    if len(secret) < 8:
        return
    redactor = Redactor.of({"A_TOKEN": secret})
    for found in kept(before + secret + after, redactor):
        assert secret not in found or secret in MARK + MARK or any(secret in word for word in own_words())


@pytest.mark.parametrize("name", ["API_KEY", "MY_TOKEN", "client_secret", "DB_PASSWORD", "PASSWD", "AWS_CREDENTIALS"])
def test_names_that_tell_of_a_secret(name: str) -> None:
    assert MARK in kept("it is hunter2hunter2", Redactor.of({name: "hunter2hunter2"}))[0]


@pytest.mark.parametrize(("name", "value"), [("HOME", "hunter2hunter2"), ("API_KEY", "hunter2"), ("API_KEY", "")])
def test_what_is_no_secret_is_left_alone(name: str, value: str) -> None:
    assert kept(f"it is hunter2hunter2 {value}", Redactor.of({name: value}))[0].startswith("it is hunter2hunter2")


def test_a_secret_outside_the_trace_is_seen_too() -> None:
    encoded = encode(replace(a_record(KEY), error="401 for hunter2hunter2"), Redactor.of({"A_KEY": "hunter2hunter2"}))
    assert decode(1, encoded.head, io.BytesIO(encoded.text), events=True).error == f"401 for {MARK}"


def test_a_name_of_the_plan_is_no_secret() -> None:
    redactor = Redactor.of({"KEYBOARD": "support-desk"}, ["support-desk", "react"])
    assert kept("support-desk", redactor)[0] == "support-desk"


@pytest.mark.parametrize(
    "word", ["assistant", "assistan", "finished", "simulated", "tool_use", "end_turn", "cap:turns"]
)
def test_a_word_that_records_are_made_of_is_no_secret(word: str) -> None:
    record = a_record(KEY, answer=word * 2)
    encoded = encode(record, Redactor.of({"A_KEY": word}))
    assert decode(1, encoded.head, io.BytesIO(encoded.text), events=True) == record


def test_a_value_that_looks_like_json_leaves_the_record_readable() -> None:
    redactor = Redactor.of(
        {"A_KEY": "000000000", "B_KEY": '"seconds":', "C_KEY": "nightmare", "D_KEY": "u0000abcdef"}, ["0" * 16]
    )
    record = replace(a_record(KEY, answer="\nightmare \x00abcdef"), seed=10**18)
    encoded = encode(record, redactor)
    assert decode(1, encoded.head, io.BytesIO(encoded.text), events=True) == record


@pytest.mark.parametrize(
    "text", ["sk-" + "a" * 300_000, "-----BEGIN PRIVATE KEY-----" * 10_000, "eyJ." * 100_000, "-" * 300_000]
)
def test_hostile_text_is_got_through(text: str) -> None:
    assert len(kept(text, REDACTOR)[0]) <= len(text)


def test_a_value_that_is_no_utf8_is_taken_too() -> None:
    assert Redactor.of({"A_KEY": "abc\udcffdefgh"}).clean("x abc\udcffdefgh") == f"x {MARK}"


LONG = "kqz7-Vw3X/9+tJm2_Rb5Yd8" + "Hn4Lp6Gs1Fc0"  # no known shape


@pytest.mark.parametrize("at", [1, 7, 8, 15, 20, len(LONG) - 1])
@pytest.mark.parametrize("gap", ["\n", "\r\n    ", " ", "\\n"])
def test_a_value_that_was_broken_over_two_lines_is_found(at: int, gap: str) -> None:
    redactor = Redactor.of({"SOME_KEY": LONG})
    for found in kept(f"it is {LONG[:at]}{gap}{LONG[at:]}.", redactor):
        assert found.startswith(f"it is {MARK}")
    wrapped = base64.encodebytes(b"x" * 20 + LONG.encode() + b"y" * 40).decode()
    for found in kept(wrapped, redactor):
        assert MARK in found


def test_more_variables_than_those_whose_names_tell_are_secret() -> None:
    environ = {
        "MINE": "hunter2hunter2",
        "ANTHROPIC_CUSTOM_HEADERS": "x-plain: nothing-special\nx-api-key:  header-secret-1 ",
        "DATABASE_URL": "postgres://someone:pass-in-url@host/db",
    }
    redactor = Redactor.of(environ, (), ["MINE"])
    text = "hunter2hunter2 header-secret-1 pass-in-url nothing-special someone host"
    assert redactor.clean(text) == f"{MARK} {MARK} {MARK} nothing-special someone host"


@pytest.mark.parametrize("text", [LONG[:-1] * 5_000, " \n" * 100_000, (LONG[0] + " " * 8) * 20_000, "\\n" * 200_000])
def test_text_that_is_almost_a_broken_value_costs_no_more_than_its_length(text: str) -> None:
    assert Redactor.of({"SOME_KEY": LONG}).clean(text)

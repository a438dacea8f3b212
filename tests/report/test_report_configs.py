"""What variants differ in, told by JSON Pointer."""

from __future__ import annotations

from dataclasses import replace

from report_records import a_variant

from evalkit.core.plan import Caps, Spec
from evalkit.report.configs import differences


def test_only_what_differs_is_told_with_each_variants_value() -> None:
    one = a_variant("one", turns=6)
    two = replace(a_variant("two", turns=12), loop=Spec(kind="plan", options={"checks": ["a"], "a/b": {}}))
    assert differences((one, two)) == [
        {"pointer": "/caps/turns", "values": ["6", "12"]},
        {"pointer": "/loop/kind", "values": ["react", "plan"]},
        {"pointer": "/loop/options", "values": ["{}", "(not set)"]},
        {"pointer": "/loop/options/a~1b", "values": ["(not set)", "{}"]},
        {"pointer": "/loop/options/checks", "values": ["(not set)", '["a"]']},
    ]


def test_names_and_sources_are_no_difference() -> None:
    one = a_variant("one")
    assert differences((one, replace(one, name="two", source="elsewhere.yaml"))) == []
    assert differences((one,)) == []
    assert differences(()) == []


def test_no_limit_is_told_apart_from_zero() -> None:
    one, two = replace(a_variant("a"), caps=Caps()), replace(a_variant("b"), caps=Caps(usd=0.0))
    assert differences((one, two)) == [{"pointer": "/caps/usd", "values": ["null", "0.0"]}]

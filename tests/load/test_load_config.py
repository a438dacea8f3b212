"""Config files: variants, what they share and in what they may differ, matrices, gates."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, fields
from pathlib import Path

import pytest
from load_parts import complaints, installed

from evalkit.core.errors import ConfigurationError
from evalkit.core.plan import Caps, Config, Gate, Retries, Spec, Variant
from evalkit.load.config import LONGEST_CHAIN, load_config
from evalkit.load.forms import GATE, VARIANT


@pytest.fixture(autouse=True)
def _parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with installed(tmp_path_factory.mktemp("site")):
        yield


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def load(text: str, **others: str) -> Config:
    """Write a config file and others beside it, and load it."""
    for name, content in {"c": text, **others}.items():
        Path(f"{name}.yaml").write_text(content)
    return load_config(Path("c.yaml"))


def told(text: str, **others: str) -> list[str]:
    """Write a config file and give what is told of it."""
    with pytest.raises(ConfigurationError) as caught:
        load(text, **others)
    return complaints(caught.value)


ONE = "version: 1\ncommon: {provider: {kind: free}}\nvariants: {a: {}}\n"
TWO = "version: 1\ncommon: {provider: {kind: free}}\nvariants: {a: {}, b: {}}\n"
A = Variant(name="a", provider=Spec(kind="free"), source="c.yaml")


def test_a_small_config_gets_the_defaults_of_core() -> None:
    assert load(ONE) == Config(variants=(A,), source="c.yaml")
    assert load(ONE.replace("{a: {}}", "\n  a:")) == Config(variants=(A,), source="c.yaml")


def test_everything_that_a_variant_may_hold() -> None:
    config = load(
        """version: 1
baseline: wide
vary: [/caps]
common:
  provider: {kind: scripted, script: [{text: done}], usd_price: {input: 1, output: 2}}
  loop: {kind: react}
  context: {kind: full}
  caps: {turns: 20, tokens: 200000, seconds: 300s, usd: 0.50}
  retries: {model: 2, tool: 1, base: 500ms, longest: 1.5m}
  errors: generic
  prompt: Be brief.
  max_tokens: 100
variants:
  wide: {caps: {turns: null}}
  tight: {caps: {turns: 6, seconds: 1h}}
gates:
  - {metric: pass^8, variant: tight, task: t, min: 0.6, max: 1}
  - {baseline: wide, max_drop: 0.05}
  - {metric: usd_per_reliable_success, max: 2}
"""
    )
    wide, tight = config.variants
    assert config.baseline == "wide"
    assert wide.caps == Caps(turns=None, tokens=200_000, seconds=300.0, usd=0.5)
    assert tight.caps == Caps(turns=6, tokens=200_000, seconds=3600.0, usd=0.5)
    assert wide.retries == Retries(model=2, tool=1, base=0.5, longest=90.0)
    assert (wide.errors, wide.prompt, wide.max_tokens, wide.source) == ("generic", "Be brief.", 100, "c.yaml")
    assert config.gates == (
        Gate(metric="pass^8", variant="tight", task="t", min=0.6, max=1.0),
        Gate(baseline="wide", max_drop=0.05),
        Gate(metric="usd_per_reliable_success", max=2.0),
    )


def test_a_variant_is_merged_deep_but_another_kind_replaces_the_part() -> None:
    config = load(
        """version: 1
vary: [/context, /provider/name]
common: {provider: {kind: free, name: x}, context: {kind: window, turns: 3}}
variants: {usual: {}, wider: {context: {turns: 5}}, full: {context: {kind: full}}, named: {provider: {name: y}}}
"""
    )
    assert [variant.context for variant in config.variants[:3]] == [
        Spec(kind="window", options={"turns": 3}),
        Spec(kind="window", options={"turns": 5}),
        Spec(kind="full"),
    ]
    assert config.variants[3].provider == Spec(kind="free", options={"name": "y"})


def test_extends_lays_a_file_over_another_one() -> None:
    base = """version: 1
baseline: a
vary: [/caps]
common: {provider: {kind: free}, caps: {turns: 4, tokens: 9}}
variants: {a: {errors: generic}}
gates: [{min: 0.5}]
"""
    middle = (
        "version: 1\nextends: deep/base.yaml\nvary: [/caps, /errors]\ncommon: {caps: {tokens: 5}}\ngates: [{min: 0.9}]"
    )
    Path("deep").mkdir()
    Path("deep/base.yaml").write_text(base)
    config = load("version: 1\nextends: middle.yaml\nvariants: {a: , b: {caps: {turns: 1}}}\n", middle=middle)
    assert [asdict(variant.caps) | {"errors": variant.errors} for variant in config.variants] == [
        {"turns": 4, "tokens": 5, "seconds": None, "usd": None, "errors": "generic"},
        {"turns": 1, "tokens": 5, "seconds": None, "usd": None, "errors": "verbatim"},
    ]
    assert (config.baseline, config.gates) == ("a", (Gate(min=0.9),))


def test_errors_of_an_extended_file_point_into_it() -> None:
    base = "version: 1\ncommon:\n  provider: {kind: fre}\n  caps: {turns: 0}\n"
    assert told("version: 1\nextends: base.yaml\nvariants: {a: , b: }\n", base=base) == [
        "base.yaml:3:20: there is no provider of kind 'fre' (did you mean 'free'?)",
        "base.yaml:4:17: `turns` wants more than 0, got the number 0",
    ]


def test_files_that_extend_each_other_or_nothing() -> None:
    assert told("version: 1\nextends: c.yaml\n") == [
        "c.yaml:2:10: files that extend one another: c.yaml → c.yaml (cut the circle)"
    ]
    assert told(
        "version: 1\nextends: d.yaml\n", d="version: 1\nextends: e.yaml\n", e="version: 1\nextends: d.yaml\n"
    ) == ["e.yaml:2:10: files that extend one another: d.yaml → e.yaml → d.yaml (cut the circle)"]
    assert told("version: 1\nextends: none.yaml\n") == [
        "c.yaml:2:10: there is no file 'none.yaml' (`extends` starts from the file's own folder)"
    ]
    assert told(ONE + "extends: 3\n") == [
        "c.yaml:4:10: `extends` wants text, got the number 3 (write it in quotes: '3')"
    ]
    for name in ("x" * 300, "a/" * 3000):
        assert "there is no file" in told(f"version: 1\nextends: {name}\n")[0]
    Path("loop.yaml").symlink_to("loop.yaml")
    assert "there is no file" in told("version: 1\nextends: loop.yaml\n")[0]
    Path("link.yaml").symlink_to("c.yaml")
    assert "extend one another" in told("version: 1\nextends: link.yaml\n")[0]
    chain = {f"f{n}": f"version: 1\nextends: f{n + 1}.yaml\n" for n in range(LONGEST_CHAIN + 5)}
    assert "more than 20 files that extend one another" in told("version: 1\nextends: f0.yaml\n", **chain)[0]


def test_a_matrix_expands_each_variant_to_named_ones() -> None:
    config = load(
        TWO.replace("b: {}", "b: {caps: {tokens: 7}}")
        + "vary: [/caps/tokens]\nmatrix: {/caps/turns: [6, 12], /context: [{kind: full}, {kind: window, turns: 2}]}\n"
    )
    assert [
        (variant.name, variant.caps.turns, variant.caps.tokens, variant.context.kind) for variant in config.variants
    ] == [
        ("a-turns6-context-full", 6, None, "full"),
        ("a-turns6-context-window", 6, None, "window"),
        ("a-turns12-context-full", 12, None, "full"),
        ("a-turns12-context-window", 12, None, "window"),
        ("b-turns6-context-full", 6, 7, "full"),
        ("b-turns6-context-window", 6, 7, "window"),
        ("b-turns12-context-full", 12, 7, "full"),
        ("b-turns12-context-window", 12, 7, "window"),
    ]


@pytest.mark.parametrize(
    ("matrix", "names"),
    [
        ("/caps/seconds: [90s, 5m]", ["seconds90s", "seconds5m"]),
        ("/caps/usd: [0.5, null]", ["usd0.5", "usd-none"]),
        ("/prompt: [Be brief!, '']", ["prompt-Be-brief", "prompt-?[0-9a-f]{8}"]),
        ("/errors: [verbatim]", ["errors-verbatim"]),
        ("/retries/model: [1], /retries/tool: [2]", ["model1-tool2"]),
        ("/caps: [{turns: 1}]", ["caps-?[0-9a-f]{8}"]),
        ("/provider/cache: [true]", ["cache-true"]),
    ],
)
def test_how_expanded_variants_are_called(matrix: str, names: list[str]) -> None:
    provider = "{kind: anthropic, model: m, usd_price: {input: 1, output: 1}}"
    text = f"version: 1\ncommon: {{provider: {provider}}}\nvariants: {{a: }}\nmatrix: {{{matrix}}}\n"
    for variant, name in zip(load(text).variants, names, strict=True):
        assert re.fullmatch(f"a-{name}", variant.name)


def test_two_pointers_with_the_same_last_step_are_told_apart_in_names() -> None:
    config = load(
        ONE.replace("{a: {}}", "{a: {context: {kind: window}}}") + "matrix: {/caps/turns: [1], /context/turns: [2]}\n"
    )
    assert [variant.name for variant in config.variants] == ["a-caps-turns1-context-turns2"]


def test_variants_differ_in_nothing_that_is_not_declared() -> None:
    text = TWO.replace("b: {}", "b: {caps: {turns: 3}, context: {kind: window, turns: 2}, errors: generic}")
    assert told(text) == [
        "c.yaml:3:37: the variants 'a' and 'b' differ in /caps/turns, which `vary` does not name (add /caps/turns to `vary`, or make them equal)",
        "c.yaml:3:50: the variants 'a' and 'b' differ in /context, which `vary` does not name (add /context to `vary`, or make them equal)",
        "c.yaml:3:84: the variants 'a' and 'b' differ in /errors, which `vary` does not name (add /errors to `vary`, or make them equal)",
    ]
    assert len(told(text + "vary: [/caps/tokens, /context]\n")) == 2
    assert len(load(text + "vary: [/caps, /context, /errors]\n").variants) == 2


def test_an_undeclared_difference_is_told_once_however_many_variants_have_it() -> None:
    assert len(told(TWO.replace("b: {}", "b: {errors: generic}, c: {errors: generic}, d: {errors: generic}"))) == 1


def test_a_difference_that_only_the_first_variant_writes_is_placed_there() -> None:
    assert told(TWO.replace("a: {}", "a: {provider: {name: x}}"))[0].startswith(
        "c.yaml:3:33: the variants 'a' and 'b' differ in /provider/name"
    )


def test_a_value_written_out_as_the_default_is_no_difference() -> None:
    assert (
        len(
            load(
                TWO.replace(
                    "b: {}", "b: {errors: verbatim, retries: {base: 1s}, caps: {turns: null}, loop: {kind: react}}"
                )
            ).variants
        )
        == 2
    )


def test_lists_are_compared_item_by_item() -> None:
    scripts = "{x: {provider: {script: [{text: p}, {text: q}]}}, y: {provider: {script: [{text: p}, {text: r}]}}}"
    text = f"version: 1\ncommon: {{provider: {{kind: scripted}}}}\nvariants: {scripts}\n"
    assert "differ in /provider/script/1/text," in told(text)[0]
    assert len(load(text + "vary: [/provider/script/1]\n").variants) == 2
    assert "differ in /provider/script," in told(text.replace(", {text: r}", ""))[0]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("version: 1\n", ["c.yaml:1:1: the key 'variants' is missing (name at least one: `variants: {react: {loop: {kind: react}}}`)"]),
        ("version: 1\nvariants: {}\n", ["c.yaml:2:11: `variants` wants a length of at least 1, got an empty mapping"]),
        ("version: 1\nvariants: [a]\n", ["c.yaml:2:11: `variants` wants a mapping, got a list"]),
        ("version: 1\nvariants: {a: 3}\n", ["c.yaml:2:15: `a` wants a mapping, got the number 3"]),
        ("version: 1\nvariants: {a: {}}\n", ["c.yaml:2:12: the variant 'a' names no provider, and its loop asks one (name the model, in the variant or in `common`)"]),
        ("version: 1\nvariants: {' a': {provider: {kind: free}}}\n", ["c.yaml:2:12: a name has no blanks around it, no line breaks and no control characters"]),
        (ONE + "varients: {}\n", ["c.yaml:4:1: unknown key 'varients' (did you mean 'variants'?)"]),
        (ONE.replace("a: {}", "a: {loops: {kind: react}}"), ["c.yaml:3:16: unknown key 'loops' (did you mean 'loop'?)"]),
        (ONE.replace("a: {}", "a: {loop: react}"), ["c.yaml:3:22: a loop wants a mapping, got the text 'react' (write {kind: react})"]),
        (ONE.replace("a: {}", "a: {loop: {kind: reakt}}"), ["c.yaml:3:29: there is no loop of kind 'reakt' (did you mean 'react'?)"]),
        (ONE.replace("a: {}", "a: {caps: {turns: 1.5}}"), ["c.yaml:3:30: `turns` wants a whole number, got the number 1.5"]),
        (ONE.replace("a: {}", "a: {caps: {seconds: 90}}"), ["c.yaml:3:32: `seconds`: a duration wants a unit (write 90s, 90m or 90h)"]),
        (ONE.replace("a: {}", "a: {caps: {seconds: 0s}}"), ["c.yaml:3:32: `seconds` wants more than 0, got the text '0s'"]),
        (ONE.replace("a: {}", "a: {caps: {usd: -1}}"), ["c.yaml:3:28: `usd` wants more than 0, got the number -1"]),
        (ONE.replace("a: {}", "a: {caps: {usd: 1}}"), ["c.yaml:3:28: a dollar cap in the variant 'a', whose provider has no known price (give the provider a `usd_price`, or drop the cap)"]),
        (ONE.replace("a: {}", "a: {caps: {turn: 1}}"), ["c.yaml:3:23: unknown key 'turn' (did you mean 'turns'?)"]),
        (ONE.replace("a: {}", "a: {retries: {model: 0, tool: 101}}"), ["c.yaml:3:33: `model` wants at least 1, got the number 0", "c.yaml:3:42: `tool` wants at most 100, got the number 101"]),
        (ONE.replace("a: {}", "a: {retries: {base: 2m}}"), ["c.yaml:3:25: `longest` is shorter than `base` (raise it)"]),
        (ONE.replace("a: {}", "a: {max_tokens: 0}"), ["c.yaml:3:28: `max_tokens` wants at least 1, got the number 0"]),
        (ONE.replace("a: {}", "a: {errors: quiet}"), ["c.yaml:3:24: `errors` wants 'verbatim' or 'generic', got the text 'quiet'"]),
        (ONE.replace("a: {}", "a: {prompt: 3}"), ["c.yaml:3:24: `prompt` wants text, got the number 3 (write it in quotes: '3')"]),
        (ONE + "baseline: b\n", ["c.yaml:4:11: the baseline 'b' is no variant (there are: a)"]),
        (ONE + "vary: /loop\n", ["c.yaml:4:7: `vary` wants a list, got the text '/loop' (write it as [ … ], or one line each behind a dash)"]),
        (ONE + "vary: [loop]\n", ["c.yaml:4:8: `vary`: no JSON Pointer into a variant (write /loop or /caps/turns)"]),
        (ONE + "vary: [/lop, /caps/turn]\n", ["c.yaml:4:8: /lop: a variant has no 'lop' (did you mean 'loop'?)", "c.yaml:4:14: /caps/turn: caps has no 'turn' (did you mean 'turns'?)"]),
        (ONE + "matrix: {caps: [1]}\n", ["c.yaml:4:10: no JSON Pointer into a variant (write /loop or /caps/turns)"]),
        (ONE + "matrix: {/caps/turns: 3}\n", ["c.yaml:4:23: `/caps/turns` wants a list, got the number 3 (write it as [ … ], or one line each behind a dash)"]),
        (ONE + "matrix: {/caps/turns: []}\n", ["c.yaml:4:23: `/caps/turns` wants a length of at least 1, got an empty list"]),
        (ONE + "matrix: {/caps/turns: [1, 0]}\n", ["c.yaml:4:27: `turns` wants more than 0, got the number 0"]),
        (ONE + "matrix: {/caps/turns: [1, 1]}\n", ["c.yaml:4:27: two variants would be called 'a-turns1' (write them out under `variants`)"]),
        (ONE.replace("a: {}", "a: {max_tokens: 5}") + "matrix: {/max_tokens/x: [1]}\n", ["c.yaml:4:10: /max_tokens/x leads through the number 5 (lead through mappings only)"]),
        (ONE + f"matrix: {{/caps/turns: {list(range(1, 34))}, /caps/tokens: {list(range(1, 34))}}}\n", ["c.yaml:4:1: 1,089 variants (keep a file to 1,000)"]),
        (ONE + "matrix: {/caps/turns: [1]}\nbaseline: a\n", ["c.yaml:5:11: the baseline 'a' is no variant (did you mean 'a-turns1'?)"]),
        (ONE + "gates: [{}]\n", ["c.yaml:4:9: a gate without a bound (give `min`, `max`, or `baseline` with `max_drop`)"]),
        (ONE + "gates: {min: 1}\n", ["c.yaml:4:8: `gates` wants a list, got a mapping (write it as [ … ], or one line each behind a dash)"]),
        (ONE + "gates: [pass^8]\n", ["c.yaml:4:9: `gates` wants a mapping, got the text 'pass^8'"]),
        (ONE + "gates: [{minimum: 1}]\n", ["c.yaml:4:10: unknown key 'minimum' (did you mean 'min'?)"]),
        (ONE + "gates: [{metric: pass^k, min: 1}]\n", ["c.yaml:4:18: `metric`: there is no metric 'pass^k'; k is a number from 1 (write pass^8 or pass@1)"]),
        (ONE + "gates: [{metric: pass^0, min: 1}]\n", ["c.yaml:4:18: `metric`: there is no metric 'pass^0'; k is a number from 1 (write pass^8 or pass@1)"]),
        (ONE + "gates: [{metric: cap_rate, max: 1}]\n", ["c.yaml:4:18: `metric`: there is no metric 'cap_rate' (did you mean 'cap_rate(usd)'?)"]),
        (ONE + "gates: [{min: 60}]\n", ["c.yaml:4:15: `min` wants a share from 0 to 1, since pass^8 is one, got 60 (write 0.6)"]),
        (ONE + "gates: [{min: 1.5}]\n", ["c.yaml:4:15: `min` wants a share from 0 to 1, since pass^8 is one, got 1.5 (1 is all, 0.9 nine in ten)"]),
        (ONE + "gates: [{min: 60%}]\n", ["c.yaml:4:15: `min` wants a number, got the text '60%'"]),
        (ONE + "gates: [{min: -0.5}]\n", ["c.yaml:4:15: `min` wants at least 0, got the number -0.5"]),
        (ONE + "gates: [{min: 0.5, max: 0.25}]\n", ["c.yaml:4:15: `min` 0.5 is over `max` 0.25 (swap them)"]),
        (ONE + "gates: [{baseline: a}]\n", ["c.yaml:4:10: `baseline` without `max_drop` (give both, or neither)"]),
        (ONE + "gates: [{max_drop: 0.1, min: 0.5}]\n", ["c.yaml:4:10: `max_drop` without `baseline` (give both, or neither)"]),
        (ONE + "gates: [{baseline: a, max_drop: 5}]\n", ["c.yaml:4:33: `max_drop` wants a share from 0 to 1, since pass^8 is one, got 5 (write 0.05)"]),
        (ONE + "gates: [{min: 1, rule: anytime}]\n", ["c.yaml:4:24: a bound of 1, of which no evidence can show both sides, cannot be judged at any time (leave `rule` away)"]),
        (ONE + "gates: [{min: 0.5, task: t, rule: anytime}]\n", ["c.yaml:4:35: a single task cannot be judged at any time (leave `rule` away)"]),
        (ONE + "gates: [{baseline: a, max_drop: 0.1, rule: anytime}]\n", ["c.yaml:4:44: a drop from a baseline cannot be judged at any time (leave `rule` away)"]),
        (ONE + "gates: [{metric: usd_per_reliable_success, max: 2, rule: anytime}]\n", ["c.yaml:4:58: usd_per_reliable_success, which is no share, cannot be judged at any time (leave `rule` away)"]),
        (ONE + "gates: [{baseline: a, variant: a, max_drop: 0.1}]\n", ["c.yaml:4:20: a variant compared with itself (name another baseline)"]),
        (ONE + "gates: [{variant: b, min: 0.1}, {baseline: c, max_drop: 0.1}]\n", ["c.yaml:4:19: there is no variant 'b' (there are: a)", "c.yaml:4:44: there is no variant 'c' (there are: a)"]),
    ],
    ids=lambda value: value[0][7:60] if isinstance(value, list) and value else "",
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_place_and_mend(text: str, lines: list[str]) -> None:
    assert told(text) == lines


def test_a_wrong_value_that_variants_share_is_told_once() -> None:
    assert len(told("version: 1\ncommon: {provider: {kind: fre}}\nvariants: {a: , b: , c: }\n")) == 1


def test_a_priced_provider_may_have_a_dollar_cap() -> None:
    text = "version: 1\ncommon: {provider: {kind: scripted, script: []}, caps: {usd: 1}}\nvariants: {a: }\n"
    assert told(text)[0].startswith("c.yaml:2:62: a dollar cap")
    assert load(text.replace("script: []", "script: [], usd_price: {input: 1, output: 1}")).variants[0].caps.usd == 1.0


def test_the_forms_have_core_s_fields() -> None:
    assert {one.name for one in fields(Variant)} - {one.name for one in fields(VARIANT)} == {
        "name",
        "source",
        "base",
        "files",
    }
    assert [one.name for one in fields(Gate)] == [one.name for one in fields(GATE)]

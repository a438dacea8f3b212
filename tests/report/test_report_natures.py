"""What is said of where replies came from, alike on every surface."""

from __future__ import annotations

from typing import get_args

import pytest
from report_json import a_gate, a_summary

from evalkit.core.message import Nature, least
from evalkit.report.github import commands, markdown
from evalkit.report.headline import caveats
from evalkit.report.natures import BADGES, nature_caveats
from evalkit.report.terminal import compare_text, headline

NATURES: tuple[Nature, ...] = get_args(Nature)


def test_each_nature_has_a_badge_and_all_but_a_live_model_a_caveat() -> None:
    assert set(BADGES) == set(NATURES)
    assert [nature for nature in NATURES if not list(nature_caveats([nature]))] == ["live"]


@pytest.mark.parametrize("nature", NATURES)
def test_every_surface_says_it(nature: Nature) -> None:
    said = list(nature_caveats([nature]))
    summary = a_summary(natures=[nature])
    assert [text for text in caveats(summary) if text in said] == said
    for sentence in said:
        assert sentence in headline(summary, 300)
        assert sentence in markdown(summary, None, [])
        assert sentence in "\n".join(commands(summary, a_gate("pass")))
        assert sentence in compare_text({"comparisons": [], "natures": [nature]}, 300)


def test_of_several_natures_the_one_that_proves_least_is_told() -> None:
    assert least(("live", "simulated")) == "simulated"
    assert least(("live", "local")) == "local"
    assert least(("simulated", "replayed", "live")) == "replayed"

"""Rules that a run must meet, from a config's gates or from the text of a command line.

Invariant: a rule that exists can be judged: its metric is known, and its bound is one that the metric can both meet and miss.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from evalkit.core.errors import ConfigurationError, Problem
from evalkit.core.plan import Gate
from evalkit.measure.metric import Metric
from evalkit.measure.metrics import metric as read_metric
from evalkit.measure.table import meant

Kind = Literal["lower", "point", "not-worse", "anytime"]
"""How a rule is held: shown to be met (three-way), met by the bare estimate, not shown to be missed, or shown by evidence that may be looked at all the time."""

HELD: dict[Kind, str] = {
    "lower": "",
    "point": " by the bare value",
    "not-worse": " or not shown to miss it",
    "anytime": " at any time",
}
"""What a sentence adds to a rule of each kind."""

MARGIN = 0.10
"""How much worse than a baseline is still as good, where nobody says."""

_TEXT = re.compile(r"(?P<metric>[^\[\]<>=]+)(?P<places>(\[[^\]]*\])*)\s*(?P<sense>>=|<=)\s*(?P<bound>[^<>=]*)")
_EXAMPLE = "write pass^8>=0.60, pass^8[VARIANT]>=0.60 or pass^8[VARIANT][TASK]>=0.60"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One bound: of a metric's value (`>=` or `<=` a `bound`), or of its drop from a `baseline` (`bound` is the margin then).

    `variant` None means every variant (but the baseline), `task` None the suite as a whole.
    """

    metric: Metric
    bound: float
    sense: Literal[">=", "<="] = ">="
    variant: str | None = None
    task: str | None = None
    baseline: str | None = None
    kind: Kind = "lower"

    def __post_init__(self) -> None:
        """Refuse a bound that says nothing."""
        share = self.metric.unit == "share"
        if not math.isfinite(self.bound) or self.bound < 0.0 or (share and self.bound > 1.0):
            wants = "a share from 0 to 1" if share else f"a number of {self.metric.unit}"
            percents = share and 2.0 <= self.bound <= 100.0
            mend = f"write {self.bound / 100:g}" if percents else "1 is all, 0.9 nine in ten" if share else ""
            raise ConfigurationError.of(f"rule {self.text}", f"the bound of {self.metric.text} is {wants}", mend)
        if self.baseline is not None and not share:
            what = f"{self.metric.text} is no share, so its drop has no bound"
            raise ConfigurationError.of(f"rule {self.text}", what, "bound its value with <=")
        if self.baseline is not None and self.baseline == self.variant:
            raise ConfigurationError.of(f"rule {self.text}", "a variant is compared with itself")
        if self.kind == "anytime" and (wrong := self._not_anytime()):
            raise ConfigurationError.of(
                f"rule {self.text}", f"{wrong} cannot be judged at any time", "use the kind lower"
            )

    def _not_anytime(self) -> str:
        """Say what keeps a rule from being judged by evidence."""
        if self.baseline is not None:
            return "a drop from a baseline"
        if self.metric.unit != "share":
            return f"{self.metric.text}, which is no share,"
        if self.task is not None:
            return "a single task"
        return "" if 0.0 < self.bound < 1.0 else f"a bound of {self.bound:g}, of which no evidence can show both sides,"

    @property
    def text(self) -> str:
        """How people write it."""
        places = "".join(f"[{place}]" for place in (self.variant or ("*" if self.task else None), self.task) if place)
        if self.baseline is not None:
            return f"{self.metric.text}{places} drops at most {self.bound:g} from {self.baseline}"
        return f"{self.metric.text}{places}{self.sense}{self.bound:g}"


def read_rule(text: str, *, kind: Kind = "lower") -> Rule:
    """Read a rule such as `pass^8[react]>=0.6`; a second bracket names a task, `[*]` in the first means every variant.

    Raises `ConfigurationError` where it is no rule.
    """
    found = _TEXT.fullmatch(text.strip())
    if found is None:
        raise ConfigurationError.of(f"rule {text}", "a rule is a metric, >= or <=, and a bound", _EXAMPLE)
    places = re.findall(r"\[([^\]]*)\]", found["places"])
    if len(places) > 2 or not all(place.strip() for place in places):
        raise ConfigurationError.of(f"rule {text}", "brackets hold a variant, and then a task", _EXAMPLE)
    try:
        bound = float(found["bound"] if found["bound"].isascii() and "_" not in found["bound"] else "none")
    except ValueError:
        raise ConfigurationError.of(
            f"rule {text}", f"the bound {found['bound']!r} is no number", "write 0.60 for 60%"
        ) from None
    variant, task = [*places, None, None][:2]
    return Rule(
        metric=read_metric(found["metric"]),
        sense=">=" if found["sense"] == ">=" else "<=",
        bound=bound,
        variant=None if variant == "*" else variant,
        task=task,
        kind=checked_kind(kind),
    )


def gate_rules(gate: Gate, *, kind: Kind | None = None) -> tuple[Rule, ...]:
    """Take a config's gate apart into rules, one for each bound that it gives; a baseline without a margin has `MARGIN`.

    `kind` goes before the gate's own.

    Raises `ConfigurationError` where it gives none, or none that makes sense.
    """
    metric = read_metric(gate.metric)
    asked = checked_kind(kind or gate.rule)
    rules: list[Rule] = []
    if gate.min is not None:
        rules.append(Rule(metric=metric, sense=">=", bound=gate.min, variant=gate.variant, task=gate.task, kind=asked))
    if gate.max is not None:
        rules.append(Rule(metric=metric, sense="<=", bound=gate.max, variant=gate.variant, task=gate.task, kind=asked))
    if gate.baseline is not None:
        margin = MARGIN if gate.max_drop is None else gate.max_drop
        rules.append(
            Rule(metric=metric, bound=margin, variant=gate.variant, task=gate.task, baseline=gate.baseline, kind=asked)
        )
    elif gate.max_drop is not None:
        raise ConfigurationError.of(f"gate {gate.metric}", "max_drop without a baseline", "name the baseline")
    if not rules:
        raise ConfigurationError.of(f"gate {gate.metric}", "no bound", "give min, max, or baseline with max_drop")
    return tuple(rules)


def all_rules(given: Sequence[Rule | Gate | str], *, kind: Kind | None = None) -> tuple[Rule, ...]:
    """Read rules of every make; `kind` is that of gates and texts, None: a gate's own, and `lower` for texts.

    Raises one `ConfigurationError` with all that is wrong, and where there is none.
    """
    rules: list[Rule] = []
    problems: list[Problem] = []
    for one in given:
        try:
            if isinstance(one, Rule):
                rules.append(one)
            else:
                rules.extend(
                    gate_rules(one, kind=kind) if isinstance(one, Gate) else (read_rule(one, kind=kind or "lower"),)
                )
        except ConfigurationError as error:
            problems.extend(error.problems)
    if not given:
        raise ConfigurationError.of("gate", "there is no rule", "give --min, or `gates:` in the config")
    if problems:
        raise ConfigurationError(*problems)
    return tuple(rules)


def checked_kind(kind: str) -> Kind:
    """Hold a kind of rule to those that there are."""
    for known in get_args(Kind):
        if kind == known:
            found: Kind = known
            return found
    raise ConfigurationError.of(f"rule kind {kind}", "there is no such kind", meant(kind, get_args(Kind)))

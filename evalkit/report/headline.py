"""What a run says in one sentence, and which of its numbers come first.

Invariant: works on the JSON summary alone, so that the terminal, the page and other programs cannot disagree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from evalkit.report.clean import clean_line, clean_name
from evalkit.report.natures import nature_caveats
from evalkit.report.numbers import interval, known, rate, times

Tone = Literal["good", "bad", "warn", "plain"]

DEPTHS = 3
"""How many pass^k with k > 1 stand in the headline table."""

SENTENCE = 400
"""Characters of a sentence that comes from outside this room."""

GATE_TONES: Mapping[str, tuple[str, str, Tone]] = {
    "pass": ("✓", "PASS", "good"),
    "fail": ("✗", "FAIL", "bad"),
    "inconclusive": ("?", "INCONCLUSIVE", "warn"),
    "invalid": ("!", "INVALID", "warn"),
}
"""Symbol, word and tone of each verdict of a gate."""


SCOPES = {"population": "for more tasks of this kind (population)", "suite": "for these very tasks again (suite)"}
"""What an interval of each scope speaks of."""

TIED = 3
"""Variants of the same highest value that are named."""

TELLING = 6
"""Tasks that must differ before a difference can be told from chance at 5 %."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One sentence, with a word and a symbol where a gate gave them."""

    sentence: str
    symbol: str = ""
    word: str = ""
    tone: Tone = "plain"


def deepest(summary: Mapping[str, Any]) -> int:
    """The largest k that any variant has a pass^k for, 0 where there is none."""
    return max((int(k) for variant in summary["variants"].values() for k in variant["pass_hat"]), default=0)


def detectors(summary: Mapping[str, Any]) -> list[tuple[str, str, Mapping[str, Any]]]:
    """What each variant's detectors did."""
    return [
        (name, kind, found)
        for name, variant in summary["variants"].items()
        for kind, found in variant.get("detectors", {}).items()
    ]


def depths(most: int) -> list[int]:
    """Which k > 1 to show: powers of two up to `most`, and `most` itself; the `DEPTHS` largest of them."""
    powers = [2**power for power in range(1, max(1, most).bit_length()) if 2**power < most]
    return [*powers, *([most] if most > 1 else [])][-DEPTHS:]


def hat(variant: Mapping[str, Any], k: int) -> Mapping[str, Any]:
    """A variant's pass^k; undefined where it has none, and why."""
    found: Mapping[str, Any] | None = variant["pass_hat"].get(str(k))
    return found or {"value": None, "low": None, "high": None, "why": f"fewer than {times(k, 'trial')}"}


def judged(variant: Mapping[str, Any]) -> int:
    """How many trials of a variant passed or failed."""
    return int(variant["passed"] + variant["failed"])


def verdict(
    summary: Mapping[str, Any],
    comparisons: Sequence[Mapping[str, Any]] = (),
    gate: Mapping[str, Any] | None = None,
) -> Verdict:
    """Say what the run says: the gate's word where there is one, then the comparison or the plain estimate."""
    sentence = _compared(summary, comparisons) or _estimated(summary)
    if gate is None:
        return Verdict(sentence=sentence, tone="plain" if summary["completeness"]["measured"] else "warn")
    symbol, word, tone = GATE_TONES[gate["verdict"]]
    return Verdict(sentence=sentence, symbol=symbol, word=word, tone=tone)


def caveats(summary: Mapping[str, Any]) -> Iterator[str]:
    """What a reader must know before believing the numbers, each as a sentence."""
    done = summary["completeness"]
    yield from summary.get("early", ())
    if done["missing"] or done["errors"]:
        parts = [times(done[name], noun) for name, noun in (("missing", "trial"), ("errors", "trial")) if done[name]]
        words = [f"{part} {what}" for part, what in zip(parts, _lacks(done), strict=True)]
        yield f"Incomplete: {' and '.join(words)}, of {done['planned']:,} planned."
    yield from bare(summary)
    yield from nature_caveats(summary["natures"])


def bare(summary: Mapping[str, Any]) -> Iterator[str]:
    """What data as bare as these can say and what not: one task, one trial a task, unequal trials, all passed, all failed, all in error."""
    told: dict[str, list[str]] = {}
    for name, variant in summary["variants"].items():
        for sentence in _bare(variant):
            told.setdefault(sentence, []).append(clean_name(name))
    several = len(summary["variants"]) > 1
    for sentence, names in told.items():
        whose = f"{', '.join(names)}: " if several and len(names) < len(summary["variants"]) else ""
        yield f"{whose}{sentence if whose else sentence[0].upper() + sentence[1:]}"


def _bare(variant: Mapping[str, Any]) -> Iterator[str]:
    """The same of one variant."""
    first = variant["pass_hat"].get("1", {})
    least, most = first.get("n") or (0, 0)
    alone = variant["tasks"] == 1
    if variant["errors"] and not judged(variant):
        yield "all trials that were played are in error, so nothing can be said of the agent."
    if alone and judged(variant):
        yield "one task: its own trials can be told, but nothing of other tasks, and no comparison can be more than chance."
    if most == 1 and judged(variant):
        yield "one trial a task: pass@1 can be told; whether the same task works again (pass^k for k > 1) cannot. Give -n 8."
    if least < most and judged(variant):
        yield f"tasks have {least} to {most} trials: pass^k can be told up to k = {least}, and not beyond."
    if first.get("value") in (0, 1) and known(first.get("low")):
        word, other = ("passed", "failures") if first["value"] == 1 else ("failed", "passes")
        deep = hat(variant, least)
        end = f"at least {rate(deep['low'])}" if first["value"] == 1 else f"at most {rate(deep['high'])}"
        if known(deep["low"]):
            yield f"every trial {word}: that shows no {other}, not that there are none; {metric_name(least)} is {end} ({_level(deep)} interval)."


def reasons(summary: Mapping[str, Any], ks: Sequence[int]) -> Iterator[str]:
    """Why estimates among those shown are undefined: one sentence for each variant and reason, and what a range means."""
    ranged = False
    for name, variant in summary["variants"].items():
        lost: dict[str, list[str]] = {}
        for k in ks:
            found = hat(variant, k)
            if not known(found["value"]):
                lost.setdefault(found.get("why") or "no reason is given", []).append(metric_name(k))
                ranged = ranged or possible(found) != ""
        for reason, metrics in lost.items():
            yield f"{clean_name(name)}: {', '.join(metrics)} undefined, {clean_line(reason, SENTENCE)}"
        caps = variant["cap_rate"]
        if not lost and not known(caps["value"]):
            yield f"{clean_name(name)}: cap rate undefined, {clean_line(caps.get('why') or 'no reason is given', SENTENCE)}"
    if ranged:
        yield "A range a…b reaches from all of these trials failed to all of them passed."


def possible(found: Mapping[str, Any]) -> str:
    """What an undefined estimate could turn out to be, as `0.458…0.500`; empty where that is not known."""
    worst, best = found.get("worst"), found.get("best")
    return f"{rate(worst)}…{rate(best)}" if known(worst) and known(best) else ""


def metric_name(k: int) -> str:
    """How the chance that k attempts all pass is written; for one attempt it is pass@1."""
    return f"pass^{k}" if k > 1 else "pass@1"


def size(summary: Mapping[str, Any]) -> str:
    """How large the run is: `3 variants × 24 tasks × 8 trials`."""
    variants = summary["variants"].values()
    if not variants:
        return "no variants"
    tasks = {variant["tasks"] for variant in variants}
    ks = {max((int(k) for k in variant["pass_hat"]), default=0) for variant in variants}
    parts = [times(len(summary["variants"]), "variant")]
    parts.append(times(min(tasks), "task") if len(tasks) == 1 else f"up to {times(max(tasks), 'task')}")
    parts.append(times(min(ks), "trial") if len(ks) == 1 else f"up to {times(max(ks), 'trial')}")
    return " × ".join(parts)


def _lacks(done: Mapping[str, Any]) -> list[str]:
    """What is wrong with the trials that do not count, in words."""
    return [word for name, word in (("missing", "missing"), ("errors", "in error")) if done[name]]


def _wanting(done: Mapping[str, Any]) -> str:
    """Why a value is undefined, as far as the whole run tells."""
    return "trials were skipped on purpose" if done["skipped"] else "trials are missing, in error, or too few"


def _compared(summary: Mapping[str, Any], comparisons: Sequence[Mapping[str, Any]]) -> str:
    """The sentence of the comparison at the deepest k whose difference is the largest; empty where it could not tell.

    With fewer than `TELLING` tasks that differ no test can: then the plain estimate is the better headline, and better too than a smaller
    difference of which a test could tell.
    """
    metric = f"pass^{deepest(summary)}"
    deep = [one for one in comparisons if one["metric"] == metric and known(one["difference"])]
    largest = max(deep, key=lambda one: abs(one["difference"]), default=None)
    if largest is None or largest["better"] + largest["worse"] < TELLING:
        return ""
    return clean_line(largest["sentence"], SENTENCE)


def _estimated(summary: Mapping[str, Any]) -> str:
    """The estimate at the deepest k, of the variant where it is highest."""
    k = deepest(summary)
    variants = summary["variants"]
    if k == 0:
        return "No trial has been measured."
    wanted = k
    k = next(
        (one for one in range(k, 0, -1) if any(known(hat(variant, one)["value"]) for variant in variants.values())), 0
    )
    done = summary["completeness"]
    if k == 0 and not done["measured"]:
        ran = done["errors"]
        return (
            f"No trial could be judged: {times(ran, 'trial')} of {done['planned']:,} ended in error."
            if ran
            else f"No trial has been run yet, of {done['planned']:,} planned."
        )
    if k == 0:
        return f"{metric_name(wanted)} is undefined: {_wanting(done)}."
    found = {name: hat(variant, k) for name, variant in variants.items() if known(hat(variant, k)["value"])}
    name = max(found, key=lambda one: found[one]["value"])
    best = found[name]
    what = f"passes all {k} of {k} attempts" if k > 1 else "passes"
    sentence = (
        f"{clean_name(name)} {what} with probability {rate(best['value'])} "
        f"({_level(best)} interval {interval(best['low'], best['high'])}{_whose(best)}; {times(variants[name]['tasks'], 'task')})."
    )
    if len(found) > 1:
        tied = [clean_name(one) for one in found if one != name and found[one]["value"] == best["value"]]
        sentence += f" {_chosen(tied, len(found), _overstated(summary.get('highest') if k == wanted else None, name, len(found)))}"
    if k < wanted:
        sentence += f" {metric_name(wanted)} is undefined: {_wanting(done)}."
    lost = len(variants) - len(found)
    return sentence + (f" {metric_name(k)} of {times(lost, 'other variant')} is undefined." if lost else "")


def _chosen(tied: Sequence[str], several: int, overstated: str) -> str:
    """Say how the variant of the sentence was chosen among several, where others have the same value too."""
    if len(tied) == several - 1:
        return f"{'Both' if several == 2 else f'All {several}'} variants have this value, so that none is the better by it."
    if tied:
        with_whom = ", ".join(tied) if len(tied) <= TIED else f"{len(tied)} others"
        return f"It shares the highest value of {several} with {with_whom}, and {overstated}."
    return f"It is the highest of {several}, and {overstated}."


def _overstated(highest: Mapping[str, Any] | None, name: str, several: int) -> str:
    """How far the choice of the highest flatters it, where the summary knows that of this very choice."""
    if not highest or (highest["variant"], highest["of"]) != (name, several):
        return "the highest of several overstates"
    surplus = highest["overstates"]
    size = f"about {surplus:.2f}" if surplus >= 0.005 else "less than 0.01"
    return f"the highest of {several} equal ones comes out {size} too high by chance: run it again before you quote it"


def _whose(found: Mapping[str, Any]) -> str:
    """What an interval speaks of, where it is not what intervals usually do."""
    return " for these very tasks" if found.get("scope") == "suite" else ""


def how(summary: Mapping[str, Any]) -> str:
    """How the intervals of the summary were made; empty where there is none."""
    ways = {
        f"{one['method']}, {SCOPES.get(one['scope'], one['scope'])}, {_level(one)}"
        for variant in summary["variants"].values()
        for one in variant["pass_hat"].values()
        if known(one["low"]) and one.get("method")
    }
    return f"intervals: {'; '.join(sorted(ways))}" if ways else ""


def _level(found: Mapping[str, Any]) -> str:
    """The confidence of an estimate's interval."""
    return f"{100 * (found.get('confidence') or 0.95):g}%"

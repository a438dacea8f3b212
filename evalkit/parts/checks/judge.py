"""A model decides by a rubric: for what no other check can tell, and after all of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import Ge, Le

from evalkit.core.message import user
from evalkit.core.protocols import CheckResult, Evidence
from evalkit.core.record import Verdict
from evalkit.parts.checks._brief import Vote, ask, question
from evalkit.parts.checks._subject import subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """Passes where a model says that the answer meets `rubric`: it is shown the prompt, the answer and the rubric, and nothing else.

    A model that cannot tell says so, and one whose reply is not the JSON object that it was asked for has not told: both are `unknown`,
    which as a grader's word makes the trial an error. `file` shows it a file that the agent left instead of the answer. Each reply
    has at most `max_tokens`. With `votes`, an odd number, it is asked so often, and what more than half of them say counts.

    The model that is asked is the variant's own, and it judges its own work: variants of different models have different judges, and
    a rate that a judge decides is to be compared between variants of one model only.
    """

    COST: ClassVar[int] = 9

    rubric: str
    file: str | None = None
    max_tokens: Annotated[int, Ge(16), Le(100_000)] = 1024
    votes: Annotated[int, Ge(1), Le(15)] = 1

    def __post_init__(self) -> None:
        """Refuse a rubric that asks for nothing, and votes that may be even."""
        if not self.rubric.strip():
            raise ValueError("rubric is empty: say what the work has to be like")
        if self.votes % 2 == 0:
            raise ValueError(f"votes is {self.votes}: an even number can be a tie; write {self.votes + 1}")

    def judge(self, evidence: Evidence) -> CheckResult:
        """Ask until more than half of the votes say the same."""
        work = subject(evidence, self.file)
        if isinstance(work, CheckResult):
            return work
        name = "answer" if self.file is None else "file"
        asked = question(request=evidence.task.prompt, work=work, name=name, rubric=self.rubric)
        cast: list[Vote] = []
        while len(cast) < self.votes:
            cast.append(ask(evidence, user(asked), self.max_tokens))
            verdict, count = Counter(vote.verdict for vote in cast).most_common(1)[0]
            if count * 2 > self.votes:
                return _said(cast, verdict)
        return _said(cast, "unknown")


def _said(cast: list[Vote], verdict: Verdict) -> CheckResult:
    """Give the verdict with the first reason for it, and how several votes fell; of an odd number without a majority one is unknown."""
    reason = next(vote.reason for vote in cast if vote.verdict == verdict)
    if len(cast) == 1:
        return CheckResult(verdict=verdict, reason=reason)
    counts = Counter(vote.verdict for vote in cast)
    fell = ", ".join(f"{counts[one]} {one}" for one in ("pass", "fail", "unknown") if counts[one])
    return CheckResult(verdict=verdict, reason=f"{fell}: {reason}")

"""How good the simulated model is: its rates, and the draws that they are compared with.

Invariant: a draw hangs on a request's seed and call and on its own name alone, so a habit that is added later shifts none of the others.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields

from evalkit.core.message import Request

DULL = 0.15
"""How much of `heed` is left where an error says only that something failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """How often the simulated model goes wrong, and how well it mends; a rate left out is that of a model without flaws.

    All but `rot` are probabilities. `slip`: a step, or the answer, is got wrong in a way that the tool may well take.
    `malformed`: the arguments do not fit the tool's schema. `spin`: it begins to repeat its last turn, and once two equal turns
    with equal results stand at the end it goes on, until somebody says something. `forget`: it acts on a guess where a fact
    that it needs is not in view; otherwise it looks the fact up again. `rot`: slips grow by this share with each thousand
    tokens of the prompt. `premature`: it claims to be done. `heed`: it mends what an error points to; of one
    that names no argument, value, line or test it takes a small part (`DULL`) of the chance. Where it does not, it tries the same again.
    `insight`: a reflection sees what went wrong, and so much less often it claims to be done early with a plan in view.
    `recall`: a fact in view is kept when it sums up, drawn for each fact. `judge`: it judges an answer rightly.
    """

    slip: float = 0.0
    malformed: float = 0.0
    spin: float = 0.0
    forget: float = 0.0
    rot: float = 0.0
    premature: float = 0.0
    heed: float = 1.0
    insight: float = 1.0
    recall: float = 1.0
    judge: float = 1.0

    def __post_init__(self) -> None:
        """Refuse rates that are none, with a `ValueError`."""
        for name in (field.name for field in fields(self)):
            rate = getattr(self, name)
            highest = float("inf") if name == "rot" else 1.0
            if not 0.0 <= rate <= highest or rate == float("inf"):
                raise ValueError(f"{name} is {rate}: it must lie between 0 and {highest:g}")


def happens(request: Request, rate: float, name: str) -> bool:
    """Draw: whether something of this rate happens at the call that a request is."""
    if rate <= 0.0:
        return False
    text = f"{request.seed} {request.call} {name}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") < rate * 2.0**64

"""Which faults a server shows, and when: drawn from what is asked, never from a counter of calls or a clock.

Invariant: the same seed, the same asker and the same number of tries give the same fault, in whatever order and from
however many threads requests come. A request that is tried again gets a new draw, so a retry can heal.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

Fault = Literal[
    "rate_limit", "overloaded", "server_error", "slow", "cut_body", "drop_connection", "html_200", "wrong_shape_200"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """Shares of requests, each from 0 to 1 and together at most 1, that meet a fault; the rest are answered as usual.

    `rate_limit` answers 429 with a retry-after of `retry_after` seconds, `overloaded` 529, `server_error` 500. `slow`
    waits `slow_seconds` and then answers. `cut_body` ends the connection amid the answer, `drop_connection` before it.
    `html_200` is a page where JSON should be, `wrong_shape_200` JSON that is no message.
    """

    rate_limit: float = 0.0
    overloaded: float = 0.0
    server_error: float = 0.0
    slow: float = 0.0
    cut_body: float = 0.0
    drop_connection: float = 0.0
    html_200: float = 0.0
    wrong_shape_200: float = 0.0
    retry_after: float = 1.0
    slow_seconds: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse shares that are none, with a `ValueError`."""
        for fault, share in self.shares():
            if not 0.0 <= share <= 1.0:
                raise ValueError(f"the share of {fault} is {share}: it must lie between 0 and 1")
        if (total := sum(share for _, share in self.shares())) > 1.0 + 1e-9:
            raise ValueError(f"the shares of the faults add up to {total:g}: together they can be 1 at most")
        for name, seconds in (("retry_after", self.retry_after), ("slow_seconds", self.slow_seconds)):
            if not 0.0 <= seconds < float("inf"):
                raise ValueError(f"{name} is {seconds}: it must be a number of seconds, 0 or more")

    def shares(self) -> tuple[tuple[Fault, float], ...]:
        """Each fault with its share, in the fixed order in which they divide the interval from 0 to 1."""
        return (
            ("rate_limit", self.rate_limit),
            ("overloaded", self.overloaded),
            ("server_error", self.server_error),
            ("slow", self.slow),
            ("cut_body", self.cut_body),
            ("drop_connection", self.drop_connection),
            ("html_200", self.html_200),
            ("wrong_shape_200", self.wrong_shape_200),
        )

    @property
    def any(self) -> bool:
        """Whether there is anything to draw."""
        return any(share > 0.0 for _, share in self.shares())

    def draw(self, asker: str, attempt: int) -> Fault | None:
        """Choose the fault that the `attempt`-th try of a request meets, or none; `asker` names the request."""
        text = f"{self.seed}\x00{asker}\x00{attempt}"
        drawn = int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big") / 2**64
        for fault, share in self.shares():
            if drawn < share:
                return fault
            drawn -= share
        return None

"""No model at all: what a variant has that names no provider, because its agent asks a model of its own.

Invariant: it never answers, so nothing that counts on a model can pass unseen.
"""

from __future__ import annotations

from dataclasses import dataclass

from evalkit.core.errors import ProviderError
from evalkit.core.message import Nature, Price, Reply, Request
from evalkit.core.plan import Trial


@dataclass(frozen=True, slots=True, kw_only=True)
class Absent:
    """The variant names no model: its own agent asks one, out of our sight."""

    @property
    def nature(self) -> Nature:
        """Not seen."""
        return "external"

    def ready(self) -> str | None:
        """Nothing is asked, so nothing is in the way."""
        return None

    def price(self) -> Price | None:
        """Not known."""
        return None

    def window(self) -> int | None:
        """Not known."""
        return None

    def open(self, trial: Trial) -> Absent:  # the seam gives it
        """There is nothing to open."""
        return self

    def complete(self, request: Request) -> Reply:  # the seam gives it
        """Refuse; no other trial can succeed either."""
        raise ProviderError(
            "a model was asked, and the variant names no `provider`: name one in the variant or in `common`", fatal=True
        )

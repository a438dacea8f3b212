"""Pictures as arrays: read, and compared pixel by pixel. The only file that needs Pillow.

Invariant: a picture is what is seen of it on white paper; what is transparent in it does not count by its colour.
"""

from __future__ import annotations

import io
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Pixels = NDArray[np.uint8]
"""Height × width × 3 (red, green, blue), each from 0 to 255."""

MOST_PIXELS = 20_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How many pixels of how many differ, and the smallest box around them: left, top, width, height; None where none does."""

    count: int
    total: int
    box: tuple[int, int, int, int] | None

    @property
    def share(self) -> float:
        """The share of pixels that differ, from 0 to 1."""
        return self.count / self.total


def read_png(data: bytes) -> Pixels:
    """Read a PNG file; raises `ValueError` for what is none, and for one of more than `MOST_PIXELS`."""
    try:
        with Image.open(io.BytesIO(data), formats=["PNG"]) as opened:
            if opened.width * opened.height > MOST_PIXELS:
                raise ValueError(f"it has {opened.width} × {opened.height} pixels; {MOST_PIXELS:,} are the most")
            if opened.mode.startswith("I"):
                raise ValueError("it has 16 bits a grey; save it with 8")
            seen = opened.convert("RGBA")
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise ValueError(f"it is no PNG file: {error}") from error
    paper = Image.new("RGBA", seen.size, "white")
    return np.asarray(Image.alpha_composite(paper, seen).convert("RGB"))


def compare(one: Pixels, other: Pixels, threshold: int) -> Difference:
    """Compare two pictures of one size: a pixel differs where any of its channels does by more than `threshold`.

    Raises `ValueError` where the sizes differ.
    """
    if one.shape != other.shape:
        raise ValueError(f"pictures of {one.shape[1]} × {one.shape[0]} and {other.shape[1]} × {other.shape[0]} pixels")
    apart = (np.maximum(one, other) - np.minimum(one, other)).max(axis=2) > threshold
    rows, columns = np.flatnonzero(apart.any(axis=1)), np.flatnonzero(apart.any(axis=0))
    box = None
    if rows.size:
        left, top = int(columns[0]), int(rows[0])
        box = (left, top, int(columns[-1]) - left + 1, int(rows[-1]) - top + 1)
    return Difference(count=int(apart.sum()), total=apart.size, box=box)

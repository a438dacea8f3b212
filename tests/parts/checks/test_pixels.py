"""Pictures as arrays: what differs, where, and which files are no pictures."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image, ImageDraw

from evalkit.parts.checks._pixels import Pixels, compare, read_png


def grey(level: int, *, width: int = 20, height: int = 10) -> Pixels:
    """A picture of one grey."""
    return np.full((height, width, 3), level, dtype=np.uint8)


def png(image: Image.Image, form: str = "PNG") -> bytes:
    """A picture's file."""
    data = io.BytesIO()
    image.save(data, format=form)
    return data.getvalue()


def test_equal_pictures_have_no_box() -> None:
    found = compare(grey(9), grey(9), 0)
    assert (found.count, found.total, found.share, found.box) == (0, 200, 0.0, None)


def test_the_box_is_the_smallest_around_all_that_differs() -> None:
    changed = grey(0)
    changed[2, 5, 1] = 255
    changed[7, 3] = 255
    found = compare(grey(0), changed, 0)
    assert (found.count, found.share, found.box) == (2, 0.01, (3, 2, 3, 6))
    assert compare(grey(0), grey(255), 0).box == (0, 0, 20, 10)


@pytest.mark.parametrize(("one", "other"), [(100, 116), (116, 100)])
def test_a_channel_may_be_off_by_the_threshold_and_not_by_more(one: int, other: int) -> None:
    assert compare(grey(one), grey(other), 16).count == 0
    assert compare(grey(one), grey(other), 15).count == 200


def test_pictures_of_two_sizes_are_not_compared() -> None:
    with pytest.raises(ValueError, match="20 × 10 and 10 × 20 pixels"):
        compare(grey(0), grey(0, width=10, height=20), 0)


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA", "LA"])
def test_every_kind_of_png_is_read(mode: str) -> None:
    image = Image.new("RGB", (4, 3), "white")
    ImageDraw.Draw(image).rectangle((0, 0, 1, 2), fill="black")
    found = read_png(png(image.convert(mode)))
    assert found.shape == (3, 4, 3)
    assert found[0, 0].tolist() == [0, 0, 0]
    assert found[0, 3].tolist() == [255, 255, 255]


def test_what_is_transparent_shows_white_paper() -> None:
    assert read_png(png(Image.new("RGBA", (2, 2), (255, 0, 0, 0))))[0, 0].tolist() == [255, 255, 255]
    assert read_png(png(Image.new("RGBA", (2, 2), (0, 0, 0, 128))))[0, 0].tolist() == [127, 127, 127]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<html>",
        png(Image.new("RGB", (4, 4)), "GIF"),
        png(Image.new("RGB", (400, 400), "red"))[:300],
        png(Image.new("RGB", (4, 4)))[:29] + b"crc?" + png(Image.new("RGB", (4, 4)))[33:],
        png(Image.new("L", (5_000, 5_000))),
        png(Image.new("1", (30_000, 30_000))),
        png(Image.new("L", (4, 4)).convert("I;16")),
    ],
    ids=["empty", "html", "gif", "cut", "damaged", "large", "bomb", "16 bits"],
)
def test_what_is_no_picture_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"no PNG file|are the most|16 bits"):
        read_png(data)

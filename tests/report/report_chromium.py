"""The browser that the report's pages are opened in, the same for every test of them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

FLAGS = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]


@contextmanager
def a_browser() -> Iterator[Any]:
    """Open a browser without a window for as long as the block lasts."""
    playwright = pytest.importorskip("playwright.sync_api")
    sandbox = [] if os.geteuid() else ["--no-sandbox"]
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=CHROMIUM, args=FLAGS + sandbox)
        yield opened
        opened.close()

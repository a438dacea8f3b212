"""Pictures a page in a browser that reaches nothing: a program of its own, so that whoever runs it can end it.

    python -m evalkit.parts.checks._render FOLDER PAGE WIDTH HEIGHT PICTURE [SECONDS [BROWSER]]

By hand it makes the reference of a `visual` check: the picture of PAGE, a file of FOLDER, WIDTH by HEIGHT pixels, as the PNG file PICTURE.

Invariant: the page gets plain files of its folder and nothing else. It is shown under a name that does not exist, every request is answered
here, and the browser's way to any network leads to a proxy that does not exist either. Before the page is opened, the browser has
shown that it can make a picture, and `READY` is written: what goes wrong from then on is the page's doing (exit status `AT_FAULT`, and a line that begins with `FAULT`).
"""

from __future__ import annotations

import os
import resource
import shutil
import sys
from mimetypes import MimeTypes
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from playwright.sync_api import Browser, BrowserContext, Error, Playwright, Route, sync_playwright
from playwright.sync_api import TimeoutError as TooLong

READY = "ready"
FAULT = "page: "
AT_FAULT = 3
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ORIGIN = "https://page.invalid"
START_SECONDS = 60.0
MOST_BYTES = 50_000_000
"""The largest file that a page is given."""

MEMORY = 8_000_000_000
"""Bytes of data that each process of the browser may claim: it sets aside about five gigabytes that it never fills."""

FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--proxy-server=http://none.invalid:1",
    "--proxy-bypass-list=<-loopback>",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-lcd-text",
    "--font-render-hinting=none",
)
"""No networks, loopback counted, whatever a page tries; and glyphs that hang less on the machine."""

POLICY = "sandbox allow-scripts allow-same-origin; default-src 'self' data: blob: 'unsafe-inline' 'unsafe-eval'"
"""A page may run scripts, and may not open windows or dialogs, load down, or send forms."""


def main(words: list[str]) -> None:
    """Make the picture. Ends the process with `AT_FAULT` where the page cannot be pictured, with 1 where nothing can."""
    if not 5 <= len(words) <= 7:
        raise SystemExit((__doc__ or "").split("\n")[2].strip())
    folder, page, width, height, picture = words[:5]
    seconds = float(words[5]) if len(words) > 5 else 20.0
    browser = words[6] if len(words) > 6 else find_browser()
    if browser is None:
        raise SystemExit(f"none of {', '.join(BROWSERS)} is on the path")
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    try:
        with sync_playwright() as running:
            context = _context(start(running, browser), int(width), int(height))
            made = _picture(context, Path(folder).resolve(), page, seconds * 1000)
            if isinstance(made, str):
                sys.stdout.write(f"{FAULT}{made}\n")
                sys.stdout.flush()
                os._exit(AT_FAULT)  # at once: closing waits for a page that may never give way
        Path(picture).write_bytes(made)
    except (Error, OSError, ValueError) as error:
        raise SystemExit(f"no picture was made: {error}") from None


def find_browser() -> str | None:
    """The path of the system's Chromium or Chrome; None where there is none."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def start(running: Playwright, browser: str) -> Browser:
    """Start a browser, in its own sandbox where it can have one (which it cannot as root, nor in most containers)."""
    launch = running.chromium.launch
    if os.geteuid() != 0:
        try:
            return launch(executable_path=browser, args=FLAGS, chromium_sandbox=True, timeout=START_SECONDS * 1000)
        except TooLong:
            raise
        except Error:
            pass
    return launch(executable_path=browser, args=FLAGS, chromium_sandbox=False, timeout=START_SECONDS * 1000)


def _context(browser: Browser, width: int, height: int) -> BrowserContext:
    """A window of a size, the same on every machine."""
    return browser.new_context(
        viewport={"width": width, "height": height},
        device_scale_factor=1,
        color_scheme="light",
        reduced_motion="reduce",
        locale="en-US",
        timezone_id="UTC",
        service_workers="block",
        accept_downloads=False,
    )


def _picture(context: BrowserContext, folder: Path, page: str, milliseconds: float) -> bytes | str:
    """Show that a picture can be made, then make the page's; give what is wrong with a page that cannot be pictured.

    `milliseconds` are for opening it, and again for the picture.
    """
    tab = context.new_page()
    tab.screenshot(timeout=START_SECONDS * 1000)
    sys.stdout.write(f"{READY}\n")
    sys.stdout.flush()
    context.route("**/*", lambda route: _answer(route, folder))
    try:
        tab.goto(f"{ORIGIN}/{quote(page)}", timeout=milliseconds)
        return tab.screenshot(animations="disabled", caret="hide", timeout=milliseconds)
    except TooLong:
        return f"it did not come to rest within {milliseconds / 1000:g} seconds"
    except Error as error:
        return f"it cannot be shown: {error.message.splitlines()[0][:300]}"


def _answer(route: Route, folder: Path) -> None:
    """Answer a request of the page: with a file of its folder, or not at all."""
    url = urlsplit(route.request.url)
    body = _file(folder, unquote(url.path)) if f"{url.scheme}://{url.netloc}" == ORIGIN else None
    try:
        if body is None:
            route.abort()
            return
        kind = MimeTypes().guess_type(url.path)[0] or "application/octet-stream"
        route.fulfill(body=body, headers={"content-type": kind, "content-security-policy": POLICY})
    except Error:  # the page that asked is gone
        return


def _file(folder: Path, path: str) -> bytes | None:
    """Read a plain file of the folder; None where it is none, too large, or elsewhere."""
    try:
        found = (folder / path.lstrip("/")).resolve(strict=True)
        if found.is_relative_to(folder) and found.is_file() and found.stat().st_size <= MOST_BYTES:
            return found.read_bytes()
    except (OSError, ValueError, RuntimeError):
        return None
    return None


if __name__ == "__main__":
    main(sys.argv[1:])

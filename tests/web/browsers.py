"""A real headless Chromium, what it complains of while it shows pages, and axe-core, which checks them."""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

AXE = "axe-core@4.14.1"
AXE_INTEGRITY = "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="
"""The SHA-512 of the package, in the spelling of npm."""
SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"
SERIOUS = frozenset({"serious", "critical"})
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
_FOLDER = Path(sys.prefix) / "page-checks"
_INSTALLING = 300.0
_WAITING = 120_000
"""Milliseconds that a page may take on a busy machine; the first search loads the embedding model."""


@dataclass
class Window:
    """One page of a browser, and everything that it complained of."""

    page: Any
    complaints: list[str] = field(default_factory=list)

    def open(self, address: str) -> None:
        """Show an address until its scripts have run."""
        self.page.goto(address)
        self.page.wait_for_load_state("networkidle")

    def overflow(self) -> int:
        """How many pixels the page is wider than the window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))

    def violations(self) -> list[str]:
        """What axe-core finds to be serious or critical, with the first place of each."""
        if not self.page.evaluate("typeof axe !== 'undefined'"):
            # The policy of the pages holds for scripts that are written into them, not for what the browser is told.
            self.page.evaluate(axe_script())
        found = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{each['id']}: {each['nodes'][0]['html'][:200]}"
            for each in found["violations"]
            if each["impact"] in SERIOUS
        ]


@contextmanager
def browsing() -> Iterator[Any]:
    """Run a browser until the block ends; the tests are skipped with the reason where there is none."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = next(filter(None, map(shutil.which, _PROGRAMS)), None)
    if program is None:
        pytest.skip("Chromium is not installed; on Debian: apt-get install chromium")
    with api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=list(FLAGS))
        yield browser
        browser.close()


@contextmanager
def window(browser: Any, *, width: int = 1280, height: int = 900, dark: bool = False) -> Iterator[Window]:
    """A window of its own with its own cookies; whatever a script or the policy complains of is kept."""
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", reduced_motion="reduce"
    )
    context.set_default_timeout(_WAITING)
    found = Window(context.new_page())

    def said(message: Any) -> None:
        if message.type in {"error", "warning"} and "status of 4" not in message.text:
            found.complaints.append(f"{message.type}: {message.text}")

    def asked(dialog: Any) -> None:
        found.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    found.page.on("console", said)
    found.page.on("dialog", asked)
    found.page.on("pageerror", lambda error: found.complaints.append(f"error: {error}"))
    yield found
    context.close()


@cache
def axe_script() -> str:
    """The script of axe-core; the test is skipped with the reason where it cannot be installed."""
    npm = shutil.which("npm")
    kept = _FOLDER / "axe-4.14.1.min.js"
    if not kept.exists():
        if npm is None:
            pytest.skip("npm, which installs axe-core, is not there")
        _FOLDER.mkdir(parents=True, exist_ok=True)
        with FileLock(_FOLDER / "axe.lock", timeout=_INSTALLING), tempfile.TemporaryDirectory() as folder:
            try:
                subprocess.run(
                    [npm, "pack", "--silent", AXE], cwd=folder, check=True, capture_output=True, timeout=_INSTALLING
                )
            except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
                pytest.skip(f"{AXE} cannot be installed: {error}")
            [archive] = Path(folder).glob("*.tgz")
            found = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
            assert found == AXE_INTEGRITY, f"{AXE} is not the package that was looked at"
            with tarfile.open(archive) as files:
                source = files.extractfile("package/axe.min.js")
                assert source is not None
                kept.write_bytes(source.read())
    return kept.read_text(encoding="utf-8")

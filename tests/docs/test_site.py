"""The pages of docs/ as a site: it builds without a dead link, and a reader needs no network."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
import tomllib
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from docs.pages import DOCS, ROOT, all_pages
from promises import promise
from web.browsers import browsing, window

BUILDING = 240.0


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and writes no log."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the standard library's name
        """Say nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of a copy of the pages, built as ``make site`` builds it."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(DOCS, folder / "docs")
    shutil.copy(ROOT / "zensical.toml", folder)
    built = subprocess.run(
        [Path(sys.executable).with_name("zensical"), "build", "--clean", "--strict"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=BUILDING,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return folder / "build" / "site"


@promise(
    "docs:site", "The pages build as a site without a dead link, and reading it needs no network.", source="issue 16"
)
def test_every_page_is_in_the_site(site: Path) -> None:
    for page in all_pages():
        place = page.relative_to(DOCS).with_suffix("") if page.is_relative_to(DOCS) else None
        if place is not None:
            folder = place.parent if place.name == "index" else place
            assert (site / folder / "index.html").is_file(), page


@promise("docs:site")
def test_a_reader_asks_no_other_host_and_finds_a_page_by_its_words(site: Path) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}"
    asked: list[str] = []
    try:
        with browsing() as browser, window(browser) as seen:
            seen.page.on("request", lambda request: asked.append(request.url))
            for place in ("/", "/tutorial/", "/how-to/use-the-dashboard/", "/reference/python/"):
                seen.open(base + place)
                assert seen.page.locator("h1").first.is_visible()
            shown = seen.page.goto(f"{base}/images/dashboard-memory.png")
            assert shown.ok
            assert not seen.complaints
    finally:
        server.shutdown()
        server.server_close()
    assert len(asked) > 4
    assert [url for url in asked if not url.startswith(f"{base}/") and not url.startswith("data:")] == []


@promise(
    "docs:order",
    "The site lists every page once, in reading order: tutorial, how-to, reference, explanation, background, "
    "decisions.",
    source="outside test of issue 16",
)
def test_the_navigation_has_every_page_in_reading_order() -> None:
    nav = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]["nav"]
    assert [next(iter(each)) for each in nav] == [
        "All pages",
        "Tutorial",
        "How-to",
        "Reference",
        "Explanation",
        "Background",
        "Decisions",
    ]
    listed = [
        page for each in nav for value in each.values() for page in ([value] if isinstance(value, str) else value)
    ]
    docs = ROOT / "docs"
    assert sorted(listed) == sorted(path.relative_to(docs).as_posix() for path in docs.rglob("*.md"))
    index = (docs / "index.md").read_text()
    for section in ("how-to", "reference", "explanation"):
        pages = [page for page in listed if page.startswith(f"{section}/")]
        assert pages == sorted(pages, key=lambda page: index.index(f"({page})"))

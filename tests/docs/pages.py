"""Name the pages of the documentation."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def run_pages() -> list[Path]:
    """Return the pages whose commands and programs are run: the README, the tutorial and the how-to pages."""
    return [ROOT / "README.md", DOCS / "tutorial.md", *sorted((DOCS / "how-to").glob("*.md"))]


def all_pages() -> list[Path]:
    """Return every page, the README and the changelog included."""
    return [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]

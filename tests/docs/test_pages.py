"""Pages are listed, linked and worded as the glossary says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.pages import DOCS, ROOT, all_pages
from promises import promise

GENERATED = {"cli.md", "web.md", "seed-api.md", "guarantees.md"}
"""Pages whose words come from elsewhere."""
OTHER_WORDS = (
    r"orders? (?:its|their) readers? about",
    r"kept aside",
    r"\bseed 00\d",
    r"\bissue \d",
    r"\bnever below\b(?! (?:half|the target))",
    r"\bfastest\b",
    r"\bno telemetry\b",
)
"""What the glossary has another word for, or what measurements have refuted."""


def name(page: Path) -> str:
    """Return a page's place as the name of its test."""
    return str(page.relative_to(ROOT))


def anchors(page: Path) -> set[str]:
    """Return the places of a page that a link may name."""
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return slugs | set(re.findall(r'<a id="([^"]+)">', text))


@promise(
    "docs:pages",
    "Every page is listed in the index, every link leads to what exists, and one thing has one name.",
    source="issue, README",
)
@pytest.mark.parametrize("page", all_pages(), ids=name)
def test_every_link_leads_to_a_page_and_a_heading(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#:\s]*)#?([^)\s:]*)\)", page.read_text(encoding="utf-8")):
        linked = (page.parent / target).resolve() if target else page
        assert linked.is_file(), target
        assert not anchor or anchor in anchors(linked), f"{target}#{anchor}"


@promise("docs:pages")
def test_the_index_lists_every_page() -> None:
    listed = set()
    for index in (DOCS / "index.md", DOCS / "decisions" / "index.md"):
        targets = re.findall(r"\]\(([^)#:]+)", index.read_text(encoding="utf-8"))
        listed |= {(index.parent / target).resolve() for target in targets} | {index.resolve()}
    assert {page.resolve() for page in all_pages() if page.is_relative_to(DOCS)} <= listed


@promise("docs:pages")
@pytest.mark.parametrize("page", [page for page in all_pages() if page.name not in GENERATED], ids=name)
def test_one_thing_has_one_name_and_nothing_refuted_is_claimed(page: Path) -> None:
    prose = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for words in OTHER_WORDS:
        assert not re.search(words, re.sub(r"\s+", " ", prose), flags=re.IGNORECASE), words


@promise("docs:pages")
def test_the_glossary_is_in_order_and_names_no_word_twice() -> None:
    rows = re.findall(r"^\| ([^|]+) \| ", (DOCS / "glossary.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    words = rows[1:]
    assert len(words) > 40
    assert words == sorted(set(words))

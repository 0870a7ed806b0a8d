"""docs/guarantees.md holds the table that the promises give, with sources that a reader knows."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from promises import promise

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "guarantees.md"
TOOL = ROOT / "tools" / "write_guarantees.py"


@dataclass(frozen=True)
class Example:
    """A promise as the tests state them."""

    id: str
    source: str
    text: str
    deferred: str = ""


@promise(
    "docs:guarantees",
    "The table of guarantees is generated from the promises and up to date, and its sources are words that a user "
    "knows.",
    source="issue, README; DESIGN section 5",
)
def test_the_page_has_the_table_of_today() -> None:
    done = subprocess.run([sys.executable, str(TOOL), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@promise("docs:guarantees")
def test_the_table_groups_by_area_and_names_what_is_deferred() -> None:
    with_table = runpy.run_path(str(TOOL))["with_table"]
    promises = (
        Example("store:durable", "issue", "What is acknowledged | stays."),
        Example("cli:json", "issue", "Fields are <exact>."),
        Example("cli:later", "seed 003", "Later.", deferred="needs the graph"),
    )
    page = "before <!-- guarantees:start -->old<!-- guarantees:end --> after"
    written = with_table(page, promises)
    assert written.startswith("before <!-- guarantees:start -->\n\n2 promises")
    assert written.endswith("<!-- guarantees:end --> after")
    assert "old" not in written
    assert written.index("<summary>cli (1)") < written.index("<summary>store (1)") < written.index("not yet (1)")
    assert "What is acknowledged \\| stays." in written
    assert "Fields are &lt;exact>." in written
    assert "needs the graph" in written
    assert with_table(written, promises) == written


@promise("docs:guarantees")
@pytest.mark.parametrize(
    ("source", "area", "expected"),
    [
        ("issue 4", "attack", "safety"),
        ("issue 4 (95 % interval)", "uplift", "measuring benefit"),
        ("seed 000 FR-007", "bank", "specification 000 FR-007"),
        (
            "DESIGN D5, D10",
            "belief",
            "[design decision D5](decisions/index.md#d5), [design decision D10](decisions/index.md#d10)",
        ),
        ("issue, CLI; spec/clients 4a", "cli", "command line, client documentation"),
        ("docs/decisions/0014", "uplift", "[decision 0014](decisions/0014-uplift.md)"),
        ("issue 4, decision 11", "lifecycle", "curation, [decision 0011](decisions/0011-lifecycle.md)"),
        ("note of a developer", "new-area", "new area"),
    ],
)
def test_a_source_is_named_in_words_of_a_reader(source: str, area: str, expected: str) -> None:
    assert runpy.run_path(str(TOOL))["readable_source"](source, area) == expected


@promise("docs:guarantees")
def test_no_source_on_the_page_is_a_note_among_developers() -> None:
    rows = [line.split(" | ") for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    sources = {row[-2] for row in rows if len(row) >= 3}
    assert len(sources) > 50
    assert not [source for source in sources if re.search(r"\b(issue|seed|DESIGN|spec/|shared)\b", source)]
    anchors = set(re.findall(r'<a id="(d\d+)">', (PAGE.parent / "decisions" / "index.md").read_text(encoding="utf-8")))
    assert {anchor for source in sources for anchor in re.findall(r"index\.md#(d\d+)", source)} <= anchors

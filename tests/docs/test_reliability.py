"""docs/reliability.md says what the last long run has taken down, and that run left nothing out."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys

from docs.pages import DOCS, ROOT
from durability.killed_writers import WRITERS
from promises import promise
from torture_results import merged

TOOL = ROOT / "tools" / "write_reliability.py"
ROWS = json.loads((DOCS / "reliability.json").read_text(encoding="utf-8"))


@promise(
    "docs:reliability",
    "The page on reliability is written from the record of the last long run: at least 2,000 kills over every writer, "
    "and nothing lost; a part that was not run is not in it.",
    source="issue 13, It must show",
)
def test_the_page_says_what_the_last_run_has_taken_down() -> None:
    done = subprocess.run([sys.executable, str(TOOL), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@promise("docs:reliability")
def test_the_last_run_was_whole_and_lost_nothing() -> None:
    tried = {kind: sum(row["tried"] for row in ROWS if row["kind"] == kind) for kind in ("kills", "corruptions")}
    assert tried["kills"] >= 2_000
    assert tried["corruptions"] >= 1_000
    assert {row["subject"] for row in ROWS if row["kind"] == "kills"} >= set(WRITERS)
    entrances = {row["subject"]: row["found"] for row in ROWS if row["kind"] == "secrets"}
    assert entrances.keys() <= {"Python", "MCP", "REST", "the command line"}
    assert all(found["fields"] >= 40 and found["kinds"] >= 40 for found in entrances.values())
    for row in ROWS:
        assert row["passed"], row["subject"]
        harm = ("lost", "torn", "wrong", "invented", "altered", "whole_rows_lost", "on_disk")
        assert not any(row["found"].get(name) for name in harm), row


@promise("docs:reliability")
def test_a_row_stands_for_the_last_run_of_its_test_and_a_failure_is_shown() -> None:
    old = {"test": "a", "kind": "kills", "subject": "import", "tried": 3, "found": {"lost": 0, "torn": 0}}
    old |= {
        "passed": True,
        "seconds": 60.0,
        "date": "2026-01-01",
        "python": "3",
        "sqlite": "3",
        "system": "L",
        "cpus": 2,
    }
    failed = old | {"kind": "failed", "subject": "a", "tried": 0, "found": {}, "passed": False}
    other = old | {"test": "b", "subject": "restore"}
    assert merged([old, other], [failed]) == [failed, other]
    assert merged([failed, other], [old]) == [old, other]
    made = runpy.run_path(str(TOOL))["PARTS"]["summary"]
    assert "**Failed in the last run:** a." in made([failed, other])
    assert "Failed" not in made([old, other])
    assert "| processes killed | 6 |" in made([old, other])

"""What a long run has tried and found, written down by the run itself: one row per subject, kept in one JSON file.

A test takes the fixture ``tally`` and says at its end what it has tried. `make torture` keeps these rows in
docs/reliability.json, each in the place of the last run's row of the same subject; tools/write_reliability.py makes the
page for users of them.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
import pytest

PROPERTY = "torture"
Row = dict[str, Any]


class Tally:
    """Take down what one test has tried. A test that fails leaves a row that says so.

    Args:
        note: Adds a property to the test's report.
    """

    def __init__(self, note: Callable[[str, object], None]) -> None:
        self._rows: list[Row] = []
        note(PROPERTY, self._rows)

    def add(self, kind: str, subject: str, tried: int, **found: int) -> None:
        """Take down a result.

        Args:
            kind: What was done: kills, corruptions, power cuts, secrets.
            subject: To what, as a reader of the page calls it.
            tried: How many.
            found: What came of it, each a number.
        """
        self._rows.append({"kind": kind, "subject": subject, "tried": tried, "found": dict(found)})
        print(f"{kind}: {subject}: {tried}; {', '.join(f'{value} {name}' for name, value in found.items())}")

    def kills(self, subject: str, kills: int, **found: int) -> None:
        """Take down kills after which everything that was acknowledged was there, and nothing was torn.

        Args:
            subject: The writer.
            kills: How many.
            found: ``acknowledged`` writes, and how many kills met one ``under_way``, as far as the test has counted.
        """
        self.add("kills", subject, kills, **found, lost=0, torn=0)

    def secrets(self, entrance: str, fields: int, kinds: int) -> None:
        """Take down that every kind of secret was put into every field of an entrance, and none was on the disk.

        Args:
            entrance: Where a caller comes in.
            fields: How many it has.
            kinds: How many kinds of secrets there were.
        """
        self.add("secrets", entrance, fields * kinds, fields=fields, kinds=kinds, on_disk=0)


class TortureRecord:
    """Collect the rows of a run and merge them into a file when it ends.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows: list[Row] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the rows of a test that has run, and when and where that was."""
        if report.when != "call" or report.skipped:
            return
        where = {"test": report.nodeid, "seconds": round(report.duration, 1), "passed": report.passed, **machine()}
        for name, rows in report.user_properties:
            if name == PROPERTY and isinstance(rows, list):
                tried = rows or [{"kind": "failed", "subject": report.nodeid, "tried": 0, "found": {}}]
                self._rows += [{**row, **where} for row in tried]

    def pytest_sessionfinish(self) -> None:
        """Write the file."""
        if self._rows:
            known = json.loads(self._path.read_text(encoding="utf-8")) if self._path.exists() else []
            text = json.dumps(merged(known, self._rows), indent=1, ensure_ascii=False)
            self._path.write_text(f"{text}\n", encoding="utf-8")


def merged(known: list[Row], fresh: list[Row]) -> list[Row]:
    """Return the rows of a record with those of a further run in the place of what the same tests have left before."""
    again = {row["test"] for row in fresh}
    rows = [*(row for row in known if row["test"] not in again), *fresh]
    return sorted(rows, key=lambda row: (str(row["kind"]), str(row["subject"])))


def machine() -> Mapping[str, Any]:
    """Return the date, and what the run was made on."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "sqlite": apsw.sqlite_lib_version(),
        "system": f"{platform.system()} {platform.release().partition('-')[0]} {platform.machine()}",
        "cpus": os.cpu_count() or 0,
    }

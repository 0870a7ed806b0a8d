"""Write docs/reliability.md from docs/reliability.json; with --check only say whether it is up to date.

`make torture` writes the record: one row per subject, by the tests themselves.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reliability.md"
RECORD = ROOT / "docs" / "reliability.json"

Row = Mapping[str, Any]


def main() -> None:
    """Write the page, or check it."""
    rows = json.loads(RECORD.read_text(encoding="utf-8"))
    page = PAGE.read_text(encoding="utf-8")
    written = with_results(page, rows)
    if "--check" in sys.argv[1:]:
        if written != page:
            sys.exit(f"{PAGE} is not up to date: run {Path(__file__).name}")
        return
    PAGE.write_text(written, encoding="utf-8")


def with_results(page: str, rows: Sequence[Row]) -> str:
    """Return the page with its generated parts made anew from the rows of a record."""
    for name, make in PARTS.items():
        start, end = f"<!-- {name}:start -->", f"<!-- {name}:end -->"
        before, _, rest = page.partition(start)
        _, _, after = rest.partition(end)
        page = f"{before}{start}\n\n{make(rows)}\n\n{end}{after}"
    return page


def _of(rows: Sequence[Row], kind: str) -> list[Row]:
    return [row for row in rows if row["kind"] == kind]


def _sum(rows: Sequence[Row], *names: str) -> int:
    return sum(row["found"].get(name, 0) for row in rows for name in names)


def _table(heads: Sequence[str], lines: Sequence[Sequence[object]]) -> str:
    if not lines:
        return "This part was not run whole yet."
    marks = ["---", *["---:"] * (len(heads) - 1)]
    cells = [heads, marks, *[[_shown(cell) for cell in line] for line in lines]]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in cells)


def _shown(cell: object) -> str:
    return f"{cell:,}" if isinstance(cell, int) else str(cell)


def _summary(rows: Sequence[Row]) -> str:
    kills, damages, cuts, secrets = (_of(rows, kind) for kind in ("kills", "corruptions", "power cuts", "secrets"))
    total = [sum(row["tried"] for row in part) for part in (kills, damages, cuts, secrets)]
    lines = [
        ("processes killed", total[0], f"{_sum(kills, 'lost')} acknowledged writes lost, {_sum(kills, 'torn')} torn"),
        (
            "files damaged",
            total[1],
            f"{_sum(damages, 'wrong')} wrong answers, {_sum(damages, 'invented', 'altered')} rows invented or altered",
        ),
        ("power cuts, simulated", total[2], f"{_sum(cuts, 'lost')} acknowledged writes lost"),
        ("secrets put into fields", total[3], f"{_sum(secrets, 'on_disk')} found on the disk"),
    ]
    failed = [row["subject"] for row in rows if not row["passed"]]
    said = f"\n\n**Failed in the last run:** {'; '.join(failed)}." if failed else ""
    return _table(("what was done", "times", "what came of it"), [line for line in lines if line[1]]) + said


def _kills(rows: Sequence[Row]) -> str:
    names = ("under_way", "acknowledged", "lost", "torn")
    lines = [
        [row["subject"], row["tried"], *(row["found"].get(name, "") for name in names)] for row in _of(rows, "kills")
    ]
    return _table(("writer", "kills", "in the middle of a step", "acknowledged steps", "lost", "torn"), lines)


def _damages(rows: Sequence[Row]) -> str:
    names = ("unharmed", "named", "named_by_check_alone", "wrong")
    asked = [row for row in _of(rows, "corruptions") if "named" in row["found"]]
    lines = [[row["subject"], row["tried"], *(row["found"].get(name, 0) for name in names)] for row in asked]
    heads = ("what was damaged", "times", "all answers right", "named", "named by the check alone", "wrong and unnamed")
    repaired = [row for row in _of(rows, "corruptions") if "named" not in row["found"]]
    told = [
        f"* {row['subject']}: {row['tried']:,} times; "
        + ", ".join(f"{value:,} {name.replace('_', ' ')}" for name, value in row["found"].items())
        for row in repaired
    ]
    return "\n".join([_table(heads, lines), "", *told])


def _secrets(rows: Sequence[Row]) -> str:
    lines = [
        [row["subject"], row["found"]["fields"], row["found"]["kinds"], row["tried"], row["found"]["on_disk"]]
        for row in _of(rows, "secrets")
    ]
    return _table(("entrance", "fields", "kinds of secrets", "tried", "found on the disk"), lines)


def _machine(rows: Sequence[Row]) -> str:
    found: dict[str, float] = {}
    for row in rows:
        place = f"{row['date']}: Python {row['python']}, SQLite {row['sqlite']}, {row['system']}, {row['cpus']} CPUs"
        found[place] = found.get(place, 0.0) + _seconds(row, rows)
    return "\n".join(f"* {place}; {seconds / 60:.0f} minutes" for place, seconds in sorted(found.items()))


def _seconds(row: Row, rows: Sequence[Row]) -> float:
    """Return a row's share of the time of its test, which may have left several."""
    seconds: float = row["seconds"]
    left = sum(1 for other in rows if other["test"] == row["test"])
    return seconds / left


PARTS: Mapping[str, Callable[[Sequence[Row]], str]] = {
    "summary": _summary,
    "kills": _kills,
    "damages": _damages,
    "secrets": _secrets,
    "machine": _machine,
}
"""The generated parts of the page, by the names of their marks."""


if __name__ == "__main__":
    main()

"""What of the files can be read: trajectories, steps, and what was skipped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from evaluation.learning_sources import AIRLINE, BLAMED, CLAUDE, CODING, Setup
from evaluation.learning_tables import Cell, Table, absent
from reasoningbank.errors import BankError
from reasoningbank.sessions.readers import Skipped, read

FOLDERS = (AIRLINE, CODING, CLAUDE, BLAMED)
_MANY = 20


def parsing(setup: Setup) -> Iterator[Table]:
    """Reads every file below the four folders as it is, its format told by its content."""
    title = "Parsing: every file, format told by content"
    present = [folder for folder in FOLDERS if (setup.data / folder).is_dir()]
    if not present:
        yield absent("parsing", title, *FOLDERS)
        return
    rows: list[dict[str, Cell]] = []
    notes: list[str] = []
    for folder in FOLDERS:
        if folder not in present:
            notes.append(f"{folder} is not in the data folder")
            continue
        files = [(path, _counted(path)) for path in sorted((setup.data / folder).iterdir()) if path.is_file()]
        total: Counter[str] = Counter()
        for path, counts in files:
            total.update(counts)
            if not counts["trajectories"]:
                notes.append(f"{folder}/{path.name} gives no trajectory")
            if len(files) <= _MANY and len(files) > 1:
                rows.append(_row(f"  {path.name[:44]}", 1, counts))
        rows.append(_row(folder, len(files), total))
    yield Table(name="parsing", title=title, rows=tuple(rows), notes=tuple(notes))


def _counted(path: Path) -> Counter[str]:
    counts: Counter[str] = Counter()
    try:
        for found in read(path):
            if isinstance(found, Skipped):
                counts["skipped"] += 1
            else:
                counts["trajectories"] += 1
                counts["steps"] += len(found.steps)
    except BankError:
        counts["unreadable"] += 1
    counts["parsed"] += counts["trajectories"] > 0
    return counts


def _row(name: str, files: int, counts: Counter[str]) -> dict[str, Cell]:
    return {
        "files": name,
        "count": files,
        "parsed": counts["parsed"],
        "trajectories": counts["trajectories"],
        "steps": counts["steps"],
        "skipped entries": counts["skipped"],
    }

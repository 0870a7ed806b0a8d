"""Results as tables: plain text for people, the same numbers as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evaluation.learning_estimates import Estimate

Cell = str | int | float | Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One result.

    Attributes:
        name: Its key in the JSON.
        title: What it shows.
        rows: Each a mapping of column to cell; a column that a row lacks is empty.
        notes: What the numbers mean, and what they do not show.
        skipped: Why there is nothing; empty when there is something.
        counted: Whether each number says, as text, on how many it was measured.
    """

    name: str
    title: str
    rows: tuple[Mapping[str, Cell], ...] = ()
    notes: tuple[str, ...] = ()
    skipped: str = ""
    counted: bool = True


def absent(name: str, title: str, *missing: str) -> Table:
    """The table of something that cannot be measured because its data is not here."""
    return Table(name=name, title=title, skipped=f"skipped: {' and '.join(missing)} is not in the data folder")


def text_of(table: Table) -> str:
    """The table as plain text."""
    lines = [table.title]
    if table.skipped:
        lines.append(f"  {table.skipped}")
    columns = list(dict.fromkeys(column for row in table.rows for column in row))
    cells = [[_written(row.get(column, ""), table.counted) for column in columns] for row in table.rows]
    widths = [max(len(line[place]) for line in [columns, *cells]) for place in range(len(columns))]
    if columns:
        lines.extend(_line(line, widths) for line in [columns, *cells])
    lines += [f"  {note}" for note in table.notes]
    return "\n".join(lines)


def fields_of(table: Table) -> dict[str, object]:
    """The table as JSON; a number that is none is null."""
    return {
        "name": table.name,
        "title": table.title,
        "rows": [{column: _field(cell) for column, cell in row.items()} for row in table.rows],
        "notes": list(table.notes),
        "skipped": table.skipped,
    }


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return ("  " + "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))).rstrip()


def _written(cell: Cell, counted: bool) -> str:
    if isinstance(cell, Estimate):
        if not cell.count or math.isnan(cell.value):
            return "-"
        return f"{cell.value:.3f} [{cell.low:.3f} {cell.high:.3f}]" + (f" of {cell.count}" if counted else "")
    return f"{cell:.3f}" if isinstance(cell, float) else str(cell)


def _field(cell: Cell) -> object:
    if isinstance(cell, Estimate):
        return {"value": _number(cell.value), "low": _number(cell.low), "high": _number(cell.high), "count": cell.count}
    return _number(cell) if isinstance(cell, float) else cell


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value

"""Tables and colours on a terminal; in a pipe, for an agent and with NO_COLOR an answer stays plain text.

What is read most gets a table (``list``, ``sessions``, ``metrics``); the text of others gets colours and loses no word.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any, cast

from reasoningbank.types.belief import MIN_CONFIDENCE

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

    from reasoningbank.types.memory import Memory
    from reasoningbank.types.metrics import Metrics
    from reasoningbank.types.session import SessionState

COLOURED = frozenset({"search", "stats", "status"})
"""The commands whose text gets colours."""
_WIDE = 130
"""From so many columns on ids stand in full; below, as much of each as tells it from the others."""
_SHORT_ID = 18
_STYLES: Sequence[tuple[re.Pattern[str], str]] = (
    (re.compile(r"^\d+\. .*$", re.MULTILINE), "bold"),
    (re.compile(r"^[a-z][\w' -]*: ", re.MULTILINE), "bold"),
    (re.compile(r"^error: .*$", re.MULTILINE), "red"),
    (re.compile(r"^next: .*$", re.MULTILINE), "yellow"),
    (re.compile(r"^ +(?:when|tags|states|outcomes|proven|weights|recalls|embedder)\b:?", re.MULTILINE), "dim"),
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "dim"),
    (re.compile(r"\b(?:vouched|confirmed)\b"), "green"),
    (re.compile(r"\bclaim\b"), "yellow"),
)


def on_terminal() -> bool:
    """Return whether the answer goes to a terminal that shows colours, to a person who wants them."""
    from reasoningbank.settings import wants_plain_text

    return sys.stdout is not None and sys.stdout.isatty() and not wants_plain_text()


def coloured(text: str) -> str:
    """Return a text with colours and the same words."""
    from rich.text import Text

    found = Text(text)
    for pattern, style in _STYLES:
        found.highlight_regex(pattern, style)
    return _rendered(found)


def tabled(command: str, result: object) -> str | None:
    """Return the table of an answer; None for a command that has none, or when there is nothing to show."""
    table = _TABLES.get(command)
    found = table(result) if table is not None else None
    return None if found is None else _rendered(found)


def _rendered(*parts: RenderableType) -> str:
    from rich.console import Console

    columns = shutil.get_terminal_size().columns
    file = StringIO()
    console = Console(file=file, force_terminal=True, width=columns, markup=False, highlight=False, emoji=False)
    console.print(*parts, sep="\n", soft_wrap=len(parts) == 1 and _is_text(parts[0]))
    return file.getvalue().rstrip("\n")


def _is_text(part: object) -> bool:
    from rich.text import Text

    return isinstance(part, Text)


def _table(*columns: str, rows: Sequence[Sequence[str | Text]], fixed: Sequence[str] = ()) -> RenderableType:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in columns:
        table.add_column(name, no_wrap=name in fixed, overflow="fold")
    for row in rows:
        table.add_row(*(Text(_shown(each)) if isinstance(each, str) else each for each in row))
    return table


def _shown(text: str) -> str:
    """Return a text on one line without characters that steer a terminal."""
    return "".join(each if each.isprintable() else " " for each in " ".join(text.split()))


def _ids(ids: Sequence[str]) -> list[str]:
    """Return each id as far as the terminal has room: its beginning, which commands take, where that is its own."""
    short = [each[:_SHORT_ID] for each in ids]
    wide = shutil.get_terminal_size().columns >= _WIDE
    return list(ids) if wide or len(set(short)) < len(set(ids)) else short


def _confidence(value: float) -> Text:
    from rich.text import Text

    return Text(f"{value:.3f}", style="green" if value >= MIN_CONFIDENCE else "yellow")


def _word(text: str, good: Sequence[str], bad: Sequence[str] = ()) -> Text:
    from rich.text import Text

    return Text(text, style="green" if text in good else "red" if text in bad else "")


def _memories(result: object) -> RenderableType | None:
    found = [cast("Memory", getattr(each, "memory", each)) for each in cast("Sequence[object]", result)]
    rows = [
        (
            name,
            _confidence(one.confidence),
            _word(one.outcome, ["success"], ["failure"]),
            one.state,
            _word(one.standing, ["vouched", "confirmed"]),
            one.title,
        )
        for name, one in zip(_ids([one.id for one in found]), found, strict=True)
    ]
    names = ("id", "confidence", "outcome", "state", "standing", "title")
    return _table(*names, rows=rows, fixed=names[:5]) if rows else None


def _sessions(result: object) -> RenderableType | None:
    from reasoningbank.operations.session_text import ended_text

    found = cast("Sequence[SessionState]", result)
    rows = [
        (
            name or "not captured yet",
            one.state,
            ended_text(one.verdict, one.said_by),
            str(one.shown),
            one.task,
            one.reason,
        )
        for name, one in zip(_ids([one.id for one in found]), found, strict=True)
    ]
    names = ("id", "state", "ended", "shown", "task", "waits for, or taught")
    return _table(*names, rows=rows, fixed=names[:2]) if rows else None


def _metrics(result: object) -> RenderableType | None:
    from rich.console import Group
    from rich.text import Text

    from reasoningbank.operations.report_text import calibration_lines

    found = cast("Metrics", result)
    rows = [
        (
            each.id,
            _word({None: "-", True: "met", False: "not met"}[each.met], ["met"], ["not met"]),
            each.name,
            "-" if each.value is None else f"{each.value:.3g}",
            "-" if each.interval is None else f"{each.interval[0]:.3g} to {each.interval[1]:.3g}",
            f"{each.sample:,}",
            each.message,
        )
        for each in found.all
    ]
    names = ("", "state", "criterion", "value", "95 % interval", "cases", "what it says")
    table = _table(*names, rows=rows, fixed=names[:6])
    return Group(table, Text("\n".join(calibration_lines(found))))


_TABLES: Mapping[str, Callable[[Any], RenderableType | None]] = {
    "list": _memories,
    "sessions": _sessions,
    "metrics": _metrics,
}

"""How values are written on pages: times, shares, and what changed between two texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import SequenceMatcher
from typing import Literal

from reasoningbank.types.quantity import counted

PieceKind = Literal["same", "gone", "new"]
_WORDS = re.compile(r"\s+|\w+|[^\w\s]")
_LONGEST = 4_000
"""Words of a text that are compared one by one; of longer texts the lines are."""
_UNITS: tuple[tuple[int, str], ...] = ((31_536_000, "year"), (2_592_000, "month"), (86_400, "day"), (3_600, "hour"))


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of two compared texts: in both, only in the earlier one, or only in the later one."""

    kind: PieceKind
    text: str


def compared(before: str, after: str) -> list[Piece]:
    """Return what two texts have in common and what not, word by word."""
    old, new = _parts(before), _parts(after)
    if len(old) + len(new) > _LONGEST:
        old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    found: list[Piece] = []
    for tag, start, end, other_start, other_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            found.append(Piece("same", "".join(old[start:end])))
            continue
        if end > start:
            found.append(Piece("gone", "".join(old[start:end])))
        if other_end > other_start:
            found.append(Piece("new", "".join(new[other_start:other_end])))
    return found


def _parts(text: str) -> list[str]:
    return _WORDS.findall(text)


def ago(moment: datetime, now: datetime | None = None) -> str:
    """Return how long ago something was, or how soon it will be."""
    seconds = ((now or datetime.now(UTC)) - moment).total_seconds()
    size = abs(seconds)
    said = next((counted(int(size // unit), name) for unit, name in _UNITS if size >= unit), "")
    if not said:
        said = counted(int(size // 60), "minute") if size >= 60 else "a moment"
    if seconds < 0:
        return f"in {said}"
    return "just now" if said == "a moment" else f"{said} ago"


def clock(moment: datetime) -> str:
    """Return a time for people, in UTC."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}"


def share(value: float) -> str:
    """Return a number between 0 and 1 as a percentage."""
    return f"{value * 100:.0f} %"


def confidence(value: float) -> str:
    """Return a confidence with two digits; 1.00 only when it is whole."""
    return f"{min(value, 0.99):.2f}" if value < 1.0 else "1.00"


def signed(value: float) -> str:
    """Return a change of a confidence with its sign."""
    return f"{value:+.2f}".replace("-", "\N{MINUS SIGN}")


def number(value: float) -> str:
    """Return a whole number with separators."""
    return f"{value:,.0f}"


def short(text: str, most: int = 160) -> str:
    """Return the beginning of a text on one line."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}\N{HORIZONTAL ELLIPSIS}"


def words(text: str) -> str:
    """Return a name of the code as words: ``too_long`` as ``too long``."""
    return text.replace("_", " ").replace("-", " ")


def several(many: int | Sequence[object], one: str, more: str = "") -> str:
    """Return a count with its noun."""
    count = many if isinstance(many, int) else len(many)
    return counted(count, one, more) if more else counted(count, one)


FILTERS: Mapping[str, Callable[..., object]] = {
    "ago": ago,
    "clock": clock,
    "share": share,
    "confidence": confidence,
    "signed": signed,
    "number": number,
    "short": short,
    "words": words,
    "several": several,
    "compared": lambda after, before: compared(before, after),
}
"""What templates write values with."""

"""Tell whether the numbers of an agent's last answer miss the goal that the task sets: "under 200 ms", "to 90 %".

Only numbers of the goal's own dimension are compared. A goal is missed when the answer gives such numbers and none of
them meets it; the goal itself, when it is quoted, is none of them. One number that meets it is enough for no verdict:
which of several is the result, the numbers alone do not say.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_UNITS: dict[str, tuple[str, float]] = {
    "ns": ("time", 1e-9), "us": ("time", 1e-6), "\u00b5s": ("time", 1e-6), "ms": ("time", 1e-3),
    "millisecond": ("time", 1e-3), "s": ("time", 1.0), "sec": ("time", 1.0), "second": ("time", 1.0),
    "min": ("time", 60.0), "minute": ("time", 60.0), "h": ("time", 3600.0), "hour": ("time", 3600.0),
    "b": ("size", 1.0), "byte": ("size", 1.0), "kb": ("size", 1e3), "kib": ("size", 1e3), "mb": ("size", 1e6),
    "mib": ("size", 1e6), "gb": ("size", 1e9), "gib": ("size", 1e9), "%": ("share", 1.0), "percent": ("share", 1.0),
    "fps": ("rate", 1.0), "rps": ("rate", 1.0), "req/s": ("rate", 1.0),
}  # fmt: skip
"""Units with their dimension and size; a kibibyte counts as a kilobyte, for who writes one often means the other."""
_NUMBER = (
    r"(?P<number>\d{1,9}(?:[.,]\d{1,6})?)[ \u00a0-]?"
    r"(?P<unit>req/s|milliseconds?|seconds?|minutes?|hours?|percent|bytes?|[kmg]i?b|fps|rps|ns|us|\u00b5s|ms|secs?"
    r"|min|%|[shb])(?![\w/])"
)
_SAID = re.compile(rf"(?<![\w.,-]){_NUMBER}", re.IGNORECASE)
_AT_MOST = (
    r"(?:under|below|less than|fewer than|at most|within|no more than|not more than|lower than|faster than"
    r"|max(?:imum)?(?: of)?|<=?|\u2264)"
)
_AT_LEAST = r"(?:above|over|at least|more than|higher than|no less than|minimum(?: of)?|min\.?|>=?|\u2265)"
_UP = (
    r"(?:rais\w*|increas\w*|improv\w*|boost\w*|grow|bring\b[^.\n]{0,40}\bup|lift|get\b[^.\n]{0,40}\b(?:coverage|score))"
)
_DOWN = r"(?:reduc\w*|cut|shrink|decreas\w*|lower|bring\b[^.\n]{0,40}\bdown|drop|trim|limit|get\b[^.\n]{0,40}\bdown)"
_BOUND = re.compile(
    rf"\b(?:(?P<most>{_AT_MOST})|(?P<least>{_AT_LEAST})"
    rf"|(?P<up>{_UP})\b[^.\n]{{0,80}}?\bto|(?P<down>{_DOWN})\b[^.\n]{{0,80}}?\bto) (?:about |around |the |a )?{_NUMBER}"
    rf"|(?P<sign>[<>\u2264\u2265]=?) ?(?P<number_behind>\d{{1,9}}(?:[.,]\d{{1,6}})?) ?(?P<unit_behind>%|ms|s"
    rf"|[kmg]i?b)(?!\w)",
    re.IGNORECASE,
)
_MET = re.compile(
    r"\b(?:meets?|met|reach(?:es|ed)?|hits?|achiev\w+|satisf\w+|within|passes)\b(?:(?!\bnot\b|n't\b)[^.\n]){0,40}"
    r"\b(?:goal|target|limit|budget|threshold|requirement|aim)\b"
    r"|\b(?:goal|target|limit|budget|threshold|requirement|aim) (?:holds|(?:is|was|has been)(?: now)?"
    r" (?:met|reached|hit|kept|achieved))\b",
    re.IGNORECASE,
)
_MAX_TASK = 2_000


@dataclass(frozen=True, slots=True)
class _Goal:
    dimension: str
    value: float
    at_most: bool

    def is_met_by(self, value: float) -> bool:
        return value <= self.value if self.at_most else value >= self.value


def missed_goal(task: str, answer: str) -> str:
    """Return how the answer's numbers miss the goal of the task, as words; empty when they do not, or there is none.

    Accepts any text; of a long task only the beginning.
    """
    goal = _goal(task[:_MAX_TASK])
    if goal is None or _MET.search(answer) is not None:
        return ""
    said = [
        (match[0], value)
        for match in _SAID.finditer(answer)
        if (value := _value(match["number"], match["unit"], goal.dimension)) is not None and value != goal.value
    ]
    if not said or any(goal.is_met_by(value) for _, value in said):
        return ""
    return f"{said[-1][0].strip()}, which is not the goal of the task"


def _goal(task: str) -> _Goal | None:
    for match in _BOUND.finditer(task):
        number, unit = (match["number"] or match["number_behind"]), (match["unit"] or match["unit_behind"])
        sign = match["sign"] or ""
        at_most = bool(match["most"] or match["down"]) or sign[:1] in {"<", "\u2264"}
        dimension, size = _UNITS[_plain_unit(unit)]
        return _Goal(dimension, _plain_number(number) * size, at_most)
    return None


def _value(number: str, unit: str, dimension: str) -> float | None:
    found, size = _UNITS[_plain_unit(unit)]
    return _plain_number(number) * size if found == dimension else None


def _plain_number(number: str) -> float:
    return float(number.replace(",", "."))


def _plain_unit(unit: str) -> str:
    plain = unit.lower()
    return plain if plain in _UNITS else plain.removesuffix("s")

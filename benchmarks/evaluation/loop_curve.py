"""How success changes over the tasks of several lives: windows with 95 % intervals over the lives."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evaluation.loop_world import Task

TARGET = 0.85
_T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)
"""The 97.5 % quantile of Student's t for 1 to 15 degrees of freedom."""
_NORMAL = 1.96


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """One agent's tasks and how each ended, by one seed."""

    seed: int
    tasks: tuple[Task, ...]
    succeeded: tuple[bool, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A stretch of tasks.

    Attributes:
        first, last: Its tasks, counted from 1; in windows by family, tasks of each family.
        rate: The mean success rate over the lives.
        low, high: Its 95 % interval, of Student's t over the lives; the whole range when there is one life.
    """

    first: int
    last: int
    rate: float
    low: float
    high: float


def windows(lives: Sequence[Life], size: int) -> tuple[Window, ...]:
    """Success in windows of so many tasks, in the order of the tasks."""
    count = min((len(life.tasks) for life in lives), default=0)
    return tuple(
        _window(lives, start + 1, min(start + size, count), _numbered(start, size)) for start in range(0, count, size)
    )


def recovery(lives: Sequence[Life], size: int) -> tuple[Window, ...]:
    """Success after the change, in windows of so many tasks of each family."""
    count = max((task.place + 1 for life in lives for task in life.tasks if task.changed), default=0)
    return tuple(
        _window(lives, start + 1, min(start + size, count), _changed(start, size)) for start in range(0, count, size)
    )


def _numbered(start: int, size: int) -> Callable[[Task, int], bool]:
    return lambda _, number: start <= number < start + size


def _changed(start: int, size: int) -> Callable[[Task, int], bool]:
    return lambda task, _: task.changed and start <= task.place < start + size


def reached(found: Sequence[Window], target: float = TARGET) -> Window | None:
    """The first window from which on the mean over all the rest is at the target as well; None when there is none."""
    for place, window in enumerate(found):
        rest = [each.rate for each in found[place:]]
        if window.rate >= target and sum(rest) / len(rest) >= target:
            return window
    return None


def _window(lives: Sequence[Life], first: int, last: int, inside: Callable[[Task, int], bool]) -> Window:
    rates = []
    for life in lives:
        pairs = zip(life.tasks, life.succeeded, strict=True)
        ends = [end for number, (task, end) in enumerate(pairs) if inside(task, number)]
        if ends:
            rates.append(sum(ends) / len(ends))
    mean = sum(rates) / len(rates)
    if len(rates) < 2:
        return Window(first=first, last=last, rate=mean, low=0.0, high=1.0)
    spread = math.sqrt(sum((rate - mean) ** 2 for rate in rates) / (len(rates) - 1) / len(rates))
    half = (_T95[len(rates) - 2] if len(rates) - 2 < len(_T95) else _NORMAL) * spread
    return Window(first=first, last=last, rate=mean, low=max(0.0, mean - half), high=min(1.0, mean + half))

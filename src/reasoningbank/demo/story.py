"""What the demonstration ships: the recorded session and the lessons that were distilled from it, by step."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from typing import TypedDict, cast


class RecordedStep(TypedDict):
    """One command of the session, as it ran."""

    step: int
    thought: str
    command: str
    exit_code: int
    output: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A recorded session.

    Attributes:
        task: What was to be done.
        recorded: The day it was recorded.
        steps: Every command with its exit status and output.
    """

    task: str
    recorded: str
    steps: tuple[RecordedStep, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """One lesson and the steps of the session that it comes from."""

    steps: tuple[int, ...]
    title: str
    description: str
    content: str
    outcome: str
    tags: tuple[str, ...]


def load_session() -> Session:
    """Return the session that the package ships; ``tools/record_session.py`` made it."""
    lines = _data("session.jsonl").splitlines()
    head = json.loads(lines[0])
    return Session(
        task=head["task"],
        recorded=head["recorded"],
        steps=tuple(cast(RecordedStep, json.loads(line)) for line in lines[1:]),
    )


def load_lessons() -> tuple[Lesson, ...]:
    """Return the lessons that the package ships."""
    return tuple(
        Lesson(
            steps=tuple(lesson["steps"]),
            title=lesson["title"],
            description=lesson["description"],
            content=lesson["content"],
            outcome=lesson["outcome"],
            tags=tuple(lesson["tags"]),
        )
        for lesson in json.loads(_data("lessons.json"))["lessons"]
    )


def _data(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")

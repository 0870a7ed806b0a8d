"""Ids by which a person names a thing, of which the beginning is enough where it is unique."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

IdKind: TypeAlias = Literal["memory", "own memory", "trajectory", "session", "trace", "node", "edge", "deleted part"]
"""The kinds of things that ids name: a memory of the tenant, one of this project, or another thing of this project."""

SHORTEST_BEGINNING = 4
"""The fewest characters that stand for an id that begins with them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identified:
    """Hold one thing that has an id.

    Attributes:
        id: Its whole id.
        title: What it says, on one line.
        held: True for a memory in quarantine, whose title no agent gets.
        place: The project, team or org that has it, where that is another than the one that was asked.
    """

    id: str
    title: str
    held: bool = False
    place: str = ""

"""The lesson: a memory as seed 003's ReasoningBank speaks of it, with its links to the graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reasoningbank.types.memory import Memory
from reasoningbank.types.recall import Leg

LESSON_LEG = "lesson"
"""The dense leg over ``key_lesson``: the memory's content leg."""
CONTEXT_LEG = "context"
"""The dense leg over ``context_to_prefer``: the memory's description leg."""
BM25_LEG = "bm25"
"""BM25 over ``context_to_prefer`` alone."""
LESSON_LEGS: tuple[str, ...] = (LESSON_LEG, CONTEXT_LEG, BM25_LEG)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """A memory and the graph nodes it came from.

    Attributes:
        memory: The memory itself; its belief, history and feedback are those of every memory.
        rb_id: Its integer row id in this bank: it never changes and is never given out again.
        link_nodes: The nodes it is linked with, oldest first: the same relation that fills ``Node.pointers``.
    """

    memory: Memory
    rb_id: int
    link_nodes: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The memory's id."""
        return self.memory.id

    @property
    def key_lesson(self) -> str:
        """The lesson: the memory's content."""
        return self.memory.content

    @property
    def context_to_prefer(self) -> str:
        """When it applies: the memory's description."""
        return self.memory.description

    @property
    def tags(self) -> tuple[str, ...]:
        """The memory's tags."""
        return self.memory.tags


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonHit:
    """A lesson that a search found.

    Attributes:
        score: The fused score, from 0 to 1.
        legs: Rank and score in every leg that found it: cosines of ``lesson`` and ``context``, BM25 of ``bm25``.
    """

    lesson: Lesson
    score: float
    legs: Mapping[str, Leg]


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonAnswer:
    """The answer to one search for lessons.

    Attributes:
        lessons: Best first.
        query: The query, secrets removed.
        message: One sentence: what was found, or why nothing was.
        warnings: What could not be done, for example logging the delivery on a full disk.
    """

    lessons: tuple[LessonHit, ...] = ()
    query: str = ""
    message: str = ""
    warnings: tuple[str, ...] = ()

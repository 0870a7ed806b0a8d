"""Memories as seed 003 writes them: a lesson, when it applies, and the nodes of the graph that it links."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from reasoningbank.bank import Bank
from reasoningbank.graph.search import title_of
from reasoningbank.types.graph_search import Lesson, LessonAnswer, LessonHit, LessonWeights


def add_lesson(
    bank: Bank,
    key_lesson: str,
    context_to_prefer: str = "",
    tags: Iterable[str] = (),
    link_nodes: Iterable[str] = (),
    *,
    vouched: bool = False,
) -> Lesson:
    """Record a memory and return it with its links."""
    memory = bank.record(
        title=title_of(key_lesson),
        content=key_lesson,
        description=context_to_prefer,
        outcome="success",
        tags=tags,
        link_nodes=link_nodes,
        vouched=vouched,
    )
    return bank.memories.links(memory.id)


def change_lesson(bank: Bank, memory: int | str, **changes: Any) -> Lesson:
    """Change a memory and return it with its links."""
    return bank.memories.links(bank.update(bank.memories.links(memory).id, **changes).id)


def list_lessons(bank: Bank, **asked: Any) -> tuple[Lesson, ...]:
    """Return the memories that a search may find, with their links."""
    states: Sequence[Any] = ("active", "candidate")
    return tuple(bank.memories.links(each.id) for each in bank.memories.list(states=states, **asked))


def find_lessons(
    bank: Bank,
    query: str,
    *,
    limit: int = 5,
    tags: Iterable[str] = (),
    linked_to: Iterable[str] | None = None,
    **weights: Any,
) -> LessonAnswer:
    """Search by lesson and return everything that was found, with its links, best first."""
    asked = LessonWeights(**weights)
    recall = bank.search(query, limit=limit, tags=tags, linked_to=linked_to, by="lesson", weights=asked)
    hits = sorted(recall.delivered, key=lambda each: (-each.relevance, each.id))
    found = tuple(LessonHit(lesson=bank.memories.links(hit.id), score=hit.relevance, legs=hit.legs) for hit in hits)
    return LessonAnswer(lessons=found, query=recall.query, message=recall.message, warnings=recall.warnings)

"""Nodes, edges and lessons as text for a person."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from reasoningbank.types.graph import Edge, Node
from reasoningbank.types.graph_search import NodeView
from reasoningbank.types.lesson import Lesson, LessonAnswer
from reasoningbank.types.recall import Leg

_SHOWN_WORDS = 12


def short(text: str) -> str:
    """Return the first 12 words of a text."""
    words = text.split()
    return " ".join(words[:_SHOWN_WORDS]) + (" ..." if len(words) > _SHOWN_WORDS else "")


def node_line(node: Node) -> str:
    """Return a node in one line."""
    return f"{node.label} {node.id}: {short(node.text)}"


def node_text(node: Node) -> str:
    """Return a node, whole."""
    lines = [f"{node.label} {node.id}", node.text]
    lines += [
        f"  {name}: {', '.join(value) if isinstance(value, tuple) else value}"
        for name, value in node.fields.items()
        if value
    ]
    lines += [f"  tags: {', '.join(node.tags)}"] if node.tags else []
    lines += [f"  conversation: {node.conv_id}"] if node.conv_id else []
    lines.append(f"  ingested {node.ingestion_time.isoformat()}, updated {node.updated_at.isoformat()}")
    return "\n".join(lines)


def edge_text(edge: Edge) -> str:
    """Return an edge, whole."""
    tags = f"\n  tags: {', '.join(edge.tags)}" if edge.tags else ""
    return f"{edge.id}: {edge.source} -> {edge.target}, weight {edge.weight:g} ({edge.band})\n{edge.text}{tags}"


def view_text(view: NodeView) -> str:
    """Return a node with the sentences that touch it and its lessons."""
    name = view.node.id
    lines = [node_text(view.node)]
    for edge in view.edges:
        arrow, other = ("->", edge.target) if edge.source == name else ("<-", edge.source)
        lines.append(f"{arrow} {other}: {edge.text} ({edge.id}, weight {edge.weight:.2f} {edge.band})")
    lines += [f"lesson {number}: memory {memory_id}" for number, memory_id in view.lessons.items()]
    return "\n".join(lines)


def nodes_text(nodes: Iterable[Node]) -> str:
    """Return nodes, one in a line."""
    return "\n".join(map(node_line, nodes)) or "No nodes."


def lesson_text(lesson: Lesson) -> str:
    """Return a lesson, whole."""
    memory = lesson.memory
    lines = [f"lesson {lesson.rb_id} ({memory.outcome}, {memory.state}, confidence {memory.confidence:.3f})"]
    lines.append(lesson.key_lesson)
    for name, value in (
        ("when", lesson.context_to_prefer),
        ("tags", ", ".join(lesson.tags)),
        ("nodes", ", ".join(lesson.link_nodes)),
        ("memory", lesson.id),
    ):
        lines += [f"  {name}: {value}"] if value else []
    return "\n".join(lines)


def lessons_text(lessons: Iterable[Lesson]) -> str:
    """Return lessons, one in a line."""
    return "\n".join(f"{each.rb_id}  {short(each.key_lesson)}" for each in lessons) or "No lessons."


def found_lessons_text(answer: LessonAnswer) -> str:
    """Return what a search for lessons has found, with the score of every leg."""
    lines = [answer.message]
    for number, hit in enumerate(answer.lessons, start=1):
        context = f" ({hit.lesson.context_to_prefer})" if hit.lesson.context_to_prefer else ""
        lines.append(f"{number}. {hit.score:.3f}  lesson {hit.lesson.rb_id}: {hit.lesson.key_lesson}{context}")
        lines.append(f"   {_legs(hit.legs)}")
    return "\n".join(lines)


def _legs(legs: Mapping[str, Leg]) -> str:
    return ", ".join(f"{name} {leg.score:.3f} (rank {leg.rank})" for name, leg in legs.items())

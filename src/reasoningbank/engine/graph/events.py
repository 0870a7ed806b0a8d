"""What happened in a window of time, and what was concluded from it."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from reasoningbank.domain.graph import Label, Node
from reasoningbank.domain.graph_search import GraphFilter
from reasoningbank.domain.reminders import Occurrence
from reasoningbank.engine.graph.energy import plain_tag
from reasoningbank.engine.graph.provenance import matches
from reasoningbank.engine.graph.reading import Surroundings
from reasoningbank.engine.graph.tracing import read_around, trace
from reasoningbank.ports.graph import GraphReads

ANSWER_HOPS = 2
"""How many edges lie between an event and the answers it led to at most: an action is between."""
_BETWEEN: tuple[Label, ...] = ("AgentAction",)


def events(
    reader: GraphReads,
    window: tuple[datetime, datetime],
    *,
    tags: Collection[str] = (),
    recency: bool = False,
    limit: int = 0,
) -> tuple[Occurrence, ...]:
    """The events that overlap the window, each with the answers it is linked with.

    Those with more of the tags come first. Equal ones are in the order they were stored; with recency, and only then,
    the ones that began last come first among equals.

    Args:
        reader: The graph.
        window: From when to when, the end exclusive.
        tags: At least one of these; empty for all.
        recency: Whether later ones come first among equals.
        limit: At most so many; 0 for all.
    """
    wanted = frozenset(map(plain_tag, tags))
    page = reader.node_page(GraphFilter(labels=("Event",), during=window), limit=0)
    kept = [node for node in page if not wanted or matches(node, wanted)]
    if recency:
        kept.sort(key=_start, reverse=True)
    kept.sort(key=lambda node: -matches(node, wanted))
    kept = kept[:limit] if limit else kept
    surroundings = Surroundings(reader)
    read_around(surroundings, [node.id for node in kept], hops=ANSWER_HOPS, through=_BETWEEN)
    return tuple(_occurrence(surroundings, node) for node in kept)


def _occurrence(surroundings: Surroundings, event: Node) -> Occurrence:
    start, end = event.window or (event.ingestion_time, event.ingestion_time)
    found = trace(surroundings, event.id, "AgentAnswer", hops=ANSWER_HOPS, through=_BETWEEN)
    return Occurrence(
        event=event,
        start=start,
        end=end,
        answers=tuple(path for _, path in found),
        answer_nodes=tuple(node for node, _ in found),
    )


def _start(event: Node) -> datetime:
    return (event.window or (event.ingestion_time, event.ingestion_time))[0]

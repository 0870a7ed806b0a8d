"""Captured sessions in the graph: each is remembered as one conversation, whose later state replaces the earlier one.

All of it is a claim. What was made of a session carries its id in its provenance, so that an erasure finds it.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from reasoningbank.conversations.notes import Told
from reasoningbank.conversations.parts import ConversationParts
from reasoningbank.storage.graph_tables import Pointer
from reasoningbank.storage.store import Transaction
from reasoningbank.types.graph import Edge, Node
from reasoningbank.types.session import Refusal
from reasoningbank.types.standing import ENTERED, SESSION, TRAJECTORY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reasoningbank.memories.admission import EnteredBy


def session_entry(told: Told, origin: EnteredBy) -> Mapping[str, str]:
    """Return the provenance of what is made of a session."""
    return {ENTERED: origin, SESSION: told.session, TRAJECTORY: told.trajectory}


def replace_earlier(transaction: Transaction, told: Told, parts: ConversationParts) -> None:
    """Take out of the graph what an earlier state of the session had left and this one does not say.

    What a person has confirmed stays, and so do preferences: a longer session holds what was said in a shorter one.
    """
    held = [node for node in transaction.graph.conversation(told.conversation.conv_id) if _is_of(node, told)]
    wishes = {node.id for node in held if node.label == "UserPreference"}
    gone = {node.id for node in held if node.id not in parts.nodes and node.id not in wishes}
    for edge in transaction.graph.edges_of([node.id for node in held]):
        ends = {edge.source, edge.target}
        if _is_of(edge, told) and edge.id not in parts.edges and not ends & (wishes | gone):
            transaction.graph.delete_edge(edge.id)
    for node_id in gone:
        transaction.graph.delete_node(node_id)


def link_taught(transaction: Transaction, told: Told, parts: ConversationParts) -> None:
    """Link the memories that the session taught with its answer, else with its request."""
    ends = [parts.nodes[name] for name in parts.asks]
    target = next((node for node in reversed(ends) if node.label == "AgentAnswer"), None) or next(iter(ends), None)
    if target is None or target.id not in transaction.graph.nodes([target.id]):
        return
    taught = [
        origin.memory_id
        for origin in transaction.sessions.origins(trajectory=told.trajectory)
        if origin.kind == "distilled"
    ]
    for memory in transaction.memories.many(taught).values():
        if memory.state != "quarantined":
            transaction.graph.link_node(Pointer(node_id=target.id, memory_id=memory.id))


def keep_refused(transaction: Transaction, told: Told, parts: ConversationParts, *, at: datetime) -> None:
    """Keep why the gate has stopped a part, beside what was refused of the session's lessons."""
    known = {(each.title, each.detail) for each in transaction.sessions.refusals(trajectory=told.trajectory)}
    for part in parts.refused:
        title = f"A {part.part} of the graph"
        if part.held and (title, part.reason) not in known:
            known.add((title, part.reason))
            transaction.sessions.refuse(
                Refusal(trajectory=told.trajectory, reason="instruction", detail=part.reason, title=title, at=at)
            )


def _is_of(item: Node | Edge, told: Told) -> bool:
    """Return whether it was made of this session, and nobody has confirmed it since."""
    return item.provenance.get(TRAJECTORY) == told.trajectory and item.standing == "claim"

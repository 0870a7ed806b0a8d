"""Nodes of other conversations that are like those of this one: proposed, never linked by likeness alone."""

from __future__ import annotations

from reasoningbank.domain.conversation import Proposal
from reasoningbank.domain.graph_search import GraphFilter
from reasoningbank.engine.conversing.certain import Parts
from reasoningbank.engine.graphing.searching import GraphQuestion, find_nodes
from reasoningbank.ports import Embedder, Store

MOST = 6
"""Most neighbours of one conversation."""
_ASKED, _PER_NODE, _TEXT = 4, 8, 2_000


def propose(store: Store, embedder: Embedder, parts: Parts) -> tuple[Proposal, ...]:
    """The nodes that are most like the request and the answers, the most alike first; none of the conversation itself.

    Raises:
        ModelMismatch: When the bank was built with another embedder.
    """
    best: dict[str, Proposal] = {}
    for name in parts.asks[:_ASKED]:
        question = GraphQuestion(text=parts.nodes[name].text[:_TEXT], limit=_PER_NODE, condition=GraphFilter())
        for hit in find_nodes(store, embedder, question)[0]:
            other = hit.node
            if other.id in parts.nodes or other.conv_id == parts.conv_id:
                continue
            if other.id not in best or hit.score > best[other.id].score:
                best[other.id] = Proposal(node_id=name, neighbour=other, score=hit.score)
    ranked = sorted(best.values(), key=lambda each: (-each.score, each.neighbour.id))
    return tuple(ranked[:MOST])

"""Where a walk begins: nodes, or edges, by the meaning and the words of their text (seed 003's seed retrieval)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reasoningbank.safety.graph_text import reveal
from reasoningbank.search.fusion import CANDIDATES_PER_HIT, Blended, blend
from reasoningbank.search.lessons import above, content_terms
from reasoningbank.storage.store import Store
from reasoningbank.types.graph_search import TEXT_LEG, EdgeHit, Fusion, GraphFilter, GraphKind, NodeHit
from reasoningbank.types.ports import Embedder
from reasoningbank.types.recall import LEXICAL_LEG
from reasoningbank.types.records import Scored


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphQuestion:
    """What is looked for in the graph.

    Attributes:
        text: The query, cleaned.
        limit: Most nodes or edges.
        bm25_weight, dense_weight: Of the words and of the meaning; a leg of weight 0 is not searched.
        condition: What a node or an edge must be.
        fusion: How the legs are put together.
        min_score: At least this score; None leaves out only what no word and no cosine above the background speaks for.
    """

    text: str
    limit: int
    condition: GraphFilter
    bm25_weight: float = 0.5
    dense_weight: float = 0.5
    fusion: Fusion = "weighted"
    min_score: float | None = None


def find_nodes(store: Store, embedder: Embedder, question: GraphQuestion) -> tuple[tuple[NodeHit, ...], str]:
    """Return the nodes for a question, best first, and a sentence when there are none.

    Raises:
        ModelMismatch: When the bank was built with another embedder.
    """
    found, message = _find(store, embedder, question, "node")
    nodes = {node.id: node for node in reveal(store.graph.nodes([each.id for each in found]).values())}
    hits = (NodeHit(node=nodes[each.id], score=each.score, legs=each.legs) for each in found if each.id in nodes)
    return tuple(hits), message


def find_edges(store: Store, embedder: Embedder, question: GraphQuestion) -> tuple[tuple[EdgeHit, ...], str]:
    """Return the same for edges."""
    found, message = _find(store, embedder, question, "edge")
    edges = {edge.id: edge for edge in reveal(store.graph.edges([each.id for each in found]).values())}
    hits = (EdgeHit(edge=edges[each.id], score=each.score, legs=each.legs) for each in found if each.id in edges)
    return tuple(hits), message


def _find(store: Store, embedder: Embedder, question: GraphQuestion, kind: GraphKind) -> tuple[list[Blended], str]:
    terms = content_terms(question.text)
    if not terms:
        return [], "The query has only words that every text has; nothing was searched."
    if question.limit == 0:
        return [], f"No {kind} was asked for."
    most = question.limit * CANDIDATES_PER_HIT
    legs: dict[str, Sequence[Scored]] = {}
    if question.dense_weight > 0.0:
        vector = embedder.embed_queries([question.text])[0]
        legs[TEXT_LEG] = store.search.graph_nearest(kind, vector, question.condition, most)
    if question.bm25_weight > 0.0:
        legs[LEXICAL_LEG] = store.search.graph_matching(kind, terms, question.condition, most).hits
    weights = {TEXT_LEG: question.dense_weight, LEXICAL_LEG: question.bm25_weight}
    found = blend(legs, weights, lexical=(LEXICAL_LEG,), fusion=question.fusion)
    kept, message = above(found, question.min_score, model_id=embedder.model_id, lexical=LEXICAL_LEG, noun=kind)
    return kept[: question.limit], message

"""The part of a bank that answers from its contextual graph: nodes, conversations, searches, walks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from reasoningbank.domain.graph import Edge, Node, check_graph_id
from reasoningbank.domain.graph_search import EdgeHit, GraphAnswer, GraphFilter, GraphSize, NodeView
from reasoningbank.domain.walk import WalkParameters, WalkResult
from reasoningbank.ports import Store
from reasoningbank.scaling import Scaling
from reasoningbank.searching import MAX_SEARCH_LIMIT, usable_query
from reasoningbank.telemetry import observed
from reasoningbank.upkeep import checked_limit, checked_offset

if TYPE_CHECKING:
    from reasoningbank.engine.graphing.searching import GraphQuestion

DEFAULT_SEEDS = 3
"""Nodes that a walk begins at when nobody says how many (seed 003)."""


class Exploring(Scaling):
    """Finds nodes and edges by their words and meaning, and walks from them along the sentences."""

    def graph_get(self, node_id: str) -> NodeView:
        """A node with its edges and the lessons it points to, secrets removed once more.

        Raises:
            NodeNotFound: When this project has no such node.
        """
        from reasoningbank.engine.graphing.admission import reveal
        from reasoningbank.engine.graphing.looking import existing_node

        store = self._open_store()
        (node,) = reveal([existing_node(store, node_id)])
        lessons = store.at_row_ids([int(number) for number in node.pointers])
        return NodeView(node=node, edges=tuple(reveal(store.edges_of([node_id]))), lessons=lessons)

    def graph_edge(self, edge_id: str) -> Edge:
        """An edge, secrets removed once more.

        Raises:
            EdgeNotFound: When this project has no such edge.
        """
        from reasoningbank.engine.graphing.admission import reveal
        from reasoningbank.engine.graphing.looking import existing_edge

        return reveal([existing_edge(self._open_store(), edge_id)])[0]

    def graph_search(
        self,
        query: str,
        *,
        limit: int = DEFAULT_SEEDS,
        budget: int | None = None,
        condition: GraphFilter | None = None,
        parameters: WalkParameters | None = None,
        user: str = "",
        role: str = "",
        bm25_weight: float = 0.5,
        dense_weight: float = 0.5,
        fusion: str = "weighted",
        min_score: float | None = None,
    ) -> GraphAnswer:
        """Finds the nodes that fit a question best and walks from them: the paths tell how things hang together.

        Args:
            query: The question in words.
            limit: Most nodes to begin at, 0 to 100.
            budget: Most tokens of the text for a language model; None for 2,000.
            condition: What a node to begin at must be.
            parameters: How to walk; None for the default preset, where without tags the question's own words serve.
            user: Who asks: their preferences stand first in the text for a language model.
            role: In which role they ask, whose preferences follow.
            bm25_weight: The weight of the words, from 0 to 1.
            dense_weight: The weight of the meaning, from 0 to 1; not both are 0.
            fusion: ``weighted`` adds scores as seed 003 does, ``rrf`` ranks.
            min_score: At least this fused score, from 0 to 1; None leaves out what nothing speaks for.

        Raises:
            EmptyQuery, NegativeLimit, InvalidInput: When an argument is not usable.
            ModelMismatch: When the bank was built with another embedder.
        """
        from reasoningbank.engine.graph.context import BUDGET, to_llm_context
        from reasoningbank.engine.graph.preferences import preferences
        from reasoningbank.engine.graph.question_tags import asked_with
        from reasoningbank.engine.graph.walk import walk
        from reasoningbank.engine.graphing.searching import find_nodes
        from reasoningbank.engine.graphing.walks import reveal_walk

        question = self._graph_question(
            query, limit, condition, bm25_weight, dense_weight, fusion=fusion, min_score=min_score
        )
        with observed("search_memory", store=self._place()) as observation:
            store = self._graph_store()
            hits, message = find_nodes(store, self._embedder, question)
            scores = {hit.node.id: hit.score for hit in hits if hit.score > 0.0}
            result = reveal_walk(walk(store, scores, asked_with(question.text, parameters)))
            wishes = preferences(store, user=user, role=role)
            context = to_llm_context(result, budget=BUDGET if budget is None else budget, preferences=wishes)
            observation.delivered(len(hits))
            return GraphAnswer(
                query=question.text,
                seeds=hits,
                walk=result,
                context=context,
                pending=store.graph_size().pending,
                message=message or _found(len(hits), len(result.paths)),
            )

    def graph_search_edges(
        self,
        query: str,
        *,
        limit: int = DEFAULT_SEEDS,
        tags: Iterable[str] = (),
        bm25_weight: float = 0.5,
        dense_weight: float = 0.5,
        fusion: str = "weighted",
        min_score: float | None = None,
    ) -> tuple[EdgeHit, ...]:
        """Finds the sentences that fit a question best; the arguments are those of ``graph_search``.

        Raises:
            EmptyQuery, NegativeLimit, InvalidInput: When an argument is not usable.
            ModelMismatch: When the bank was built with another embedder.
        """
        from reasoningbank.engine.graphing.searching import find_edges

        condition = GraphFilter(tags=tuple(tags))
        question = self._graph_question(
            query, limit, condition, bm25_weight, dense_weight, fusion=fusion, min_score=min_score
        )
        with observed("search_memory", store=self._place()) as observation:
            hits, _ = find_edges(self._graph_store(), self._embedder, question)
            observation.delivered(len(hits))
            return hits

    def graph_walk(self, seeds: Mapping[str, float], parameters: WalkParameters | None = None) -> WalkResult:
        """Walks from nodes that are known; a seed that does not exist is said so and stops no other.

        Args:
            seeds: The energy that each node starts with, above 0.
            parameters: How to walk; None for the default preset.

        Raises:
            InvalidInput: For seeds that no walk can start from.
        """
        from reasoningbank.engine.graph.walk import walk
        from reasoningbank.engine.graphing.walks import reveal_walk

        return reveal_walk(walk(self._open_store(), seeds, parameters))

    def conversation(self, conv_id: str) -> tuple[Node, ...]:
        """The nodes of one conversation in the order in which they were ingested; none when there is no such one.

        Raises:
            InvalidNode: When there can be no such conversation.
        """
        from reasoningbank.engine.graphing.admission import reveal

        return tuple(reveal(self._open_store().conversation(check_graph_id("conv_id", conv_id))))

    def graph_nodes(self, condition: GraphFilter | None = None, *, limit: int = 0, offset: int = 0) -> tuple[Node, ...]:
        """Nodes that meet a condition in the order they were stored; limit 0 means all."""
        from reasoningbank.engine.graphing.admission import reveal

        found = self._open_store().node_page(
            condition or GraphFilter(), limit=checked_limit(limit), offset=checked_offset(offset)
        )
        return tuple(reveal(found))

    def graph_size(self) -> GraphSize:
        """How many nodes, edges and links there are, and how many vectors are still to be made."""
        return self._open_store().graph_size()

    def _graph_question(
        self,
        query: str,
        limit: int,
        condition: GraphFilter | None,
        bm25_weight: float,
        dense_weight: float,
        *,
        fusion: str,
        min_score: float | None,
    ) -> GraphQuestion:
        from reasoningbank.engine.blending import check_fusion, check_least, check_weights
        from reasoningbank.engine.graphing.searching import GraphQuestion

        check_weights({"bm25": bm25_weight, "dense": dense_weight})
        return GraphQuestion(
            text=usable_query(query),
            limit=min(checked_limit(limit), MAX_SEARCH_LIMIT),
            bm25_weight=bm25_weight,
            dense_weight=dense_weight,
            condition=condition or GraphFilter(),
            fusion=check_fusion(fusion),
            min_score=check_least(min_score),
        )

    def _graph_store(self) -> Store:
        """The store, when the embedder is the one that the bank was built with."""
        from reasoningbank.engine.index import check_space

        store = self._open_store()
        check_space(store, self._embedder)
        return store


def _found(seeds: int, paths: int) -> str:
    nodes = "1 node fits" if seeds == 1 else f"{seeds} nodes fit"
    ways = "1 path" if paths == 1 else f"{paths} paths"
    return f"{nodes} the question; {ways} begin there."

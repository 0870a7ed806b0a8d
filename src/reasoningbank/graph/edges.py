"""Edges of the contextual graph: sentences with a weight."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from reasoningbank.errors import InvalidEdge
from reasoningbank.graph.graph import DEFAULT_SEEDS
from reasoningbank.memories.standing import said_by
from reasoningbank.storage.graph_tables import GraphText
from reasoningbank.telemetry import observed
from reasoningbank.types.argument import EdgeWeight, SearchLimit, Share
from reasoningbank.types.graph import Edge, check_graph_id
from reasoningbank.types.graph_search import EdgeHit, GraphFilter
from reasoningbank.types.memory import KEPT_FOR
from reasoningbank.types.quarantine import Reader
from reasoningbank.types.resource import checked
from reasoningbank.types.standing import rank_of

if TYPE_CHECKING:
    from reasoningbank.context import Context
    from reasoningbank.graph.graph import Graph


@checked
class Edges:
    """Edges of the contextual graph: sentences with a weight."""

    def __init__(self, context: Context, graph: Graph) -> None:
        self._context = context
        self._graph = graph

    def add(
        self, source: str, target: str, text: str, *, weight: EdgeWeight, tags: Iterable[str] = (), edge_id: str = ""
    ) -> Edge:
        """Connect two nodes by a sentence that reads from the source to the target.

        Args:
            source: The node that the sentence begins with.
            target: The node that it ends with.
            text: Why and how they belong together, as the sentence to be read. It is not judged here.
            weight: How strong the connection is, from 0 to 1; see ``weight_band``.
            tags: Words for the kind of connection.
            edge_id: An id; empty to make one.

        Raises:
            InvalidEdge: When a rule is broken, or the id stands for another edge.
            NodeNotFound: When one of the nodes does not exist.
        """
        edge = Edge(source=source, target=target, text=text, weight=weight, tags=tuple(dict.fromkeys(tags)))
        if edge_id:
            edge = replace(edge, id=edge_id)
        return self._graph.add(edges=[edge]).edges[0]

    def update(
        self,
        edge_id: str,
        *,
        text: str | None = None,
        weight: EdgeWeight | None = None,
        tags: Iterable[str] | None = None,
    ) -> Edge:
        """Change an edge; what is left out stays, its ends and its time never change.

        What a person changes is vouched for. An agent's edit of what stands higher than a claim becomes an edge of its
        own between the same nodes, a claim, which is returned.

        Args:
            edge_id: The edge; its ends stay.
            text: Why and how its nodes belong together.
            weight: How strong, from 0 to 1.
            tags: All of its tags.

        Raises:
            EdgeNotFound: When this project has no such edge.
            InvalidEdge: When the changed edge breaks a rule; nothing was changed.
        """
        from reasoningbank.graph.agent_edits import beside, stands_above
        from reasoningbank.graph.nodes import add, embedded, existing_edge, note_pending, prepared, words
        from reasoningbank.memories.admission import admit_edges, check_items, entry_of
        from reasoningbank.safety.graph_text import reveal

        with observed("update_memory", store=self._context.place), self._context.gated():
            store = self._context.store()
            old = existing_edge(store, edge_id)
            changed = replace(
                old,
                text=old.text if text is None else text,
                weight=old.weight if weight is None else weight,
                tags=old.tags if tags is None else tuple(dict.fromkeys(tags)),
            )
            (new,) = check_items([changed])
            entry = entry_of(self._context.session)
            if new == old and rank_of(replace(old, provenance=entry).standing) <= rank_of(old.standing):
                return reveal([old])[0]
            if stands_above(old, entry):
                now = self._context.clock.now()
                claim = replace(beside(old, new, entry), created_time=now)
                ready = prepared([], [claim], self._context.embedder, entry=entry)
                with store.transaction() as transaction:
                    added = add(transaction, ready)
                    note_pending(transaction, at=now)
                return added.edges[0]
            new = replace(new, provenance=entry)
            same = new.text == old.text
            vectors = {} if same else embedded([GraphText(id=new.id, text=new.text)], self._context.embedder)
            with store.transaction() as transaction:
                if existing_edge(transaction, edge_id) != old:
                    raise InvalidEdge(f"edge {edge_id[:80]!r} is being edited by others", hint="Try again.")
                admit_edges(transaction, [(new, words(new))])
                transaction.graph.put_graph_vectors("edge", vectors, self._context.embedder.model_id)
            return new

    def delete(self, edge_id: str, *, reader: Reader = "human") -> datetime | None:
        """Erase an edge, its words and its vector; its nodes stay.

        What an agent deletes is kept for thirty days: ``graph.restore`` brings it back.

        Args:
            edge_id: The edge.
            reader: Who deletes it.

        Returns:
            Until when it can be brought back; None when it is erased.

        Raises:
            EdgeNotFound: When this project has no such edge.
            PolicyError: When an agent would delete what a person stands by; nothing was deleted.
        """
        reader = said_by(reader)
        from reasoningbank.graph.agent_edits import forget, is_kept, refuse_taking_away, withdraw_edge
        from reasoningbank.graph.nodes import existing_edge
        from reasoningbank.memories.standing import speaker

        name, now = check_graph_id("id", edge_id, InvalidEdge), self._context.clock.now()
        with observed("delete_memory", store=self._context.place), self._context.store().transaction() as transaction:
            if reader == "agent" or speaker():
                edge = existing_edge(transaction, name)
                refuse_taking_away(edge, "rbank graph delete-edge")
                withdraw_edge(transaction, edge, at=now)
                return now + KEPT_FOR
            if is_kept(transaction, name):
                forget(transaction, name)
                if name not in transaction.graph.edges([name]):
                    return None
            transaction.graph.delete_edge(name)
            return None

    def get(self, edge_id: str) -> Edge:
        """Return an edge, secrets removed once more.

        Args:
            edge_id: The edge.

        Raises:
            EdgeNotFound: When this project has no such edge.
        """
        from reasoningbank.graph.nodes import existing_edge
        from reasoningbank.safety.graph_text import reveal

        return reveal([existing_edge(self._context.store(), edge_id)])[0]

    def search(
        self,
        query: str,
        *,
        limit: SearchLimit = DEFAULT_SEEDS,
        tags: Iterable[str] = (),
        bm25_weight: Share = 0.5,
        dense_weight: Share = 0.5,
        fusion: str = "weighted",
        min_score: Share | None = None,
    ) -> tuple[EdgeHit, ...]:
        """Find the sentences that fit a question best; the arguments are those of ``graph.search``.

        Args:
            query: The question in words.
            limit: Most edges, 0 to 100.
            tags: Only edges with one of these tags.
            bm25_weight: The weight of the words, from 0 to 1.
            dense_weight: The weight of the meaning, from 0 to 1.
            fusion: ``weighted`` adds scores, ``rrf`` ranks.
            min_score: At least this score, from 0 to 1.

        Raises:
            EmptyQuery, NegativeLimit, InvalidInput: When an argument is not usable.
            ModelMismatch: When the bank was built with another embedder.
        """
        from reasoningbank.graph.search import asked, find_edges

        condition = GraphFilter(tags=tuple(tags))
        question = asked(query, limit, condition, bm25_weight, dense_weight, fusion=fusion, min_score=min_score)
        with observed("search_memory", store=self._context.place) as observation:
            hits, _ = find_edges(self._context.store_in_space(), self._context.embedder, question)
            observation.delivered(len(hits))
            return hits

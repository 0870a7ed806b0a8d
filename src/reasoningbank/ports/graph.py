"""The contextual graph of one scope: what a walk reads, what a store keeps and finds, what a transaction writes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from reasoningbank.domain.graph import Edge, Node
from reasoningbank.domain.graph_search import GraphFilter, GraphKind, GraphSize
from reasoningbank.domain.recall import Filter
from reasoningbank.ports.models import Vector
from reasoningbank.ports.records import LexicalMatches, Scored


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphText:
    """The text of a node or an edge whose vector is still to be made."""

    id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointer:
    """A node and a lesson that belong together: the one relation behind both ``pointers`` and ``link_nodes``."""

    node_id: str
    memory_id: str


class GraphReader(Protocol):
    """What a walk needs of a graph: two calls per level, each for many nodes at once."""

    def nodes(self, ids: Collection[str], /) -> Mapping[str, Node]:
        """The nodes of these ids that exist."""

    def edges_around(self, ids: Collection[str], /) -> Mapping[str, Sequence[Edge]]:
        """For each of these nodes every edge that starts or ends there, in the order they were stored."""


class GraphReads(GraphReader, Protocol):
    """Reads of the graph; inside a transaction they see its own writes."""

    def edges_of(self, ids: Collection[str], /) -> Sequence[Edge]:
        """Every edge that starts or ends at one of these nodes, each once, in the order they were stored."""

    def edges(self, ids: Collection[str], /) -> Mapping[str, Edge]:
        """The edges of these ids that exist."""

    def node_page(self, condition: GraphFilter, *, limit: int, offset: int = 0) -> Sequence[Node]:
        """Nodes in the order they were stored; limit 0 means all."""

    def edge_page(self, *, limit: int, offset: int = 0) -> Sequence[Edge]:
        """Edges in the order they were stored; limit 0 means all."""

    def conversation(self, conv_id: str) -> Sequence[Node]:
        """The nodes of a conversation by ``ingestion_time``, those of one time in the order they were stored."""

    def pointers(
        self, *, node_ids: Collection[str] | None = None, memory_ids: Collection[str] | None = None
    ) -> Sequence[Pointer]:
        """The links of these nodes and of these lessons, by age of the node, then of the lesson."""

    def row_ids(self, memory_ids: Collection[str], /) -> Mapping[str, int]:
        """The integer row id of each of these memories that exists; it never changes and is never given out again."""

    def at_row_ids(self, row_ids: Collection[int], /) -> Mapping[int, str]:
        """The memory at each of these row ids that has one: the inverse of ``row_ids``."""

    def graph_size(self) -> GraphSize:
        """How much there is of everything."""

    def graph_tags(self, *, limit: int = 0) -> Sequence[tuple[str, int]]:
        """Every tag of a node or an edge with how many carry it, the most frequent first, then by code point.

        Limit 0 means all.
        """

    def unembedded(self, kind: GraphKind, *, limit: int) -> Sequence[GraphText]:
        """Nodes or edges without a vector, in the order they were stored; limit 0 means all."""


class GraphWrites(Protocol):
    """Writes of the graph."""

    def put_nodes(self, nodes: Sequence[tuple[Node, str]], /) -> None:
        """Stores nodes, each with its analysed words, or replaces those of their ids: all of them or none.

        The vector of a node whose text is another than before is gone. Links to lessons stay as they are, whatever the
        nodes' ``pointers`` say.
        """

    def put_edges(self, edges: Sequence[tuple[Edge, str]], /) -> None:
        """Stores edges, each with its analysed words, or replaces those of their ids: all of them or none.

        Raises:
            NodeNotFound: When an end does not exist.
        """

    def put_graph_vectors(self, kind: GraphKind, vectors: Mapping[str, Vector], model_id: str) -> int:
        """Stores the vectors of nodes or edges that still exist, in place of those they have; returns how many.

        Raises:
            ModelMismatch: When the bank's vectors come from another model or have another dimension.
        """

    def delete_node(self, node_id: str, /) -> None:
        """Erases a node, every edge that touches it, its links to lessons and all vectors; raises NodeNotFound."""

    def delete_edge(self, edge_id: str, /) -> None:
        """Erases an edge and its vector; raises EdgeNotFound."""

    def link_node(self, pointer: Pointer, /) -> bool:
        """Stores a link; False when it is there. Raises NodeNotFound or MemoryNotFound when one end does not exist."""

    def unlink_node(self, pointer: Pointer, /) -> bool:
        """Removes a link; False when there is none."""


class GraphSearch(Protocol):
    """Finding nodes, edges and lessons."""

    def graph_nearest(self, kind: GraphKind, vector: Vector, condition: GraphFilter, limit: int) -> Sequence[Scored]:
        """The nodes or edges closest to the vector among those that meet the condition, best first.

        Raises:
            ModelMismatch: When the bank's vectors have another dimension.
        """

    def graph_matching(self, kind: GraphKind, text: str, condition: GraphFilter, limit: int) -> LexicalMatches:
        """BM25 over the analysed text of nodes or edges among those that meet the condition."""

    def matching_context(self, text: str, condition: Filter, limit: int) -> LexicalMatches:
        """BM25 over the descriptions alone, among the memories that meet the condition.

        Word counts and frequencies are those of the descriptions; ``documents`` counts the memories that have one.
        """

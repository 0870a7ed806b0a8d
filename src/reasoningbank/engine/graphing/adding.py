"""Adding nodes and edges by hand or by a program: all of them or none, and nothing twice."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from reasoningbank.domain.graph import Edge, Node
from reasoningbank.domain.graph_search import GraphAdded, GraphKind
from reasoningbank.engine.graphing.indexing import AT_ONCE, embedded, words
from reasoningbank.errors import InvalidEdge, InvalidNode
from reasoningbank.memories.admission import admit_edges, admit_nodes, check_items
from reasoningbank.ports import Embedder, GraphText, Transaction, Vector

_Item = TypeVar("_Item", Node, Edge)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """Nodes and edges that may be stored, and the vectors of them when they are few."""

    nodes: Sequence[Node]
    edges: Sequence[Edge]
    vectors: Mapping[GraphKind, Mapping[str, Vector]]
    model_id: str


def prepared(nodes: Sequence[Node], edges: Sequence[Edge], embedder: Embedder) -> Prepared:
    """Admits and embeds nodes and edges, before any transaction.

    Raises:
        InvalidNode, InvalidEdge: When two of them have one id, a rule is broken, or one looks like a prompt injection.
    """
    kept_nodes, kept_edges = _once(check_items(nodes), InvalidNode), _once(check_items(edges), InvalidEdge)
    vectors: dict[GraphKind, Mapping[str, Vector]] = {}
    if len(kept_nodes) + len(kept_edges) <= AT_ONCE:
        vectors["node"] = embedded([GraphText(id=each.id, text=each.text) for each in kept_nodes], embedder)
        vectors["edge"] = embedded([GraphText(id=each.id, text=each.text) for each in kept_edges], embedder)
    return Prepared(nodes=kept_nodes, edges=kept_edges, vectors=vectors, model_id=embedder.model_id)


def add(transaction: Transaction, ready: Prepared) -> GraphAdded:
    """Stores what is not there yet.

    Raises:
        InvalidNode, InvalidEdge: When an id stands for something else in the bank.
        NodeNotFound: When an end of an edge does not exist.
    """
    known_nodes = transaction.nodes([node.id for node in ready.nodes])
    known_edges = transaction.edges([edge.id for edge in ready.edges])
    for node in ready.nodes:
        if node.id in known_nodes and _node_says(known_nodes[node.id]) != _node_says(node):
            raise InvalidNode(
                f"id: node {node.id[:80]!r} exists with other contents", hint="Update it, or use another id."
            )
    for edge in ready.edges:
        if edge.id in known_edges and _edge_says(known_edges[edge.id]) != _edge_says(edge):
            raise InvalidEdge(
                f"id: edge {edge.id[:80]!r} exists with other contents", hint="Update it, or use another id."
            )
    new_nodes = [node for node in ready.nodes if node.id not in known_nodes]
    new_edges = [edge for edge in ready.edges if edge.id not in known_edges]
    admit_nodes(transaction, [(node, words(node)) for node in new_nodes])
    admit_edges(transaction, [(edge, words(edge)) for edge in new_edges])
    new = [*(node.id for node in new_nodes), *(edge.id for edge in new_edges)]
    known: Mapping[GraphKind, Collection[str]] = {"node": known_nodes.keys(), "edge": known_edges.keys()}
    for kind, there in known.items():
        fresh = {name: vector for name, vector in ready.vectors.get(kind, {}).items() if name not in there}
        transaction.put_graph_vectors(kind, fresh, ready.model_id)
    nodes = transaction.nodes([node.id for node in ready.nodes])
    edges = transaction.edges([edge.id for edge in ready.edges])
    return GraphAdded(
        nodes=tuple(nodes[node.id] for node in ready.nodes),
        edges=tuple(edges[edge.id] for edge in ready.edges),
        new=tuple(new),
    )


def _once(items: Sequence[_Item], error: type[InvalidNode] | type[InvalidEdge]) -> Sequence[_Item]:
    """The items, when no two have one id."""
    seen: set[str] = set()
    for item in items:
        if item.id in seen:
            raise error(f"id: {item.id[:80]!r} is given twice")
        seen.add(item.id)
    return items


def _node_says(node: Node) -> tuple[object, ...]:
    return (node.label, node.text, node.conv_id, frozenset(node.tags), dict(node.fields))


def _edge_says(edge: Edge) -> tuple[object, ...]:
    return (edge.source, edge.target, edge.text, edge.weight, frozenset(edge.tags))

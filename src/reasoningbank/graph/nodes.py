"""Add nodes and edges, all of them or none, and derive their words and vectors."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from reasoningbank.errors import EdgeNotFound, InvalidEdge, InvalidNode, ModelMismatch, NodeNotFound
from reasoningbank.memories.admission import Passed, admit_edges, admit_nodes, check_items
from reasoningbank.memories.words import analyse
from reasoningbank.storage.graph_tables import GraphText
from reasoningbank.storage.store import Store, StoreReader, Transaction
from reasoningbank.types.graph import Edge, Node, check_graph_id
from reasoningbank.types.graph_search import GRAPH_KINDS, GraphAdded, GraphKind
from reasoningbank.types.ports import Embedder, Vector
from reasoningbank.types.records import Job
from reasoningbank.types.standing import rank_of

if TYPE_CHECKING:
    from reasoningbank.context import Context
    from reasoningbank.jobs.worker import Handler

EMBED = "graph_embed"
"""The kind of job that makes the vectors of nodes and edges that have none."""
EMBED_KEY = "pending"
AT_ONCE = 256
"""Up to so many vectors are made before a write returns: two to five seconds of one core with the shipped model."""
_BATCH = 64


def words(item: Node | Edge) -> str:
    """Return the analysed words of a node or an edge: of its text and tags, of a node's special fields too."""
    parts = [item.text, " ".join(item.tags)]
    if isinstance(item, Node):
        parts += [" ".join(value) if isinstance(value, tuple) else value for value in item.fields.values()]
    return " ".join(part for part in map(analyse, parts) if part)


def embedded(texts: Sequence[GraphText], embedder: Embedder) -> dict[str, Vector]:
    """Return the vector of each text by the id of its node or edge."""
    found: dict[str, Vector] = {}
    for start in range(0, len(texts), _BATCH):
        batch = texts[start : start + _BATCH]
        vectors = embedder.embed_documents([each.text for each in batch])
        found |= {each.id: vector for each, vector in zip(batch, vectors, strict=True)}
    return found


def embed_pending(store: Store, embedder: Embedder, *, limit: int = 0) -> int:
    """Make missing vectors, nodes before edges, in transactions of their own; return how many were stored.

    Args:
        store: Where they are missing.
        embedder: Makes them; must be of the bank's vector space.
        limit: At most so many; 0 means all.

    Raises:
        ModelMismatch: When the bank's vectors come from another model.
    """
    if store.model_id not in {None, embedder.model_id}:
        raise ModelMismatch(f"the bank's vectors come from {store.model_id}, the embedder is {embedder.model_id}")
    made = 0
    for kind in GRAPH_KINDS:
        for batch in _pending(store, kind):
            wanted = batch[: limit - made] if limit else batch
            if not wanted:
                return made
            vectors = embedded(wanted, embedder)
            with store.transaction() as transaction:
                current = transaction.graph.nodes(vectors) if kind == "node" else transaction.graph.edges(vectors)
                same = {
                    each.id: vectors[each.id]
                    for each in wanted
                    if each.id in current and current[each.id].text == each.text
                }
                made += transaction.graph.put_graph_vectors(kind, same, embedder.model_id)
    return made


def note_pending(transaction: Transaction, *, at: datetime) -> None:
    """Queue making the vectors that nodes and edges lack."""
    if transaction.graph.graph_size().pending:
        transaction.jobs.enqueue(Job(kind=EMBED, key=EMBED_KEY, due=at))


def embed_few(store: Store, embedder: Embedder, *, at: datetime) -> int:
    """Make the missing vectors when they are few; return how many are left to the background."""
    pending = store.graph.graph_size().pending
    if 0 < pending <= AT_ONCE:
        embed_pending(store, embedder)
        pending = store.graph.graph_size().pending
        if not pending:
            with store.transaction() as transaction:
                transaction.jobs.finish(Job(kind=EMBED, key=EMBED_KEY, due=at))
    return pending


class GraphVectors:
    """Make the vectors of nodes and edges in the background."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def handlers(self) -> Mapping[str, Handler]:
        """Return the function that does each kind of job."""
        return {EMBED: self._embed_job}

    def queue_due(self) -> None:
        """Queue making the vectors that nodes and edges lack."""
        store = self._context.store()
        if store.model_id in {None, self._context.embedder.model_id} and store.graph.graph_size().pending:
            with store.transaction() as transaction:
                note_pending(transaction, at=self._context.clock.now())

    def _embed_job(self, job: Job) -> None:  # noqa: ARG002 - there is one per bank
        """Make the vectors of nodes and edges that have none."""
        embed_pending(self._context.store(), self._context.embedder)


def _pending(store: Store, kind: GraphKind) -> Iterator[Sequence[GraphText]]:
    """Yield batches of what has no vector yet, until there is none; what cannot get one is not asked for again."""
    tried: set[str] = set()
    while True:
        batch = store.graph.unembedded(kind, limit=_BATCH)
        fresh = [each for each in batch if each.id not in tried]
        if not fresh:
            return
        tried.update(each.id for each in fresh)
        yield fresh


def existing_node(reader: StoreReader, node_id: str) -> Node:
    """Return the node of an id; raises NodeNotFound."""
    found = reader.graph.nodes([check_graph_id("id", node_id)]).get(node_id)
    if found is None:
        raise NodeNotFound(f"no node {node_id[:80]!r} in this project's graph")
    return found


def existing_edge(reader: StoreReader, edge_id: str) -> Edge:
    """Return the edge of an id; raises EdgeNotFound."""
    found = reader.graph.edges([check_graph_id("id", edge_id, InvalidEdge)]).get(edge_id)
    if found is None:
        raise EdgeNotFound(f"no edge {edge_id[:80]!r} in this project's graph")
    return found


_Item = TypeVar("_Item", Node, Edge)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedGraph:
    """Nodes and edges that the gate has let through, and the vectors of them when they are few."""

    nodes: Sequence[Node]
    edges: Sequence[Edge]
    vectors: Mapping[GraphKind, Mapping[str, Vector]]
    model_id: str


def prepared(
    nodes: Sequence[Node], edges: Sequence[Edge], embedder: Embedder, *, entry: Mapping[str, str]
) -> PreparedGraph:
    """Admit and embed nodes and edges, before any transaction.

    Args:
        nodes: The nodes to be stored.
        edges: The edges to be stored.
        embedder: Makes the vectors.
        entry: The provenance that each of them gets, whatever it says itself.

    Raises:
        InvalidNode, InvalidEdge: When two of them have one id, a rule is broken, or one looks like a prompt injection.
    """
    kept_nodes = [replace(node, provenance=entry) for node in _once(check_items(nodes), InvalidNode)]
    kept_edges = [replace(edge, provenance=entry) for edge in _once(check_items(edges), InvalidEdge)]
    vectors: dict[GraphKind, Mapping[str, Vector]] = {}
    if len(kept_nodes) + len(kept_edges) <= AT_ONCE:
        vectors["node"] = embedded([GraphText(id=each.id, text=each.text) for each in kept_nodes], embedder)
        vectors["edge"] = embedded([GraphText(id=each.id, text=each.text) for each in kept_edges], embedder)
    return PreparedGraph(nodes=kept_nodes, edges=kept_edges, vectors=vectors, model_id=embedder.model_id)


def add(transaction: Transaction, ready: PreparedGraph) -> GraphAdded:
    """Store what is not there yet; what a person says again that was a claim stands as high as what a person says.

    Raises:
        InvalidNode, InvalidEdge: When an id stands for something else in the bank.
        NodeNotFound: When an end of an edge does not exist.
    """
    known_nodes = transaction.graph.nodes([node.id for node in ready.nodes])
    known_edges = transaction.graph.edges([edge.id for edge in ready.edges])
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
    said_nodes = [_raised(known_nodes[node.id], node) for node in ready.nodes if node.id in known_nodes]
    said_edges = [_raised(known_edges[edge.id], edge) for edge in ready.edges if edge.id in known_edges]
    passed = Passed([*ready.nodes, *ready.edges])
    nodes_now = [*new_nodes, *(node for node in said_nodes if node != known_nodes[node.id])]
    edges_now = [*new_edges, *(edge for edge in said_edges if edge != known_edges[edge.id])]
    admit_nodes(transaction, [(node, words(node)) for node in nodes_now], passed=passed)
    admit_edges(transaction, [(edge, words(edge)) for edge in edges_now], passed=passed)
    new = [*(node.id for node in new_nodes), *(edge.id for edge in new_edges)]
    known: Mapping[GraphKind, Collection[str]] = {"node": known_nodes.keys(), "edge": known_edges.keys()}
    for kind, there in known.items():
        fresh = {name: vector for name, vector in ready.vectors.get(kind, {}).items() if name not in there}
        transaction.graph.put_graph_vectors(kind, fresh, ready.model_id)
    nodes = transaction.graph.nodes([node.id for node in ready.nodes])
    edges = transaction.graph.edges([edge.id for edge in ready.edges])
    return GraphAdded(
        nodes=tuple(nodes[node.id] for node in ready.nodes),
        edges=tuple(edges[edge.id] for edge in ready.edges),
        new=tuple(new),
    )


def _raised(known: _Item, said: _Item) -> _Item:
    """Return what the bank holds with the provenance of who says the same now, when that stands higher."""
    higher = rank_of(said.standing) > rank_of(known.standing)
    return replace(known, provenance=said.provenance) if higher else known


def _once(items: Sequence[_Item], error: type[InvalidNode] | type[InvalidEdge]) -> Sequence[_Item]:
    """Return the items, when no two have one id."""
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

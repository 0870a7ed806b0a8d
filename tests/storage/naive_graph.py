"""The naive model's graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC

from reasoningbank.errors import EdgeNotFound, NodeNotFound
from reasoningbank.storage.graph_tables import GraphText, Pointer
from reasoningbank.types.graph import Edge, Node
from reasoningbank.types.graph_search import GraphFilter, GraphKind, GraphSize
from reasoningbank.types.ports import Vector
from reasoningbank.types.records import LexicalMatches, Scored
from storage.naive_state import NaiveState, check_text, product
from storage.naive_words import best_matches


class NaiveGraph(NaiveState):
    """Nodes, edges and their links with memories."""

    def nodes(self, ids: Collection[str], /) -> Mapping[str, Node]:
        return {name: self._shown(name) for name in self.node_rows if name in ids}

    def edges(self, ids: Collection[str], /) -> Mapping[str, Edge]:
        return {name: edge for name, edge in self.edge_rows.items() if name in ids}

    def edges_of(self, ids: Collection[str], /) -> Sequence[Edge]:
        return [edge for edge in self.edge_rows.values() if edge.source in ids or edge.target in ids]

    def edges_around(self, ids: Collection[str], /) -> Mapping[str, Sequence[Edge]]:
        return {name: self.edges_of([name]) for name in ids}

    def node_page(self, condition: GraphFilter, *, limit: int, offset: int = 0) -> Sequence[Node]:
        met = [self._shown(name) for name, node in self.node_rows.items() if condition.accepts(node)]
        return met[offset : offset + limit] if limit else met[offset:]

    def edge_page(self, *, limit: int, offset: int = 0) -> Sequence[Edge]:
        found = list(self.edge_rows.values())
        return found[offset : offset + limit] if limit else found[offset:]

    def conversation(self, conv_id: str) -> Sequence[Node]:
        found = [self._shown(name) for name, node in self.node_rows.items() if conv_id and node.conv_id == conv_id]
        return sorted(found, key=lambda node: node.ingestion_time)

    def pointers(
        self, *, node_ids: Collection[str] | None = None, memory_ids: Collection[str] | None = None
    ) -> Sequence[Pointer]:
        ages = list(self.node_rows)
        found = [
            pointer
            for pointer in self.pointed
            if (node_ids is None or pointer.node_id in node_ids)
            and (memory_ids is None or pointer.memory_id in memory_ids)
        ]
        return sorted(found, key=lambda pointer: (ages.index(pointer.node_id), self.numbers[pointer.memory_id]))

    def row_ids(self, memory_ids: Collection[str], /) -> Mapping[str, int]:
        return {name: self.numbers[name] for name in memory_ids if name in self.numbers}

    def at_row_ids(self, row_ids: Collection[int], /) -> Mapping[int, str]:
        return {number: name for name, number in self.numbers.items() if number in row_ids}

    def graph_size(self) -> GraphSize:
        nodes, edges = len(self.node_rows), len(self.edge_rows)
        pending = nodes + edges - len(self.graph_vectors)
        return GraphSize(nodes=nodes, edges=edges, pointers=len(self.pointed), pending=pending)

    def graph_tags(self, *, limit: int = 0) -> Sequence[tuple[str, int]]:
        counts = Counter(tag for kind in ("node", "edge") for item in self._items(kind).values() for tag in item.tags)
        ranked = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
        return ranked[:limit] if limit else ranked

    def unembedded(self, kind: GraphKind, *, limit: int) -> Sequence[GraphText]:
        found = [
            GraphText(id=name, text=item.text)
            for name, item in self._items(kind).items()
            if (kind, name) not in self.graph_vectors
        ]
        return found[:limit] if limit else found

    def graph_nearest(self, kind: GraphKind, vector: Vector, condition: GraphFilter, limit: int) -> Sequence[Scored]:
        self.check_query(vector)
        scored = [
            Scored(id=name, score=product(self.graph_vectors[kind, name], vector))
            for name, item in self._items(kind).items()
            if condition.accepts(item) and (kind, name) in self.graph_vectors
        ]
        return sorted(scored, key=lambda each: -each.score)[: max(0, limit)]

    def graph_matching(self, kind: GraphKind, text: str, condition: GraphFilter, limit: int) -> LexicalMatches:
        items = self._items(kind)
        texts = {name: self.graph_words[kind, name] for name in items}
        return best_matches(texts, text, {name for name, item in items.items() if condition.accepts(item)}, limit)

    def put_nodes(self, nodes: Sequence[tuple[Node, str]], /) -> None:
        check_text(text for node, _ in nodes for text in (node.text, *node.tags))
        for node, words in nodes:
            self._keep_words("node", node, words)
            self.node_rows[node.id] = replace(
                node,
                fields=dict(node.fields),
                pointers=(),
                ingestion_time=node.ingestion_time.astimezone(UTC),
                update_time=node.updated_at.astimezone(UTC),
            )

    def put_edges(self, edges: Sequence[tuple[Edge, str]], /) -> None:
        for edge, _ in edges:
            self._check_node(edge.source)
            self._check_node(edge.target)
        for edge, words in edges:
            self._keep_words("edge", edge, words)
            self.edge_rows[edge.id] = replace(edge, created_time=edge.created_time.astimezone(UTC))

    def put_graph_vectors(self, kind: GraphKind, vectors: Mapping[str, Vector], model_id: str) -> int:
        known = {name: vector for name, vector in vectors.items() if name in self._items(kind)}
        rows = self.fit(known.values(), model_id)
        self.note_space(rows, model_id)
        self.graph_vectors.update({(kind, name): row for name, row in zip(known, rows, strict=True)})
        return len(known)

    def delete_node(self, node_id: str, /) -> None:
        self._check_node(node_id)
        for edge in self.edges_of([node_id]):
            self.delete_edge(edge.id)
        del self.node_rows[node_id], self.graph_words["node", node_id]
        self.graph_vectors.pop(("node", node_id), None)
        self.pointed = {pointer for pointer in self.pointed if pointer.node_id != node_id}

    def delete_edge(self, edge_id: str, /) -> None:
        if edge_id not in self.edge_rows:
            raise EdgeNotFound(edge_id)
        del self.edge_rows[edge_id], self.graph_words["edge", edge_id]
        self.graph_vectors.pop(("edge", edge_id), None)

    def link_node(self, pointer: Pointer, /) -> bool:
        new = self._ends(pointer) not in self.pointed
        self.pointed.add(pointer)
        return new

    def unlink_node(self, pointer: Pointer, /) -> bool:
        there = self._ends(pointer) in self.pointed
        self.pointed.discard(pointer)
        return there

    def _ends(self, pointer: Pointer) -> Pointer:
        self._check_node(pointer.node_id)
        self.get(pointer.memory_id)
        return pointer

    def _check_node(self, node_id: str) -> None:
        if node_id not in self.node_rows:
            raise NodeNotFound(node_id)

    def _items(self, kind: str) -> Mapping[str, Node] | Mapping[str, Edge]:
        return self.node_rows if kind == "node" else self.edge_rows

    def _keep_words(self, kind: GraphKind, item: Node | Edge, words: str) -> None:
        earlier = self._items(kind).get(item.id)
        self.graph_words[kind, item.id] = words.lower().split()
        if earlier is not None and earlier.text != item.text:
            self.graph_vectors.pop((kind, item.id), None)

    def _shown(self, name: str) -> Node:
        """The node with the row ids of its memories."""
        numbers = sorted(self.numbers[pointer.memory_id] for pointer in self.pointed if pointer.node_id == name)
        return replace(self.node_rows[name], pointers=tuple(map(str, numbers)))

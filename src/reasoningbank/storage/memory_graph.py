"""The contextual graph of a bank in memory: each write checks first, then changes."""

from __future__ import annotations

from abc import ABC
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

import numpy

from reasoningbank.domain.graph import Edge, Node
from reasoningbank.domain.graph_search import GRAPH_KINDS, GraphFilter, GraphKind, GraphSize
from reasoningbank.domain.recall import Filter
from reasoningbank.errors import EdgeNotFound, InvalidInput, ModelMismatch, NodeNotFound
from reasoningbank.ports import GraphText, LexicalMatches, Pointer, Scored, Vector
from reasoningbank.storage.bm25 import best_matches
from reasoningbank.storage.memory_contents import Contents, MemoryReads, check_text
from reasoningbank.storage.rows import from_microseconds, to_microseconds
from reasoningbank.storage.vectors import unit_vector


class MemoryGraphReads(MemoryReads, ABC):
    """The StoreReader port with everything about the graph."""

    def nodes(self, ids: Collection[str], /) -> Mapping[str, Node]:
        contents, wanted = self.contents, set(ids)
        return {name: _shown(contents, name) for name in contents.nodes if name in wanted}

    def edges_of(self, ids: Collection[str], /) -> Sequence[Edge]:
        wanted = set(ids)
        return [edge for edge in self.contents.edges.values() if edge.source in wanted or edge.target in wanted]

    def edges_around(self, ids: Collection[str], /) -> Mapping[str, Sequence[Edge]]:
        edges = self.contents.edges.values()
        return {name: [edge for edge in edges if name in (edge.source, edge.target)] for name in ids}

    def edges(self, ids: Collection[str], /) -> Mapping[str, Edge]:
        wanted = set(ids)
        return {name: edge for name, edge in self.contents.edges.items() if name in wanted}

    def node_page(self, condition: GraphFilter, *, limit: int, offset: int = 0) -> Sequence[Node]:
        contents = self.contents
        met = [_shown(contents, name) for name, node in contents.nodes.items() if condition.accepts(node)]
        return met[offset : offset + limit] if limit else met[offset:]

    def edge_page(self, *, limit: int, offset: int = 0) -> Sequence[Edge]:
        found = list(self.contents.edges.values())
        return found[offset : offset + limit] if limit else found[offset:]

    def conversation(self, conv_id: str) -> Sequence[Node]:
        found = [node for node in self.node_page(GraphFilter(conv_id=conv_id), limit=0) if conv_id]
        return sorted(found, key=lambda node: node.ingestion_time)

    def pointers(
        self, *, node_ids: Collection[str] | None = None, memory_ids: Collection[str] | None = None
    ) -> Sequence[Pointer]:
        contents = self.contents
        ages = {name: age for age, name in enumerate(contents.nodes)}
        found = [
            pointer
            for pointer in contents.pointers
            if (node_ids is None or pointer.node_id in node_ids)
            and (memory_ids is None or pointer.memory_id in memory_ids)
        ]
        return sorted(found, key=lambda pointer: (ages[pointer.node_id], contents.row_ids[pointer.memory_id]))

    def row_ids(self, memory_ids: Collection[str], /) -> Mapping[str, int]:
        known = self.contents.row_ids
        return {name: known[name] for name in memory_ids if name in known}

    def at_row_ids(self, row_ids: Collection[int], /) -> Mapping[int, str]:
        return {number: name for name, number in self.contents.row_ids.items() if number in set(row_ids)}

    def graph_size(self) -> GraphSize:
        contents = self.contents
        vectors = sum(len(rows) for rows in contents.graph_vectors.values())
        nodes, edges = len(contents.nodes), len(contents.edges)
        return GraphSize(nodes=nodes, edges=edges, pointers=len(contents.pointers), pending=nodes + edges - vectors)

    def graph_tags(self, *, limit: int = 0) -> Sequence[tuple[str, int]]:
        items: list[Node | Edge] = [*self.contents.nodes.values(), *self.contents.edges.values()]
        counts = Counter(tag for item in items for tag in item.tags)
        ranked = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
        return ranked[:limit] if limit else ranked

    def unembedded(self, kind: GraphKind, *, limit: int) -> Sequence[GraphText]:
        contents = self.contents
        items: Mapping[str, Node] | Mapping[str, Edge] = contents.nodes if kind == "node" else contents.edges
        vectors = contents.graph_vectors.get(kind, {})
        found = [GraphText(id=name, text=each.text) for name, each in items.items() if name not in vectors]
        return found[:limit] if limit else found

    def graph_nearest(self, kind: GraphKind, vector: Vector, condition: GraphFilter, limit: int) -> Sequence[Scored]:
        contents = self.contents
        if not bool(numpy.isfinite(vector).all()):
            raise InvalidInput("a vector holds a value that is not a finite number")
        if contents.model is not None and contents.model[1] != len(vector):
            raise ModelMismatch(f"the bank's vectors have {contents.model[1]} dimensions, the query's {len(vector)}")
        rows = contents.graph_vectors.get(kind, {})
        query = vector.astype(numpy.float64)
        scored = [
            Scored(id=name, score=float(rows[name].astype(numpy.float64) @ query))
            for name in _accepted(contents, kind, condition)
            if name in rows
        ]
        return sorted(scored, key=lambda each: -each.score)[: max(0, limit)]

    def graph_matching(self, kind: GraphKind, text: str, condition: GraphFilter, limit: int) -> LexicalMatches:
        contents = self.contents
        items: Mapping[str, Node] | Mapping[str, Edge] = contents.nodes if kind == "node" else contents.edges
        texts = {name: contents.graph_words[kind][name] for name in items}
        return best_matches(texts, text, set(_accepted(contents, kind, condition)), limit)

    def matching_context(self, text: str, condition: Filter, limit: int) -> LexicalMatches:
        contents = self.contents
        texts: dict[str, Sequence[str]] = {}
        for name in contents.memories:
            start, count = contents.contexts.get(name, (0, 0))
            if count:
                texts[name] = contents.words[name][start : start + count]
        allowed = {memory.id for memory in contents.memories.values() if condition.accepts(memory)}
        return best_matches(texts, text, allowed, limit)


class MemoryGraphWrites(MemoryGraphReads, ABC):
    """The Transaction port with everything about the graph."""

    def put_nodes(self, nodes: Sequence[tuple[Node, str]], /) -> None:
        contents = self.contents
        for node, _ in nodes:
            check_text((node.text, *node.tags))
        for node, words in nodes:
            kept = replace(
                node,
                fields=dict(node.fields),
                pointers=(),
                ingestion_time=_own(node.ingestion_time),
                update_time=_own(node.updated_at),
            )
            self._keep_words("node", node.id, contents.nodes.get(node.id), node.text, words)
            contents.nodes[node.id] = kept

    def put_edges(self, edges: Sequence[tuple[Edge, str]], /) -> None:
        contents = self.contents
        for edge, _ in edges:
            for end in (edge.source, edge.target):
                self._check_node(end)
        for edge, words in edges:
            self._keep_words("edge", edge.id, contents.edges.get(edge.id), edge.text, words)
            contents.edges[edge.id] = replace(edge, weight=float(edge.weight), created_time=_own(edge.created_time))

    def put_graph_vectors(self, kind: GraphKind, vectors: Mapping[str, Vector], model_id: str) -> int:
        contents = self.contents
        if not model_id:
            raise InvalidInput("a vector needs the name of its model")
        rows = {name: unit_vector(vector) for name, vector in vectors.items()}
        if len({len(row) for row in rows.values()}) > 1:
            raise ModelMismatch("the vectors of one graph have different dimensions")
        items: Mapping[str, Node] | Mapping[str, Edge] = contents.nodes if kind == "node" else contents.edges
        kept = {name: row for name, row in rows.items() if name in items}
        for row in kept.values():
            contents.check_space(model_id, len(row))
        for name, row in kept.items():
            row.flags.writeable = False
            contents.model = (model_id, len(row))
            contents.graph_vectors.setdefault(kind, {})[name] = row
        return len(kept)

    def delete_node(self, node_id: str, /) -> None:
        contents = self.contents
        self._check_node(node_id)
        for edge in self.edges_of([node_id]):
            self.delete_edge(edge.id)
        del contents.nodes[node_id], contents.graph_words["node"][node_id]
        contents.graph_vectors.get("node", {}).pop(node_id, None)
        contents.pointers = {pointer for pointer in contents.pointers if pointer.node_id != node_id}

    def delete_edge(self, edge_id: str, /) -> None:
        contents = self.contents
        if edge_id not in contents.edges:
            raise EdgeNotFound(f"no edge {edge_id[:80]!r} in project {contents.project[:80]!r}")
        del contents.edges[edge_id], contents.graph_words["edge"][edge_id]
        contents.graph_vectors.get("edge", {}).pop(edge_id, None)

    def link_node(self, pointer: Pointer, /) -> bool:
        contents = self.contents
        self._check_node(pointer.node_id)
        contents.memory(pointer.memory_id)
        if pointer in contents.pointers:
            return False
        contents.pointers.add(pointer)
        return True

    def unlink_node(self, pointer: Pointer, /) -> bool:
        contents = self.contents
        self._check_node(pointer.node_id)
        contents.memory(pointer.memory_id)
        if pointer not in contents.pointers:
            return False
        contents.pointers.discard(pointer)
        return True

    def _check_node(self, node_id: str) -> None:
        if node_id not in self.contents.nodes:
            raise NodeNotFound(f"no node {node_id[:80]!r} in project {self.contents.project[:80]!r}")

    def _keep_words(self, kind: GraphKind, name: str, earlier: Node | Edge | None, text: str, words: str) -> None:
        contents = self.contents
        contents.graph_words.setdefault(kind, {})[name] = tuple(words.lower().split())
        if earlier is not None and earlier.text != text:
            contents.graph_vectors.get(kind, {}).pop(name, None)


def graph_problems(contents: Contents) -> list[str]:
    """What does not belong together."""
    problems = [
        f"edge {edge.id!r} is dangling: a node at its end is gone"
        for edge in contents.edges.values()
        if edge.source not in contents.nodes or edge.target not in contents.nodes
    ]
    problems += [
        f"a link of a node and a lesson is dangling: {pointer.node_id!r}, {pointer.memory_id!r}"
        for pointer in contents.pointers
        if pointer.node_id not in contents.nodes or pointer.memory_id not in contents.memories
    ]
    for kind in GRAPH_KINDS:
        items: Mapping[str, Node] | Mapping[str, Edge] = contents.nodes if kind == "node" else contents.edges
        problems += [f"{kind} {name!r} has no text index" for name in items if name not in contents.graph_words[kind]]
        problems += [
            f"the vector of {kind} {name!r} belongs to nothing"
            for name in contents.graph_vectors.get(kind, {})
            if name not in items
        ]
    return problems


def _shown(contents: Contents, name: str) -> Node:
    """The node with the row ids of its lessons."""
    numbers = sorted(contents.row_ids[each.memory_id] for each in contents.pointers if each.node_id == name)
    return replace(contents.nodes[name], pointers=tuple(map(str, numbers)))


def _accepted(contents: Contents, kind: GraphKind, condition: GraphFilter) -> list[str]:
    items: Mapping[str, Node] | Mapping[str, Edge] = contents.nodes if kind == "node" else contents.edges
    return [name for name, each in items.items() if condition.accepts(each)]


def _own(moment: datetime) -> datetime:
    """The time as a row keeps it: in UTC."""
    return from_microseconds(to_microseconds(moment))

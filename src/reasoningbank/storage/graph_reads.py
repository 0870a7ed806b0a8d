"""Everything that can be read of the contextual graph from one bank file."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import cast

from reasoningbank.storage.graph_rows import (
    EDGE_COLUMNS,
    EDGE_COUNT,
    EDGES_FROM,
    NODE_COLUMNS,
    NODE_COUNT,
    TABLE,
    edge_from,
    filter_sql,
    items,
    node_from,
)
from reasoningbank.storage.learning_rows import proven
from reasoningbank.storage.reads import Reads
from reasoningbank.storage.rows import Row, Value
from reasoningbank.storage.store import GraphText, Pointer
from reasoningbank.types.graph import Edge, Node
from reasoningbank.types.graph_search import GraphFilter, GraphKind, GraphSize

_NODES = f"SELECT {NODE_COLUMNS}, checksum, key FROM graph_nodes AS g"  # noqa: S608 - constant columns
_EDGES = f"SELECT {EDGE_COLUMNS}, e.checksum FROM {EDGES_FROM}"  # noqa: S608 - constant columns
_AMONG = "(SELECT value FROM json_each(?1))"
_ROW_IDS = f"SELECT id, key FROM memories WHERE id IN {_AMONG}"  # noqa: S608 - constant clauses
_AT_ROW_IDS = f"SELECT key, id FROM memories WHERE key IN {_AMONG}"  # noqa: S608 - constant clauses
_LINKED = f"SELECT node, memory, checksum FROM graph_pointers WHERE node IN {_AMONG} ORDER BY memory"  # noqa: S608
TOUCHING_KEYS = f"""
SELECT key FROM graph_edges WHERE source IN (SELECT key FROM graph_nodes WHERE id IN {_AMONG})
UNION SELECT key FROM graph_edges WHERE target IN (SELECT key FROM graph_nodes WHERE id IN {_AMONG}) ORDER BY 1
"""  # noqa: S608 - constant clauses
"""The keys of all edges that touch one of the nodes whose ids are the JSON list ?1, ascending."""
_TOUCHING = f"{_EDGES} WHERE e.key IN ({TOUCHING_KEYS}) ORDER BY e.key"


class GraphReads(Reads):
    """The reads of the Store port that concern the graph."""

    def nodes(self, ids: Collection[str], /) -> Mapping[str, Node]:
        rows = self._source.run(f"{_NODES} WHERE id IN {_AMONG}", (json.dumps(list(ids)),))
        return {node.id: node for node in self._nodes(rows)}

    def edges_of(self, ids: Collection[str], /) -> Sequence[Edge]:
        rows = self._source.run(_TOUCHING, (json.dumps(list(ids)),))
        return [edge_from(row[:EDGE_COUNT], row[EDGE_COUNT]) for row in rows]

    def edges_around(self, ids: Collection[str], /) -> Mapping[str, Sequence[Edge]]:
        return by_node(self.edges_of(ids), ids)

    def edges(self, ids: Collection[str], /) -> Mapping[str, Edge]:
        rows = self._source.run(f"{_EDGES} WHERE e.id IN {_AMONG}", (json.dumps(list(ids)),))
        return {cast(str, row[0]): edge_from(row[:EDGE_COUNT], row[EDGE_COUNT]) for row in rows}

    def node_page(self, condition: GraphFilter, *, limit: int, offset: int = 0) -> Sequence[Node]:
        where, values = filter_sql("node", condition)
        rows = self._source.run(f"{_NODES} WHERE {where} ORDER BY key LIMIT ? OFFSET ?", (*values, limit or -1, offset))
        return self._nodes(rows)

    def edge_page(self, *, limit: int, offset: int = 0) -> Sequence[Edge]:
        rows = self._source.run(f"{_EDGES} ORDER BY e.key LIMIT ? OFFSET ?", (limit or -1, offset))
        return [edge_from(row[:EDGE_COUNT], row[EDGE_COUNT]) for row in rows]

    def conversation(self, conv_id: str) -> Sequence[Node]:
        rows = self._source.run(
            f"{_NODES} WHERE conv_id = ?1 AND conv_id <> '' ORDER BY ingestion_time, key", (conv_id,)
        )
        return self._nodes(rows)

    def pointers(
        self, *, node_ids: Collection[str] | None = None, memory_ids: Collection[str] | None = None
    ) -> Sequence[Pointer]:
        clauses: list[str] = ["1"]
        values: list[Value] = []
        for clause, ids in (
            ("n.id IN (SELECT value FROM json_each(?))", node_ids),
            ("m.id IN (SELECT value FROM json_each(?))", memory_ids),
        ):
            if ids is not None:
                clauses.append(clause)
                values.append(json.dumps(list(ids)))
        rows = self._source.run(
            "SELECT p.node, p.memory, p.checksum, n.id, m.id FROM graph_pointers AS p "  # noqa: S608 - constant clauses
            "JOIN graph_nodes AS n ON n.key = p.node JOIN memories AS m ON m.key = p.memory "
            f"WHERE {' AND '.join(clauses)} ORDER BY p.node, p.memory",
            values,
        )
        found = []
        for row in rows:
            proven("a link of a node and a lesson", row[:2], row[2])
            found.append(Pointer(node_id=cast(str, row[3]), memory_id=cast(str, row[4])))
        return found

    def row_ids(self, memory_ids: Collection[str], /) -> Mapping[str, int]:
        rows = self._source.run(_ROW_IDS, (json.dumps(list(memory_ids)),))
        return {cast(str, row[0]): cast(int, row[1]) for row in rows}

    def at_row_ids(self, row_ids: Collection[int], /) -> Mapping[int, str]:
        rows = self._source.run(_AT_ROW_IDS, (json.dumps(list(row_ids)),))
        return {cast(int, row[0]): cast(str, row[1]) for row in rows}

    def graph_size(self) -> GraphSize:
        nodes, edges, pointers, vectors = (
            cast(int, self._source.run(f"SELECT count(*) FROM {table}")[0][0])  # noqa: S608 - constant tables
            for table in ("graph_nodes", "graph_edges", "graph_pointers", "graph_vectors")
        )
        return GraphSize(nodes=nodes, edges=edges, pointers=pointers, pending=nodes + edges - vectors)

    def graph_tags(self, *, limit: int = 0) -> Sequence[tuple[str, int]]:
        rows = self._source.run(
            "SELECT tag, count(*) FROM graph_tags GROUP BY tag ORDER BY count(*) DESC, tag LIMIT ?", (limit or -1,)
        )
        return [(cast(str, tag), cast(int, count)) for tag, count in rows]

    def unembedded(self, kind: GraphKind, *, limit: int) -> Sequence[GraphText]:
        rows = self._source.run(
            f"SELECT id, text FROM {TABLE[kind]} WHERE NOT EXISTS "  # noqa: S608 - constant table
            "(SELECT 1 FROM graph_vectors WHERE item = key + ?) ORDER BY key LIMIT ?",
            (items(kind)[0], limit or -1),
        )
        return [GraphText(id=cast(str, row[0]), text=cast(str, row[1])) for row in rows]

    def _nodes(self, rows: Sequence[Row]) -> list[Node]:
        keys = [row[NODE_COUNT + 1] for row in rows]
        linked = self._source.run(_LINKED, (json.dumps(keys),))
        pointers: dict[Value, list[str]] = {}
        for node, memory, stored in linked:
            proven("a link of a node and a lesson", (node, memory), stored)
            pointers.setdefault(node, []).append(str(memory))
        return [
            node_from(row[:NODE_COUNT], row[NODE_COUNT], tuple(pointers.get(row[NODE_COUNT + 1], ()))) for row in rows
        ]


def by_node(edges: Iterable[Edge], ids: Iterable[str]) -> dict[str, list[Edge]]:
    """Return for each of these nodes those of the edges that touch it, in their order."""
    around: dict[str, list[Edge]] = {name: [] for name in ids}
    for edge in edges:
        for end in (edge.source,) if edge.source == edge.target else (edge.source, edge.target):
            if end in around:
                around[end].append(edge)
    return around

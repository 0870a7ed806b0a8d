"""Everything that can be written of the contextual graph, inside one transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar, cast

from reasoningbank.errors import EdgeNotFound, InvalidInput, ModelMismatch, NodeNotFound
from reasoningbank.storage.graph_reads import GraphReads
from reasoningbank.storage.graph_rows import NODE_COLUMNS, TABLE, TEXT_INDEX, edge_row, item, node_row, window_row
from reasoningbank.storage.rows import Row, Value, checksum
from reasoningbank.storage.store import Pointer
from reasoningbank.storage.vector_search import unit_vector
from reasoningbank.storage.write_part import WritePart
from reasoningbank.types.graph import Edge, Node
from reasoningbank.types.graph_search import GraphKind
from reasoningbank.types.ports import Vector

_NODE_WRITTEN = f"{NODE_COLUMNS}, checksum, starts, ends, change, words"
_NODE_PLACES = ", ".join("?" * (_NODE_WRITTEN.count(",") + 1))
_EDGE_WRITTEN = "id, source, target, weight, created_time, tags, text, checksum, change, words"
_EDGE_PLACES = ", ".join("?" * (_EDGE_WRITTEN.count(",") + 1))
_WRITTEN: Mapping[GraphKind, tuple[str, str]] = {
    "node": (_NODE_WRITTEN, _NODE_PLACES),
    "edge": (_EDGE_WRITTEN, _EDGE_PLACES),
}
_ROWS = 128
"""Most rows that one statement stores."""
_Row = TypeVar("_Row")


class _Written(NamedTuple):
    """A node or an edge on its way into its table."""

    id: str
    text: str
    tags: tuple[str, ...]
    values: tuple[Value, ...]


class GraphWrites(GraphReads, WritePart):
    """The writes of the Transaction port that concern the graph."""

    erased: bool

    def put_nodes(self, nodes: Sequence[tuple[Node, str]], /) -> None:
        if not nodes:
            return
        with self._whole():
            change = self._note_change()
            rows = []
            for node, words in nodes:
                row = node_row(node)
                rows.append(
                    _Written(node.id, node.text, node.tags, (*row, checksum(row), *window_row(node), change, words))
                )
            self._put("node", rows)

    def put_edges(self, edges: Sequence[tuple[Edge, str]], /) -> None:
        if not edges:
            return
        with self._whole():
            change = self._note_change()
            keys = self._node_keys([end for edge, _ in edges for end in (edge.source, edge.target)])
            rows = []
            for edge, words in edges:
                row = edge_row(edge)
                values = (row[0], keys[edge.source], keys[edge.target], *row[3:], checksum(row), change, words)
                rows.append(_Written(edge.id, edge.text, edge.tags, values))
            self._put("edge", rows)

    def put_graph_vectors(self, kind: GraphKind, vectors: Mapping[str, Vector], model_id: str) -> int:
        if not model_id:
            raise InvalidInput("a vector needs the name of its model")
        rows = {name: unit_vector(vector) for name, vector in vectors.items()}
        if len({len(row) for row in rows.values()}) > 1:
            raise ModelMismatch("the vectors of one graph have different dimensions")
        stored = 0
        if not rows:
            return 0
        with self._whole():
            change = self._note_change()
            for name, row in rows.items():
                found = self._source.run(f"SELECT key FROM {TABLE[kind]} WHERE id = ?", (name,))  # noqa: S608
                if not found:
                    continue
                self._check_space(model_id, len(row))
                number, raw = item(kind, cast(int, found[0][0])), row.tobytes()
                self._source.run(
                    "INSERT OR REPLACE INTO graph_vectors VALUES (?, ?, ?, ?)",
                    (number, raw, checksum((number, raw)), change),
                )
                stored += 1
        return stored

    def delete_node(self, node_id: str, /) -> None:
        key = self._node_key(node_id)
        with self._whole():
            edges = self._source.run("SELECT key FROM graph_edges WHERE source = ?1 OR target = ?1", (key,))
            for row in edges:
                self._erase("edge", cast(int, row[0]))
            self._erase("node", key)
            self._note_erasure()
        self.erased = True

    def delete_edge(self, edge_id: str, /) -> None:
        rows = self._source.run("SELECT key FROM graph_edges WHERE id = ?", (edge_id,))
        if not rows:
            raise EdgeNotFound(f"no edge {edge_id[:80]!r} in project {self._source.project[:80]!r}")
        with self._whole():
            self._erase("edge", cast(int, rows[0][0]))
            self._note_erasure()
        self.erased = True

    def link_node(self, pointer: Pointer, /) -> bool:
        place: Row = (self._node_key(pointer.node_id), self._key(pointer.memory_id))
        if self._source.run("SELECT 1 FROM graph_pointers WHERE node = ? AND memory = ?", place):
            return False
        with self._whole():
            self._source.run("INSERT INTO graph_pointers VALUES (?, ?, ?)", (*place, checksum(place)))
            self._note_change()
        return True

    def unlink_node(self, pointer: Pointer, /) -> bool:
        place: Row = (self._node_key(pointer.node_id), self._key(pointer.memory_id))
        if not self._source.run("SELECT 1 FROM graph_pointers WHERE node = ? AND memory = ?", place):
            return False
        with self._whole():
            self._source.run("DELETE FROM graph_pointers WHERE node = ? AND memory = ?", place)
            self._note_change()
        return True

    def _put(self, kind: GraphKind, rows: Sequence[_Written]) -> None:
        """Store rows with their words and tags, in place of earlier ones of their ids."""
        ids = [row.id for row in rows]
        if len(set(ids)) < len(ids):
            for row in rows:
                self._put(kind, [row])
            return
        earlier = {
            cast(str, name): (cast(int, key), text)
            for name, key, text in self._source.run(
                f"SELECT id, key, text FROM {TABLE[kind]} WHERE id IN (SELECT value FROM json_each(?))",  # noqa: S608
                (json.dumps(ids),),
            )
        }
        fresh: list[_Written] = []
        for row in rows:
            if row.id in earlier:
                self._replace(kind, row, *earlier[row.id])
            else:
                fresh.append(row)
        if fresh:
            self._add(kind, fresh)

    def _add(self, kind: GraphKind, rows: Sequence[_Written]) -> None:
        """Store rows of new ids: many with one statement, and the words of all with one."""
        table, index = TABLE[kind], TEXT_INDEX[kind]
        columns, places = _WRITTEN[kind]
        used = self._source.run("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,))
        first = cast(int, used[0][0]) + 1 if used else 1
        keyed = list(enumerate(rows, start=first))
        for part in _parts(keyed):
            self._source.run(
                f"INSERT INTO {table} (key, {columns}) VALUES {', '.join([f'(?, {places})'] * len(part))}",  # noqa: S608
                [value for key, row in part for value in (key, *row.values)],
            )
        self._source.run(
            f"INSERT INTO {index} (rowid, words) SELECT key, words FROM {table} WHERE key >= ? ORDER BY key",  # noqa: S608
            (first,),
        )
        self._tag((tag, item(kind, key)) for key, row in keyed for tag in row.tags)

    def _replace(self, kind: GraphKind, row: _Written, key: int, text: Value) -> None:
        """Store a row in place of the one with this key and text."""
        table, index = TABLE[kind], TEXT_INDEX[kind]
        columns, places = _WRITTEN[kind]
        self._source.run(f"DELETE FROM {index} WHERE rowid = ?", (key,))  # noqa: S608 - constant table
        self._forget_tags(kind, key)
        if text != row.text:
            self._source.run("DELETE FROM graph_vectors WHERE item = ?", (item(kind, key),))
            self._note_gone(item(kind, key), gone=False)
        self._source.run(
            f"UPDATE {table} SET ({columns}) = ({places}) WHERE key = ?",  # noqa: S608 - constant columns
            (*row.values, key),
        )
        self._source.run(f"INSERT INTO {index} (rowid, words) VALUES (?, ?)", (key, row.values[-1]))  # noqa: S608
        self._tag((tag, item(kind, key)) for tag in row.tags)

    def _tag(self, tagged: Iterable[tuple[str, int]]) -> None:
        """Add tags of items to the index of tags, in the order of the index."""
        for part in _parts(sorted(tagged)):
            self._source.run(
                f"INSERT INTO graph_tags VALUES {', '.join(['(?, ?)'] * len(part))}",  # noqa: S608 - placeholders
                [value for pair in part for value in pair],
            )

    def _erase(self, kind: GraphKind, key: int) -> None:
        """Remove a row and all that is derived from it, and says so to other processes."""
        number = item(kind, key)
        self._source.run(f"DELETE FROM {TEXT_INDEX[kind]} WHERE rowid = ?", (key,))  # noqa: S608 - constant table
        self._forget_tags(kind, key)
        self._source.run("DELETE FROM graph_vectors WHERE item = ?", (number,))
        self._source.run(f"DELETE FROM {TABLE[kind]} WHERE key = ?", (key,))  # noqa: S608 - constant table
        self._note_gone(number, gone=True)

    def _note_gone(self, number: int, *, gone: bool) -> None:
        change = self._note_change()
        self._source.run("INSERT OR REPLACE INTO graph_deletions VALUES (?, ?, ?)", (number, change, int(gone)))

    def _forget_tags(self, kind: GraphKind, key: int) -> None:
        self._source.run(
            "DELETE FROM graph_tags WHERE item = ?1 AND tag IN "  # noqa: S608 - constant table
            f"(SELECT value FROM json_each((SELECT tags FROM {TABLE[kind]} WHERE key = ?2)))",
            (item(kind, key), key),
        )

    def _node_keys(self, node_ids: Sequence[str]) -> Mapping[str, int]:
        """Return the keys of nodes that must exist."""
        found = self._source.run(
            "SELECT id, key FROM graph_nodes WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(dict.fromkeys(node_ids))),),
        )
        keys = cast("dict[str, int]", dict(cast("Sequence[tuple[Value, Value]]", found)))
        missing = next((node_id for node_id in node_ids if node_id not in keys), None)
        if missing is not None:
            raise NodeNotFound(f"no node {missing[:80]!r} in project {self._source.project[:80]!r}")
        return keys

    def _node_key(self, node_id: str) -> int:
        return self._node_keys([node_id])[node_id]


def _parts(rows: Sequence[_Row]) -> Iterator[Sequence[_Row]]:
    for start in range(0, len(rows), _ROWS):
        yield rows[start : start + _ROWS]

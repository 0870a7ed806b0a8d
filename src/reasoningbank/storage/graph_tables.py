"""The contextual graph: nodes, edges, their links to lessons, and how they become rows."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar, cast

from reasoningbank.errors import BankError, EdgeNotFound, InvalidInput, ModelMismatch, NodeNotFound, StoreCorrupt
from reasoningbank.storage.failures import decoding
from reasoningbank.storage.rows import (
    ALL_ROWS,
    Mapped,
    Row,
    Value,
    checksum,
    proven,
    to_microseconds,
    upsert,
)
from reasoningbank.storage.unit import RowSource, Unit
from reasoningbank.types.graph import Edge, Node
from reasoningbank.types.graph_search import GRAPH_KINDS, GraphFilter, GraphKind, GraphSize
from reasoningbank.types.ports import Vector

NODES = Mapped(Node, "id, label, conv_id, ingestion_time, update_time, tags, fields, text", trusted=True)

EDGES = Mapped(Edge, "id, source, target, weight, created_time, tags, text", trusted=True)

EDGE_COLUMNS = "e.id, s.id, t.id, e.weight, e.created_time, e.tags, e.text"

EDGES_FROM = "graph_edges AS e JOIN graph_nodes AS s ON s.key = e.source JOIN graph_nodes AS t ON t.key = e.target"

TABLE: Mapping[GraphKind, str] = {"node": "graph_nodes", "edge": "graph_edges"}

TEXT_INDEX: Mapping[GraphKind, str] = {"node": "graph_node_text", "edge": "graph_edge_text"}

FIRST_EDGE = 2**40
"""Items below it are nodes, the others edges."""

_SELECT_NODES = f"SELECT {NODES.columns}, checksum, key FROM graph_nodes AS g"  # noqa: S608 - constant columns

_SELECT_EDGES = f"SELECT {EDGE_COLUMNS}, e.checksum FROM {EDGES_FROM}"  # noqa: S608 - constant columns

_AMONG = "(SELECT value FROM json_each(?))"

_ROW_IDS = f"SELECT id, key FROM memories WHERE id IN {_AMONG}"  # noqa: S608 - constant clauses

_AT_ROW_IDS = f"SELECT key, id FROM memories WHERE key IN {_AMONG}"  # noqa: S608 - constant clauses

_LINKED = f"SELECT node, memory, checksum FROM graph_pointers WHERE node IN {_AMONG} ORDER BY memory"  # noqa: S608

TOUCHING_KEYS = f"""
SELECT key FROM graph_edges WHERE source IN (SELECT key FROM graph_nodes WHERE id IN {_AMONG})
UNION SELECT key FROM graph_edges WHERE target IN (SELECT key FROM graph_nodes WHERE id IN {_AMONG}) ORDER BY 1
"""  # noqa: S608 - constant clauses
"""The keys of all edges that touch one of the nodes whose ids are the JSON list, given twice, ascending."""

_TOUCHING = f"{_SELECT_EDGES} WHERE e.key IN ({TOUCHING_KEYS}) ORDER BY e.key"

_NODE_WRITTEN = f"{NODES.columns}, checksum, starts, ends, change, words"

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

_BATCH = 500

_DANGLING = (
    (
        "SELECT id FROM graph_edges WHERE source NOT IN (SELECT key FROM graph_nodes) "
        "OR target NOT IN (SELECT key FROM graph_nodes)",
        "edge {!r} is dangling: a node at its end is gone",
    ),
    (
        "SELECT node FROM graph_pointers WHERE node NOT IN (SELECT key FROM graph_nodes)",
        "a link of a lesson is dangling: node number {!r} is gone",
    ),
    (
        "SELECT memory FROM graph_pointers WHERE memory NOT IN (SELECT key FROM memories)",
        "a link of a node is dangling: memory number {!r} is gone",
    ),
)

_TORN = (
    ("SELECT id FROM {table} WHERE key NOT IN (SELECT id FROM {index}_docsize)", "{kind} {!r} has no text index"),
    (
        "SELECT item FROM graph_vectors WHERE item >= {first} AND item < {end} "
        "AND item - {first} NOT IN (SELECT key FROM {table})",
        "the vector of {kind} number {!r} belongs to nothing",
    ),
    (
        "SELECT DISTINCT g.id FROM {table} AS g, json_each(g.tags) AS t "
        "WHERE NOT EXISTS (SELECT 1 FROM graph_tags WHERE tag = t.value AND item = g.key + {first})",
        "a tag of {kind} {!r} is not in the index of tags",
    ),
    (
        "SELECT tag FROM graph_tags AS x WHERE item >= {first} AND item < {end} AND NOT EXISTS "
        "(SELECT 1 FROM {table} AS g, json_each(g.tags) AS t WHERE g.key = x.item - {first} AND t.value = x.tag)",
        "the index of tags says {!r} of a {kind} that does not carry it",
    ),
)


class _Written(NamedTuple):
    """A node or an edge on its way into its table."""

    id: str
    text: str
    tags: tuple[str, ...]
    values: tuple[Value, ...]


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
        """Return the nodes of these ids that exist."""

    def edges_around(self, ids: Collection[str], /) -> Mapping[str, Sequence[Edge]]:
        """Return for each of these nodes every edge that starts or ends there, in the order they were stored."""


class GraphTables:
    """Nodes, edges, links and tags.

    Args:
        source: Where the rows come from.
        unit: The transaction that writes; outside of one every write is refused.
        walked: Answers what walks ask in place of the source.
    """

    def __init__(self, source: RowSource, unit: Unit, walked: GraphReader | None = None) -> None:
        self._source = source
        self._unit = unit
        self._walked = walked

    def nodes(self, ids: Collection[str], /) -> Mapping[str, Node]:
        """Return the nodes of these ids that exist."""
        if self._walked is not None:
            return self._walked.nodes(ids)
        rows = self._source.run(f"{_SELECT_NODES} WHERE id IN {_AMONG}", (json.dumps(list(ids)),))
        return {node.id: node for node in self._nodes(rows)}

    def edges_of(self, ids: Collection[str], /) -> Sequence[Edge]:
        """Return every edge that starts or ends at one of these nodes, each once, in the order they were stored."""
        rows = self._source.run(_TOUCHING, [json.dumps(list(ids))] * 2)
        return [edge_from(row[: EDGES.count], row[EDGES.count]) for row in rows]

    def edges_around(self, ids: Collection[str], /) -> Mapping[str, Sequence[Edge]]:
        """Return for each of these nodes every edge that starts or ends there, in the order they were stored."""
        if self._walked is not None:
            return self._walked.edges_around(ids)
        return by_node(self.edges_of(ids), ids)

    def edges(self, ids: Collection[str], /) -> Mapping[str, Edge]:
        """Return the edges of these ids that exist."""
        rows = self._source.run(f"{_SELECT_EDGES} WHERE e.id IN {_AMONG}", (json.dumps(list(ids)),))
        return {cast(str, row[0]): edge_from(row[: EDGES.count], row[EDGES.count]) for row in rows}

    def node_page(self, condition: GraphFilter, *, limit: int, offset: int = 0) -> Sequence[Node]:
        """Return nodes in the order they were stored; limit 0 means all."""
        where, values = filter_sql("node", condition)
        rows = self._source.run(
            f"{_SELECT_NODES} WHERE {where} ORDER BY key LIMIT ? OFFSET ?", (*values, limit or ALL_ROWS, offset)
        )
        return self._nodes(rows)

    def edge_page(self, *, limit: int, offset: int = 0) -> Sequence[Edge]:
        """Return edges in the order they were stored; limit 0 means all."""
        rows = self._source.run(f"{_SELECT_EDGES} ORDER BY e.key LIMIT ? OFFSET ?", (limit or ALL_ROWS, offset))
        return [edge_from(row[: EDGES.count], row[EDGES.count]) for row in rows]

    def conversation(self, conv_id: str) -> Sequence[Node]:
        """Return the nodes of a conversation by ``ingestion_time``, those of one time in the order they were stored."""
        rows = self._source.run(
            f"{_SELECT_NODES} WHERE conv_id = ? AND conv_id <> '' ORDER BY ingestion_time, key", (conv_id,)
        )
        return self._nodes(rows)

    def pointers(
        self, *, node_ids: Collection[str] | None = None, memory_ids: Collection[str] | None = None
    ) -> Sequence[Pointer]:
        """Return the links of these nodes and of these lessons, by age of the node, then of the lesson."""
        clauses: list[str] = ["1 = 1"]
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
        """Return the integer row id of each of these memories that exists.

        It never changes and is never given out again.
        """
        rows = self._source.run(_ROW_IDS, (json.dumps(list(memory_ids)),))
        return {cast(str, row[0]): cast(int, row[1]) for row in rows}

    def at_row_ids(self, row_ids: Collection[int], /) -> Mapping[int, str]:
        """Return the memory at each of these row ids that has one: the inverse of ``row_ids``."""
        rows = self._source.run(_AT_ROW_IDS, (json.dumps(list(row_ids)),))
        return {cast(int, row[0]): cast(str, row[1]) for row in rows}

    def graph_size(self) -> GraphSize:
        """Return how much there is of everything."""
        nodes, edges, pointers, vectors = (
            cast(int, self._source.run(f"SELECT count(*) FROM {table}")[0][0])  # noqa: S608 - constant tables
            for table in ("graph_nodes", "graph_edges", "graph_pointers", "graph_vectors")
        )
        return GraphSize(nodes=nodes, edges=edges, pointers=pointers, pending=nodes + edges - vectors)

    def graph_tags(self, *, limit: int = 0) -> Sequence[tuple[str, int]]:
        """Return every tag of a node or an edge with how many carry it, the most frequent first, then by code point.

        Limit 0 means all.
        """
        rows = self._source.run(
            "SELECT tag, count(*) FROM graph_tags GROUP BY tag ORDER BY count(*) DESC, tag LIMIT ?",
            (limit or ALL_ROWS,),
        )
        return [(cast(str, tag), cast(int, count)) for tag, count in rows]

    def unembedded(self, kind: GraphKind, *, limit: int) -> Sequence[GraphText]:
        """Return nodes or edges without a vector, in the order they were stored; limit 0 means all."""
        rows = self._source.run(
            f"SELECT id, text FROM {TABLE[kind]} WHERE NOT EXISTS "  # noqa: S608 - constant table
            "(SELECT 1 FROM graph_vectors WHERE item = key + ?) ORDER BY key LIMIT ?",
            (items(kind)[0], limit or ALL_ROWS),
        )
        return [GraphText(id=cast(str, row[0]), text=cast(str, row[1])) for row in rows]

    def put_nodes(self, nodes: Sequence[tuple[Node, str]], /) -> None:
        """Store nodes, each with its analysed words, or replaces those of their ids: all of them or none.

        The vector of a node whose text is another than before is gone. Links to lessons stay as they are, whatever the
        nodes' ``pointers`` say.
        """
        if not nodes:
            return
        with self._unit.whole():
            change = self._unit.note_change()
            rows = []
            for node, words in nodes:
                row = NODES.row(node)
                rows.append(
                    _Written(node.id, node.text, node.tags, (*row, checksum(row), *window_row(node), change, words))
                )
            self._put("node", rows)

    def put_edges(self, edges: Sequence[tuple[Edge, str]], /) -> None:
        """Store edges, each with its analysed words, or replaces those of their ids: all of them or none.

        Raises:
            NodeNotFound: When an end does not exist.
        """
        if not edges:
            return
        with self._unit.whole():
            change = self._unit.note_change()
            keys = self._node_keys([end for edge, _ in edges for end in (edge.source, edge.target)])
            rows = []
            for edge, words in edges:
                row = EDGES.row(edge)
                values = (row[0], keys[edge.source], keys[edge.target], *row[3:], checksum(row), change, words)
                rows.append(_Written(edge.id, edge.text, edge.tags, values))
            self._put("edge", rows)

    def put_graph_vectors(self, kind: GraphKind, vectors: Mapping[str, Vector], model_id: str) -> int:
        """Store the vectors of nodes or edges that still exist, in place of those they have; return how many.

        Raises:
            ModelMismatch: When the bank's vectors come from another model or have another dimension.
        """
        if not model_id:
            raise InvalidInput("a vector needs the name of its model")
        from reasoningbank.storage.vector_search import unit_vector

        rows = {name: unit_vector(vector) for name, vector in vectors.items()}
        if len({len(row) for row in rows.values()}) > 1:
            raise ModelMismatch("the vectors of one graph have different dimensions")
        stored = 0
        if not rows:
            return 0
        with self._unit.whole():
            change = self._unit.note_change()
            for name, row in rows.items():
                found = self._source.run(f"SELECT key FROM {TABLE[kind]} WHERE id = ?", (name,))  # noqa: S608
                if not found:
                    continue
                self._unit.check_space(model_id, len(row))
                number, raw = item(kind, cast(int, found[0][0])), row.tobytes()
                self._source.run(
                    upsert("graph_vectors", "item, vector, checksum, change", "item"),
                    (number, raw, checksum((number, raw)), change),
                )
                stored += 1
        return stored

    def delete_node(self, node_id: str, /) -> None:
        """Erase a node, every edge that touches it, its links to lessons and all vectors; raise NodeNotFound."""
        key = self._node_key(node_id)
        with self._unit.whole():
            edges = self._source.run("SELECT key FROM graph_edges WHERE source = ? OR target = ?", (key, key))
            for row in edges:
                self._erase("edge", cast(int, row[0]))
            self._erase("node", key)
            self._unit.note_erasure()

    def delete_edge(self, edge_id: str, /) -> None:
        """Erase an edge and its vector; raise EdgeNotFound."""
        rows = self._source.run("SELECT key FROM graph_edges WHERE id = ?", (edge_id,))
        if not rows:
            raise EdgeNotFound(f"no edge {edge_id[:80]!r} in project {self._source.project[:80]!r}")
        with self._unit.whole():
            self._erase("edge", cast(int, rows[0][0]))
            self._unit.note_erasure()

    def link_node(self, pointer: Pointer, /) -> bool:
        """Store a link; False when it is there. Raises NodeNotFound or MemoryNotFound when one end does not exist."""
        place: Row = (self._node_key(pointer.node_id), self._unit.key(pointer.memory_id))
        if self._source.run("SELECT 1 FROM graph_pointers WHERE node = ? AND memory = ?", place):
            return False
        with self._unit.whole():
            self._source.run("INSERT INTO graph_pointers VALUES (?, ?, ?)", (*place, checksum(place)))
            self._unit.note_change()
        return True

    def unlink_node(self, pointer: Pointer, /) -> bool:
        """Remove a link; False when there is none."""
        place: Row = (self._node_key(pointer.node_id), self._unit.key(pointer.memory_id))
        if not self._source.run("SELECT 1 FROM graph_pointers WHERE node = ? AND memory = ?", place):
            return False
        with self._unit.whole():
            self._source.run("DELETE FROM graph_pointers WHERE node = ? AND memory = ?", place)
            self._unit.note_change()
        return True

    def problems(self) -> list[str]:
        """Return every defect; a node, an edge or a link that is damaged raises StoreCorrupt."""
        dangling = [message.format(row[0]) for statement, message in _DANGLING for row in self._source.run(statement)]
        return [*dangling, *self._derived_problems(), *self._row_problems(), *self._vector_problems()]

    def _derived_problems(self) -> list[str]:
        """Return words, tags and vectors without their node or edge, and the other way round."""
        problems: list[str] = []
        for kind in GRAPH_KINDS:
            table, index, (first, end) = TABLE[kind], TEXT_INDEX[kind], items(kind)
            try:
                self._source.run(f"INSERT INTO {index} ({index}, rank) VALUES ('integrity-check', 1)")  # noqa: S608 - constant
            except BankError as error:
                problems.append(f"the text index of the graph's {kind}s is damaged: {error}")
            for statement, message in _TORN:
                rows = self._source.run(statement.format(table=table, index=index, first=first, end=end))
                problems += [message.format(row[0], kind=kind) for row in rows]
        return problems

    def _row_problems(self) -> list[str]:
        """Read every node, edge and link; one that is damaged raises StoreCorrupt."""
        problems: list[str] = []
        windows = {row[0]: row[1:] for row in self._source.run("SELECT id, starts, ends FROM graph_nodes")}
        offset = 0
        while nodes := self.node_page(GraphFilter(), limit=_BATCH, offset=offset):
            problems += [
                f"the window of event {node.id!r} is not what it is derived from"
                for node in nodes
                if windows[node.id] != window_row(node)
            ]
            offset += len(nodes)
        offset = 0
        while edges := self.edge_page(limit=_BATCH, offset=offset):
            offset += len(edges)
        self.pointers()
        return problems

    def _vector_problems(self) -> list[str]:
        problems: list[str] = []
        statement = "SELECT item, vector, checksum FROM graph_vectors WHERE item > ? ORDER BY item LIMIT ?"
        last = -1
        while rows := self._source.run(statement, (last, _BATCH)):
            for number, vector, stored in rows:
                if checksum((number, vector)) != stored:
                    problems.append(f"the vector of graph item {number!r} does not hold what was written to it")
            last = cast(int, rows[-1][0])
        return problems

    def _nodes(self, rows: Sequence[Row]) -> list[Node]:
        keys = [row[NODES.count + 1] for row in rows]
        linked = self._source.run(_LINKED, (json.dumps(keys),))
        pointers: dict[Value, list[str]] = {}
        for node, memory, stored in linked:
            proven("a link of a node and a lesson", (node, memory), stored)
            pointers.setdefault(node, []).append(str(memory))
        return [
            node_from(row[: NODES.count], row[NODES.count], tuple(pointers.get(row[NODES.count + 1], ())))
            for row in rows
        ]

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
        change = self._unit.note_change()
        self._source.run(upsert("graph_deletions", "item, change, gone", "item"), (number, change, int(gone)))

    def _forget_tags(self, kind: GraphKind, key: int) -> None:
        self._source.run(
            "DELETE FROM graph_tags WHERE item = ? AND tag IN "  # noqa: S608 - constant table
            f"(SELECT value FROM json_each((SELECT tags FROM {TABLE[kind]} WHERE key = ?)))",
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


def item(kind: GraphKind, key: int) -> int:
    """Return the number of a node's or an edge's vector and tags."""
    return key + items(kind)[0]


def items(kind: GraphKind) -> tuple[int, int]:
    """Return the first item of a kind, and the first that is of it no more."""
    return (0, FIRST_EDGE) if kind == "node" else (FIRST_EDGE, 2 * FIRST_EDGE)


def window_row(node: Node) -> Row:
    """Return when an event starts and ends; nothing for all else."""
    window = node.window
    return (None, None) if window is None else (to_microseconds(window[0]), to_microseconds(window[1]))


def node_from(row: Row, stored: Value, pointers: tuple[str, ...]) -> Node:
    """Return the node of a row that proves itself.

    Raises:
        StoreCorrupt: When the row is not what was written.
    """
    name = f"node {str(row[0])[:80]!r}"
    proven(name, row, stored)
    with decoding(name):
        return NODES.record(row, pointers=pointers)


def edge_from(row: Row, stored: Value) -> Edge:
    """Return the edge of a row that proves itself.

    Raises:
        StoreCorrupt: When the row is not what was written.
    """
    if checksum(row) != stored:
        raise StoreCorrupt(f"edge {str(row[0])[:80]!r} does not hold what was written to it")
    return EDGES.record(row)


def filter_sql(kind: GraphKind, condition: GraphFilter) -> tuple[str, list[Value]]:
    """Return the WHERE clause of a filter over ``graph_nodes`` or ``graph_edges AS g``, with its values bound apart."""
    clauses: list[str] = ["1 = 1"]
    values: list[Value] = []
    for tag in condition.tags:
        clauses.append("g.key IN (SELECT item - ? FROM graph_tags WHERE tag = ? AND item >= ? AND item < ?)")
        values += [items(kind)[0], tag, *items(kind)]
    if kind == "edge":
        return " AND ".join([*clauses, "0"] if condition.of_nodes else clauses), values
    if condition.labels:
        clauses.append("g.label IN (SELECT value FROM json_each(?))")
        values.append(json.dumps(condition.labels))
    if condition.conv_id is not None:
        clauses.append("g.conv_id = ?")
        values.append(condition.conv_id)
    if condition.during is not None:
        start, end = (to_microseconds(moment) for moment in condition.during)
        clauses.append("g.starts < ? AND (g.ends > ? OR (g.starts = g.ends AND g.starts >= ?))")
        values += [end, start, start]
    return " AND ".join(clauses), values


def by_node(edges: Iterable[Edge], ids: Iterable[str]) -> dict[str, list[Edge]]:
    """Return for each of these nodes those of the edges that touch it, in their order."""
    around: dict[str, list[Edge]] = {name: [] for name in ids}
    for edge in edges:
        for end in (edge.source,) if edge.source == edge.target else (edge.source, edge.target):
            if end in around:
                around[end].append(edge)
    return around


def _parts(rows: Sequence[_Row]) -> Iterator[Sequence[_Row]]:
    for start in range(0, len(rows), _ROWS):
        yield rows[start : start + _ROWS]

"""The part of a graph that walks have read lately: whole nodes and edges, good for as long as nothing is written.

A walk over 10,000 nodes and 40,000 edges reads some thousands of edges, and proving and decoding them is most of its
time. What is held is dropped with the first write of anybody, and when it becomes too much.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Mapping, Sequence
from typing import cast

from reasoningbank.storage.connection import ConnectionSource
from reasoningbank.storage.failures import decoding
from reasoningbank.storage.graph_tables import TOUCHING_KEYS, GraphTables, by_node, edge_from
from reasoningbank.storage.rows import Value
from reasoningbank.storage.unit import Unit
from reasoningbank.types.graph import Edge, Node

MAX_EDGES = 100_000
MAX_NODES = 20_000
_STATE_SQL = "SELECT value FROM counters WHERE name = 'change'"
_ROWS_SQL = """
SELECT key, source, target, id, weight, created_time, tags, text, checksum FROM graph_edges
WHERE key IN (SELECT value FROM json_each(?1))
"""
_NAMES_SQL = "SELECT key, id FROM graph_nodes WHERE key IN (SELECT value FROM json_each(?1))"


class GraphCache:
    """Nodes and the edges around them, by the nodes' ids."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._change = -1
        self._forget()

    def nodes(self, source: ConnectionSource, ids: Collection[str]) -> Mapping[str, Node]:
        """Return the nodes of these ids that exist; this makes the first read of its transaction."""
        with self._lock:
            self._refresh(source)
            missing = [name for name in ids if name not in self._nodes]
            if missing:
                found = GraphTables(source, Unit.outside(source.project)).nodes(missing)
                self._nodes.update({name: found.get(name) for name in missing})
            return {name: node for name in ids if (node := self._nodes[name]) is not None}

    def edges_around(self, source: ConnectionSource, ids: Collection[str]) -> Mapping[str, Sequence[Edge]]:
        """Return for each of these nodes its edges, by age; this makes the first read of its transaction."""
        with self._lock:
            self._refresh(source)
            missing = {name for name in ids if name not in self._around}
            if missing:
                self._read(source, missing)
            return {name: self._around[name] for name in ids}

    def _refresh(self, source: ConnectionSource) -> None:
        with decoding("the bank"):
            change = cast(int, source.run(_STATE_SQL)[0][0])
        if change != self._change or len(self._edges) > MAX_EDGES or len(self._nodes) > MAX_NODES:
            self._forget()
            self._change = change

    def _read(self, source: ConnectionSource, missing: Collection[str]) -> None:
        keys = [cast(int, row[0]) for row in source.run(TOUCHING_KEYS, [json.dumps(list(missing))] * 2)]
        self._read_edges(source, [key for key in keys if key not in self._edges])
        around = by_node([self._edges[key] for key in keys], missing)
        self._around.update({name: tuple(edges) for name, edges in around.items()})

    def _read_edges(self, source: ConnectionSource, keys: Sequence[int]) -> None:
        """Read the edges of these keys; the id of every node at one of their ends is looked up once."""
        rows = source.run(_ROWS_SQL, (json.dumps(keys),))
        names = self._names
        unnamed = {end for row in rows for end in (row[1], row[2]) if end not in names}
        names.update(cast("Sequence[tuple[Value, str]]", source.run(_NAMES_SQL, (json.dumps(list(unnamed)),))))
        for key, start, end, identifier, weight, created, tags, text, stored in rows:
            row = (identifier, names.get(start), names.get(end), weight, created, tags, text)
            self._edges[cast(int, key)] = edge_from(row, stored)

    def _forget(self) -> None:
        self._nodes: dict[str, Node | None] = {}
        self._edges: dict[int, Edge] = {}
        self._names: dict[Value, str] = {}
        self._around: dict[str, tuple[Edge, ...]] = {}

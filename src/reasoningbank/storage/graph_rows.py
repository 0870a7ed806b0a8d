"""How nodes and edges become rows, and how a row proves that it is what was written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from json.encoder import encode_basestring
from typing import cast

from reasoningbank.errors import StoreCorrupt
from reasoningbank.storage.failures import decoding
from reasoningbank.storage.rows import Row, Value, checksum, from_microseconds, to_microseconds
from reasoningbank.types.graph import LIST_FIELDS, Edge, FieldValue, Label, Node
from reasoningbank.types.graph_search import GraphFilter, GraphKind

NODE_COLUMNS = "id, label, conv_id, ingestion_time, update_time, tags, fields, text"
NODE_COUNT = NODE_COLUMNS.count(",") + 1
EDGE_COLUMNS = "e.id, s.id, t.id, e.weight, e.created_time, e.tags, e.text"
EDGE_COUNT = EDGE_COLUMNS.count(",") + 1
EDGES_FROM = "graph_edges AS e JOIN graph_nodes AS s ON s.key = e.source JOIN graph_nodes AS t ON t.key = e.target"
TABLE: Mapping[GraphKind, str] = {"node": "graph_nodes", "edge": "graph_edges"}
TEXT_INDEX: Mapping[GraphKind, str] = {"node": "graph_node_text", "edge": "graph_edge_text"}
FIRST_EDGE = 2**40
"""Items below it are nodes, the others edges."""
_KEPT = 16_384
_read_json = json.JSONDecoder().raw_decode


def item(kind: GraphKind, key: int) -> int:
    """Return the number of a node's or an edge's vector and tags."""
    return key + items(kind)[0]


def items(kind: GraphKind) -> tuple[int, int]:
    """Return the first item of a kind, and the first that is of it no more."""
    return (0, FIRST_EDGE) if kind == "node" else (FIRST_EDGE, 2 * FIRST_EDGE)


def node_row(node: Node) -> Row:
    """Return the values of NODE_COLUMNS."""
    return (
        node.id,
        node.label,
        node.conv_id,
        to_microseconds(node.ingestion_time),
        to_microseconds(node.updated_at),
        _listed(node.tags),
        json.dumps(dict(node.fields), ensure_ascii=False, sort_keys=True) if node.fields else "{}",
        node.text,
    )


def window_row(node: Node) -> Row:
    """Return when an event starts and ends; nothing for all else."""
    window = node.window
    return (None, None) if window is None else (to_microseconds(window[0]), to_microseconds(window[1]))


def edge_row(edge: Edge) -> Row:
    """Return the values of EDGE_COLUMNS."""
    return (
        edge.id,
        edge.source,
        edge.target,
        float(edge.weight),
        to_microseconds(edge.created_time),
        _listed(edge.tags),
        edge.text,
    )


def node_from(row: Row, stored: Value, pointers: tuple[str, ...]) -> Node:
    """Return the node of a row that proves itself.

    Raises:
        StoreCorrupt: When the row is not what was written.
    """
    name = f"node {str(row[0])[:80]!r}"
    if checksum(row) != stored:
        raise StoreCorrupt(f"{name} does not hold what was written to it")
    with decoding(name):
        return _proven_node(row, pointers)


def decoded_node(row: Row) -> Node:
    """Return the inverse of node_row."""
    identifier, label, conv_id, ingested, updated, tags, fields, text = row
    return Node(
        id=cast(str, identifier),
        label=cast(Label, label),
        conv_id=cast(str, conv_id),
        ingestion_time=_moment(cast(int, ingested)),
        update_time=_moment(cast(int, updated)),
        tags=_tags(cast(str, tags)),
        fields=_fields(cast(str, fields)),
        text=cast(str, text),
    )


def _proven_node(row: Row, pointers: tuple[str, ...]) -> Node:
    """Return the same for a row that was proven to be what was written: the node's rules are not checked again."""
    identifier, label, conv_id, ingested, updated, tags, fields, text = row
    node = object.__new__(Node)
    give = object.__setattr__
    give(node, "id", identifier)
    give(node, "label", label)
    give(node, "conv_id", conv_id)
    give(node, "ingestion_time", _moment(cast(int, ingested)))
    give(node, "update_time", _moment(cast(int, updated)))
    give(node, "tags", _tags(cast(str, tags)))
    give(node, "fields", _fields(cast(str, fields)))
    give(node, "text", text)
    give(node, "pointers", pointers)
    return node


def edge_from(row: Row, stored: Value) -> Edge:
    """Return the edge of a row that proves itself.

    Raises:
        StoreCorrupt: When the row is not what was written.
    """
    if checksum(row) != stored:
        raise StoreCorrupt(f"edge {str(row[0])[:80]!r} does not hold what was written to it")
    return decoded_edge(row)


def decoded_edge(row: Row) -> Edge:
    """Return the inverse of edge_row; the edge's rules are not checked again, for a walk reads thousands of them."""
    identifier, source, target, weight, created, tags, text = row
    edge = object.__new__(Edge)
    give = object.__setattr__
    give(edge, "id", identifier)
    give(edge, "source", source)
    give(edge, "target", target)
    give(edge, "weight", weight)
    give(edge, "created_time", _moment(cast(int, created)))
    give(edge, "tags", _tags(cast(str, tags)))
    give(edge, "text", text)
    return edge


def filter_sql(kind: GraphKind, condition: GraphFilter) -> tuple[str, list[Value]]:
    """Return the WHERE clause of a filter over ``graph_nodes`` or ``graph_edges AS g``, with its values bound apart."""
    clauses: list[str] = ["1"]
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


def _listed(tags: tuple[str, ...]) -> str:
    """Return the tags as a JSON list, as ``json.dumps`` writes it without escapes of what is not ASCII."""
    return f"[{', '.join(map(encode_basestring, tags))}]"


@lru_cache(maxsize=_KEPT)
def _tags(text: str) -> tuple[str, ...]:
    return tuple(_read_json(text)[0])


@lru_cache(maxsize=_KEPT)
def _moment(microseconds: int) -> datetime:
    return from_microseconds(microseconds)


def _fields(text: str) -> dict[str, FieldValue]:
    if text == "{}":
        return {}
    return {name: tuple(value) if name in LIST_FIELDS else value for name, value in _read_json(text)[0].items()}

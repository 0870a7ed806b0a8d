"""The graph of a bank in memory as a part of its backup."""

from __future__ import annotations

from typing import cast

import numpy

from reasoningbank.domain.graph_search import GRAPH_KINDS
from reasoningbank.ports import Pointer
from reasoningbank.storage.graph_rows import decoded_edge, decoded_node, edge_row, node_row
from reasoningbank.storage.memory_contents import Contents
from reasoningbank.storage.records import Json, to_json
from reasoningbank.storage.rows import Row


def graph_body(contents: Contents) -> dict[str, Json]:
    """Everything of the graph, and the row ids that its links are told by."""
    return {
        "nodes": to_json([node_row(node) for node in contents.nodes.values()]),
        "edges": to_json([edge_row(edge) for edge in contents.edges.values()]),
        "words": to_json(contents.graph_words),
        "vectors": {
            kind: {name: cast("list[Json]", vector.tolist()) for name, vector in rows.items()}
            for kind, rows in contents.graph_vectors.items()
        },
        "pointers": to_json(sorted((each.node_id, each.memory_id) for each in contents.pointers)),
        "row_ids": to_json(contents.row_ids),
        "last_row_id": contents.last_row_id,
        "contexts": to_json(contents.contexts),
    }


def take_graph(contents: Contents, body: Json) -> None:
    """Fills contents with what ``graph_body`` gave; a backup from before the graph gives row ids alone."""
    if not isinstance(body, dict):
        contents.row_ids = {name: number for number, name in enumerate(contents.memories, start=1)}
        contents.last_row_id = len(contents.row_ids)
        return
    words = cast("dict[str, dict[str, list[str]]]", body["words"])
    vectors = cast("dict[str, dict[str, list[float]]]", body["vectors"])
    for row in cast("list[list[Json]]", body["nodes"]):
        node = decoded_node(cast(Row, tuple(row)))
        contents.nodes[node.id] = node
    for row in cast("list[list[Json]]", body["edges"]):
        edge = decoded_edge(cast(Row, tuple(row)))
        contents.edges[edge.id] = edge
    for kind in GRAPH_KINDS:
        contents.graph_words[kind] = {name: tuple(listed) for name, listed in words[kind].items()}
        rows = {name: numpy.array(row, dtype=numpy.float32) for name, row in vectors.get(kind, {}).items()}
        if rows:
            contents.graph_vectors[kind] = rows
    pointers = cast("list[list[str]]", body["pointers"])
    contents.pointers = {Pointer(node_id=node, memory_id=memory) for node, memory in pointers}
    contents.row_ids = dict(cast("dict[str, int]", body["row_ids"]))
    contents.last_row_id = cast(int, body["last_row_id"])
    spans = cast("dict[str, list[int]]", body["contexts"])
    contents.contexts = {name: (start, count) for name, (start, count) in spans.items()}

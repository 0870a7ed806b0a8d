"""The graph as lines of an export: nodes, edges and links, in the form that an import of a graph file reads too."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from reasoningbank.domain.graph import Edge, Node
from reasoningbank.domain.graph_search import GraphFilter, LeftOut
from reasoningbank.engine.graphing.admission import reveal
from reasoningbank.engine.graphing.drafts import Draft, Reader
from reasoningbank.engine.graphing.importing import Ready, with_words, write_import
from reasoningbank.engine.graphing.indexing import EMBED, EMBED_KEY
from reasoningbank.errors import BankError, InvalidInput
from reasoningbank.memories.admission import sift_items
from reasoningbank.ports import Job, Store, Transaction

_BATCH = 500
_KINDS = ("node", "edge", "pointer")


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphPart:
    """The graph of an export, its texts fit to be stored."""

    draft: Draft
    nodes: list[tuple[Node, str]]
    edges: list[tuple[Edge, str]]
    left_out: tuple[LeftOut, ...] = ()


def exported_graph(store: Store) -> Iterator[Mapping[str, Any]]:
    """One object per node, edge and link, secrets removed once more; nodes come before what names them."""
    offset = 0
    while nodes := store.node_page(GraphFilter(), limit=_BATCH, offset=offset):
        for node in reveal(nodes):
            yield {"node": node_record(node)}
        offset += len(nodes)
    offset = 0
    while edges := store.edge_page(limit=_BATCH, offset=offset):
        for edge in reveal(edges):
            yield {"edge": edge_record(edge)}
        offset += len(edges)
    for pointer in store.pointers():
        yield {"pointer": {"node": pointer.node_id, "memory": pointer.memory_id}}


def node_record(node: Node) -> dict[str, Any]:
    """A node as a flat object, as import files have it; its links are not in it."""
    fields = {name: list(value) if isinstance(value, tuple) else value for name, value in node.fields.items()}
    return {
        "id": node.id,
        "label": node.label,
        "text": node.text,
        "conv_id": node.conv_id,
        "tags": list(node.tags),
        **fields,
        "ingestion_time": node.ingestion_time.isoformat(),
        "update_time": node.updated_at.isoformat(),
    }


def edge_record(edge: Edge) -> dict[str, Any]:
    """An edge as a flat object, as import files have it."""
    return {
        "id": edge.id,
        "source": edge.source,
        "target": edge.target,
        "text": edge.text,
        "weight": edge.weight,
        "tags": list(edge.tags),
        "created_time": edge.created_time.isoformat(),
    }


def graph_of(lines: Iterable[str], at: datetime) -> GraphPart:
    """The graph in the lines of an export; other lines are passed over.

    Raises:
        InvalidInput: When a line of the graph is unusable; the message names it.
    """
    reader = Reader(at)
    for number, line in enumerate(lines, start=1):
        if not any(f'"{kind}"' in line for kind in _KINDS):
            continue
        record = json.loads(line)
        try:
            if "node" in record:
                reader.node(_object(record["node"]))
            elif "edge" in record:
                reader.edge(_object(record["edge"]))
            elif "pointer" in record:
                reader.draft.pointers.append(_pointer(_object(record["pointer"])))
        except BankError as error:
            raise InvalidInput(f"line {number}: {error}", hint=error.hint) from error
    draft = reader.draft
    nodes, bad_nodes = sift_items(draft.nodes)
    edges, bad_edges = sift_items(draft.edges)
    return GraphPart(draft=draft, nodes=with_words(nodes), edges=with_words(edges), left_out=(*bad_nodes, *bad_edges))


def put_graph(transaction: Transaction, part: GraphPart, *, at: datetime) -> None:
    """Stores what is not there yet; the vectors are made in the background."""
    write_import(transaction, Ready(draft=part.draft, nodes=part.nodes, edges=part.edges))
    if transaction.graph_size().pending:
        transaction.enqueue(Job(kind=EMBED, key=EMBED_KEY, due=at))


def _pointer(fields: Mapping[str, Any]) -> tuple[str, str]:
    node, memory = fields.get("node"), fields.get("memory")
    if not isinstance(node, str) or not isinstance(memory, str):
        raise InvalidInput("a pointer needs the ids of a node and of a memory")
    return node, memory


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidInput("expected an object")
    return value

"""Looking up what must exist in the graph."""

from __future__ import annotations

from reasoningbank.domain.graph import Edge, Node, check_graph_id
from reasoningbank.errors import EdgeNotFound, InvalidEdge, NodeNotFound
from reasoningbank.ports import StoreReader


def existing_node(reader: StoreReader, node_id: str) -> Node:
    """The node of an id; raises NodeNotFound."""
    found = reader.nodes([check_graph_id("id", node_id)]).get(node_id)
    if found is None:
        raise NodeNotFound(f"no node {node_id[:80]!r} in this project's graph")
    return found


def existing_edge(reader: StoreReader, edge_id: str) -> Edge:
    """The edge of an id; raises EdgeNotFound."""
    found = reader.edges([check_graph_id("id", edge_id, InvalidEdge)]).get(edge_id)
    if found is None:
        raise EdgeNotFound(f"no edge {edge_id[:80]!r} in this project's graph")
    return found

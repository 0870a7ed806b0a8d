"""How a walk reads the graph: whole levels at a time, and no node or edge twice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reasoningbank.domain.graph import Edge, Node
from reasoningbank.ports.graph import GraphReader


class Surroundings:
    """The part of the graph that was read so far.

    Attributes:
        calls: How often the store was asked.
    """

    def __init__(self, reader: GraphReader) -> None:
        self._reader = reader
        self._nodes: dict[str, Node | None] = {}
        self._edges: dict[str, Sequence[Edge]] = {}
        self.calls = 0

    def read_edges(self, ids: Iterable[str]) -> None:
        """Reads the edges of all these nodes that were not read yet, at once."""
        wanted = [name for name in dict.fromkeys(ids) if name not in self._edges]
        if not wanted:
            return
        self.calls += 1
        found = self._reader.edges_around(wanted)
        for name in wanted:
            self._edges[name] = found.get(name, ())

    def read_nodes(self, ids: Iterable[str]) -> None:
        """Reads all these nodes that were not read yet, at once."""
        wanted = [name for name in dict.fromkeys(ids) if name not in self._nodes]
        if not wanted:
            return
        self.calls += 1
        found = self._reader.nodes(wanted)
        for name in wanted:
            self._nodes[name] = found.get(name)

    def edges(self, name: str) -> Sequence[Edge]:
        """The edges that touch a node whose edges were read."""
        return self._edges[name]

    def node(self, name: str) -> Node | None:
        """A node that was read; None when it does not exist."""
        return self._nodes[name]

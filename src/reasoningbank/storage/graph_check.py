"""Checking what a bank file holds of the graph: every row is whole, and nothing names what is gone."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from reasoningbank.errors import BankError
from reasoningbank.storage.graph_reads import GraphReads
from reasoningbank.storage.graph_rows import TABLE, TEXT_INDEX, items, window_row
from reasoningbank.storage.reads import Reads, Source
from reasoningbank.storage.rows import checksum
from reasoningbank.types.graph_search import GRAPH_KINDS, GraphFilter

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


def _dangling(source: Source, _store: Reads) -> list[str]:
    return [message.format(row[0]) for statement, message in _DANGLING for row in source.run(statement)]


def _derived(source: Source, _store: Reads) -> list[str]:
    """Return words, tags and vectors without their node or edge, and the other way round."""
    problems: list[str] = []
    for kind in GRAPH_KINDS:
        table, index, (first, end) = TABLE[kind], TEXT_INDEX[kind], items(kind)
        try:
            source.run(f"INSERT INTO {index} ({index}, rank) VALUES ('integrity-check', 1)")  # noqa: S608 - constant
        except BankError as error:
            problems.append(f"the text index of the graph's {kind}s is damaged: {error}")
        for statement, message in _TORN:
            rows = source.run(statement.format(table=table, index=index, first=first, end=end))
            problems += [message.format(row[0], kind=kind) for row in rows]
    return problems


def _rows(source: Source, _store: Reads) -> list[str]:
    """Read every node, edge and link; one that is damaged raises StoreCorrupt."""
    problems: list[str] = []
    reads = GraphReads(source)
    windows = {row[0]: row[1:] for row in source.run("SELECT id, starts, ends FROM graph_nodes")}
    offset = 0
    while nodes := reads.node_page(GraphFilter(), limit=_BATCH, offset=offset):
        problems += [
            f"the window of event {node.id!r} is not what it is derived from"
            for node in nodes
            if windows[node.id] != window_row(node)
        ]
        offset += len(nodes)
    offset = 0
    while edges := reads.edge_page(limit=_BATCH, offset=offset):
        offset += len(edges)
    reads.pointers()
    return problems


def _vectors(source: Source, _store: Reads) -> list[str]:
    problems: list[str] = []
    statement = "SELECT item, vector, checksum FROM graph_vectors WHERE item > ? ORDER BY item LIMIT ?"
    last = -1
    while rows := source.run(statement, (last, _BATCH)):
        for number, vector, stored in rows:
            if checksum((number, vector)) != stored:
                problems.append(f"the vector of graph item {number!r} does not hold what was written to it")
        last = cast(int, rows[-1][0])
    return problems


GRAPH_CHECKS: tuple[Callable[[Source, Reads], list[str]], ...] = (_dangling, _derived, _rows, _vectors)
"""Each lists the defects that it finds."""

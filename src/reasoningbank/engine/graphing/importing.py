"""Comparing an import with the bank: what is new, what is there, what has another meaning there, what hangs in the air.

A second import of the same file adds nothing. An id that already stands for something else keeps what it stands for:

* An edge whose id has other ends is stored under an id made of its own and its ends, and reported as a duplicate.
* A node that the file gives twice counts once; the first one does.
* A node that the bank holds with other contents is replaced when the file says that it was changed later than the
  bank's; an edge, a lesson, and every other node keep what the bank has, and are reported as conflicts.

What names something that exists neither in the file nor in the bank is not stored, and reported as dangling.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from reasoningbank.domain.graph import MAX_GRAPH_ID, Edge, Node, WeightBand, weight_band
from reasoningbank.domain.graph_search import Dangling, Duplicate, GraphImport, LeftOut
from reasoningbank.domain.memory import Memory
from reasoningbank.engine.graphing.drafts import Draft
from reasoningbank.engine.graphing.indexing import words
from reasoningbank.memories.admission import Ready as ReadyMemory
from reasoningbank.memories.admission import admit, admit_edges, admit_nodes
from reasoningbank.ports import Pointer, Transaction

_BATCH = 2_000
_DIGITS = 19
"""From so many digits on, a number is no row id."""
_Item = TypeVar("_Item", Node, Edge)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """An import whose texts may be stored.

    Attributes:
        draft: What the file said, for its links.
        nodes, edges: Admitted, in the file's order, each with its analysed words.
        lessons: As memories, with the nodes they link and a function that makes the memory ready to be stored, in the
            file's order.
        left_out: Nodes and edges that look like a prompt injection.
    """

    draft: Draft
    nodes: Sequence[tuple[Node, str]]
    edges: Sequence[tuple[Edge, str]]
    lessons: Sequence[tuple[Memory, tuple[str, ...], Callable[[], ReadyMemory]]] = ()
    left_out: Sequence[LeftOut] = ()


@dataclass(slots=True)
class _Count:
    """What the report is made of."""

    added: Counter[str] = field(default_factory=Counter)
    conflicts: dict[str, None] = field(default_factory=dict)
    duplicates: list[Duplicate] = field(default_factory=list)
    dangling: list[Dangling] = field(default_factory=list)
    bands: Counter[WeightBand] = field(default_factory=Counter)


def with_words(items: Sequence[_Item]) -> list[tuple[_Item, str]]:
    """Nodes or edges with their analysed words."""
    return [(item, words(item)) for item in items]


def write_import(transaction: Transaction, ready: Ready) -> GraphImport:
    """Writes what is new and reports the rest; idempotent.

    Args:
        transaction: Where to; everything is written in it or nothing.
        ready: The import.
    """
    count = _Count()
    _write_nodes(transaction, ready, count)
    _write_edges(transaction, ready, count)
    names = _write_lessons(transaction, ready, count)
    _write_pointers(transaction, ready, names, count)
    return GraphImport(
        nodes_added=count.added["node"],
        nodes_updated=count.added["updated node"],
        nodes_unchanged=count.added["known node"],
        edges_added=count.added["edge"],
        edges_unchanged=count.added["known edge"],
        lessons_added=count.added["lesson"],
        lessons_unchanged=count.added["known lesson"],
        pointers_added=count.added["pointer"],
        conflicts=tuple(count.conflicts),
        duplicates=tuple(count.duplicates),
        dangling=tuple(count.dangling),
        left_out=tuple(ready.left_out),
        bands=dict(count.bands),
        messages=tuple(
            f"{number} times {name!r} was left out: it is no field of a node, an edge or a lesson."
            for name, number in sorted(ready.draft.ignored.items())
        ),
    )


def _write_nodes(transaction: Transaction, ready: Ready, count: _Count) -> None:
    first: dict[str, Node] = {}
    fresh: list[tuple[Node, str]] = []
    for batch in _batches(ready.nodes):
        known = transaction.nodes([node.id for node, _ in batch])
        for node, analysed in batch:
            if node.id in first:
                differs = _contents(first[node.id]) != _contents(node)
                reason = "has other contents" if differs else "is given twice"
                count.duplicates.append(Duplicate(kind="node", id=node.id, reason=reason))
                continue
            first[node.id] = node
            stored = known.get(node.id)
            if stored is None:
                count.added["node"] += 1
                fresh.append((node, analysed))
            elif _contents(stored) == _contents(node):
                count.added["known node"] += 1
            elif node.id in ready.draft.timed and node.updated_at > stored.updated_at:
                count.added["updated node"] += 1
                begun = min(stored.ingestion_time, node.updated_at)
                fresh.append((replace(node, ingestion_time=begun), analysed))
            else:
                count.conflicts[node.id] = None
    admit_nodes(transaction, fresh)


def _write_edges(transaction: Transaction, ready: Ready, count: _Count) -> None:
    made: dict[str, Edge] = {}
    fresh: list[tuple[Edge, str]] = []
    existing: set[str] = set()
    looked_up: set[str] = set()
    for batch in _batches(ready.edges):
        ends = {end for edge, _ in batch for end in (edge.source, edge.target)}
        existing.update(transaction.nodes(ends - looked_up))
        looked_up |= ends
        ids = [edge.id for edge, _ in batch]
        known = transaction.edges([*ids, *(own_id(edge) for edge, _ in batch)])
        for edge, analysed in batch:
            count.bands[weight_band(edge.weight)] += 1
            missing = next((end for end in (edge.source, edge.target) if end not in existing), None)
            if missing is not None:
                count.dangling.append(Dangling(kind="edge", id=edge.id, missing=missing))
                continue
            other = made.get(edge.id) or known.get(edge.id)
            if other is not None and (other.source, other.target) != (edge.source, edge.target):
                renamed = replace(edge, id=own_id(edge))
                count.duplicates.append(
                    Duplicate(
                        kind="edge",
                        id=edge.id,
                        reason=f"connects {other.source} with {other.target} already",
                        stored_as=renamed.id,
                        source=edge.source,
                        target=edge.target,
                    )
                )
                edge, other = renamed, made.get(renamed.id) or known.get(renamed.id)
            if other is None:
                count.added["edge"] += 1
                made[edge.id] = edge
                fresh.append((edge, analysed))
            elif (other.text, other.weight, set(other.tags)) != (edge.text, edge.weight, set(edge.tags)):
                count.conflicts[edge.id] = None
            elif edge.id in made:
                count.duplicates.append(Duplicate(kind="edge", id=edge.id, reason="is given twice"))
            else:
                count.added["known edge"] += 1
    admit_edges(transaction, fresh)


def _write_lessons(transaction: Transaction, ready: Ready, count: _Count) -> dict[str, str]:
    """Stores the lessons; returns the memory that stands for each of them by its id in the file."""
    names: dict[str, str] = {}
    for memory, _, derived in ready.lessons:
        twin = next(iter(transaction.same_text(memory.fingerprint)), None)
        stored = transaction.row_ids([memory.id])
        if twin is not None:
            names[memory.id] = twin
            count.added["known lesson"] += 1
        elif stored:
            names[memory.id] = memory.id
            count.conflicts[memory.id] = None
        else:
            names[memory.id] = memory.id
            admit(transaction, derived(), at=memory.created_at)
            count.added["lesson"] += 1
    return names


def _write_pointers(transaction: Transaction, ready: Ready, names: dict[str, str], count: _Count) -> None:
    """Stores the links of the file, whichever side names them."""
    wanted = [(names[memory.id], node_id, "lesson") for memory, linked, _ in ready.lessons for node_id in linked]
    wanted += [(name, node_id, "node") for node_id, name in ready.draft.pointers]
    at_row_ids = transaction.at_row_ids({_row_id(name) for name, _, side in wanted if side == "node"})
    memories = transaction.row_ids([name for name, _, _ in wanted])
    nodes = transaction.nodes([node_id for _, node_id, _ in wanted])
    for name, node_id, side in dict.fromkeys(wanted):
        memory_id = name if name in memories else at_row_ids.get(_row_id(name)) if side == "node" else None
        if memory_id is None:
            count.dangling.append(Dangling(kind="pointer", id=node_id, missing=name))
        elif node_id not in nodes:
            count.dangling.append(Dangling(kind="pointer", id=name, missing=node_id))
        elif transaction.link_node(Pointer(node_id=node_id, memory_id=memory_id)):
            count.added["pointer"] += 1


def _row_id(name: str) -> int:
    """The row id that a text is; 0, which nothing has, for any other text."""
    return int(name) if name.isdecimal() and name.isascii() and len(name) < _DIGITS else 0


def own_id(edge: Edge) -> str:
    """An id that no edge with other ends can have: the edge's own, and its ends."""
    name = f"{edge.id}:{edge.source}>{edge.target}"
    if len(name) <= MAX_GRAPH_ID:
        return name
    return f"{edge.id[:100]}:{hashlib.blake2b(name.encode('utf-8'), digest_size=16).hexdigest()}"


def _contents(node: Node) -> tuple[object, ...]:
    """What a node says, without its times."""
    return (node.label, node.text, node.conv_id, frozenset(node.tags), dict(node.fields))


def _batches(items: Sequence[tuple[_Item, str]]) -> Iterable[Sequence[tuple[_Item, str]]]:
    for start in range(0, len(items), _BATCH):
        yield items[start : start + _BATCH]

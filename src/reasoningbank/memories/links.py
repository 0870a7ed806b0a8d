"""Links between memories and nodes of the graph: what a memory was learned from (seed 003)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from reasoningbank.errors import InvalidInput, MemoryNotFound, NodeNotFound
from reasoningbank.storage.graph_tables import Pointer
from reasoningbank.storage.store import StoreReader, Transaction
from reasoningbank.types.graph import MAX_POINTERS, check_graph_id
from reasoningbank.types.graph_search import Lesson
from reasoningbank.types.memory import check_memory_id


def checked_nodes(link_nodes: Iterable[str]) -> tuple[str, ...]:
    """Return ids of nodes once each.

    Raises:
        InvalidInput: When they are one text, an id is not usable, or there are too many.
    """
    if isinstance(link_nodes, str):
        raise InvalidInput("link_nodes: must be a list of node ids, not one text")
    nodes = tuple(dict.fromkeys(check_graph_id("link_nodes", each) for each in link_nodes))
    _check_count(nodes)
    return nodes


def check_exist(reader: StoreReader, nodes: Sequence[str]) -> None:
    """Refuse nodes that are not in the graph.

    Raises:
        NodeNotFound: When at least one does not exist.
    """
    found = reader.graph.nodes(nodes) if nodes else {}
    missing = [name for name in nodes if name not in found]
    if missing:
        raise NodeNotFound(f"link_nodes: no node {', '.join(repr(name[:80]) for name in missing[:10])} in this project")


def relink(transaction: Transaction, memory_id: str, nodes: Collection[str]) -> None:
    """Link a memory with exactly these nodes; raises NodeNotFound when one does not exist."""
    check_exist(transaction, tuple(nodes))
    wanted = {Pointer(node_id=node_id, memory_id=memory_id) for node_id in nodes}
    present = set(transaction.graph.pointers(memory_ids=[memory_id]))
    for node_id in nodes:
        if (pointer := Pointer(node_id=node_id, memory_id=memory_id)) not in present:
            transaction.graph.link_node(pointer)
    for pointer in sorted(present - wanted, key=lambda each: each.node_id):
        transaction.graph.unlink_node(pointer)


def change_links(transaction: Transaction, memory_id: str, nodes: Sequence[str], *, unlink: bool) -> Lesson:
    """Add or remove links of a memory; the others stay.

    Raises:
        NodeNotFound: When a node does not exist.
        InvalidInput: When the memory would link too many nodes.
    """
    check_exist(transaction, nodes)
    for node_id in nodes:
        pointer = Pointer(node_id=node_id, memory_id=memory_id)
        _ = transaction.graph.unlink_node(pointer) if unlink else transaction.graph.link_node(pointer)
    changed = lessons_of(transaction, [memory_id])[memory_id]
    _check_count(changed.link_nodes)
    return changed


def lessons_of(reader: StoreReader, memory_ids: Sequence[str]) -> dict[str, Lesson]:
    """Return those of these memories that exist, with their row ids and the nodes they link."""
    from reasoningbank.safety.stored_text import reveal

    numbers = reader.graph.row_ids(memory_ids)
    linked: dict[str, list[str]] = {}
    for pointer in reader.graph.pointers(memory_ids=list(numbers)):
        linked.setdefault(pointer.memory_id, []).append(pointer.node_id)
    return {
        name: Lesson(memory=reveal(reader.memories.get(name)), rb_id=number, link_nodes=tuple(linked.get(name, ())))
        for name, number in numbers.items()
    }


def linked_with(reader: StoreReader, nodes: Iterable[str]) -> list[str]:
    """Return the ids of the memories that are linked with any of these nodes, in the order they were recorded."""
    numbers = reader.graph.row_ids({pointer.memory_id for pointer in reader.graph.pointers(node_ids=[*nodes])})
    return sorted(numbers, key=numbers.__getitem__)


def named(reader: StoreReader, memory: int | str) -> str:
    """Return the id of a memory that is named by its id or its row id.

    Raises:
        MemoryNotFound: When this project has no such memory.
    """
    if isinstance(memory, str):
        reader.memories.get(check_memory_id(memory))
        return memory
    if isinstance(memory, bool) or not isinstance(memory, int):
        raise InvalidInput(f"a memory is named by its id or its rb_id, not {str(memory)[:80]!r}")
    found = reader.graph.at_row_ids([memory]).get(memory) if 0 < memory < 2**63 else None
    if found is None:
        raise MemoryNotFound(f"no memory with the rb_id {memory} in this project")
    return found


def _check_count(nodes: Sequence[str]) -> None:
    if len(nodes) > MAX_POINTERS:
        raise InvalidInput(f"link_nodes: a memory links at most {MAX_POINTERS} nodes, not {len(nodes)}")

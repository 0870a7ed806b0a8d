"""What agents do to the graph of people: their edits stand beside a text, and what they delete can be brought back.

An agent's edit of what stands higher than a claim changes nothing there. It becomes a node or an edge of its own, a
claim; that of a node is linked with what it disputes by a sentence. What an agent deletes leaves the graph and is kept
for thirty days as a record that no search, walk or text reads.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from reasoningbank.errors import NodeNotFound, PolicyError
from reasoningbank.graph.import_records import RecordReader
from reasoningbank.graph.importer import edge_record, node_record
from reasoningbank.graph.nodes import words
from reasoningbank.jobs.worker import LOOK_EVERY
from reasoningbank.memories.admission import admit_edges, admit_nodes, check_items, keep_record
from reasoningbank.safety.injection import verdict
from reasoningbank.storage.graph_tables import Pointer
from reasoningbank.storage.store import StoreReader, Transaction
from reasoningbank.types.document import Document
from reasoningbank.types.graph import MAX_GRAPH_ID, Edge, Node
from reasoningbank.types.graph_search import DELETED_PARTS, DISPUTES, GraphRestored
from reasoningbank.types.memory import KEPT_FOR
from reasoningbank.types.standing import rank_of

if TYPE_CHECKING:
    from reasoningbank.context import Context

_BATCH = 200
_WORDS = 12
_WEIGHT = 0.6
_Item = TypeVar("_Item", Node, Edge)


def stands_above(known: Node | Edge, entry: Mapping[str, str]) -> bool:
    """Return whether who speaks now may say something beside a node or an edge and not in its place."""
    said = replace(known, provenance=entry)
    return said.standing == "claim" and rank_of(known.standing) > 0


def beside(known: _Item, changed: _Item, entry: Mapping[str, str]) -> _Item:
    """Return an edit as an item of its own, whose id follows from what it says."""
    said = json.dumps([*map(str, _says(changed))], ensure_ascii=False)
    digest = hashlib.blake2b(said.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return replace(changed, id=f"{known.id[: MAX_GRAPH_ID - 24]}:claim-{digest}", provenance=entry)


def disputing(claim: Node, known: Node, entry: Mapping[str, str]) -> Edge:
    """Return the edge that leads from a claim to the node that it says otherwise than."""
    text = f"The claim '{_short(claim)}' says otherwise than '{_short(known)}'."
    return Edge(
        id=f"{claim.id[: MAX_GRAPH_ID - 9]}:disputes",
        source=claim.id,
        target=known.id,
        text="A claim of an agent says otherwise than this node." if verdict(text) else text,
        weight=_WEIGHT,
        tags=(DISPUTES,),
        created_time=claim.updated_at,
        provenance=entry,
    )


def refuse_taking_away(item: Node | Edge, command: str) -> None:
    """Refuse that an agent deletes a node or an edge that stands higher than a claim, as with memories.

    Args:
        item: What would be deleted.
        command: What a person runs instead.

    Raises:
        PolicyError: When a person stands by it.
    """
    if rank_of(item.standing) > 0:
        what = "node" if isinstance(item, Node) else "edge"
        raise PolicyError(
            f"{what} {item.id[:80]!r} is not an agent's to delete: a person stands by it. Nothing was deleted.",
            hint=f"A person does it with `{command} {item.id[:80]}`. An agent's own text is stored beside it.",
        )


def withdraw_node(transaction: Transaction, node: Node, *, at: datetime) -> None:
    """Take a node with its edges and links out of the graph, and keep all of it for a while."""
    edges = transaction.graph.edges_of([node.id])
    pointers = [pointer.memory_id for pointer in transaction.graph.pointers(node_ids=[node.id])]
    _keep(transaction, node.id, [node], edges, pointers, at)
    transaction.graph.delete_node(node.id)


def withdraw_edge(transaction: Transaction, edge: Edge, *, at: datetime) -> None:
    """Take an edge out of the graph, and keep it for a while."""
    _keep(transaction, edge.id, [], [edge], [], at)
    transaction.graph.delete_edge(edge.id)


def bring_back(transaction: Transaction, item_id: str, *, at: datetime) -> GraphRestored:
    """Put what an agent has deleted into the graph again, as it was; links to what is gone meanwhile are left out.

    Raises:
        NodeNotFound: When nothing of this id was deleted within thirty days.
    """
    reader = RecordReader(at, provenance=True)
    linked: list[str] = []
    for document in _records(transaction, item_id):
        kept = json.loads(document.value)
        for record in kept.get("nodes", ()):
            reader.node(record)
        for record in kept.get("edges", ()):
            reader.edge(record)
        linked += kept.get("lessons", ())
    nodes = check_items(reader.draft.nodes)
    admit_nodes(transaction, [(node, words(node)) for node in nodes])
    edges = check_items(reader.draft.edges)
    there = transaction.graph.nodes({end for edge in edges for end in (edge.source, edge.target)})
    whole = [edge for edge in edges if {edge.source, edge.target} <= there.keys()]
    admit_edges(transaction, [(edge, words(edge)) for edge in whole])
    lessons = [memory_id for memory_id in linked if memory_id in transaction.graph.row_ids(linked)]
    for memory_id in lessons:
        transaction.graph.link_node(Pointer(node_id=item_id, memory_id=memory_id))
    forget(transaction, item_id)
    return GraphRestored(
        id=item_id,
        nodes=len(nodes),
        edges=len(whole),
        lessons=len(lessons),
        left_out=len(edges) - len(whole) + len(linked) - len(lessons),
    )


def is_kept(reader: StoreReader, item_id: str) -> bool:
    """Return whether an agent has deleted something of this id that is still kept."""
    return bool(reader.documents.below(DELETED_PARTS, (item_id,)))


def forget(transaction: Transaction, item_id: str) -> None:
    """Erase what was kept of a node or an edge that an agent has deleted."""
    for document in _records(transaction, item_id):
        transaction.documents.delete_document(*document.place)


class DeletedParts:
    """Erase what agents have deleted from the graph once its time is over."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._look_after: datetime | None = None

    def queue_due(self) -> None:
        """Erase what is older than thirty days; look for that once an hour."""
        now = self._context.clock.now()
        if self._look_after is not None and now < self._look_after:
            return
        self._look_after = now + LOOK_EVERY
        store = self._context.store()
        kept = store.documents.below(DELETED_PARTS, ())
        if old := [document for document in kept if document.created_at + KEPT_FOR <= now]:
            with store.transaction() as transaction:
                for document in old:
                    transaction.documents.delete_document(*document.place)


def _keep(
    transaction: Transaction,
    item_id: str,
    nodes: Sequence[Node],
    edges: Sequence[Edge],
    lessons: Sequence[str],
    at: datetime,
) -> None:
    parts: list[dict[str, object]] = [{"nodes": [node_record(node) for node in nodes], "lessons": list(lessons)}]
    parts += [
        {"edges": [edge_record(edge) for edge in edges[start : start + _BATCH]]}
        for start in range(0, len(edges), _BATCH)
    ]
    for number, part in enumerate(parts):
        value = json.dumps(part, ensure_ascii=False)
        document = Document(
            collection=DELETED_PARTS, path=(item_id,), key=str(number), value=value, created_at=at, updated_at=at
        )
        keep_record(transaction, document, "")


def _records(reader: StoreReader, item_id: str) -> Sequence[Document]:
    found = reader.documents.below(DELETED_PARTS, (item_id,))
    if not found:
        raise NodeNotFound(
            f"nothing that an agent has deleted is kept as {item_id[:80]!r}",
            hint="What an agent deletes from the graph is kept for 30 days.",
        )
    return found


def _says(item: Node | Edge) -> tuple[Any, ...]:
    if isinstance(item, Edge):
        return (item.source, item.target, item.text, item.weight, sorted(item.tags))
    return (item.label, item.text, item.conv_id, sorted(item.tags), sorted(item.fields.items()))


def _short(node: Node) -> str:
    return " ".join(node.text.split()[:_WORDS])

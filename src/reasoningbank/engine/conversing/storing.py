"""Storing a conversation in one transaction, and what waits of it for a language model; nothing is stored twice."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import cast

from reasoningbank.domain.conversation import Conversation, RefusedPart
from reasoningbank.domain.document import Document
from reasoningbank.domain.graph import Edge, Node
from reasoningbank.domain.lesson import Lesson
from reasoningbank.domain.memory import Memory
from reasoningbank.domain.reminders import Preference
from reasoningbank.engine.conversing.certain import Parts
from reasoningbank.engine.conversing.fields import conversation_fields
from reasoningbank.engine.documents import to_text
from reasoningbank.engine.graph.preferences import add as add_preference
from reasoningbank.engine.graphing.adding import Prepared, prepared
from reasoningbank.engine.graphing.indexing import EMBED, EMBED_KEY, words
from reasoningbank.engine.lessons import lessons_of
from reasoningbank.memories.admission import Ready as ReadyMemory
from reasoningbank.memories.admission import admit, admit_edges, admit_nodes, keep_record
from reasoningbank.ports import Embedder, Job, Pointer, Store, StoreReader, Transaction

COLLECTION = "reasoningbank.conversations"
"""Where a bank notes which conversations it has remembered, and keeps those that wait."""
CONVERSE = "remember_conversation"
"""The kind of job that asks a language model about a conversation; its key is the conversation's digest."""
PATIENCE = timedelta(minutes=2)
"""A worker leaves a conversation alone for so long: whoever remembers it asks the model itself first."""
_KEPT = "the bank holds it with other contents; those were kept"


@dataclass(slots=True)
class Stored:
    """What the bank holds of a conversation now."""

    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    preferences: tuple[Preference, ...] = ()
    lesson: Lesson | None = None
    new: list[str] = field(default_factory=list)
    refused: list[RefusedPart] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """A conversation that may be stored.

    Attributes:
        parts: What is to be stored.
        fresh: The nodes and edges that the bank did not have, admitted and with vectors.
        lesson: The lesson as a memory, ready to be stored.
        twin: Told a transaction, finds the memory that says the same as the lesson.
    """

    parts: Parts
    fresh: Prepared
    lesson: ReadyMemory | None = None
    twin: Callable[[Transaction], Memory | None] | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """What the bank has noted about a conversation.

    Attributes:
        done: Whether a language model has said what it finds.
        preferences: By the id that a preference was to have, the id of the one that holds it.
        waiting: The conversation, as long as it waits.
    """

    done: bool = False
    preferences: Mapping[str, str] = field(default_factory=dict)
    waiting: Mapping[str, object] | None = None


def read_note(reader: StoreReader, key: str) -> Note:
    """What was noted about the conversation of a digest."""
    document = reader.document(COLLECTION, (), key)
    if document is None:
        return Note()
    value = json.loads(document.value)
    return Note(
        done=bool(value.get("done")),
        preferences=cast("dict[str, str]", value.get("preferences", {})),
        waiting=value.get("waiting"),
    )


def fresh_of(store: Store, parts: Parts, embedder: Embedder) -> Prepared:
    """The nodes and edges that the store does not have, admitted and with vectors.

    Raises:
        InvalidNode, InvalidEdge: When one breaks a rule.
    """
    nodes, edges = store.nodes(list(parts.nodes)), store.edges(list(parts.edges))
    return prepared(
        [node for name, node in parts.nodes.items() if name not in nodes],
        [edge for name, edge in parts.edges.items() if name not in edges],
        embedder,
    )


def store_parts(
    transaction: Transaction,
    ready: Ready,
    conversation: Conversation,
    key: str,
    *,
    done: bool,
    waits: bool,
    at: datetime,
) -> Stored:
    """Stores what is new, notes the conversation, and gives what waits a job.

    Args:
        transaction: Where to.
        ready: What is to be stored.
        conversation: The conversation; kept whole as long as it waits.
        key: Its digest.
        done: Whether a language model has said what it finds.
        waits: Whether one is to be asked later.
        at: Now.
    """
    note = read_note(transaction, key)
    stored = Stored()
    if done and note.done:
        return stored
    alias = _put_nodes(transaction, ready, conversation, dict(note.preferences), stored)
    _put_edges(transaction, ready, alias, stored)
    _put_lesson(transaction, ready, alias, stored)
    kept = {
        "done": done or note.done,
        "preferences": {name: other for name, other in alias.items() if name in _preferences_of(ready.parts)}
        | dict(note.preferences),
        **({"waiting": conversation_fields(conversation)} if waits else {}),
    }
    document = Document(collection=COLLECTION, path=(), key=key, value=to_text(kept), created_at=at, updated_at=at)
    keep_record(transaction, document, ready.fresh.model_id)
    if waits:
        transaction.enqueue(Job(kind=CONVERSE, key=key, due=at + PATIENCE))
    if transaction.graph_size().pending:
        transaction.enqueue(Job(kind=EMBED, key=EMBED_KEY, due=at))
    return stored


def _put_nodes(
    transaction: Transaction, ready: Ready, conversation: Conversation, known: dict[str, str], stored: Stored
) -> dict[str, str]:
    """Stores new nodes; returns for each node of the conversation the id of the node that stands for it."""
    parts = ready.parts
    alias = {name: known.get(name, name) for name in parts.nodes}
    present = transaction.nodes(list({*parts.nodes, *alias.values()}))
    plain: list[Node] = []
    for node in ready.fresh.nodes:
        if node.id in present or known.get(node.id) in present:
            continue
        owned = _owned(node, conversation)
        if owned is None:
            plain.append(node)
            continue
        kept = add_preference(transaction, owned)
        alias[node.id] = kept.id
        stored.preferences = (*stored.preferences, kept)
        if kept.id == node.id:
            stored.new.append(node.id)
    admit_nodes(transaction, [(node, words(node)) for node in plain])
    stored.new += [node.id for node in plain]
    made = {name: vector for name, vector in ready.fresh.vectors.get("node", {}).items() if name in stored.new}
    transaction.put_graph_vectors("node", made, ready.fresh.model_id)
    for name, held in present.items():
        given = parts.nodes.get(name)
        if given is not None and _says(given) != _says(held):
            stored.refused.append(RefusedPart(part="node", name=name, reason=_KEPT))
    after = transaction.nodes(list(dict.fromkeys(alias.values())))
    stored.nodes = tuple(after[name] for name in dict.fromkeys(alias.values()) if name in after)
    return {name: other for name, other in alias.items() if other in after}


def _put_edges(transaction: Transaction, ready: Ready, alias: Mapping[str, str], stored: Stored) -> None:
    wanted = {
        name: replace(edge, source=alias.get(edge.source, edge.source), target=alias.get(edge.target, edge.target))
        for name, edge in ready.parts.edges.items()
    }
    fresh = {edge.id: edge for edge in ready.fresh.edges}
    ends = transaction.nodes(list({end for edge in wanted.values() for end in (edge.source, edge.target)}))
    present = transaction.edges(list(wanted))
    new: list[Edge] = []
    for name, edge in wanted.items():
        missing = next((end for end in (edge.source, edge.target) if end not in ends), None)
        if name in present:
            held = present[name]
            if (held.source, held.target, held.text, held.weight) != (edge.source, edge.target, edge.text, edge.weight):
                stored.refused.append(RefusedPart(part="edge", name=name, reason=_KEPT))
        elif missing is not None:
            reason = f"it names {missing[:80]!r}, which is neither in the conversation nor in the bank"
            stored.refused.append(RefusedPart(part="edge", name=name, reason=reason))
        elif name in fresh:
            new.append(replace(fresh[name], source=edge.source, target=edge.target))
    admit_edges(transaction, [(edge, words(edge)) for edge in new])
    names = {edge.id for edge in new}
    made = {name: vector for name, vector in ready.fresh.vectors.get("edge", {}).items() if name in names}
    transaction.put_graph_vectors("edge", made, ready.fresh.model_id)
    stored.new += [edge.id for edge in new]
    stored.edges = tuple(transaction.edges(list(wanted)).values())


def _put_lesson(transaction: Transaction, ready: Ready, alias: Mapping[str, str], stored: Stored) -> None:
    """Stores the lesson, or links the memory that says the same."""
    note = ready.parts.lesson
    if ready.lesson is None or note is None:
        return
    memory = ready.lesson.memory
    twin = ready.twin(transaction) if ready.twin is not None else None
    if twin is None:
        admit(transaction, ready.lesson, at=memory.created_at)
        stored.new.append(memory.id)
    named = {alias.get(name, name): name for name in note.link_nodes}
    existing = transaction.nodes(list(named))
    lesson_id = memory.id if twin is None else twin.id
    for node_id, name in named.items():
        if node_id in existing:
            transaction.link_node(Pointer(node_id=node_id, memory_id=lesson_id))
        else:
            reason = f"it links {name[:80]!r}, which is neither in the conversation nor in the bank"
            stored.refused.append(RefusedPart(part="lesson", name=name, reason=reason))
    stored.lesson = lessons_of(transaction, [lesson_id])[lesson_id]


def _owned(node: Node, conversation: Conversation) -> Node | None:
    """A preference with its owner; None for any other node, and for a preference that is nobody's."""
    if node.label != "UserPreference" or not str(node.fields.get("preference_type", "")).strip():
        return None
    if any(str(node.fields.get(name, "")).strip() for name in ("user_id", "user_role")):
        return node
    if conversation.user_id.strip():
        return replace(node, fields={**node.fields, "user_id": conversation.user_id})
    if conversation.user_role.strip():
        return replace(node, fields={**node.fields, "user_role": conversation.user_role})
    return None


def _preferences_of(parts: Parts) -> set[str]:
    return {node.id for node in parts.nodes.values() if node.label == "UserPreference"}


def _says(node: Node) -> tuple[object, ...]:
    fields = {} if node.label == "UserPreference" else dict(node.fields)
    return (node.label, node.text, node.conv_id, frozenset(node.tags), fields)

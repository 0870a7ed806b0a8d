"""A conversation as JSON: what a file, a tool or a request says, and what waits in the bank for a language model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import get_type_hints

from reasoningbank.errors import InvalidInput
from reasoningbank.graph.import_records import GraphRecord, RecordReader
from reasoningbank.types.conversation import (
    ANSWER,
    REQUEST,
    SPEAKERS,
    Conversation,
    ConversationRecord,
    EdgeRecord,
    LessonNote,
    LessonRecord,
    Message,
    MessageRecord,
    Wish,
    WishRecord,
)
from reasoningbank.types.graph import Edge, Node

_KEYS = frozenset(get_type_hints(ConversationRecord))
_PARTS = {"messages": MessageRecord, "preferences": WishRecord, "lesson": LessonRecord, "edges": EdgeRecord}
USED, RESTS, LED = (
    "'{source}' provides what the step '{target}' works with.",
    "'{source}' is what the answer '{target}' rests on.",
    "The request '{source}' led to the step '{target}'.",
)
_DIRECT = 0.9
_WORDS = 12


def read_conversation(record: Mapping[str, object], *, at: datetime) -> Conversation:
    """Return the conversation that a JSON object describes; see docs/reference/web.md.

    ``sources`` and ``actions`` are nodes of these labels in short: an action's ``parameters`` are kept word for word,
    its ``uses`` and the conversation's ``rests_on`` name what leads to it and to the answer, and become edges.

    Args:
        record: The object.
        at: The time of nodes and edges that name none.

    Raises:
        InvalidInput: When a field is unknown or of another type; the message names it.
    """
    unknown = sorted(set(record) - _KEYS)
    if unknown:
        raise InvalidInput(
            f"{str(unknown[0])[:80]}: is not a field of a conversation", hint=f"It has {', '.join(sorted(_KEYS))}."
        )
    told = Conversation(
        conv_id=text_of(record, "conv_id"),
        messages=tuple(_message(each) for each in _closed(record, "messages")),
        user_id=text_of(record, "user_id"),
        user_role=text_of(record, "user_role"),
        request=text_of(record, "request"),
        answer=text_of(record, "answer"),
    )
    reading = _Reading(told, at)
    for number, source in enumerate(_objects(record, "sources"), 1):
        reading.node({"label": "DataSource", **source}, f"source-{number}")
    for number, action in enumerate(_objects(record, "actions"), 1):
        reading.action(action, f"action-{number}")
    for number, node in enumerate(_objects(record, "nodes"), 1):
        reading.node(node, f"node-{number}")
    for name in _texts(record, "rests_on"):
        reading.link(name, ANSWER, RESTS)
    for edge in _closed(record, "edges"):
        reading.edge(edge)
    return replace(
        told,
        nodes=tuple(reading.nodes),
        edges=tuple(reading.edges),
        wishes=tuple(
            Wish(
                preference_type=text_of(each, "preference_type"),
                text=text_of(each, "text"),
                tags=_texts(each, "tags"),
            )
            for each in _closed(record, "preferences")
        ),
        lesson=reading.lesson(record.get("lesson")),
    )


def conversation_fields(conversation: Conversation) -> dict[str, object]:
    """Return the conversation as a JSON object that ``read_conversation`` reads again.

    All is said, nothing in short.
    """
    lesson = conversation.lesson
    return {
        "conv_id": conversation.conv_id,
        "user_id": conversation.user_id,
        "user_role": conversation.user_role,
        "messages": [{"role": each.role, "content": each.text} for each in conversation.messages],
        "request": conversation.request,
        "answer": conversation.answer,
        "nodes": [
            {
                "id": each.id,
                "label": each.label,
                "text": each.text,
                "tags": list(each.tags),
                **{name: list(value) if isinstance(value, tuple) else value for name, value in each.fields.items()},
            }
            for each in conversation.nodes
        ],
        "edges": [
            {
                "id": each.id,
                "source": each.source,
                "target": each.target,
                "text": each.text,
                "weight": each.weight,
                "tags": list(each.tags),
            }
            for each in conversation.edges
        ],
        "preferences": [
            {"preference_type": each.preference_type, "text": each.text, "tags": list(each.tags)}
            for each in conversation.wishes
        ],
        "lesson": None
        if lesson is None
        else {
            "key_lesson": lesson.key_lesson,
            "context_to_prefer": lesson.context_to_prefer,
            "tags": list(lesson.tags),
            "link_nodes": list(lesson.link_nodes),
        },
    }


def digest(conversation: Conversation) -> str:
    """Return 32 hexadecimal digits that are equal for conversations that say the same."""
    said = json.dumps(conversation_fields(conversation), sort_keys=True, ensure_ascii=True)
    return hashlib.blake2b(said.encode("ascii"), digest_size=16).hexdigest()


def derived_id(kind: str, *parts: str) -> str:
    """Return an id that follows from what is named, so that the same conversation a second time finds the first."""
    told = "\x00".join(parts).encode("utf-8", "surrogatepass")
    return f"{kind}-{hashlib.blake2b(told, digest_size=10).hexdigest()}"


def short(text: str) -> str:
    """Return the first words of a text, to name it within a sentence."""
    words = " ".join(text.split()).replace("'", "").split()
    return " ".join(words[:_WORDS])


def text_of(record: Mapping[str, object], name: str) -> str:
    """Return a text of an object; empty when it is not there.

    Raises:
        InvalidInput: When it is something else.
    """
    value = record.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidInput(f"{name}: must be a text, not {type(value).__name__}")
    return value


class _Reading:
    """The nodes and edges of a conversation as they are read; short names become ids."""

    def __init__(self, told: Conversation, at: datetime) -> None:
        self.nodes: list[Node] = []
        self.edges: list[Edge] = []
        self._conv_id = told.conv_id
        self._at = at
        self._names: dict[str, str] = {}
        self._texts = {REQUEST: told.asked, ANSWER: told.answered}

    def node(self, record: GraphRecord, name: str) -> Node:
        """Take a node; an edge may name it by its id or by the short name."""
        reader = RecordReader(self._at)
        known = {key: value for key, value in record.items() if value is not None}
        reader.node({**known, "conv_id": self._conv_id})
        if reader.draft.ignored:
            raise InvalidInput(f"{next(iter(reader.draft.ignored))[:80]}: is not a field of {name}")
        (node,) = reader.draft.nodes
        if node.id in self._texts:
            raise InvalidInput(f"id: {node.id[:80]!r} is given twice, or stands for the request or the answer")
        self._names[name] = node.id
        self._texts[node.id] = node.text
        self.nodes.append(node)
        return node

    def action(self, record: GraphRecord, name: str) -> None:
        """Take an action, and the edges that say why it was taken and what it used."""
        uses = _texts(record, "uses")
        given = {key: value for key, value in record.items() if key not in {"uses", "parameters"}}
        if text_of(record, "parameters"):
            given["parameter_field"] = text_of(record, "parameters")
        node = self.node({"label": "AgentAction", "status": "unknown", **given}, name)
        self.link(REQUEST, node.id, LED)
        for used in uses:
            self.link(used, node.id, USED)

    def link(self, source: str, target: str, sentence: str) -> None:
        """Take an edge that follows from how the conversation is told.

        Raises:
            InvalidInput: When an end is not a part of the conversation.
        """
        source = self._names.get(source, source)
        for end in (source, target):
            if not self._texts.get(end, ""):
                raise InvalidInput(f"uses, rests_on: {end[:80]!r} is not a part of the conversation")
        self.edges.append(
            Edge(
                id=derived_id("e", self._conv_id, source, target, sentence),
                source=source,
                target=target,
                text=sentence.format(source=short(self._texts[source]), target=short(self._texts[target])),
                weight=_DIRECT,
                created_time=self._at,
            )
        )

    def edge(self, record: GraphRecord) -> None:
        """Take an edge that is told in full."""
        reader = RecordReader(self._at)
        reader.edge(record)
        (edge,) = reader.draft.edges
        source, target = (self._names.get(end, end) for end in (edge.source, edge.target))
        name = edge.id if text_of(record, "id") else derived_id("e", self._conv_id, source, target, edge.text)
        self.edges.append(
            Edge(
                id=name,
                source=source,
                target=target,
                text=edge.text,
                weight=edge.weight,
                tags=edge.tags,
                created_time=self._at,
            )
        )

    def lesson(self, value: object) -> LessonNote | None:
        """Return the lesson, its links as ids."""
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise InvalidInput("lesson: must be one object; a conversation teaches at most one lesson")
        _refuse_unknown(value, "lesson")
        return LessonNote(
            key_lesson=text_of(value, "key_lesson"),
            context_to_prefer=text_of(value, "context_to_prefer"),
            tags=_texts(value, "tags"),
            link_nodes=tuple(self._names.get(name, name) for name in _texts(value, "link_nodes")),
        )


def _message(record: Mapping[str, object]) -> Message:
    """Return a message; its content is a text, or a list of parts of which those with a text count."""
    role = text_of(record, "role")
    if role not in SPEAKERS:
        raise InvalidInput(f"messages.role: must be one of {', '.join(SPEAKERS)}, not {role[:80]!r}")
    content = record.get("content", record.get("text"))
    if isinstance(content, Sequence) and not isinstance(content, str):
        parts = [text_of(part, "text") for part in content if isinstance(part, Mapping)]
        content = "\n".join(part for part in parts if part)
    if content is not None and not isinstance(content, str):
        raise InvalidInput("messages.content: must be a text or a list of parts with texts")
    return Message(role=role, text=content or "")


def _closed(record: Mapping[str, object], name: str) -> list[Mapping[str, object]]:
    """Return the objects of a part, none of which has a field that would be lost."""
    found = _objects(record, name)
    for each in found:
        _refuse_unknown(each, name)
    return found


def _refuse_unknown(record: Mapping[str, object], part: str) -> None:
    """Refuse what would be lost in silence: a field that this part of a conversation does not have.

    Raises:
        InvalidInput: When there is one.
    """
    known = get_type_hints(_PARTS[part])
    unknown = sorted(str(name) for name, value in record.items() if name not in known and value is not None)
    if unknown:
        raise InvalidInput(
            f"{part}.{unknown[0][:80]}: is not a field of it", hint=f"It has {', '.join(sorted(known))}."
        )


def _objects(record: Mapping[str, object], name: str) -> list[Mapping[str, object]]:
    value = record.get(name)
    if value is None:
        return []
    if not isinstance(value, (list, tuple)) or not all(isinstance(each, Mapping) for each in value):
        raise InvalidInput(f"{name}: must be a list of objects")
    return list(value)


def _texts(record: Mapping[str, object], name: str) -> tuple[str, ...]:
    value = record.get(name)
    if value is None:
        return ()
    if not isinstance(value, (list, tuple)) or not all(isinstance(each, str) for each in value):
        raise InvalidInput(f"{name}: must be a list of texts")
    return tuple(dict.fromkeys(each for each in value if each.strip()))

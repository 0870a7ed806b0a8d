"""The parts of a conversation: what is certain of it, as nodes and edges that may be stored."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import cast

from reasoningbank.conversations.format import conversation_fields, derived_id, read_conversation, short
from reasoningbank.documents.values import safe_value
from reasoningbank.memories.words import STOP_WORDS, analyse
from reasoningbank.safety.injection import graph_danger
from reasoningbank.safety.quotation import without_blocks
from reasoningbank.types.conversation import (
    ANSWER,
    REQUEST,
    Conversation,
    LessonNote,
    Part,
    RefusedPart,
    Wish,
)
from reasoningbank.types.graph import Edge, Node
from reasoningbank.types.quarantine import unquoted

LEAST_WORDS = 3
"""A sentence has at least so many words."""
_SAYING_LITTLE = (
    "related relates relate relation relationship relationships linked links link connected connects connect "
    "connection connections associated associates associate association similar similarity likewise also same "
    "topic topics topical theme subject matter concerns concern concerning regarding mention mentions mentioned "
    "both another other two node nodes edge edges item items thing things context contextual generally somehow "
    "reference references refers refer see belongs belong together corresponding corresponds correlated strongly "
    "weakly closely directly indirectly semantically request answer action event source preference neighbour"
)
_EMPTY = frozenset(_SAYING_LITTLE.split())
_WORD = re.compile(r"\w+")


def why_bare(text: str, names: Sequence[str] = ()) -> str:
    """Return why a text is no reason for an edge, as the rest of a sentence; empty when it gives one.

    It gives one when it has at least three words, and at least one that is neither a function word, nor a name of its
    ends, nor a word that only says that there is some relation.

    Args:
        text: The edge's text.
        names: What its ends are called.
    """
    if len(_WORD.findall(text)) < LEAST_WORDS:
        return "its text is not a sentence"
    own = set(" ".join(analyse(name) for name in names).split())
    said = {word for word in analyse(text).split() if word not in STOP_WORDS and word not in own}
    if not said - _EMPTY:
        return "its text says only that there is a relation, not which"
    return ""


_ANSWERED = "The request '{request}' was answered with '{answer}'."
_DIRECT = 0.9


@dataclass(slots=True, kw_only=True)
class ConversationParts:
    """Hold what is to be stored of a conversation.

    Attributes:
        conv_id: The conversation.
        nodes, edges: By id, in their order; every end of an edge is an id.
        lesson: The lesson, its links as ids.
        lesson_model, lesson_prompt: Who found it; empty when the conversation told it itself.
        refused: What is not to be stored.
    """

    conv_id: str
    nodes: dict[str, Node] = field(default_factory=dict)
    edges: dict[str, Edge] = field(default_factory=dict)
    lesson: LessonNote | None = None
    lesson_model: str = ""
    lesson_prompt: str = ""
    refused: list[RefusedPart] = field(default_factory=list)

    @property
    def asks(self) -> tuple[str, ...]:
        """The request and the answers, whose neighbours are looked for."""
        return tuple(each.id for each in self.nodes.values() if each.label in {"UserRequest", "AgentAnswer"})

    def refuse(self, part: Part, name: str, reason: str, *, held: bool = False) -> None:
        """Note that something is not stored, because the gate has stopped it or for another reason."""
        self.refused.append(RefusedPart(part=part, name=name[:200], reason=reason, held=held))


def prepared_conversation(given: Conversation | Mapping[str, object], *, at: datetime) -> Conversation:
    """Return the conversation without secrets, invisible characters and the bank's own blocks (echo guard).

    Raises:
        InvalidInput: When a field is not usable; the message names it.
    """
    fields = conversation_fields(given) if isinstance(given, Conversation) else dict(given)
    read = read_conversation(cast("dict[str, object]", _without_echo(safe_value(fields))), at=at)
    return replace(read, broke_off=isinstance(given, Conversation) and given.broke_off)


def certain_parts(conversation: Conversation, *, at: datetime) -> ConversationParts:
    """Return the request, the final answer, and the nodes, edges and the lesson that the conversation tells itself.

    Text that looks like a prompt injection, and an edge without a reason or with a refused end, are left out and
    said so.
    """
    parts = ConversationParts(conv_id=conversation.conv_id)
    owner = {"user_role": conversation.user_role, "user_id": conversation.user_id}
    told = [_node(conversation, REQUEST, at, fields={name: text for name, text in owner.items() if text.strip()})]
    if conversation.answered:
        told.append(_node(conversation, ANSWER, at))
    names = {REQUEST: told[0].id, **({ANSWER: told[1].id} if len(told) > 1 else {})}
    further = (replace(each, conv_id=conversation.conv_id) for each in conversation.nodes)
    wishes = (_wish(conversation, each) for each in conversation.wishes)
    for node in (told[0], *further, *wishes, *told[1:]):
        add_node(parts, replace(node, ingestion_time=at, update_time=at))
    for edge in conversation.edges:
        source, target = names.get(edge.source, edge.source), names.get(edge.target, edge.target)
        add_edge(parts, replace(edge, source=source, target=target, created_time=at), outside=True)
    told_so = any((edge.source, edge.target) == (REQUEST, ANSWER) for edge in conversation.edges)
    if conversation.answered and conversation.is_one_turn and not told_so:
        add_edge(parts, _answered(conversation, names, at))
    if conversation.lesson is not None and conversation.lesson.key_lesson.strip():
        links = dict.fromkeys(names.get(name, name) for name in conversation.lesson.link_nodes)
        parts.lesson = replace(conversation.lesson, link_nodes=tuple(links) or (names.get(ANSWER, names[REQUEST]),))
    return parts


def add_node(parts: ConversationParts, node: Node) -> bool:
    """Take a node unless its text looks like a prompt injection; return whether it was taken."""
    if danger := graph_danger(node):
        parts.refuse("node", node.id, f"its text {unquoted(danger)}", held=True)
        return False
    parts.nodes.setdefault(node.id, node)
    return True


def add_edge(parts: ConversationParts, edge: Edge, *, outside: bool = False) -> bool:
    """Take an edge that gives a reason; whether it was taken.

    Args:
        parts: What is to be stored.
        edge: The edge; its ends are ids.
        outside: Allow ends that only the bank knows; that they exist is looked up when the edge is stored.
    """
    refused = {each.name for each in parts.refused if each.part == "node"}
    reason, danger = why_bare(edge.text, (edge.source, edge.target)), ""
    if edge.source == edge.target:
        reason = "both ends are the same node"
    elif edge.source in refused or edge.target in refused:
        reason = "an end of it was refused"
    elif not outside and not {edge.source, edge.target} <= parts.nodes.keys():
        reason = "an end of it is not a part of the conversation"
    elif danger := graph_danger(edge):
        reason = f"its text {unquoted(danger)}"
    if reason:
        parts.refuse("edge", edge.id, reason, held=bool(danger))
        return False
    parts.edges.setdefault(edge.id, edge)
    return True


def _node(conversation: Conversation, name: str, at: datetime, *, fields: Mapping[str, str] | None = None) -> Node:
    text = conversation.asked if name == REQUEST else conversation.answered
    label = "UserRequest" if name == REQUEST else "AgentAnswer"
    return Node(
        id=derived_id("n", label, conversation.conv_id, text),
        label="UserRequest" if name == REQUEST else "AgentAnswer",
        text=text[:_MOST],
        conv_id=conversation.conv_id,
        fields=dict(fields or {}),
        ingestion_time=at,
    )


_MOST = 20_000
"""A request or an answer is kept up to the length of a node's text."""


def _wish(conversation: Conversation, wish: Wish) -> Node:
    return Node(
        id=derived_id("n", "UserPreference", conversation.conv_id, wish.preference_type, wish.text),
        label="UserPreference",
        text=wish.text,
        conv_id=conversation.conv_id,
        tags=wish.tags,
        fields={"preference_type": wish.preference_type.strip()},
    )


def _answered(conversation: Conversation, names: Mapping[str, str], at: datetime) -> Edge:
    sentence = _ANSWERED.format(request=short(conversation.asked), answer=short(conversation.answered))
    return Edge(
        id=derived_id("e", conversation.conv_id, names[REQUEST], names[ANSWER], "answered"),
        source=names[REQUEST],
        target=names[ANSWER],
        text=sentence,
        weight=_DIRECT,
        tags=("answer",),
        created_time=at,
    )


def _without_echo(value: object) -> object:
    if isinstance(value, str):
        return without_blocks(value)[0]
    if isinstance(value, Mapping):
        return {name: _without_echo(each) for name, each in value.items()}
    if isinstance(value, Sequence):
        return [_without_echo(each) for each in value]
    return value

"""What a language model finds in a conversation, each part checked before it is taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from pydantic import BaseModel, Field

from reasoningbank.conversations.format import derived_id
from reasoningbank.conversations.parts import ConversationParts, add_edge, add_node, why_bare
from reasoningbank.errors import InvalidEdge, InvalidNode
from reasoningbank.graph.search import title_of
from reasoningbank.llm.exchange import exchange_within
from reasoningbank.llm.token_count import count_tokens
from reasoningbank.memories.claims import check_claim
from reasoningbank.safety.injection import find_markup, find_order, is_about_memory
from reasoningbank.safety.quotation import clip, fence, quote
from reasoningbank.sessions.triggers import has_trigger
from reasoningbank.types.conversation import ANSWER, REQUEST, Conversation, LessonNote
from reasoningbank.types.graph import LABEL_FIELDS, LABELS, LIST_FIELDS, Edge, FieldValue, Label, Node
from reasoningbank.types.ports import LanguageModel

MOST_MATERIAL = 60_000
"""Characters of a conversation that a model is shown; the middle of a longer one is left out."""
MOST_TOKENS = 24_000
"""Tokens of the material when the model's context allows them."""
_LEAST_TOKENS, _LEAST_CHARACTERS = 600, 400
_MOST_NODES, _MOST_EDGES = 12, 40
_TEMPERATURE = 0.0


class NewNode(BaseModel):
    """A node as the model proposes it."""

    name: str
    label: str
    text: str
    tags: list[str] = []
    user_role: str = ""
    preference_type: str = ""
    analysis_types: list[str] = []
    metrics: list[str] = []
    status: str = ""
    parameter_field: str = ""
    source_type: str = ""
    start_date: str = ""
    end_date: str = ""
    doc_pointer: str = ""
    relevant_parts: str = ""


class NewEdge(BaseModel):
    """A sentence between two nodes."""

    source: str
    target: str
    text: str
    weight: float = Field(ge=0.0, le=1.0)
    tags: list[str] = []


class ConversationAnswer(BaseModel):
    """Name the nodes, the edges and at most one lesson of a conversation."""

    nodes: list[NewNode] = Field(max_length=_MOST_NODES)
    edges: list[NewEdge] = Field(max_length=_MOST_EDGES)
    lesson: LessonNote | None = None


class SessionAnswer(BaseModel):
    """Name the nodes and the edges of a captured session, whose lessons are distilled by themselves."""

    nodes: list[NewNode] = Field(max_length=_MOST_NODES)
    edges: list[NewEdge] = Field(max_length=_MOST_EDGES)


@dataclass(frozen=True, slots=True)
class _Names:
    """Which node a name of the material stands for, and what it says."""

    ids: Mapping[str, str]
    texts: Mapping[str, str]


def ask(
    model: LanguageModel,
    conversation: Conversation,
    parts: ConversationParts,
    neighbours: Sequence[Node],
    *,
    at: datetime,
    session: bool = False,
) -> None:
    """Add what the model finds to what is certain; what fails a check is left out and said so.

    Args:
        model: Who is asked.
        conversation: What was said.
        parts: What is certain of it.
        neighbours: Earlier nodes that may have to do with it.
        at: Now.
        session: True for a captured session: it brings no lesson, and an edge has an end in the session itself.

    Raises:
        ModelUnavailable, BudgetExhausted: When there was no answer.
        MalformedAnswer: When the answer does not have the shape that was asked for; nothing was added.
    """
    names = _names(parts, neighbours)
    shape: type[ConversationAnswer] | type[SessionAnswer] = SessionAnswer if session else ConversationAnswer
    found = exchange_within(
        model,
        "session" if session else "conversation",
        lambda tokens: material(conversation, parts, neighbours, tokens=tokens),
        shape,
        most=MOST_TOKENS,
        least=_LEAST_TOKENS,
        temperature=_TEMPERATURE,
    )
    answer = found.answer
    said, users = _said(conversation, parts), _said_by_user(conversation)
    ids, more = dict(names.ids), [said, *names.texts.values()]
    for proposed in answer.nodes:
        node = _node(parts, proposed, users if proposed.label == "UserPreference" else said, at)
        if node is not None and add_node(parts, node):
            ids.setdefault(proposed.name.strip(), node.id)
            more.append(node.text)
    for edge in answer.edges:
        _edge(parts, edge, ids, "\n".join(more), at, own=session)
    if isinstance(answer, ConversationAnswer) and answer.lesson is not None and parts.lesson is None:
        _lesson(parts, answer.lesson, ids, said)
        parts.lesson_model, parts.lesson_prompt = found.model, found.asked.label


def material(
    conversation: Conversation, parts: ConversationParts, neighbours: Sequence[Node], *, tokens: int = MOST_TOKENS
) -> str:
    """Return the conversation, what is known of it and the neighbours as quoted data (DESIGN D10).

    Args:
        conversation: What was said.
        parts: What is known of it.
        neighbours: Earlier nodes that may have to do with it.
        tokens: About the most tokens of all; the middle of the conversation goes first, then that of what is known.
    """
    turns = "".join(f"{each.role}\n{quote(each.text)}" for each in conversation.messages if each.text.strip())
    known = "".join(f"{node.id}, {node.label}\n{quote(node.text)}" for node in parts.nodes.values())
    told = "".join(quote(f"{edge.source} -> {edge.target}: {edge.text}") for edge in parts.edges.values())
    earlier = "".join(
        f"neighbour-{number}, {node.label}\n{quote(node.text)}" for number, node in enumerate(neighbours, 1)
    )
    characters = MOST_MATERIAL
    while True:
        few = max(_LEAST_CHARACTERS, characters // 4)
        body = (
            f"KNOWN NODES\n{clip(known, few)}KNOWN EDGES\n{clip(told, few)}EARLIER NODES\n{clip(earlier, few)}"
            f"CONVERSATION\n{clip(turns, characters)}"
        )
        shown = fence("a conversation and what is known of it", body)
        if characters <= _LEAST_CHARACTERS or count_tokens(shown) <= tokens:
            return shown
        characters = characters * 2 // 3


def _names(parts: ConversationParts, neighbours: Sequence[Node]) -> _Names:
    ids = {node.id: node.id for node in parts.nodes.values()}
    for name, label in ((REQUEST, "UserRequest"), (ANSWER, "AgentAnswer")):
        of_label = [node.id for node in parts.nodes.values() if node.label == label]
        if of_label:
            ids.setdefault(name, of_label[0] if name == REQUEST else of_label[-1])
    ids |= {f"neighbour-{number}": node.id for number, node in enumerate(neighbours, 1)}
    return _Names(ids, {node.id: node.text for node in (*parts.nodes.values(), *neighbours)})


def _node(parts: ConversationParts, proposed: NewNode, said: str, at: datetime) -> Node | None:
    """Return the node, when its label and fields are valid and its text stands in the conversation."""
    label = proposed.label
    if label not in LABELS or label == "UserRequest":
        parts.refuse("node", proposed.name, f"its label is {label[:40]!r}")
        return None
    if problem := _ungrounded(proposed.text, said):
        parts.refuse("node", proposed.name, f"its text {problem}")
        return None
    fields: dict[str, FieldValue] = {}
    for name in LABEL_FIELDS[cast("Label", label)]:
        value = getattr(proposed, name, "")
        texts = [each for each in value if each.strip()] if isinstance(value, list) else [str(value)]
        if not any(text.strip() for text in texts):
            continue
        if name == "parameter_field" and str(value) not in said:
            parts.refuse("node", proposed.name, "its parameter_field does not stand in the conversation word for word")
            return None
        if name == "doc_pointer" and str(value).casefold() not in said.casefold():
            parts.refuse("node", proposed.name, "its doc_pointer does not stand in the conversation")
            return None
        fields[name] = tuple(texts) if name in LIST_FIELDS else str(value)
    try:
        return Node(
            id=derived_id("n", label, parts.conv_id, " ".join(proposed.text.split())),
            label=cast("Label", label),
            text=proposed.text.strip(),
            conv_id=parts.conv_id,
            tags=_tags(proposed.tags),
            fields=fields,
            ingestion_time=at,
        )
    except InvalidNode as error:
        parts.refuse("node", proposed.name, error.message)
        return None


def _edge(
    parts: ConversationParts, proposed: NewEdge, ids: Mapping[str, str], said: str, at: datetime, *, own: bool
) -> None:
    """Take the edge, when its ends are known and its sentence gives a reason that stands in what was said."""
    label = f"{proposed.source} -> {proposed.target}"
    source, target = ids.get(proposed.source.strip(), ""), ids.get(proposed.target.strip(), "")
    if not source or not target:
        parts.refuse("edge", label, "an end of it is neither in the conversation nor among the earlier nodes")
        return
    if own and not {source, target} & parts.nodes.keys():
        parts.refuse("edge", label, "it connects two earlier nodes and none of the session")
        return
    plain = proposed.text
    for name in sorted((proposed.source.strip(), proposed.target.strip()), key=len, reverse=True):
        plain = plain.replace(name, "")
    if problem := why_bare(proposed.text, (proposed.source, proposed.target)):
        parts.refuse("edge", label, problem)
        return
    if problem := _ungrounded(plain, said):
        parts.refuse("edge", label, f"its text {problem}")
        return
    try:
        edge = Edge(
            id=derived_id("e", parts.conv_id, source, target, proposed.text),
            source=source,
            target=target,
            text=proposed.text.strip(),
            weight=proposed.weight,
            tags=_tags(proposed.tags),
            created_time=at,
        )
    except InvalidEdge as error:
        parts.refuse("edge", label, error.message)
        return
    if any({each.source, each.target} == {source, target} and each.text == edge.text for each in parts.edges.values()):
        return
    add_edge(parts, edge, outside=True)


def _lesson(parts: ConversationParts, proposed: LessonNote, ids: Mapping[str, str], said: str) -> None:
    """Take the lesson, when it is one and stands in the conversation."""
    lesson, context = proposed.key_lesson.strip(), proposed.context_to_prefer.strip()
    title = title_of(lesson) if lesson else ""
    links = dict.fromkeys(ids[name] for name in proposed.link_nodes if name in ids)
    problem = ""
    if not lesson or not context:
        problem = "the lesson or when it applies is empty"
    elif order := find_order(lesson) or find_order(context):
        problem = f"it looks like a prompt injection: {order[:80]!r}"
    elif markup := find_markup(title, context, lesson):
        problem = markup
    elif is_about_memory(title, lesson):
        problem = "it is about the memory that lessons are kept in"
    elif not has_trigger(context, title, lesson):
        problem = "it does not say when it applies"
    elif ungrounded := _ungrounded(lesson, said):
        problem = f"it {ungrounded}"
    elif len(links) < len(proposed.link_nodes):
        problem = "it links a node that is neither in the conversation nor among the earlier nodes"
    if problem:
        parts.refuse("lesson", title or "lesson", problem)
        return
    parts.lesson = LessonNote(
        key_lesson=lesson, context_to_prefer=context, tags=_tags(proposed.tags), link_nodes=tuple(links)
    )


def _ungrounded(text: str, said: str) -> str:
    """Return what a text says that the conversation does not, as the rest of a sentence; empty when it stands there."""
    problem = check_claim(text, [said])
    problem = problem.replace("no source that it names says", "the conversation does not say")
    return problem.replace("the sources that it names say", "the conversation says").replace(
        "the sources that it names", "the conversation does"
    )


def _said(conversation: Conversation, parts: ConversationParts) -> str:
    """Return everything that the conversation says: its messages, and what was told of it."""
    texts = [each.text for each in conversation.messages]
    for node in parts.nodes.values():
        texts.append(node.text)
        for value in node.fields.values():
            texts += value if isinstance(value, tuple) else (value,)
    return "\n".join(texts)


def _said_by_user(conversation: Conversation) -> str:
    """Return what the user said: a preference is nothing that an agent, a tool or a file says."""
    return "\n".join([conversation.asked, *(each.text for each in conversation.messages if each.role == "user")])


def _tags(tags: Sequence[str]) -> tuple[str, ...]:
    kept = (" ".join(tag.casefold().split())[:64].strip() for tag in tags[:16])
    return tuple(dict.fromkeys(tag for tag in kept if tag))

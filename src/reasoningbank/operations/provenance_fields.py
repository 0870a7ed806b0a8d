"""Fields of preferences, events, sources and actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from reasoningbank.operations.graph_answers import PathFields, path_fields
from reasoningbank.operations.graph_text import node_line, short
from reasoningbank.types.graph_search import Action, Occurrence, Preference, Source
from reasoningbank.types.mention import Mention, SourceReport


class PreferenceFields(TypedDict):
    """A rule about how somebody wants things; ``replaced_by`` is empty while it holds."""

    id: str
    preference_type: str
    text: str
    user: str
    role: str
    tags: list[str]
    conv_id: str
    update_time: str
    replaced_by: str


class EventAnswerFields(TypedDict):
    """An answer that an event led to, and the way to it."""

    id: str
    text: str
    path: PathFields


class EventFields(TypedDict):
    """Something that happened, from ``start`` to before ``end``."""

    id: str
    text: str
    start: str
    end: str
    source_type: str
    tags: list[str]
    conv_id: str
    answers: list[EventAnswerFields]


class SourceNodeFields(TypedDict):
    """Evidence behind an answer, and the way to it."""

    id: str
    text: str
    source_type: str
    doc_pointer: str
    relevant_parts: str
    path: PathFields


class ActionFields(TypedDict):
    """How something was done; ``parameters`` are word for word."""

    id: str
    text: str
    status: str
    outcome: str
    parameters: str
    tags: list[str]
    conv_id: str
    ingestion_time: str


def preference_fields(each: Preference) -> PreferenceFields:
    """Return the fields of a preference."""
    return {
        "id": each.id,
        "preference_type": each.preference_type,
        "text": each.text,
        "user": each.user,
        "role": each.role,
        "tags": list(each.node.tags),
        "conv_id": each.node.conv_id,
        "update_time": each.node.updated_at.isoformat(),
        "replaced_by": each.replaced_by,
    }


def event_fields(each: Occurrence) -> EventFields:
    """Return the fields of an event."""
    node = each.event
    return {
        "id": node.id,
        "text": node.text,
        "start": each.start.isoformat(),
        "end": each.end.isoformat(),
        "source_type": str(node.fields.get("source_type", "")),
        "tags": list(node.tags),
        "conv_id": node.conv_id,
        "answers": [
            {"id": answer.id, "text": answer.text, "path": path_fields(path)}
            for answer, path in zip(each.answer_nodes, each.answers, strict=True)
        ],
    }


def source_fields(each: Source) -> SourceNodeFields:
    """Return the fields of a source."""
    return {
        "id": each.node.id,
        "text": each.node.text,
        "source_type": str(each.node.fields.get("source_type", "")),
        "doc_pointer": each.doc_pointer,
        "relevant_parts": each.relevant_parts,
        "path": path_fields(each.path),
    }


def action_fields(each: Action) -> ActionFields:
    """Return the fields of an action."""
    return {
        "id": each.node.id,
        "text": each.node.text,
        "status": each.status,
        "outcome": each.outcome,
        "parameters": each.parameters,
        "tags": list(each.node.tags),
        "conv_id": each.node.conv_id,
        "ingestion_time": each.node.ingestion_time.isoformat(),
    }


def preferences_text(found: Sequence[Preference]) -> str:
    """Return preferences, one in a line."""
    lines = []
    for each in found:
        owner = f"user {each.user}" if each.user else f"role {each.role}"
        replaced = f"; replaced by {each.replaced_by}" if each.replaced_by else ""
        lines.append(f"{each.id}  {each.preference_type}: {each.text} ({owner}{replaced})")
    return "\n".join(lines) or "No preferences."


def events_text(found: Sequence[Occurrence]) -> str:
    """Return events, each with the answers that it led to."""
    lines = []
    for each in found:
        lines.append(f"{each.start.isoformat()} to {each.end.isoformat()}  {node_line(each.event)}")
        for answer, path in zip(each.answer_nodes, each.answers, strict=True):
            lines += [f"   {sentence}" for sentence in path.sentences]
            lines.append(f"   {node_line(answer)}")
    return "\n".join(lines) or "No event lies in this window."


def sources_text(found: Sequence[Source]) -> str:
    """Return sources, each with where it is and the sentences that lead to it."""
    lines = []
    for each in found:
        lines.append(node_line(each.node))
        for name, value in (("document", each.doc_pointer), ("parts", each.relevant_parts)):
            lines += [f"   {name}: {value}"] if value else []
        lines += [f"   {sentence}" for sentence in each.path.sentences]
    return "\n".join(lines) or "It rests on no source."


def actions_text(found: Sequence[Action]) -> str:
    """Return actions, each with how it ended and its parameters word for word."""
    lines = []
    for each in found:
        failed = " FAILED" if each.outcome == "failure" else ""
        lines.append(f"{each.node.id}{failed} ({each.status}): {short(each.node.text)}")
        lines += [f"   {line}" for line in each.parameters.splitlines()]
    return "\n".join(lines) or "No actions."


class MentionFields(TypedDict):
    """One entity or concept and the characters of the source that it stands at."""

    kind: str
    text: str
    start: int
    end: int


class SourceFields(TypedDict):
    """What became of a source."""

    id: str
    tags: list[str]
    mentions: list[MentionFields]
    nodes: list[str]
    edges: list[str]
    waiting: bool
    message: str


def source_report_fields(report: SourceReport) -> SourceFields:
    """Return the fields of ``rbank source``."""
    return SourceFields(
        id=report.source.id,
        tags=list(report.source.tags),
        mentions=[_mention(each) for each in report.mentions.found],
        nodes=[node.id for node in report.nodes],
        edges=[edge.id for edge in report.edges],
        waiting=report.waiting,
        message=report.message,
    )


def source_text(fields: SourceFields) -> str:
    """Return the same for people."""
    lines = [f"{each['kind']} {each['start']}-{each['end']}: {each['text']}" for each in fields["mentions"]]
    return "\n".join([f"{fields['id']}: {fields['message']}", *lines])


def _mention(mention: Mention) -> MentionFields:
    return MentionFields(kind=mention.kind, text=mention.text, start=mention.start, end=mention.end)

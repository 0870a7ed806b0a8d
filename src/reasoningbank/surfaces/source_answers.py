"""The fields of the answers about sources, and the same as text for people."""

from __future__ import annotations

from typing import TypedDict

from reasoningbank.domain.mention import Mention, SourceReport


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


def source_fields(report: SourceReport) -> SourceFields:
    """The fields of ``rbank source``."""
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
    """The same for people."""
    lines = [f"{each['kind']} {each['start']}-{each['end']}: {each['text']}" for each in fields["mentions"]]
    return "\n".join([f"{fields['id']}: {fields['message']}", *lines])


def _mention(mention: Mention) -> MentionFields:
    return MentionFields(kind=mention.kind, text=mention.text, start=mention.start, end=mention.end)

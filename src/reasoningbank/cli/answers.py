"""The fields of the answers that only the command line gives; the others are in ``surfaces/answers.py``."""

from __future__ import annotations

from typing import TypedDict

from reasoningbank.operations.fields import MemoryAnswer
from reasoningbank.operations.graph_answers import LeftOutFields, left_out_fields
from reasoningbank.types.memory import Event, Health, ImportReport, Memory


class ListAnswer(TypedDict):
    """Memories in the order they were recorded, and how many are listed."""

    memories: list[MemoryAnswer]
    count: int


class EventAnswer(TypedDict):
    """One thing that happened, and the confidence that followed."""

    at: str
    kind: str
    detail: str
    confidence: float
    session: str


class HistoryAnswer(TypedDict):
    """A memory's life; confidence = alpha / (alpha + beta), both starting at alpha0 and beta0."""

    memory_id: str
    title: str
    confidence: float
    alpha0: float
    beta0: float
    alpha: float
    beta: float
    events: list[EventAnswer]


class ExportAnswer(TypedDict):
    """Where the export lies and how many memories it holds."""

    path: str
    memories: int


class ImportAnswer(TypedDict):
    """How many memories were stored or there already, which had another text, and what the gate stopped."""

    imported: int
    unchanged: int
    conflicts: list[str]
    quarantined: list[str]
    left_out: list[LeftOutFields]


class BackupAnswer(TypedDict):
    """Where the copy lies and its size."""

    path: str
    bytes: int


class RestoreAnswer(TypedDict):
    """Which copy replaced the bank and how many memories it holds now."""

    restored: bool
    path: str
    memories: int


class DoctorAnswer(TypedDict):
    """What a check of everything found, and how many memories were embedded again before it."""

    healthy: bool
    facts: dict[str, str]
    problems: list[str]
    reembedded: int


def event_answer(event: Event) -> EventAnswer:
    """The fields of one event."""
    return EventAnswer(
        at=event.at.isoformat(),
        kind=event.kind,
        detail=event.detail,
        confidence=round(event.confidence, 6),
        session=event.session,
    )


def history_answer(memory: Memory, events: tuple[Event, ...]) -> HistoryAnswer:
    """The fields of a memory's life."""
    belief = memory.belief
    return HistoryAnswer(
        memory_id=memory.id,
        title=memory.title,
        confidence=round(belief.score, 6),
        alpha0=round(2 * belief.initial, 6),
        beta0=round(2 * (1 - belief.initial), 6),
        alpha=round(belief.alpha, 6),
        beta=round(belief.beta, 6),
        events=[event_answer(event) for event in events],
    )


def import_answer(report: ImportReport) -> ImportAnswer:
    """The fields of an import."""
    return ImportAnswer(
        imported=len(report.imported),
        unchanged=len(report.unchanged),
        conflicts=list(report.conflicts),
        quarantined=list(report.quarantined),
        left_out=[left_out_fields(each) for each in report.left_out],
    )


def doctor_answer(health: Health, *, reembedded: int) -> DoctorAnswer:
    """The fields of a check."""
    return DoctorAnswer(
        healthy=health.healthy, facts=dict(health.facts), problems=list(health.problems), reembedded=reembedded
    )

"""The fields of every answer, once: the MCP tools return them and the command line prints them with ``--json``."""

from __future__ import annotations

from typing import TypedDict

from reasoningbank.domain.answers import OutcomeReport, Rating, Stats
from reasoningbank.domain.memory import Memory
from reasoningbank.domain.recall import Hit, Recall
from reasoningbank.errors import BankError

_DIGITS = 6


class LegAnswer(TypedDict):
    """Where a hit stood in one leg."""

    rank: int
    score: float


class HitAnswer(TypedDict):
    """One found memory."""

    id: str
    title: str
    description: str
    content: str
    outcome: str
    confidence: float
    interval: list[float]
    relevance: float
    tags: list[str]
    legs: dict[str, LegAnswer]
    duplicates: list[str]
    scope: str
    conflicts: list[str]


class SearchAnswer(TypedDict):
    """The answer to a search (seed 000 ``memory_search``, extended)."""

    memories: list[HitAnswer]
    unproven: list[HitAnswer]
    count: int
    recall_id: str
    embedder: str
    tokens: int
    message: str
    warnings: list[str]


class RecordAnswer(TypedDict):
    """The answer to a record (seed 000 ``memory_record``)."""

    id: str
    title: str
    outcome: str
    confidence: float


class FeedbackAnswer(TypedDict):
    """The answer to a rating (seed 000 ``memory_feedback``, extended)."""

    memory_id: str
    new_confidence: float
    helpful: bool
    counted: bool
    message: str


class OutcomeAnswer(TypedDict):
    """The answer to an outcome (seed 000 ``memory_outcome``)."""

    recorded: bool
    new_confidence: float
    message: str


class MemoryAnswer(TypedDict):
    """One memory, whole."""

    id: str
    project: str
    title: str
    description: str
    content: str
    outcome: str
    confidence: float
    interval: list[float]
    usage_count: int
    tags: list[str]
    category: str
    state: str
    provenance: dict[str, str]
    tokens: int
    version: int
    created_at: str
    updated_at: str
    last_used: str | None


class DeleteAnswer(TypedDict):
    """The answer to a deletion."""

    deleted: bool
    memory_id: str


class StatsAnswer(TypedDict):
    """Facts about one bank."""

    tenant: str
    project: str
    memories: int
    by_state: dict[str, int]
    by_outcome: dict[str, int]
    proven: int
    unproven: int
    weights: dict[str, float]
    recalls: int
    mean_recall_tokens: float
    last_confidence: float
    embedder: str
    model_id: str


class ErrorAnswer(TypedDict):
    """What happened and what to do next."""

    error: str
    message: str
    hint: str


def hit_answer(hit: Hit) -> HitAnswer:
    """The fields of one hit."""
    return HitAnswer(
        id=hit.id,
        title=hit.title,
        description=hit.description,
        content=hit.content,
        outcome=hit.outcome,
        confidence=round(hit.confidence, _DIGITS),
        interval=[round(end, 3) for end in hit.interval],
        relevance=round(hit.relevance, _DIGITS),
        tags=list(hit.tags),
        legs={name: LegAnswer(rank=leg.rank, score=round(leg.score, _DIGITS)) for name, leg in hit.legs.items()},
        duplicates=list(hit.duplicates),
        scope=hit.scope,
        conflicts=list(hit.conflicts),
    )


def search_answer(recall: Recall) -> SearchAnswer:
    """The fields of a search."""
    return SearchAnswer(
        memories=[hit_answer(hit) for hit in recall.memories],
        unproven=[hit_answer(hit) for hit in recall.unproven],
        count=recall.count,
        recall_id=recall.id,
        embedder=recall.embedder,
        tokens=recall.tokens,
        message=recall.message,
        warnings=list(recall.warnings),
    )


def record_answer(memory: Memory) -> RecordAnswer:
    """The fields of a record."""
    return RecordAnswer(
        id=memory.id, title=memory.title, outcome=memory.outcome, confidence=round(memory.confidence, _DIGITS)
    )


def feedback_answer(rating: Rating) -> FeedbackAnswer:
    """The fields of a rating."""
    return FeedbackAnswer(
        memory_id=rating.memory_id,
        new_confidence=round(rating.new_confidence, _DIGITS),
        helpful=rating.helpful,
        counted=rating.counted,
        message=rating.message,
    )


def outcome_answer(report: OutcomeReport) -> OutcomeAnswer:
    """The fields of an outcome."""
    return OutcomeAnswer(
        recorded=report.recorded, new_confidence=round(report.new_confidence, _DIGITS), message=report.message
    )


def memory_answer(memory: Memory) -> MemoryAnswer:
    """The fields of a whole memory."""
    return MemoryAnswer(
        id=memory.id,
        project=memory.project,
        title=memory.title,
        description=memory.description,
        content=memory.content,
        outcome=memory.outcome,
        confidence=round(memory.confidence, _DIGITS),
        interval=[round(end, 3) for end in memory.belief.interval()],
        usage_count=memory.usage_count,
        tags=list(memory.tags),
        category=memory.category,
        state=memory.state,
        provenance=dict(memory.provenance),
        tokens=memory.tokens,
        version=memory.version,
        created_at=memory.created_at.isoformat(),
        updated_at=memory.updated_at.isoformat(),
        last_used=None if memory.last_used is None else memory.last_used.isoformat(),
    )


def stats_answer(stats: Stats) -> StatsAnswer:
    """The fields of the statistics."""
    return StatsAnswer(
        tenant=stats.tenant,
        project=stats.project,
        memories=stats.memories,
        by_state=dict(stats.by_state),
        by_outcome=dict(stats.by_outcome),
        proven=stats.proven,
        unproven=stats.unproven,
        weights={name: round(weight, _DIGITS) for name, weight in stats.weights.items()},
        recalls=stats.recalls,
        mean_recall_tokens=round(stats.mean_recall_tokens, 1),
        last_confidence=round(stats.last_confidence, _DIGITS),
        embedder=stats.embedder,
        model_id=stats.model_id,
    )


def error_answer(error: BankError) -> ErrorAnswer:
    """The fields of an error."""
    return ErrorAnswer(error=error.code, message=str(error), hint=error.hint)

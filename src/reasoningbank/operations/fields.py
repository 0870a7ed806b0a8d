"""Fields of results about memories and sessions."""

from __future__ import annotations

from typing import TypedDict

from reasoningbank.errors import BankError
from reasoningbank.jobs.worker import WorkReport
from reasoningbank.types.consolidation import ConsolidationResult, UndoReport
from reasoningbank.types.experience import ExperienceAnswer, Reasoning
from reasoningbank.types.matts import Scaled
from reasoningbank.types.memory import Memory, OutcomeReport, Rating, Stats
from reasoningbank.types.recall import Brief, Hit, Recall, SessionOutcome
from reasoningbank.types.records import TrajectoryEntry
from reasoningbank.types.session import (
    Captured,
    CaptureReport,
    DistilReport,
    Evidence,
    Judgement,
    Refusal,
    Step,
    Trajectory,
)

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
    """Return the fields of one hit."""
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
    """Return the fields of a search."""
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
    """Return the fields of a record."""
    return RecordAnswer(
        id=memory.id, title=memory.title, outcome=memory.outcome, confidence=round(memory.confidence, _DIGITS)
    )


def feedback_answer(rating: Rating) -> FeedbackAnswer:
    """Return the fields of a rating."""
    return FeedbackAnswer(
        memory_id=rating.memory_id,
        new_confidence=round(rating.new_confidence, _DIGITS),
        helpful=rating.helpful,
        counted=rating.counted,
        message=rating.message,
    )


def outcome_answer(report: OutcomeReport) -> OutcomeAnswer:
    """Return the fields of an outcome."""
    return OutcomeAnswer(
        recorded=report.recorded, new_confidence=round(report.new_confidence, _DIGITS), message=report.message
    )


def memory_answer(memory: Memory) -> MemoryAnswer:
    """Return the fields of a whole memory."""
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
    """Return the fields of the statistics."""
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
    """Return the fields of an error."""
    return ErrorAnswer(error=error.code, message=str(error), hint=error.hint)


class BriefItemAnswer(TypedDict):
    """One memory that is shown."""

    id: str
    confidence: float
    scope: str
    outcome: str


class LeftOutAnswer(TypedDict):
    """One memory that was considered and is not shown, and why."""

    id: str
    reason: str


class BriefAnswer(TypedDict):
    """The block for an agent's context, what it costs, what it shows and what it leaves out."""

    text: str
    tokens: int
    items: list[BriefItemAnswer]
    left_out: list[LeftOutAnswer]
    session: str


class CreditAnswer(TypedDict):
    """One memory whose confidence has moved."""

    memory_id: str
    new_confidence: float


class SessionOutcomeAnswer(TypedDict):
    """What the end of a session did."""

    credited: list[CreditAnswer]


def brief_answer(brief: Brief) -> BriefAnswer:
    """Return the fields of a briefing."""
    return BriefAnswer(
        text=brief.text,
        tokens=brief.tokens,
        items=[
            BriefItemAnswer(
                id=item.hit.id,
                confidence=round(item.hit.confidence, _DIGITS),
                scope=item.scope,
                outcome=item.hit.outcome,
            )
            for item in brief.items
        ],
        left_out=[LeftOutAnswer(id=one.id, reason=one.reason) for one in brief.left_out],
        session=brief.session,
    )


def session_outcome_answer(report: SessionOutcome) -> SessionOutcomeAnswer:
    """Return the fields of a session's outcome."""
    return SessionOutcomeAnswer(
        credited=[
            CreditAnswer(memory_id=one.memory_id, new_confidence=round(one.new_confidence, _DIGITS))
            for one in report.credited
        ]
    )


class ContradictionFields(TypedDict):
    """Two memories of nearly the same text and opposite outcome."""

    success: str
    failure: str
    similarity: float


class ConsolidationFields(TypedDict):
    """What a run did."""

    created_memories: list[str]
    archived_memories: list[str]
    skipped_count: int
    total_processed: int
    duration_seconds: float
    contradictions: list[ContradictionFields]
    messages: list[str]


class UndoFields(TypedDict):
    """What undoing a consolidation did."""

    consolidation_id: str
    restored_memories: list[str]
    moved_signals: int
    kept: bool


def consolidation_fields(result: ConsolidationResult) -> ConsolidationFields:
    """Return the result of a run."""
    return {
        "created_memories": list(result.created_memories),
        "archived_memories": list(result.archived_memories),
        "skipped_count": result.skipped_count,
        "total_processed": result.total_processed,
        "duration_seconds": round(result.duration.total_seconds(), _DIGITS),
        "contradictions": [
            {"success": each.success, "failure": each.failure, "similarity": round(each.similarity, _DIGITS)}
            for each in result.contradictions
        ],
        "messages": list(result.messages),
    }


def undo_fields(report: UndoReport) -> UndoFields:
    """Return the report of an undo."""
    return {
        "consolidation_id": report.consolidation_id,
        "restored_memories": list(report.restored),
        "moved_signals": report.moved_signals,
        "kept": report.kept,
    }


def consolidation_text(answer: ConsolidationFields) -> str:
    """Return a run in a few lines."""
    lines = [f"created   {name}" for name in answer["created_memories"]]
    lines += [
        f"opposite  {each['success']} worked, {each['failure']} failed: {each['similarity']:.3f} alike"
        for each in answer["contradictions"]
    ]
    made, archived = len(answer["created_memories"]), len(answer["archived_memories"])
    lines.append(
        f"{made} created of {archived} archived, {answer['skipped_count']} skipped, "
        f"{answer['total_processed']} looked at, {answer['duration_seconds']:.2f} s"
    )
    return "\n".join(lines)


class EvidenceFields(TypedDict):
    """One fact that tells how a session ended."""

    kind: str
    positive: bool
    detail: str
    step: int | None
    name: str


class CapturedFields(TypedDict):
    """One captured trajectory."""

    id: str
    task: str
    steps: int
    verdict: str
    probability: float
    evidence: list[EvidenceFields]
    duplicate: bool


class CaptureFields(TypedDict):
    """The answer to a capture."""

    captured: int
    duplicates: int
    skipped_lines: int
    trajectories: list[CapturedFields]
    problems: list[str]


class JudgementFields(TypedDict):
    """How a session ended."""

    verdict: str
    probability: float
    rationale: str
    judge: str
    at: str
    evidence: list[EvidenceFields]


class EntryFields(TypedDict):
    """A trajectory in a list."""

    id: str
    task: str
    session: str
    source: str
    steps: int
    at: str
    verdict: str
    probability: float
    judge: str
    distilled: str | None


class TrajectoriesFields(TypedDict):
    """Trajectories in the order they were stored."""

    trajectories: list[EntryFields]
    count: int


class StepFields(TypedDict):
    """One turn of an agent."""

    user: str
    thought: str
    tool: str
    action: str
    observation: str
    error: str
    exit_code: int | None
    actor: str


class TrajectoryFields(TypedDict):
    """One trajectory, whole."""

    id: str
    task: str
    session: str
    source: str
    created_at: str
    final_answer: str
    memories: list[str]
    metadata: dict[str, str]
    evidence: list[EvidenceFields]
    judgements: list[JudgementFields]
    steps: list[StepFields]


class RefusalFields(TypedDict):
    """An item that was not stored, and why."""

    reason: str
    detail: str
    title: str
    description: str
    content: str
    trajectory: str
    model: str


class DistillFields(TypedDict):
    """The answer to distilling."""

    distilled: list[str]
    corroborated: list[str]
    refused: list[RefusalFields]
    pending: int
    messages: list[str]


class WorkFields(TypedDict):
    """What a worker did."""

    done: int
    postponed: int
    buried: int
    messages: list[str]


class StrategyFields(TypedDict):
    """A strategy that similar searches taught."""

    id: str
    title: str
    description: str
    content: str
    confidence: float
    similarity: float
    supported: int


class ReasoningFields(TypedDict):
    """How an experience search was run (seed 002)."""

    strategy_used: str
    learned_from: int
    outcome: str
    execution_time_ms: int
    relevant_strategies: list[StrategyFields]
    message: str
    trace_id: str


class RolloutFields(TypedDict):
    """One attempt, or one round of refinement."""

    verdict: str
    probability: float
    steps: int
    answer: str
    error: str


class ScaledFields(TypedDict):
    """What came of several attempts at one task."""

    best: int | None
    reason: str
    ground: str
    mode: str
    stopped: str
    answer: str
    memories: list[str]
    withheld: list[str]
    rollouts: list[RolloutFields]
    learned: DistillFields


class ExperienceHit(HitAnswer):
    """One found memory; proven or not, for they stand in one list."""

    unproven: bool


class ExperienceFields(TypedDict):
    """The answer to an experience search, the same shape for hits, no hits and errors (seed 002)."""

    results: list[ExperienceHit]
    reasoning: ReasoningFields


def evidence_fields(evidence: Evidence) -> EvidenceFields:
    """Return the fields of one fact."""
    return EvidenceFields(
        kind=evidence.kind,
        positive=evidence.positive,
        detail=evidence.detail,
        step=evidence.step,
        name=evidence.name,
    )


def captured_fields(captured: Captured) -> CapturedFields:
    """Return the fields of one captured trajectory."""
    return CapturedFields(
        id=captured.id,
        task=captured.task,
        steps=captured.steps,
        verdict=captured.verdict,
        probability=round(captured.probability, _DIGITS),
        evidence=[evidence_fields(one) for one in captured.evidence],
        duplicate=captured.duplicate,
    )


def capture_fields(report: CaptureReport) -> CaptureFields:
    """Return the fields of a capture."""
    return CaptureFields(
        captured=report.captured,
        duplicates=report.duplicates,
        skipped_lines=report.skipped_lines,
        trajectories=[captured_fields(one) for one in report.trajectories],
        problems=list(report.problems),
    )


def judgement_fields(judgement: Judgement) -> JudgementFields:
    """Return the fields of a judgement."""
    return JudgementFields(
        verdict=judgement.verdict,
        probability=round(judgement.probability, _DIGITS),
        rationale=judgement.rationale,
        judge=judgement.judge,
        at=judgement.at.isoformat(),
        evidence=[evidence_fields(one) for one in judgement.evidence],
    )


def entry_fields(entry: TrajectoryEntry) -> EntryFields:
    """Return the fields of a trajectory in a list."""
    judgement = entry.judgement
    return EntryFields(
        id=entry.id,
        task=entry.task,
        session=entry.session,
        source=entry.source,
        steps=entry.steps,
        at=entry.at.isoformat(),
        verdict="unknown" if judgement is None else judgement.verdict,
        probability=0.5 if judgement is None else round(judgement.probability, _DIGITS),
        judge="" if judgement is None else judgement.judge,
        distilled=None if entry.distilled is None else entry.distilled.isoformat(),
    )


def trajectory_fields(trajectory: Trajectory, judgements: tuple[Judgement, ...]) -> TrajectoryFields:
    """Return the fields of a whole trajectory."""
    return TrajectoryFields(
        id=trajectory.id,
        task=trajectory.task,
        session=trajectory.session,
        source=trajectory.source,
        created_at=trajectory.created_at.isoformat(),
        final_answer=trajectory.final_answer,
        memories=list(trajectory.memories),
        metadata=dict(trajectory.metadata),
        evidence=[evidence_fields(one) for one in trajectory.evidence],
        judgements=[judgement_fields(one) for one in judgements],
        steps=[step_fields(step) for step in trajectory.steps],
    )


def step_fields(step: Step) -> StepFields:
    """Return the fields of one turn."""
    return StepFields(
        user=step.user,
        thought=step.thought,
        tool=step.tool,
        action=step.action,
        observation=step.observation,
        error=step.error,
        exit_code=step.exit_code,
        actor=step.actor,
    )


def refusal_fields(refusal: Refusal) -> RefusalFields:
    """Return the fields of a refused item."""
    return RefusalFields(
        reason=refusal.reason,
        detail=refusal.detail,
        title=refusal.title,
        description=refusal.description,
        content=refusal.content,
        trajectory=refusal.trajectory,
        model=refusal.model,
    )


def distill_fields(report: DistilReport) -> DistillFields:
    """Return the fields of distilling."""
    return DistillFields(
        distilled=list(report.distilled),
        corroborated=list(report.corroborated),
        refused=[refusal_fields(one) for one in report.refused],
        pending=report.pending,
        messages=list(report.messages),
    )


def work_fields(report: WorkReport) -> WorkFields:
    """Return the fields of a worker's report."""
    return WorkFields(
        done=report.done, postponed=report.postponed, buried=report.buried, messages=list(report.messages)
    )


def scaled_fields(scaled: Scaled) -> ScaledFields:
    """Return the fields of several attempts."""
    return ScaledFields(
        best=scaled.best,
        reason=scaled.reason,
        ground=scaled.ground,
        mode=scaled.mode,
        stopped=scaled.stopped,
        answer=scaled.answer,
        memories=[hit.id for hit in scaled.recall.delivered],
        withheld=list(scaled.withheld),
        rollouts=[
            RolloutFields(
                verdict="unknown" if one.judgement is None else one.judgement.verdict,
                probability=0.5 if one.judgement is None else round(one.judgement.probability, _DIGITS),
                steps=0 if one.trajectory is None else len(one.trajectory.steps),
                answer="" if one.trajectory is None else one.trajectory.final_answer,
                error=one.error,
            )
            for one in scaled.rollouts
        ],
        learned=distill_fields(scaled.report),
    )


def experience_fields(answer: ExperienceAnswer) -> ExperienceFields:
    """Return the fields of an experience search."""
    return ExperienceFields(
        results=[ExperienceHit(**hit_answer(hit), unproven=hit.unproven) for hit in answer.results],
        reasoning=reasoning_fields(answer.reasoning),
    )


def reasoning_fields(reasoning: Reasoning) -> ReasoningFields:
    """Return the fields of its reasoning."""
    return ReasoningFields(
        strategy_used=reasoning.strategy_used,
        learned_from=reasoning.learned_from,
        outcome=reasoning.outcome,
        execution_time_ms=reasoning.execution_time_ms,
        relevant_strategies=[
            StrategyFields(
                id=one.id,
                title=one.title,
                description=one.description,
                content=one.content,
                confidence=round(one.confidence, _DIGITS),
                similarity=round(one.similarity, _DIGITS),
                supported=one.supported,
            )
            for one in reasoning.relevant_strategies
        ],
        message=reasoning.message,
        trace_id=reasoning.trace_id,
    )

"""The fields of the answers about learning, once: the MCP tools return them and the command line prints them."""

from __future__ import annotations

from typing import TypedDict

from reasoningbank.domain.experience import ExperienceAnswer, Reasoning
from reasoningbank.domain.learning import Captured, CaptureReport, DistilReport, Refusal
from reasoningbank.domain.scaling import Scaled
from reasoningbank.domain.trajectory import Evidence, Judgement, Step, Trajectory
from reasoningbank.jobs import WorkReport
from reasoningbank.ports import TrajectoryEntry
from reasoningbank.surfaces.answers import HitAnswer, hit_answer

_DIGITS = 6


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
    """The fields of one fact."""
    return EvidenceFields(
        kind=evidence.kind,
        positive=evidence.positive,
        detail=evidence.detail,
        step=evidence.step,
        name=evidence.name,
    )


def captured_fields(captured: Captured) -> CapturedFields:
    """The fields of one captured trajectory."""
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
    """The fields of a capture."""
    return CaptureFields(
        captured=report.captured,
        duplicates=report.duplicates,
        skipped_lines=report.skipped_lines,
        trajectories=[captured_fields(one) for one in report.trajectories],
        problems=list(report.problems),
    )


def judgement_fields(judgement: Judgement) -> JudgementFields:
    """The fields of a judgement."""
    return JudgementFields(
        verdict=judgement.verdict,
        probability=round(judgement.probability, _DIGITS),
        rationale=judgement.rationale,
        judge=judgement.judge,
        at=judgement.at.isoformat(),
        evidence=[evidence_fields(one) for one in judgement.evidence],
    )


def entry_fields(entry: TrajectoryEntry) -> EntryFields:
    """The fields of a trajectory in a list."""
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
    """The fields of a whole trajectory."""
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
    """The fields of one turn."""
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
    """The fields of a refused item."""
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
    """The fields of distilling."""
    return DistillFields(
        distilled=list(report.distilled),
        corroborated=list(report.corroborated),
        refused=[refusal_fields(one) for one in report.refused],
        pending=report.pending,
        messages=list(report.messages),
    )


def work_fields(report: WorkReport) -> WorkFields:
    """The fields of a worker's report."""
    return WorkFields(
        done=report.done, postponed=report.postponed, buried=report.buried, messages=list(report.messages)
    )


def scaled_fields(scaled: Scaled) -> ScaledFields:
    """The fields of several attempts."""
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
    """The fields of an experience search."""
    return ExperienceFields(
        results=[ExperienceHit(**hit_answer(hit), unproven=hit.unproven) for hit in answer.results],
        reasoning=reasoning_fields(answer.reasoning),
    )


def reasoning_fields(reasoning: Reasoning) -> ReasoningFields:
    """The fields of its reasoning."""
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

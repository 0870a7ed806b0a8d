"""The Bank for asynchronous programs: the same methods, awaited; each runs in a worker thread."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from reasoningbank.bank import Bank
from reasoningbank.conversations.answers import DEFAULT_LESSONS, DEFAULT_NODES
from reasoningbank.graph.graph import DEFAULT_LIMIT, DEFAULT_SEEDS
from reasoningbank.graph.lessons import DEFAULT_LESSON_LIMIT
from reasoningbank.jobs.worker import LEASE, WorkReport
from reasoningbank.matts.matts import DEFAULT_ROLLOUTS
from reasoningbank.past import Past
from reasoningbank.search.briefings import BRANCH_SHARE, DEFAULT_BUDGET, DEFAULT_ITEMS
from reasoningbank.search.searches import DEFAULT_SEARCH_LIMIT, By
from reasoningbank.settings import Settings
from reasoningbank.types.belief import EXPLICIT_RECORD_CONFIDENCE, MIN_CONFIDENCE
from reasoningbank.types.consolidation import (
    SIMILARITY_THRESHOLD,
    ConsolidatedMemory,
    ConsolidationOptions,
    ConsolidationResult,
    Contradiction,
    SimilarityCluster,
    UndoReport,
)
from reasoningbank.types.content import Content, Ingested
from reasoningbank.types.conversation import Conversation, ConversationReport, QuestionAnswer, QuestionPlan, Workflow
from reasoningbank.types.document import Document, DocumentChange, FileChange
from reasoningbank.types.experience import ExperienceAnswer, Strategy, Trace
from reasoningbank.types.graph import Edge, FieldValue, Node
from reasoningbank.types.graph_search import (
    Action,
    ActionOutcome,
    EdgeHit,
    GraphAdded,
    GraphAnswer,
    GraphFilter,
    GraphImport,
    GraphSize,
    NodeView,
    Occurrence,
    Preference,
    Source,
)
from reasoningbank.types.lesson import Lesson, LessonAnswer
from reasoningbank.types.lifecycle import (
    DecayReport,
    DecayRules,
    PruneReport,
    PruneRules,
    StabilityCheck,
    StabilityReport,
)
from reasoningbank.types.matts import Mode, Scaled, Task
from reasoningbank.types.memory import STATES, Event, Health, ImportReport, Memory, OutcomeReport, Rating, State, Stats
from reasoningbank.types.mention import Mentions, SourceReport
from reasoningbank.types.ports import Clock, Embedder, LanguageModel, Vector
from reasoningbank.types.quarantine import Quarantine, QuarantineReport, ReleaseReport
from reasoningbank.types.recall import Brief, Recall, SessionOutcome
from reasoningbank.types.records import Job, TrajectoryEntry
from reasoningbank.types.scope import Level, Membership, Scope
from reasoningbank.types.session import (
    Captured,
    CaptureReport,
    DistilReport,
    Judgement,
    Origin,
    Refusal,
    SessionSummary,
    Trajectory,
    Verdict,
)
from reasoningbank.types.sharing import Promotion, PromotionCandidate, ShareReport
from reasoningbank.types.signal import Rater
from reasoningbank.types.uplift import UpliftReport
from reasoningbank.types.walk import WalkParameters, WalkResult

if TYPE_CHECKING:
    from reasoningbank.matts.attempts import Agent
    from reasoningbank.sessions.assignment import Assignment


class AsyncBriefing:
    """Bank's methods that show memories to an agent and credit them, awaitable."""

    _bank: Bank

    async def briefing(
        self,
        task: str | None = None,
        budget: int = DEFAULT_BUDGET,
        session: str | None = None,
        *,
        outcome: str | None = None,
        limit: int = DEFAULT_ITEMS,
        repeat: bool = True,
    ) -> Brief:
        """See Bank.briefing."""
        return await asyncio.to_thread(
            self._bank.briefing, task, budget, session, outcome=outcome, limit=limit, repeat=repeat
        )

    async def session_outcome(self, session: str, succeeded: bool, *, rater: Rater = "human") -> SessionOutcome:
        """See Bank.session_outcome."""
        return await asyncio.to_thread(self._bank.session_outcome, session, succeeded, rater=rater)

    async def branch_briefing(
        self, description: str, budget: int, *, share: float = BRANCH_SHARE, session: str | None = None
    ) -> Brief:
        """See Bank.branch_briefing."""
        return await asyncio.to_thread(self._bank.branch_briefing, description, budget, share=share, session=session)

    async def branch_outcome(
        self,
        session: str,
        succeeded: bool,
        *,
        description: str = "",
        approach: str = "",
        result: str = "",
        avoid: str = "",
        rater: Rater = "agent",
    ) -> SessionOutcome:
        """See Bank.branch_outcome."""
        return await asyncio.to_thread(
            self._bank.branch_outcome,
            session,
            succeeded,
            description=description,
            approach=approach,
            result=result,
            avoid=avoid,
            rater=rater,
        )


class AsyncCiting:
    """Bank's methods that read sources, awaitable."""

    _bank: Bank

    async def mentions(self, text: str) -> Mentions:
        """See Bank.mentions."""
        return await asyncio.to_thread(self._bank.mentions, text)

    async def remember_source(
        self,
        text: str,
        *,
        pointer: str,
        source_type: str = "text",
        conv_id: str = "",
        tags: Iterable[str] = (),
    ) -> SourceReport:
        """See Bank.remember_source."""
        return await asyncio.to_thread(
            self._bank.remember_source, text, pointer=pointer, source_type=source_type, conv_id=conv_id, tags=tags
        )


class AsyncConversing:
    """Bank's method that remembers conversations, awaitable."""

    _bank: Bank

    async def remember_conversation(self, conversation: Conversation | Mapping[str, object]) -> ConversationReport:
        """See Bank.remember_conversation."""
        return await asyncio.to_thread(self._bank.remember_conversation, conversation)


class AsyncCurating:
    """Bank's methods that consolidate, awaitable."""

    _bank: Bank

    async def find_similar_clusters(self, threshold: float = SIMILARITY_THRESHOLD) -> tuple[SimilarityCluster, ...]:
        """See Bank.find_similar_clusters."""
        return await asyncio.to_thread(self._bank.find_similar_clusters, threshold)

    async def merge_cluster(self, cluster: SimilarityCluster) -> ConsolidatedMemory:
        """See Bank.merge_cluster."""
        return await asyncio.to_thread(self._bank.merge_cluster, cluster)

    async def consolidate(self, options: ConsolidationOptions | None = None) -> ConsolidationResult:
        """See Bank.consolidate."""
        return await asyncio.to_thread(self._bank.consolidate, options)

    async def consolidate_all(
        self, projects: Iterable[str] | None = None, options: ConsolidationOptions | None = None
    ) -> ConsolidationResult:
        """See Bank.consolidate_all."""
        return await asyncio.to_thread(self._bank.consolidate_all, projects, options)

    async def undo(self, consolidation_id: str) -> UndoReport:
        """See Bank.undo."""
        return await asyncio.to_thread(self._bank.undo, consolidation_id)

    async def contradictions(self, memory_id: str | None = None) -> tuple[Contradiction, ...]:
        """See Bank.contradictions."""
        return await asyncio.to_thread(self._bank.contradictions, memory_id)


class AsyncFiling:
    """Bank's methods that keep documents and files, awaitable."""

    _bank: Bank

    async def document(self, collection: str, path: Sequence[str], key: str) -> Document | None:
        """See Bank.document."""
        return await asyncio.to_thread(self._bank.document, collection, path, key)

    async def documents(self, collection: str, path: Sequence[str] = ()) -> tuple[Document, ...]:
        """See Bank.documents."""
        return await asyncio.to_thread(self._bank.documents, collection, path)

    async def document_paths(self, collection: str) -> frozenset[tuple[str, ...]]:
        """See Bank.document_paths."""
        return await asyncio.to_thread(self._bank.document_paths, collection)

    async def find_documents(
        self,
        collection: str,
        path: Sequence[str] = (),
        query: str = "",
        *,
        accept: Callable[[Document], bool] | None = None,
        limit: int = 0,
        offset: int = 0,
    ) -> tuple[tuple[Document, float | None], ...]:
        """See Bank.find_documents."""
        return await asyncio.to_thread(
            self._bank.find_documents, collection, path, query, accept=accept, limit=limit, offset=offset
        )

    async def keep_documents(self, collection: str, changes: Iterable[DocumentChange]) -> None:
        """See Bank.keep_documents."""
        await asyncio.to_thread(self._bank.keep_documents, collection, changes)

    async def files(self) -> Mapping[str, str]:
        """See Bank.files."""
        return await asyncio.to_thread(self._bank.files)

    async def change_files(self, change: Callable[[Mapping[str, str]], FileChange]) -> FileChange:
        """See Bank.change_files."""
        return await asyncio.to_thread(self._bank.change_files, change)


class AsyncGraphing:
    """Bank's methods about the graph and about lessons, awaitable."""

    _bank: Bank

    async def graph_add(self, nodes: Iterable[Node] = (), edges: Iterable[Edge] = ()) -> GraphAdded:
        """See Bank.graph_add."""
        return await asyncio.to_thread(self._bank.graph_add, nodes, edges)

    async def graph_link(
        self, source: str, target: str, text: str, *, weight: float, tags: Iterable[str] = (), edge_id: str = ""
    ) -> Edge:
        """See Bank.graph_link."""
        return await asyncio.to_thread(
            self._bank.graph_link, source, target, text, weight=weight, tags=tags, edge_id=edge_id
        )

    async def graph_update(
        self,
        node_id: str,
        *,
        text: str | None = None,
        tags: Iterable[str] | None = None,
        fields: Mapping[str, FieldValue] | None = None,
        conv_id: str | None = None,
    ) -> Node:
        """See Bank.graph_update."""
        return await asyncio.to_thread(
            self._bank.graph_update, node_id, text=text, tags=tags, fields=fields, conv_id=conv_id
        )

    async def graph_update_edge(
        self, edge_id: str, *, text: str | None = None, weight: float | None = None, tags: Iterable[str] | None = None
    ) -> Edge:
        """See Bank.graph_update_edge."""
        return await asyncio.to_thread(self._bank.graph_update_edge, edge_id, text=text, weight=weight, tags=tags)

    async def graph_delete(self, node_id: str) -> None:
        """See Bank.graph_delete."""
        await asyncio.to_thread(self._bank.graph_delete, node_id)

    async def graph_delete_edge(self, edge_id: str) -> None:
        """See Bank.graph_delete_edge."""
        await asyncio.to_thread(self._bank.graph_delete_edge, edge_id)

    async def graph_import(self, source: str | Path, *, format: str | None = None) -> GraphImport:  # noqa: A002 - as in Bank
        """See Bank.graph_import."""
        return await asyncio.to_thread(self._bank.graph_import, source, format=format)

    async def graph_get(self, node_id: str) -> NodeView:
        """See Bank.graph_get."""
        return await asyncio.to_thread(self._bank.graph_get, node_id)

    async def graph_edge(self, edge_id: str) -> Edge:
        """See Bank.graph_edge."""
        return await asyncio.to_thread(self._bank.graph_edge, edge_id)

    async def graph_search(
        self,
        query: str,
        *,
        limit: int = DEFAULT_SEEDS,
        budget: int | None = None,
        condition: GraphFilter | None = None,
        parameters: WalkParameters | None = None,
        user: str = "",
        role: str = "",
        bm25_weight: float = 0.5,
        dense_weight: float = 0.5,
        fusion: str = "weighted",
        min_score: float | None = None,
    ) -> GraphAnswer:
        """See Bank.graph_search."""
        return await asyncio.to_thread(
            self._bank.graph_search,
            query,
            limit=limit,
            budget=budget,
            condition=condition,
            parameters=parameters,
            user=user,
            role=role,
            bm25_weight=bm25_weight,
            dense_weight=dense_weight,
            fusion=fusion,
            min_score=min_score,
        )

    async def graph_search_edges(
        self,
        query: str,
        *,
        limit: int = DEFAULT_SEEDS,
        tags: Iterable[str] = (),
        bm25_weight: float = 0.5,
        dense_weight: float = 0.5,
        fusion: str = "weighted",
        min_score: float | None = None,
    ) -> tuple[EdgeHit, ...]:
        """See Bank.graph_search_edges."""
        return await asyncio.to_thread(
            self._bank.graph_search_edges,
            query,
            limit=limit,
            tags=tags,
            bm25_weight=bm25_weight,
            dense_weight=dense_weight,
            fusion=fusion,
            min_score=min_score,
        )

    async def graph_walk(self, seeds: Mapping[str, float], parameters: WalkParameters | None = None) -> WalkResult:
        """See Bank.graph_walk."""
        return await asyncio.to_thread(self._bank.graph_walk, seeds, parameters)

    async def conversation(self, conv_id: str) -> tuple[Node, ...]:
        """See Bank.conversation."""
        return await asyncio.to_thread(self._bank.conversation, conv_id)

    async def graph_nodes(
        self, condition: GraphFilter | None = None, *, limit: int = 0, offset: int = 0
    ) -> tuple[Node, ...]:
        """See Bank.graph_nodes."""
        return await asyncio.to_thread(self._bank.graph_nodes, condition, limit=limit, offset=offset)

    async def graph_size(self) -> GraphSize:
        """See Bank.graph_size."""
        return await asyncio.to_thread(self._bank.graph_size)

    async def lesson_add(
        self,
        key_lesson: str,
        context_to_prefer: str = "",
        tags: Iterable[str] = (),
        link_nodes: Iterable[str] = (),
        *,
        title: str = "",
        outcome: str = "success",
        confidence: float = EXPLICIT_RECORD_CONFIDENCE,
        session: str | None = None,
        vouched: bool = False,
    ) -> Lesson:
        """See Bank.lesson_add."""
        return await asyncio.to_thread(
            self._bank.lesson_add,
            key_lesson,
            context_to_prefer,
            tags,
            link_nodes,
            title=title,
            outcome=outcome,
            confidence=confidence,
            session=session,
            vouched=vouched,
        )

    async def lesson_get(self, lesson: int | str) -> Lesson:
        """See Bank.lesson_get."""
        return await asyncio.to_thread(self._bank.lesson_get, lesson)

    async def lesson_update(
        self,
        lesson: int | str,
        *,
        key_lesson: str | None = None,
        context_to_prefer: str | None = None,
        tags: Iterable[str] | None = None,
        link_nodes: Iterable[str] | None = None,
    ) -> Lesson:
        """See Bank.lesson_update."""
        return await asyncio.to_thread(
            self._bank.lesson_update,
            lesson,
            key_lesson=key_lesson,
            context_to_prefer=context_to_prefer,
            tags=tags,
            link_nodes=link_nodes,
        )

    async def lesson_link(self, lesson: int | str, link_nodes: Iterable[str], *, unlink: bool = False) -> Lesson:
        """See Bank.lesson_link."""
        return await asyncio.to_thread(self._bank.lesson_link, lesson, link_nodes, unlink=unlink)

    async def lesson_delete(self, lesson: int | str) -> None:
        """See Bank.lesson_delete."""
        await asyncio.to_thread(self._bank.lesson_delete, lesson)

    async def lesson_list(
        self, *, tags: Iterable[str] = (), linked_to: Iterable[str] | None = None, limit: int = 0, offset: int = 0
    ) -> tuple[Lesson, ...]:
        """See Bank.lesson_list."""
        return await asyncio.to_thread(
            self._bank.lesson_list, tags=tags, linked_to=linked_to, limit=limit, offset=offset
        )

    async def lesson_search(
        self,
        query: str,
        *,
        limit: int = DEFAULT_LESSON_LIMIT,
        lesson_weight: float = 0.4,
        context_weight: float = 0.3,
        bm25_weight: float = 0.3,
        tags: Iterable[str] = (),
        linked_to: Iterable[str] | None = None,
        fusion: str = "weighted",
        min_score: float | None = None,
        session: str | None = None,
    ) -> LessonAnswer:
        """See Bank.lesson_search."""
        return await asyncio.to_thread(
            self._bank.lesson_search,
            query,
            limit=limit,
            lesson_weight=lesson_weight,
            context_weight=context_weight,
            bm25_weight=bm25_weight,
            tags=tags,
            linked_to=linked_to,
            fusion=fusion,
            min_score=min_score,
            session=session,
        )


class AsyncGuarding:
    """Bank's methods about quarantine and time, awaitable."""

    _bank: Bank

    async def quarantine(
        self,
        *,
        memory_id: str | None = None,
        session: str | None = None,
        source: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        reason: str,
        cascade: bool = True,
        dry_run: bool = False,
    ) -> QuarantineReport:
        """See Bank.quarantine."""
        return await asyncio.to_thread(
            self._bank.quarantine,
            memory_id=memory_id,
            session=session,
            source=source,
            since=since,
            until=until,
            reason=reason,
            cascade=cascade,
            dry_run=dry_run,
        )

    async def release(
        self, *, memory_id: str | None = None, quarantine_id: str | None = None, reason: str = ""
    ) -> ReleaseReport:
        """See Bank.release."""
        return await asyncio.to_thread(
            self._bank.release, memory_id=memory_id, quarantine_id=quarantine_id, reason=reason
        )

    async def quarantines(self) -> tuple[Quarantine, ...]:
        """See Bank.quarantines."""
        return await asyncio.to_thread(self._bank.quarantines)

    async def as_of(self, moment: datetime) -> Past:
        """See Bank.as_of; the view reads at once, so a busy event loop calls it in a worker thread."""
        return await asyncio.to_thread(self._bank.as_of, moment)

    async def versions(self, memory_id: str) -> tuple[Memory, ...]:
        """See Bank.versions."""
        return await asyncio.to_thread(self._bank.versions, memory_id)

    async def restore_version(self, memory_id: str, version: int) -> Memory:
        """See Bank.restore_version."""
        return await asyncio.to_thread(self._bank.restore_version, memory_id, version)


class AsyncLearning:
    """Bank's methods that capture, judge, distill and scale, awaitable."""

    _bank: Bank

    async def search_with_experience(
        self,
        query: str,
        *,
        limit: int | None = None,
        min_confidence: float = MIN_CONFIDENCE,
        tags: Iterable[str] = (),
        session: str | None = None,
        mode: str = "semantic",
    ) -> ExperienceAnswer:
        """See Bank.search_with_experience."""
        return await asyncio.to_thread(
            self._bank.search_with_experience,
            query,
            limit=limit,
            min_confidence=min_confidence,
            tags=tags,
            session=session,
            mode=mode,
        )

    async def report_experience(self, trace_id: str, outcome: Verdict, *, details: str = "") -> Trace:
        """See Bank.report_experience."""
        return await asyncio.to_thread(self._bank.report_experience, trace_id, outcome, details=details)

    async def traces(self, *, limit: int = 0) -> tuple[Trace, ...]:
        """See Bank.traces."""
        return await asyncio.to_thread(self._bank.traces, limit=limit)

    async def extract_strategy(
        self, query: str, approach: str, outcome: Verdict, results_summary: str = "", error_details: str = ""
    ) -> Strategy:
        """See Bank.extract_strategy."""
        return await asyncio.to_thread(
            self._bank.extract_strategy, query, approach, outcome, results_summary, error_details
        )

    async def extract_content(self, text: str, mode: str = "full") -> Content:
        """See Bank.extract_content."""
        return await asyncio.to_thread(self._bank.extract_content, text, mode)

    async def ingest(self, content: str, source: str = "") -> Ingested:
        """See Bank.ingest."""
        return await asyncio.to_thread(self._bank.ingest, content, source)

    @property
    def model(self) -> LanguageModel | None:
        """See Bank.model."""
        return self._bank.model

    async def capture(self, *sources: str | Path, format: str = "auto") -> CaptureReport:  # noqa: A002 - as Bank has it
        """See Bank.capture."""
        return await asyncio.to_thread(self._bank.capture, *sources, format=format)

    async def capture_later(
        self,
        *sources: str | Path,
        format: str = "auto",  # noqa: A002 - as Bank has it
        quiet: timedelta = timedelta(0),
    ) -> int:
        """See Bank.capture_later."""
        return await asyncio.to_thread(self._bank.capture_later, *sources, format=format, quiet=quiet)

    async def keep(self, trajectory: Trajectory, *, key: str = "") -> Captured:
        """See Bank.keep."""
        return await asyncio.to_thread(self._bank.keep, trajectory, key=key)

    async def trajectory(self, trajectory_id: str) -> Trajectory:
        """See Bank.trajectory."""
        return await asyncio.to_thread(self._bank.trajectory, trajectory_id)

    async def trajectories(
        self, *, limit: int = 0, offset: int = 0, verdict: Verdict | None = None, pending: bool | None = None
    ) -> tuple[TrajectoryEntry, ...]:
        """See Bank.trajectories."""
        return await asyncio.to_thread(
            self._bank.trajectories, limit=limit, offset=offset, verdict=verdict, pending=pending
        )

    async def judgements(self, trajectory_id: str) -> tuple[Judgement, ...]:
        """See Bank.judgements."""
        return await asyncio.to_thread(self._bank.judgements, trajectory_id)

    async def origins(self, memory_id: str) -> tuple[Origin, ...]:
        """See Bank.origins."""
        return await asyncio.to_thread(self._bank.origins, memory_id)

    async def refusals(self, *, trajectory: str | None = None, limit: int = 0) -> tuple[Refusal, ...]:
        """See Bank.refusals."""
        return await asyncio.to_thread(self._bank.refusals, trajectory=trajectory, limit=limit)

    async def forget_trajectory(self, trajectory_id: str) -> None:
        """See Bank.forget_trajectory."""
        return await asyncio.to_thread(self._bank.forget_trajectory, trajectory_id)

    async def judge(self, trajectory_id: str) -> Judgement:
        """See Bank.judge."""
        return await asyncio.to_thread(self._bank.judge, trajectory_id)

    async def verdict(self, trajectory_id: str, verdict: Verdict, *, note: str = "") -> Judgement:
        """See Bank.verdict."""
        return await asyncio.to_thread(self._bank.verdict, trajectory_id, verdict, note=note)

    async def distill(self, *trajectory_ids: str, pending: bool = False) -> DistilReport:
        """See Bank.distill."""
        return await asyncio.to_thread(self._bank.distill, *trajectory_ids, pending=pending)

    async def distill_session(self, summary: SessionSummary) -> DistilReport:
        """See Bank.distill_session."""
        return await asyncio.to_thread(self._bank.distill_session, summary)

    async def assignment(self, trajectory_id: str) -> Assignment:
        """See Bank.assignment."""
        return await asyncio.to_thread(self._bank.assignment, trajectory_id)

    async def record_lesson(
        self,
        trajectory_id: str,
        *,
        title: str,
        content: str,
        outcome: str,
        description: str,
        tags: Iterable[str] = (),
        steps: Sequence[int] = (),
    ) -> DistilReport:
        """See Bank.record_lesson."""
        return await asyncio.to_thread(
            self._bank.record_lesson,
            trajectory_id,
            title=title,
            content=content,
            outcome=outcome,
            description=description,
            tags=tags,
            steps=steps,
        )

    async def nothing_learned(self, trajectory_id: str) -> DistilReport:
        """See Bank.nothing_learned."""
        return await asyncio.to_thread(self._bank.nothing_learned, trajectory_id)

    async def work(self, *, limit: int = 0, lease: timedelta = LEASE) -> WorkReport:
        """See Bank.work."""
        return await asyncio.to_thread(self._bank.work, limit=limit, lease=lease)

    async def work_until(self, stop: threading.Event, *, poll: float = 1.0, lease: timedelta = LEASE) -> WorkReport:
        """See Bank.work_until."""
        return await asyncio.to_thread(self._bank.work_until, stop, poll=poll, lease=lease)

    async def dead_jobs(self) -> tuple[Job, ...]:
        """See Bank.dead_jobs."""
        return await asyncio.to_thread(self._bank.dead_jobs)

    async def scale(
        self,
        task: str | Task,
        agent: Agent,
        k: int = DEFAULT_ROLLOUTS,
        *,
        mode: Mode = "parallel",
        limit: int = 5,
        evaluating: bool = False,
        timeout: float | None = None,
        at_once: int = 4,
        session: str | None = None,
    ) -> Scaled:
        """See Bank.scale."""
        return await asyncio.to_thread(
            self._bank.scale,
            task,
            agent,
            k,
            mode=mode,
            limit=limit,
            evaluating=evaluating,
            timeout=timeout,
            at_once=at_once,
            session=session,
        )

    async def ascale(
        self,
        task: str | Task,
        agent: Agent,
        k: int = DEFAULT_ROLLOUTS,
        *,
        mode: Mode = "parallel",
        limit: int = 5,
        evaluating: bool = False,
        timeout: float | None = None,
        at_once: int = 4,
        session: str | None = None,
    ) -> Scaled:
        """See Bank.ascale."""
        return await self._bank.ascale(
            task,
            agent,
            k,
            mode=mode,
            limit=limit,
            evaluating=evaluating,
            timeout=timeout,
            at_once=at_once,
            session=session,
        )


class AsyncProving:
    """Bank's methods that measure what memory is worth, awaitable."""

    _bank: Bank

    async def report(self) -> UpliftReport:
        """See Bank.report."""
        return await asyncio.to_thread(self._bank.report)


class AsyncQuestioning:
    """Bank's methods that plan and answer questions, awaitable."""

    _bank: Bank

    async def plan(
        self, question: str, *, ask: bool = True, clarification: str = "", history: Sequence[str] = ()
    ) -> QuestionPlan:
        """See Bank.plan."""
        return await asyncio.to_thread(self._bank.plan, question, ask=ask, clarification=clarification, history=history)

    async def ask(
        self,
        question: str,
        *,
        ask: bool = True,
        clarification: str = "",
        history: Sequence[str] = (),
        nodes: int = DEFAULT_NODES,
        lessons: int = DEFAULT_LESSONS,
        budget: int | None = None,
        user: str = "",
        role: str = "",
        session: str | None = None,
    ) -> QuestionAnswer:
        """See Bank.ask."""
        return await asyncio.to_thread(
            self._bank.ask,
            question,
            ask=ask,
            clarification=clarification,
            history=history,
            nodes=nodes,
            lessons=lessons,
            budget=budget,
            user=user,
            role=role,
            session=session,
        )

    async def answer_plan(
        self,
        plan: QuestionPlan,
        *,
        nodes: int = DEFAULT_NODES,
        lessons: int = DEFAULT_LESSONS,
        budget: int | None = None,
        user: str = "",
        role: str = "",
        session: str | None = None,
    ) -> QuestionAnswer:
        """See Bank.answer_plan."""
        return await asyncio.to_thread(
            self._bank.answer_plan,
            plan,
            nodes=nodes,
            lessons=lessons,
            budget=budget,
            user=user,
            role=role,
            session=session,
        )


class AsyncReminding:
    """Bank's methods about preferences, events, sources and actions, awaitable."""

    _bank: Bank

    async def preference_add(
        self,
        preference_type: str,
        text: str,
        *,
        user: str = "",
        role: str = "",
        conv_id: str = "",
        tags: Iterable[str] = (),
    ) -> Preference:
        """See Bank.preference_add."""
        return await asyncio.to_thread(
            self._bank.preference_add, preference_type, text, user=user, role=role, conv_id=conv_id, tags=tags
        )

    async def preferences(
        self, *, user: str = "", role: str = "", preference_type: str = "", history: bool = False
    ) -> tuple[Preference, ...]:
        """See Bank.preferences."""
        return await asyncio.to_thread(
            self._bank.preferences, user=user, role=role, preference_type=preference_type, history=history
        )

    async def events(
        self,
        since: date | None = None,
        until: date | None = None,
        *,
        tags: Iterable[str] = (),
        recency: bool = False,
        limit: int = DEFAULT_LIMIT,
    ) -> tuple[Occurrence, ...]:
        """See Bank.events."""
        return await asyncio.to_thread(self._bank.events, since, until, tags=tags, recency=recency, limit=limit)

    async def sources(self, answer_id: str) -> tuple[Source, ...]:
        """See Bank.sources."""
        return await asyncio.to_thread(self._bank.sources, answer_id)

    async def actions(
        self,
        *,
        tags: Iterable[str] = (),
        conv_id: str | None = None,
        outcome: ActionOutcome | None = None,
        limit: int = DEFAULT_LIMIT,
    ) -> tuple[Action, ...]:
        """See Bank.actions."""
        return await asyncio.to_thread(self._bank.actions, tags=tags, conv_id=conv_id, outcome=outcome, limit=limit)


class AsyncSharing:
    """Bank's methods that promote and share, awaitable."""

    _bank: Bank

    async def memberships(self) -> Mapping[str, Membership]:
        """See Bank.memberships."""
        return await asyncio.to_thread(self._bank.memberships)

    async def promotion_candidates(
        self, *, to: Level | None = None, ordinary: Iterable[str] = ()
    ) -> tuple[PromotionCandidate, ...]:
        """See Bank.promotion_candidates."""
        return await asyncio.to_thread(self._bank.promotion_candidates, to=to, ordinary=ordinary)

    async def propose(
        self, memory_ids: Sequence[str], *, to: Level = "team", ordinary: Iterable[str] = ()
    ) -> PromotionCandidate:
        """See Bank.propose."""
        return await asyncio.to_thread(self._bank.propose, memory_ids, to=to, ordinary=ordinary)

    async def promote(
        self,
        what: PromotionCandidate | Sequence[str],
        *,
        reviewer: str,
        to: Level = "team",
        title: str | None = None,
        description: str | None = None,
        content: str | None = None,
        ordinary: Iterable[str] = (),
    ) -> Promotion:
        """See Bank.promote."""
        return await asyncio.to_thread(
            self._bank.promote,
            what,
            reviewer=reviewer,
            to=to,
            title=title,
            description=description,
            content=content,
            ordinary=ordinary,
        )

    async def demote(self, memory_id: str, *, reviewer: str = "", reason: str = "") -> Promotion:
        """See Bank.demote."""
        return await asyncio.to_thread(self._bank.demote, memory_id, reviewer=reviewer, reason=reason)

    async def promotions(self) -> tuple[Promotion, ...]:
        """See Bank.promotions."""
        return await asyncio.to_thread(self._bank.promotions)

    async def share_export(self, target: str | Path) -> ShareReport:
        """See Bank.share_export."""
        return await asyncio.to_thread(self._bank.share_export, target)

    async def share_import(self, source: str | Path, *, other_project: bool = False) -> ShareReport:
        """See Bank.share_import."""
        return await asyncio.to_thread(self._bank.share_import, source, other_project=other_project)


class AsyncTending:
    """Bank's methods that decay and prune, awaitable."""

    _bank: Bank

    async def decay(self, rules: DecayRules | None = None, *, dry_run: bool = False) -> DecayReport:
        """See Bank.decay."""
        return await asyncio.to_thread(self._bank.decay, rules, dry_run=dry_run)

    async def prune(self, rules: PruneRules | None = None, *, dry_run: bool = False) -> PruneReport:
        """See Bank.prune."""
        return await asyncio.to_thread(self._bank.prune, rules, dry_run=dry_run)

    async def on_code_stability(
        self, memory_id: str, *, reverted: bool, commit: str = "", session: str | None = None, rater: Rater = "human"
    ) -> StabilityReport:
        """See Bank.on_code_stability."""
        return await asyncio.to_thread(
            self._bank.on_code_stability, memory_id, reverted=reverted, commit=commit, session=session, rater=rater
        )

    async def check_stability(self, repository: str | Path | None = None, *, dry_run: bool = False) -> StabilityCheck:
        """See Bank.check_stability."""
        return await asyncio.to_thread(self._bank.check_stability, repository, dry_run=dry_run)


class AsyncWorkflowing:
    """Bank's methods about workflows, awaitable."""

    _bank: Bank

    async def workflow_execute(
        self, user_input: str, *, workflow_id: str = "", ask: bool = True, user: str = "", role: str = ""
    ) -> Workflow:
        """See Bank.workflow_execute."""
        return await asyncio.to_thread(
            self._bank.workflow_execute, user_input, workflow_id=workflow_id, ask=ask, user=user, role=role
        )

    async def workflow_search(self, workflow_id: str) -> Workflow:
        """See Bank.workflow_search."""
        return await asyncio.to_thread(self._bank.workflow_search, workflow_id)

    async def workflow(self, workflow_id: str) -> Workflow:
        """See Bank.workflow."""
        return await asyncio.to_thread(self._bank.workflow, workflow_id)

    async def workflow_stalled(self, workflow: Workflow) -> bool:
        """See Bank.workflow_stalled."""
        return await asyncio.to_thread(self._bank.workflow_stalled, workflow)

    async def workflow_answer(
        self,
        workflow_id: str,
        message_id: str,
        response: str,
        *,
        reasoning: str = "",
        tool_calls: Sequence[Mapping[str, object]] = (),
    ) -> Workflow:
        """See Bank.workflow_answer."""
        return await asyncio.to_thread(
            self._bank.workflow_answer,
            workflow_id,
            message_id,
            response,
            reasoning=reasoning,
            tool_calls=tool_calls,
        )

    async def workflow_cancel(self, workflow_id: str) -> Workflow:
        """See Bank.workflow_cancel."""
        return await asyncio.to_thread(self._bank.workflow_cancel, workflow_id)


class AsyncBank(
    AsyncBriefing,
    AsyncCiting,
    AsyncConversing,
    AsyncCurating,
    AsyncFiling,
    AsyncGraphing,
    AsyncLearning,
    AsyncProving,
    AsyncQuestioning,
    AsyncReminding,
    AsyncTending,
    AsyncGuarding,
    AsyncSharing,
    AsyncWorkflowing,
):
    """Bank with awaitable methods; arguments, answers and errors are those of Bank."""

    def __init__(self, bank: Bank) -> None:
        self._bank = bank

    @classmethod
    async def open(
        cls,
        url: str | None = None,
        *,
        tenant: str | None = None,
        project: str | None = None,
        team: str | None = None,
        org: str | None = None,
        embedder: str | Embedder | None = None,
        model: str | LanguageModel | None = None,
        settings: Settings | None = None,
        clock: Clock | None = None,
        chance: random.Random | None = None,
        session: str | None = None,
    ) -> Self:
        """See Bank.open."""
        return cls(
            await asyncio.to_thread(
                Bank.open,
                url,
                tenant=tenant,
                project=project,
                team=team,
                org=org,
                embedder=embedder,
                model=model,
                settings=settings,
                clock=clock,
                chance=chance,
                session=session,
            )
        )

    @property
    def scope(self) -> Scope:
        """See Bank.scope."""
        return self._bank.scope

    @property
    def membership(self) -> Membership:
        """See Bank.membership."""
        return self._bank.membership

    @property
    def session(self) -> str:
        """See Bank.session."""
        return self._bank.session

    @property
    def embedder(self) -> Embedder:
        """See Bank.embedder."""
        return self._bank.embedder

    async def record(
        self,
        *,
        title: str,
        content: str,
        outcome: str,
        description: str = "",
        tags: Iterable[str] = (),
        category: str = "",
        confidence: float = EXPLICIT_RECORD_CONFIDENCE,
        session: str | None = None,
        source: str = "api",
        vouched: bool = False,
    ) -> Memory:
        """See Bank.record."""
        return await asyncio.to_thread(
            self._bank.record,
            title=title,
            content=content,
            outcome=outcome,
            description=description,
            tags=tags,
            category=category,
            confidence=confidence,
            session=session,
            source=source,
            vouched=vouched,
        )

    async def search(
        self,
        query: str,
        *,
        limit: int = DEFAULT_SEARCH_LIMIT,
        min_confidence: float = MIN_CONFIDENCE,
        outcome: str | None = None,
        tags: Iterable[str] = (),
        category: str | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
        unproven: int = 1,
        session: str | None = None,
        by: By = "memory",
        k: int = 1,
    ) -> Recall:
        """See Bank.search."""
        return await asyncio.to_thread(
            self._bank.search,
            query,
            limit=limit,
            min_confidence=min_confidence,
            outcome=outcome,
            tags=tags,
            category=category,
            created_after=created_after,
            created_before=created_before,
            unproven=unproven,
            session=session,
            by=by,
            k=k,
        )

    async def get(self, memory_id: str) -> Memory:
        """See Bank.get."""
        return await asyncio.to_thread(self._bank.get, memory_id)

    async def list(
        self,
        *,
        limit: int = 0,
        offset: int = 0,
        outcome: str | None = None,
        tags: Iterable[str] = (),
        category: str | None = None,
        states: Sequence[State] = STATES,
        min_confidence: float | None = None,
    ) -> tuple[Memory, ...]:
        """See Bank.list."""
        return await asyncio.to_thread(
            self._bank.list,
            limit=limit,
            offset=offset,
            outcome=outcome,
            tags=tags,
            category=category,
            states=states,
            min_confidence=min_confidence,
        )

    async def update(
        self,
        memory_id: str,
        *,
        title: str | None = None,
        content: str | None = None,
        description: str | None = None,
        outcome: str | None = None,
        tags: Iterable[str] | None = None,
        category: str | None = None,
        state: State | None = None,
    ) -> Memory:
        """See Bank.update."""
        return await asyncio.to_thread(
            self._bank.update,
            memory_id,
            title=title,
            content=content,
            description=description,
            outcome=outcome,
            tags=tags,
            category=category,
            state=state,
        )

    async def delete(self, memory_id: str) -> None:
        """See Bank.delete."""
        await asyncio.to_thread(self._bank.delete, memory_id)

    async def feedback(
        self, memory_id: str, *, helpful: bool, session: str | None = None, rater: Rater = "human"
    ) -> Rating:
        """See Bank.feedback."""
        return await asyncio.to_thread(self._bank.feedback, memory_id, helpful=helpful, session=session, rater=rater)

    async def outcome(
        self, memory_id: str, *, succeeded: bool, session: str | None = None, rater: Rater = "human"
    ) -> OutcomeReport:
        """See Bank.outcome."""
        return await asyncio.to_thread(self._bank.outcome, memory_id, succeeded=succeeded, session=session, rater=rater)

    async def count(
        self,
        *,
        outcome: str | None = None,
        tags: Iterable[str] = (),
        category: str | None = None,
        states: Sequence[State] = STATES,
        min_confidence: float | None = None,
    ) -> int:
        """See Bank.count."""
        return await asyncio.to_thread(
            self._bank.count,
            outcome=outcome,
            tags=tags,
            category=category,
            states=states,
            min_confidence=min_confidence,
        )

    async def stats(self) -> Stats:
        """See Bank.stats."""
        return await asyncio.to_thread(self._bank.stats)

    async def history(self, memory_id: str) -> tuple[Event, ...]:
        """See Bank.history."""
        return await asyncio.to_thread(self._bank.history, memory_id)

    async def vector(self, memory_id: str, *, leg: str = "content") -> Vector | None:
        """See Bank.vector."""
        return await asyncio.to_thread(self._bank.vector, memory_id, leg=leg)

    async def rollup(self) -> int:
        """See Bank.rollup."""
        return await asyncio.to_thread(self._bank.rollup)

    async def backup(self, target: str | Path | None = None) -> Path:
        """See Bank.backup."""
        return await asyncio.to_thread(self._bank.backup, target)

    async def restore(self, source: str | Path) -> None:
        """See Bank.restore."""
        await asyncio.to_thread(self._bank.restore, source)

    async def export(self, target: str | Path) -> int:
        """See Bank.export."""
        return await asyncio.to_thread(self._bank.export, target)

    async def import_(self, source: str | Path, *, progress: Callable[[int, int], None] | None = None) -> ImportReport:
        """See Bank.import_."""
        return await asyncio.to_thread(self._bank.import_, source, progress=progress)

    async def reembed(self, *, progress: Callable[[int, int], None] | None = None) -> int:
        """See Bank.reembed."""
        return await asyncio.to_thread(self._bank.reembed, progress=progress)

    async def check(self) -> Health:
        """See Bank.check."""
        return await asyncio.to_thread(self._bank.check)

    async def close(self) -> None:
        """See Bank.close."""
        await asyncio.to_thread(self._bank.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

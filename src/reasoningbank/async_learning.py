"""The learning half of the Bank for asynchronous programs; plain methods run in a worker thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from reasoningbank.bank import Bank
from reasoningbank.domain.belief import MIN_CONFIDENCE
from reasoningbank.domain.content import Content, Ingested
from reasoningbank.domain.experience import ExperienceAnswer, Strategy, Trace
from reasoningbank.domain.learning import Captured, CaptureReport, DistilReport, Origin, Refusal, SessionSummary
from reasoningbank.domain.scaling import Mode, Scaled, Task
from reasoningbank.domain.trajectory import Judgement, Trajectory, Verdict
from reasoningbank.jobs import LEASE, WorkReport
from reasoningbank.ports import Job, LanguageModel, TrajectoryEntry
from reasoningbank.scaling import DEFAULT_ROLLOUTS

if TYPE_CHECKING:
    from reasoningbank.engine.attempting import Agent
    from reasoningbank.engine.distilling.assignment import Assignment


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

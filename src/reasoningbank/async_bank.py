"""The Bank for asynchronous programs: the same methods, awaited; each runs in a worker thread."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from reasoningbank.async_briefing import AsyncBriefing
from reasoningbank.async_citing import AsyncCiting
from reasoningbank.async_conversing import AsyncConversing
from reasoningbank.async_curating import AsyncCurating
from reasoningbank.async_filing import AsyncFiling
from reasoningbank.async_graphing import AsyncGraphing
from reasoningbank.async_guarding import AsyncGuarding
from reasoningbank.async_learning import AsyncLearning
from reasoningbank.async_proving import AsyncProving
from reasoningbank.async_questioning import AsyncQuestioning
from reasoningbank.async_reminding import AsyncReminding
from reasoningbank.async_sharing import AsyncSharing
from reasoningbank.async_tending import AsyncTending
from reasoningbank.async_workflowing import AsyncWorkflowing
from reasoningbank.bank import DEFAULT_SEARCH_LIMIT, Bank
from reasoningbank.domain.answers import Event, Health, ImportReport, OutcomeReport, Rating, Stats
from reasoningbank.domain.belief import EXPLICIT_RECORD_CONFIDENCE, MIN_CONFIDENCE
from reasoningbank.domain.memory import STATES, Memory, State
from reasoningbank.domain.recall import Recall
from reasoningbank.domain.scope import Membership, Scope
from reasoningbank.domain.signal import Rater
from reasoningbank.ports import Clock, Embedder, LanguageModel, Vector
from reasoningbank.searching import By
from reasoningbank.settings import Settings


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

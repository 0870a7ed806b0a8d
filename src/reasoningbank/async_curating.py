"""The curating part of the Bank for asynchronous programs; the methods run in a worker thread."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from reasoningbank.bank import Bank
from reasoningbank.domain.consolidation import (
    SIMILARITY_THRESHOLD,
    ConsolidatedMemory,
    ConsolidationOptions,
    ConsolidationResult,
    Contradiction,
    SimilarityCluster,
    UndoReport,
)


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

"""The part of the Bank that lets memories age, for asynchronous programs; the methods run in a worker thread."""

from __future__ import annotations

import asyncio
from pathlib import Path

from reasoningbank.bank import Bank
from reasoningbank.domain.lifecycle import (
    DecayReport,
    DecayRules,
    PruneReport,
    PruneRules,
    StabilityCheck,
    StabilityReport,
)
from reasoningbank.domain.signal import Rater


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

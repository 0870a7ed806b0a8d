"""The guarding part of the Bank for asynchronous programs; the methods run in a worker thread."""

from __future__ import annotations

import asyncio
from datetime import datetime

from reasoningbank.bank import Bank
from reasoningbank.domain.memory import Memory
from reasoningbank.domain.quarantine import Quarantine, QuarantineReport, ReleaseReport
from reasoningbank.past import Past


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

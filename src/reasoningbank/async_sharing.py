"""The sharing part of the Bank for asynchronous programs; the methods run in a worker thread."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from reasoningbank.bank import Bank
from reasoningbank.domain.scope import Level, Membership
from reasoningbank.domain.sharing import Promotion, PromotionCandidate, ShareReport


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

"""The reading part of the Bank for asynchronous programs; the methods run in a worker thread."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from reasoningbank.bank import Bank
from reasoningbank.domain.mention import Mentions, SourceReport


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

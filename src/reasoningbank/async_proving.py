"""The proving part of the Bank for asynchronous programs; the methods run in a worker thread."""

from __future__ import annotations

import asyncio

from reasoningbank.bank import Bank
from reasoningbank.domain.uplift import UpliftReport


class AsyncProving:
    """Bank's methods that measure what memory is worth, awaitable."""

    _bank: Bank

    async def report(self) -> UpliftReport:
        """See Bank.report."""
        return await asyncio.to_thread(self._bank.report)

"""The briefing half of the Bank for asynchronous programs; each method runs in a worker thread."""

from __future__ import annotations

import asyncio

from reasoningbank.bank import Bank
from reasoningbank.briefing import BRANCH_SHARE, DEFAULT_BUDGET, DEFAULT_ITEMS
from reasoningbank.domain.briefing import Brief, SessionOutcome
from reasoningbank.domain.signal import Rater


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

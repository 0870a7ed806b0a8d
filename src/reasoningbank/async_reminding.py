"""The part of the Bank that answers by what a node is, for asynchronous programs; it runs in a worker thread."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import date

from reasoningbank.bank import Bank
from reasoningbank.domain.reminders import Action, ActionOutcome, Occurrence, Preference, Source
from reasoningbank.reminding import DEFAULT_LIMIT


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

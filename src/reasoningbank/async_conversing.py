"""The part of the Bank that remembers conversations, for asynchronous programs; it runs in a worker thread."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from reasoningbank.bank import Bank
from reasoningbank.domain.conversation import Conversation, ConversationReport


class AsyncConversing:
    """Bank's method that remembers conversations, awaitable."""

    _bank: Bank

    async def remember_conversation(self, conversation: Conversation | Mapping[str, object]) -> ConversationReport:
        """See Bank.remember_conversation."""
        return await asyncio.to_thread(self._bank.remember_conversation, conversation)

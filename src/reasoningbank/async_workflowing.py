"""The part of the Bank that keeps workflows, for asynchronous programs; it runs in a worker thread."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from reasoningbank.bank import Bank
from reasoningbank.domain.workflow import Workflow


class AsyncWorkflowing:
    """Bank's methods about workflows, awaitable."""

    _bank: Bank

    async def workflow_execute(
        self, user_input: str, *, workflow_id: str = "", ask: bool = True, user: str = "", role: str = ""
    ) -> Workflow:
        """See Bank.workflow_execute."""
        return await asyncio.to_thread(
            self._bank.workflow_execute, user_input, workflow_id=workflow_id, ask=ask, user=user, role=role
        )

    async def workflow_search(self, workflow_id: str) -> Workflow:
        """See Bank.workflow_search."""
        return await asyncio.to_thread(self._bank.workflow_search, workflow_id)

    async def workflow(self, workflow_id: str) -> Workflow:
        """See Bank.workflow."""
        return await asyncio.to_thread(self._bank.workflow, workflow_id)

    async def workflow_stalled(self, workflow: Workflow) -> bool:
        """See Bank.workflow_stalled."""
        return await asyncio.to_thread(self._bank.workflow_stalled, workflow)

    async def workflow_answer(
        self,
        workflow_id: str,
        message_id: str,
        response: str,
        *,
        reasoning: str = "",
        tool_calls: Sequence[Mapping[str, object]] = (),
    ) -> Workflow:
        """See Bank.workflow_answer."""
        return await asyncio.to_thread(
            self._bank.workflow_answer,
            workflow_id,
            message_id,
            response,
            reasoning=reasoning,
            tool_calls=tool_calls,
        )

    async def workflow_cancel(self, workflow_id: str) -> Workflow:
        """See Bank.workflow_cancel."""
        return await asyncio.to_thread(self._bank.workflow_cancel, workflow_id)

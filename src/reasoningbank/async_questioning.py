"""The part of the Bank that answers questions, for asynchronous programs; it runs in a worker thread."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from reasoningbank.bank import Bank
from reasoningbank.domain.question import QuestionAnswer, QuestionPlan
from reasoningbank.questioning import DEFAULT_LESSONS, DEFAULT_NODES


class AsyncQuestioning:
    """Bank's methods that plan and answer questions, awaitable."""

    _bank: Bank

    async def plan(
        self, question: str, *, ask: bool = True, clarification: str = "", history: Sequence[str] = ()
    ) -> QuestionPlan:
        """See Bank.plan."""
        return await asyncio.to_thread(self._bank.plan, question, ask=ask, clarification=clarification, history=history)

    async def ask(
        self,
        question: str,
        *,
        ask: bool = True,
        clarification: str = "",
        history: Sequence[str] = (),
        nodes: int = DEFAULT_NODES,
        lessons: int = DEFAULT_LESSONS,
        budget: int | None = None,
        user: str = "",
        role: str = "",
        session: str | None = None,
    ) -> QuestionAnswer:
        """See Bank.ask."""
        return await asyncio.to_thread(
            self._bank.ask,
            question,
            ask=ask,
            clarification=clarification,
            history=history,
            nodes=nodes,
            lessons=lessons,
            budget=budget,
            user=user,
            role=role,
            session=session,
        )

    async def answer_plan(
        self,
        plan: QuestionPlan,
        *,
        nodes: int = DEFAULT_NODES,
        lessons: int = DEFAULT_LESSONS,
        budget: int | None = None,
        user: str = "",
        role: str = "",
        session: str | None = None,
    ) -> QuestionAnswer:
        """See Bank.answer_plan."""
        return await asyncio.to_thread(
            self._bank.answer_plan,
            plan,
            nodes=nodes,
            lessons=lessons,
            budget=budget,
            user=user,
            role=role,
            session=session,
        )

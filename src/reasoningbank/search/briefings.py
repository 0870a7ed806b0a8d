"""Choose and log what a briefing shows."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from reasoningbank.errors import StoreBusy, StoreFull, StoreUnavailable
from reasoningbank.search.searches import checked_question
from reasoningbank.storage.store import Store, Transaction
from reasoningbank.types.belief import MIN_CONFIDENCE
from reasoningbank.types.memory import check_outcome
from reasoningbank.types.recall import HELD_OUT, Brief, Filter, LeftOut, Recall

if TYPE_CHECKING:
    from reasoningbank.context import Context
    from reasoningbank.search.cascade import Found
    from reasoningbank.search.searches import Search

DEFAULT_BUDGET = 500
"""Tokens of a briefing that names no budget."""
DEFAULT_ITEMS = 10
"""Most memories of a briefing."""
BRANCH_SHARE = 0.2
"""Which part of a context's budget a branch of it may spend on memories."""
_NOTHING_HERE = "Nothing is shown in this session."


class Briefings:
    """Choose and log what a briefing shows."""

    def __init__(self, context: Context, search: Search) -> None:
        self._context = context
        self._search = search

    def considered(self, store: Store, task: str | None, outcome: str | None) -> tuple[str, Found]:
        """Return the query as it is logged, and what may be shown, best first."""
        from reasoningbank.search.selection import POOL

        if task is None:
            kind = None if outcome is None else check_outcome(outcome)
            return "", self._search.best_known(store, Filter(outcome=kind, min_confidence=MIN_CONFIDENCE), POOL)
        question = checked_question(task, limit=POOL, outcome=outcome, unproven=1)
        return question.text, self._search.near(store, question)

    @staticmethod
    def shown(store: Store, session: str) -> list[str]:
        """Return ids of what this session was shown, in that order."""
        logged = [
            entry.memory_id
            for log in reversed(store.deliveries.recalls(limit=0, session=session))
            for entry in log.entries
        ]
        strategies = [memory_id for trace in store.sessions.traces(session=session) for memory_id in trace.results]
        return [*dict.fromkeys([*logged, *strategies])]

    def kept(self, store: Store, brief: Brief, query: str) -> Brief:
        """Return the brief, logged as a delivery when it shows anything; empty when the session is held out."""
        from reasoningbank.memories.exposure import drawn

        if not brief.items:
            return brief
        at = self._context.clock.now()
        if drawn(store, self._context.scope, brief.session, share=self._context.settings.holdout, at=at).held_out:
            return self._withheld(store, brief, at)
        hits = [item.hit for item in brief.items]
        logged = self._search.logged(
            store,
            Recall(
                memories=tuple(hit for hit in hits if not hit.unproven),
                unproven=tuple(hit for hit in hits if hit.unproven),
                query=query,
                session=brief.session,
                embedder=self._context.embedder.name,
                tokens=brief.tokens,
                message=brief.message,
                warnings=brief.warnings,
                at=at,
            ),
            usage=bool(query),
            note=partial(self._note_injection, brief=brief, at=at),
        )
        return replace(brief, warnings=logged.warnings)

    def _withheld(self, store: Store, brief: Brief, at: datetime) -> Brief:
        """Return nothing, with what would have been shown as left out; a full disk does not make it something."""
        left_out = [LeftOut(id=item.hit.id, reason=HELD_OUT) for item in brief.items]
        empty = Brief(session=brief.session, left_out=(*left_out, *brief.left_out), message=_NOTHING_HERE)
        try:
            with store.transaction() as transaction:
                self._note_injection(transaction, brief=brief, at=at)
        except (StoreFull, StoreUnavailable, StoreBusy) as error:
            return replace(empty, warnings=(f"What was withheld was not noted: {error}. {error.hint}",))
        return empty

    def _note_injection(self, transaction: Transaction, *, brief: Brief, at: datetime) -> None:
        from reasoningbank.memories.exposure import note_injection

        note_injection(
            transaction,
            self._context.scope,
            brief.session,
            [item.hit.id for item in brief.items],
            share=self._context.settings.holdout,
            tokens=brief.tokens,
            at=at,
        )

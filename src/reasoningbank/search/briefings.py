"""The part of a bank that puts memories into an agent's context and learns from how that ended."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from reasoningbank.context import checked_limit, session_name
from reasoningbank.errors import InvalidInput, MemoryNotFound, StoreBusy, StoreFull, StoreUnavailable
from reasoningbank.matts.matts import Scaling
from reasoningbank.search.searches import checked_question
from reasoningbank.storage.store import Store, Transaction
from reasoningbank.telemetry import observed
from reasoningbank.types.belief import MIN_CONFIDENCE
from reasoningbank.types.memory import check_outcome, new_session
from reasoningbank.types.recall import HELD_OUT, Brief, BriefItem, Filter, LeftOut, Recall, SessionOutcome
from reasoningbank.types.session import SessionSummary
from reasoningbank.types.signal import Rater

if TYPE_CHECKING:
    from reasoningbank.search.cascade import Found

DEFAULT_BUDGET = 500
"""Tokens of a briefing that names no budget."""
DEFAULT_ITEMS = 10
"""Most memories of a briefing."""
BRANCH_SHARE = 0.2
"""Which part of a context's budget a branch of it may spend on memories."""
_NOTHING_HERE = "Nothing is shown in this session."


class Briefing(Scaling):
    """Shows an agent the best memories within a token budget, and credits exactly what was shown."""

    def briefing(
        self,
        task: str | None = None,
        budget: int = DEFAULT_BUDGET,
        session: str | None = None,
        *,
        outcome: str | None = None,
        limit: int = DEFAULT_ITEMS,
        repeat: bool = True,
    ) -> Brief:
        """Return the best memories for an agent's context, as quoted evidence; nothing rather than the irrelevant.

        With a task: what a search finds above the relevance floor, proven first, and at most one unproven memory to be
        tested. Without a task: proven memories alone, by the lower end of their interval and then by when they were
        last used. Near-duplicates are shown once. What is shown is logged for the session; it counts as used only with
        a task, because what nobody has searched for has proved nothing. In a session that is held out (setting
        ``holdout``) nothing is shown, and nothing counts as used; what would have been shown is left out with the
        reason ``held out``.

        Args:
            task: The task in words; None when it is not known yet.
            budget: Most cl100k tokens of the text, never exceeded.
            session: What the delivery counts for; None takes the bank's own.
            outcome: Only strategies (``success``) or only anti-patterns (``failure``).
            limit: Most memories.
            repeat: Whether what this session was shown before may be shown again.

        Raises:
            InvalidInput: When the task is blank, or the budget or an argument is not usable.
            ModelMismatch: When the bank was built with another embedder.
        """
        from reasoningbank.search.selection import choose

        most = checked_limit(limit)
        if budget < 0:
            raise InvalidInput(f"a budget cannot be negative: {budget}", hint="Name the most tokens, for example 500.")
        place = session_name(session) or self._session
        with observed("search_memory", store=self._place()) as observation:
            store = self._open_store()
            query, (proven, drawn, warnings) = self._considered(store, task, outcome)
            brief = choose(
                self._vector_of,
                [BriefItem(hit=hit, scope=hit.scope) for hit in (*proven, *drawn)],
                model_id=self._embedder.model_id,
                budget=budget,
                limit=most,
                moment=self._clock.now(),
                shown_before=() if repeat else [*self._shown(store, place), *self._shown_wider(place)],
            )
            observation.delivered(len(brief.items))
            return self._kept_brief(store, replace(brief, session=place, warnings=warnings), query)

    def session_outcome(self, session: str, succeeded: bool, *, rater: Rater = "human") -> SessionOutcome:
        """Report how a session ended for everything that was shown in it, by briefings and searches, and nothing else.

        The weight of one outcome is shared in equal parts: of n memories shown each gets the n-th part, so that a
        session that shows much counts no more than one that shows little. A memory whose outcome this session has
        reported before keeps what it has (DESIGN D5). How the session ended is kept for ``report``, also of a session
        that was held out: that one credits only what it has found by searching.

        Raises:
            InvalidInput: When no session is named.
        """
        from reasoningbank.memories.evidence import report_outcome
        from reasoningbank.memories.exposure import note_session
        from reasoningbank.search.experience import decide_served

        place = session_name(session)
        if not place:
            raise InvalidInput("no session is named", hint="Name the session that the briefing was for.")
        at = self._clock.now()
        with observed("outcome_memory", store=self._place()):
            store = self._open_store()
            wider = self._shown_wider(place)
            shown = [*store.many(self._shown(store, place))]
            sharers = len(shown) + len(wider)
            reports = []
            with store.transaction() as transaction:
                for memory_id in shown:
                    try:
                        report = report_outcome(
                            transaction,
                            memory_id,
                            succeeded=succeeded,
                            session=place,
                            rater=rater,
                            at=at,
                            shared_by=sharers,
                        )
                    except MemoryNotFound:
                        continue
                    reports.append(report)
                    decide_served(transaction, memory_id, session=place, succeeded=succeeded, at=at)
                for memory_id in wider:
                    decide_served(transaction, memory_id, session=place, succeeded=succeeded, at=at)
                note_session(transaction, place, succeeded=succeeded, rater=rater)
            if wider:
                reports += self._credit_wider(place, succeeded=succeeded, rater=rater, at=at, shared_by=sharers)
            self._keep_up()
        return SessionOutcome(
            session=place,
            succeeded=succeeded,
            credited=tuple(report for report in reports if report.recorded),
            unchanged=tuple(report.memory_id for report in reports if not report.recorded),
        )

    def branch_briefing(
        self, description: str, budget: int, *, share: float = BRANCH_SHARE, session: str | None = None
    ) -> Brief:
        """Return the memories for one branch of a folded context (seed 001, layer 1).

        Args:
            description: What the branch is to do.
            budget: The tokens of the branch's whole context.
            share: Which part of them memories may take, above 0 and at most 1.
            session: The branch's name; None makes one, which is in the answer. ``branch_outcome`` wants it.

        Raises:
            InvalidInput: When the description is blank or a number is not usable.
        """
        if not 0.0 < share <= 1.0:
            raise InvalidInput(f"a share is above 0 and at most 1, not {share}")
        return self.briefing(description, int(budget * share), session_name(session) or new_session())

    def branch_outcome(
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
        """Report how a branch ended: credits what it was shown, and learns from its account when it gives one.

        Args:
            session: The branch's name, from ``branch_briefing``.
            succeeded: How it ended.
            description: What it was to do; with ``approach`` it becomes a lesson, as in ``distill_session``.
            approach: How it went about it.
            result: What came of it.
            avoid: Of a failed branch: what not to do again.
            rater: Who says so.

        Raises:
            InvalidInput: When no session is named, or an account has only one of description and approach.
        """
        if bool(description.strip()) != bool(approach.strip()):
            raise InvalidInput("an account of a branch needs its description and its approach", hint="Give both.")
        report = self.session_outcome(session, succeeded, rater=rater)
        if not description.strip():
            return report
        summary = SessionSummary(
            session_id=report.session,
            project_id=self._scope.project,
            outcome="success" if succeeded else "failure",
            task=description,
            approach=approach,
            result=result,
            avoid=avoid,
        )
        return replace(report, learned=self.distill_session(summary))

    def _considered(self, store: Store, task: str | None, outcome: str | None) -> tuple[str, Found]:
        """Return the query as it is logged, and what may be shown, best first."""
        from reasoningbank.search.selection import POOL

        if task is None:
            kind = None if outcome is None else check_outcome(outcome)
            return "", self._best_known(store, Filter(outcome=kind, min_confidence=MIN_CONFIDENCE), POOL)
        question = checked_question(task, limit=POOL, outcome=outcome, unproven=1)
        return question.text, self._near(store, question)

    @staticmethod
    def _shown(store: Store, session: str) -> list[str]:
        """Return ids of what this session was shown, in that order."""
        logged = [entry.memory_id for log in reversed(store.recalls(limit=0, session=session)) for entry in log.entries]
        strategies = [memory_id for trace in store.traces(session=session) for memory_id in trace.results]
        return [*dict.fromkeys([*logged, *strategies])]

    def _kept_brief(self, store: Store, brief: Brief, query: str) -> Brief:
        """Return the brief, logged as a delivery when it shows anything; empty when the session is held out."""
        from reasoningbank.memories.exposure import drawn

        if not brief.items:
            return brief
        at = self._clock.now()
        if drawn(store, self._scope, brief.session, share=self._settings.holdout, at=at).held_out:
            return self._withheld(store, brief, at)
        hits = [item.hit for item in brief.items]
        logged = self._logged(
            store,
            Recall(
                memories=tuple(hit for hit in hits if not hit.unproven),
                unproven=tuple(hit for hit in hits if hit.unproven),
                query=query,
                session=brief.session,
                embedder=self._embedder.name,
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
            self._scope,
            brief.session,
            [item.hit.id for item in brief.items],
            share=self._settings.holdout,
            tokens=brief.tokens,
            at=at,
        )

"""Settle sessions: note how they ended, and credit what they were shown with it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from reasoningbank.errors import BankError
from reasoningbank.sessions.ends import end_of_session, personal
from reasoningbank.types.recall import SessionCredit
from reasoningbank.types.records import Job
from reasoningbank.types.session import CREDIT, DISTILL, Judgement, Trajectory, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reasoningbank.context import Context
    from reasoningbank.jobs.worker import Handler
    from reasoningbank.search.search import Search
    from reasoningbank.storage.store import Transaction
    from reasoningbank.types.memory import Memory, OutcomeReport


class Settlement:
    """Judge sessions and credit what they were shown, at once or in the background."""

    def __init__(self, context: Context, search: Search) -> None:
        self._context = context
        self._search = search

    def handlers(self) -> Mapping[str, Handler]:
        """Return the function that does each kind of job."""
        return {CREDIT: self._credit_job}

    def latest(self, trajectory: Trajectory) -> Judgement:
        """Return the latest judgement of a session; by its evidence when none was stored."""
        from reasoningbank.sessions.judge import by_evidence

        judgements = self._context.store().sessions.judgements(trajectory.id)
        return judgements[-1] if judgements else by_evidence(trajectory, at=self._context.clock.now())

    def judged(self, trajectory: Trajectory, at: datetime, *, patient: bool = False) -> Judgement:
        """Judge a session, credit what it was shown, store the judgement and return it."""
        from reasoningbank.sessions.judge import judge

        judgement = judge(
            trajectory, self._context.model, at=at, votes=self._context.settings.llm_votes, patient=patient
        )
        with self._context.store().transaction() as transaction:
            transaction.sessions.judge(trajectory.id, judgement)
            requeue(transaction, CREDIT, trajectory.id, self._context.clock.now())
        self.credited(trajectory.id)
        return judgement

    def settled(self, session: str) -> Sequence[OutcomeReport]:
        """Credit what fitted the questions of a session with how it ended, as far as that is known now.

        Who said it last makes no difference: what counts is found anew from everything that is known. A session that
        nobody can judge credits nothing, and takes back what an earlier judgement has credited. So does any end for a
        recipe whose error the session never met: it was shown, and no more. So does a good end that no person has
        judged, for a claim that the session's agent has said again: what repeats a claim is no witness for it.

        Returns:
            What became of each memory.
        """
        from reasoningbank.memories.credit import fitting, settle, shown
        from reasoningbank.memories.exposure import decide_served
        from reasoningbank.sessions.met_errors import unmet_recipes

        store, at = self._context.store(), self._context.clock.now()
        end = end_of_session(store, session, now=at)
        exposure = store.deliveries.exposure(session)
        met = () if exposure is None else exposure.shown
        own = {one.memory_id: one.succeeded for one in met if one.succeeded is not None}
        wider = fitting(self._search.shown_wider(session))
        # What was shown for a question and fitted less takes its share and gets nothing: others are not credited more.
        sharing = [each for each, relevance in shown(store, session).items() if relevance > 0]
        known = store.memories.many(sharing)
        # A recipe whose error never came had no part in how it ended, and takes nothing of the others' share.
        met_here = [*known.values(), *self._search.known_wider(wider)]
        unmet = unmet_recipes(store, session, met_here)
        sharers = len({*known, *wider} - unmet)
        if end.verdict == "success" and end.rater != "human":
            unmet |= self._restated(session, met_here)
        reports: list[OutcomeReport] = []
        with store.transaction() as transaction:
            reports += settle(transaction, session, end, own=own, at=at, shared_by=max(1, sharers), unmet=unmet)
            if end.verdict in {"success", "failure"}:
                for memory_id in (each for each in wider if each not in unmet):
                    decide_served(transaction, memory_id, session=session, succeeded=end.verdict == "success", at=at)
        if wider:
            reports += self._search.credit_wider(session, end, own=own, at=at, shared_by=max(1, sharers), unmet=unmet)
        return reports

    def _restated(self, session: str, memories: Sequence[Memory]) -> frozenset[str]:
        """Return the ids of those that nobody vouches for and whose words the agent of a session said again."""
        from reasoningbank.sessions.validation import is_restated

        claims = [memory for memory in memories if memory.standing in {"claim", "confirmed"}]
        store = self._context.store()
        entries = store.sessions.trajectories(limit=0, session=session) if claims else ()
        said = [store.sessions.trajectory(entry.id) for entry in entries]
        return frozenset(memory.id for memory in claims if any(is_restated(memory, each) for each in said))

    def counted(self, session: str) -> tuple[SessionCredit, ...]:
        """Return what the session's end counts now for each memory that fitted its questions."""
        from reasoningbank.memories.credit import credit_of, fitting, shown

        store = self._context.store()
        known = (credit_of(store, each, session) for each in store.memories.many(fitting(shown(store, session))))
        return (*(each for each in known if each is not None), *self._search.counted_wider(session))

    def credited(self, trajectory_id: str) -> None:
        """Do the job that settles what the session was shown, at once; a worker does it when this process is killed.

        The job is held meanwhile: no worker begins it, and one that a later judgement queues is not removed with it.
        """
        from reasoningbank.jobs.worker import LEASE
        from reasoningbank.types.memory import new_id

        store, now = self._context.store(), self._context.clock.now()
        with store.transaction() as transaction:
            job = transaction.jobs.claim((CREDIT,), lease=new_id(), at=now, until=now + LEASE, key=trajectory_id)
        if job is None:
            return
        try:
            self._credit(trajectory_id)
        except BankError:
            with store.transaction() as transaction:
                transaction.jobs.put_back(replace(job, attempts=job.attempts - 1), due=job.due, error=job.error)
            raise
        with store.transaction() as transaction:
            transaction.jobs.finish(job)

    def _credit_job(self, job: Job) -> None:
        """Settle what a session was shown."""
        self._credit(job.key)

    def _credit(self, trajectory_id: str) -> None:
        """Settle what the session of a trajectory was shown."""
        place = self._context.store().sessions.entry(trajectory_id).session
        if place:
            self.settled(place)


def requeue(transaction: Transaction, kind: str, key: str, due: datetime) -> None:
    """Queue a job anew, whatever became of it before."""
    job = Job(kind=kind, key=key, due=due)
    transaction.jobs.finish(job)
    transaction.jobs.enqueue(job)


def say(transaction: Transaction, trajectory_id: str, judgement: Judgement, now: datetime) -> None:
    """Store what a person says of how a session ended; it waits to be credited, and to be distilled again.

    Where the person does not know it, there is nothing to distil: no model is asked instead.
    """
    transaction.sessions.judge(trajectory_id, judgement)
    requeue(transaction, CREDIT, trajectory_id, now)
    if judgement.verdict == "unknown":
        transaction.sessions.mark_distilled(trajectory_id, now)
        return
    transaction.sessions.mark_distilled(trajectory_id, None)
    requeue(transaction, DISTILL, trajectory_id, now)


def report_of(succeeded: bool, now: datetime) -> Judgement:
    """Return the judgement that a person's report about the session is."""
    verdict: Verdict = "success" if succeeded else "failure"
    return personal(verdict, f"The user says of the session: {verdict}.", now)

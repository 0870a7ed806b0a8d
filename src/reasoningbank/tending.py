"""The part of a bank that lets memories age: unused ones lose confidence, disbelieved ones are archived."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from reasoningbank.domain.lifecycle import (
    DecayReport,
    DecayRules,
    PruneReport,
    PruneRules,
    StabilityCheck,
    StabilityReport,
)
from reasoningbank.domain.signal import Rater
from reasoningbank.jobs import Handler
from reasoningbank.ports import Job, Transaction
from reasoningbank.scaling import Scaling
from reasoningbank.telemetry import observed
from reasoningbank.upkeep import session_name, usable_path
from reasoningbank.working import LOOK_EVERY

TEND = "tend"
"""The kind of job that decays, prunes and looks at the repository, once a day."""
TEND_EVERY = timedelta(hours=24)
_ALL_TIME = timedelta(days=73_000)


class Tending(Scaling):
    """Decays, prunes, and takes the fate of commits as evidence."""

    _tend_after: datetime | None = None

    def decay(self, rules: DecayRules | None = None, *, dry_run: bool = False) -> DecayReport:
        """Lowers the confidence of every memory for each full month without activity; a second run changes nothing.

        The fall is stored as evidence against the memory, so that it can be seen in its history and any use, rating or
        outcome ends it. It never goes below half of the initial confidence.

        Args:
            rules: How; None takes the settings.
            dry_run: Says what would be done and writes nothing.

        Raises:
            InvalidInput: When a setting is out of its range.
        """
        from reasoningbank.engine.lifecycle import decay

        with observed("decay_memories", store=self._place()):
            return decay(self._open_store(), rules or self._decay_rules(), at=self._clock.now(), dry_run=dry_run)

    def prune(self, rules: PruneRules | None = None, *, dry_run: bool = False) -> PruneReport:
        """Archives memories that are neither believed nor used, with the reason; none is deleted.

        ``update(memory_id, state="active")`` brings one back.

        Args:
            rules: Which; None takes the settings.
            dry_run: Says what would be archived and writes nothing.

        Raises:
            InvalidInput: When a setting is out of its range.
        """
        from reasoningbank.engine.lifecycle import prune

        with observed("prune_memories", store=self._place()):
            return prune(self._open_store(), rules or self._prune_rules(), at=self._clock.now(), dry_run=dry_run)

    def on_code_stability(
        self, memory_id: str, *, reverted: bool, commit: str = "", session: str | None = None, rater: Rater = "human"
    ) -> StabilityReport:
        """Reports that the code a memory led to has stood for seven days, or was reverted.

        Args:
            memory_id: The memory.
            reverted: Whether it was reverted.
            commit: Its commit: then either counts once per memory and commit, else once per memory and session.
            session: Who says so; None for the bank's own session.
            rater: Whether a person or an agent does.

        Raises:
            MemoryNotFound: When this tenant has no such memory.
        """
        from reasoningbank.engine.stability import report_stability

        at, name = self._clock.now(), session_name(commit)

        def write(transaction: Transaction, place: str) -> StabilityReport:
            return report_stability(
                transaction, memory_id, reverted=reverted, commit=name, session=place, rater=rater, at=at
            )

        with observed("stability_memory", store=self._place()):
            return self._written(memory_id, session_name(session) or self._session, write)

    def check_stability(self, repository: str | Path | None = None, *, dry_run: bool = False) -> StabilityCheck:
        """Looks up in a git repository what became of the commits that this project's strategies are tied to.

        Args:
            repository: A directory inside it; None takes the setting, else the working directory.
            dry_run: Says what would be counted and writes nothing.

        Raises:
            InvalidInput: When that is no git repository.
            StoreUnavailable: When git is not installed or takes too long.
        """
        from reasoningbank.engine.stability import foreseen, report_stability, ties
        from reasoningbank.repository import Repository

        where = usable_path(repository or self._settings.repository or Path.cwd())
        store, now = self._open_store(), self._clock.now()
        with observed("check_stability", store=self._place()):
            tied = ties(store)
            names = list(dict.fromkeys(name for each in tied.values() for name in each))
            fates = Repository(where).fates(names, now=now)
            reports: list[StabilityReport] = []
            known = store.many(list(tied))
            for memory_id, commits in tied.items():
                for commit in commits:
                    if memory_id not in known or fates[commit] not in {"stood", "reverted"}:
                        continue
                    reverted = fates[commit] == "reverted"
                    if dry_run:
                        reports.append(foreseen(store, known[memory_id], reverted=reverted, commit=commit))
                        continue
                    with store.transaction() as transaction:
                        report = report_stability(
                            transaction,
                            memory_id,
                            reverted=reverted,
                            commit=commit,
                            session=self._session,
                            rater="agent",
                            at=now,
                        )
                    reports.append(report)
        count = list(fates.values()).count
        return StabilityCheck(
            reports=tuple(report for report in reports if report.counted),
            commits=len(names),
            waiting=count("waiting"),
            unknown=count("unknown"),
            dry_run=dry_run,
        )

    def _decay_rules(self) -> DecayRules:
        settings = self._settings
        return DecayRules(step=settings.decay_step, floor=settings.decay_floor, recorded=settings.decay_recorded)

    def _prune_rules(self) -> PruneRules:
        return PruneRules(below=self._settings.prune_below, after_days=self._settings.prune_after_days)

    def _handlers(self) -> dict[str, Handler]:
        return {**super()._handlers(), TEND: self._tend_job}

    def _queue_daily(self) -> None:
        """Makes sure that the bank is tended within a day; what is queued already stays as it is."""
        super()._queue_daily()
        now = self._clock.now()
        if self._tend_after is not None and now < self._tend_after:
            return
        self._tend_after = now + LOOK_EVERY
        store = self._open_store()
        if not any(job.kind == TEND for job in store.jobs(due=now + _ALL_TIME)):
            self._queue_next(now)

    def _queue_next(self, now: datetime) -> None:
        due = now + TEND_EVERY
        with self._open_store().transaction() as transaction:
            transaction.enqueue(Job(kind=TEND, key=f"{due:%Y-%m-%d}", due=due))

    def _tend_job(self, job: Job) -> None:  # noqa: ARG002 - there is one a day
        """The day's work; the next day's is queued first, so that it comes even when this one fails."""
        self._queue_next(self._clock.now())
        self.decay()
        self.prune()
        if self._settings.repository:
            self.check_stability()

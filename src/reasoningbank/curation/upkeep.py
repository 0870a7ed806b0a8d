"""The day's upkeep of a bank: what its background worker does once a day."""

from __future__ import annotations

from collections.abc import Callable, Sized
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from reasoningbank.context import ROLL_UP
from reasoningbank.errors import BankError
from reasoningbank.jobs.worker import LOOK_EVERY
from reasoningbank.settings import project_of
from reasoningbank.telemetry import criteria_measured, is_listened_to, observed
from reasoningbank.types.consolidation import ConsolidationOptions
from reasoningbank.types.lifecycle import DecayRules, PruneRules, StabilityCheck
from reasoningbank.types.quantity import counted
from reasoningbank.types.records import Job, Run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reasoningbank.context import Context
    from reasoningbank.jobs.worker import Handler

TEND = "tend"
"""The kind of job that does the day's upkeep: see ``Curation.upkeep``."""
TEND_EVERY = timedelta(hours=24)
_UPKEEP_WINDOW = timedelta(hours=12)
"""A person's consolidation keeps the daily one away for so long: less than a day, whose runs are not on the second."""
_ALL_TIME = timedelta(days=73_000)
_MOST_SAID = 500


class Steps(Protocol):
    """The step of the upkeep that a person can take as it is: ``Bank.curation``."""

    def check_stability(self, repository: str | Path | None = None) -> StabilityCheck:
        """Look up in git what became of the commits behind memories."""


class Upkeep:
    """Roll up, activate, decay, prune, consolidate and look into git, once a day."""

    def __init__(self, context: Context, curation: Steps) -> None:
        self._context = context
        self._curation = curation
        self._tend_after: datetime | None = None

    def handlers(self) -> Mapping[str, Handler]:
        """Return the function that does each kind of job."""
        return {TEND: self._tend_job}

    def queue_due(self) -> None:
        """Do the roll-up that is due, and queue the daily upkeep when none is waiting; look for that once an hour."""
        now = self._context.clock.now()
        store = self._context.store()
        if store.jobs.claimable((ROLL_UP,), at=now):
            self._context.roll_up()
        if self._tend_after is not None and now < self._tend_after:
            return
        self._tend_after = now + LOOK_EVERY
        if not any(job.kind == TEND for job in store.jobs.waiting(due=now + _ALL_TIME)):
            self._queue_next(now)

    def done(self) -> tuple[tuple[Run, ...], BankError | None]:
        """Return what was done, and the first error."""
        steps: tuple[tuple[str, Callable[[], str]], ...] = (
            ("roll-up", self._roll_up_step),
            ("activate", self._activate_step),
            ("decay", self._decay_step),
            ("prune", self._prune_step),
            ("erase", self._erase_step),
            ("consolidate", self._consolidate_step),
            ("stability", self._stability_step),
            ("expire logs", self._expire_step),
            ("metrics", self._measure_step),
        )
        runs, first = list[Run](), None
        for kind, step in steps:
            try:
                said, failed = step(), False
            except BankError as error:
                said, failed, first = error.advice, True, first or error
            if said:
                runs.append(Run(kind=kind, at=self._context.clock.now(), said=said[:_MOST_SAID], failed=failed))
        with self._context.store().transaction() as transaction:
            for run in runs:
                transaction.note_run(run)
        return tuple(runs), first

    def _roll_up_step(self) -> str:
        return f"{counted(self._context.roll_up(), 'signal')} rolled up"

    def _activate_step(self) -> str:
        from reasoningbank.curation.lifecycle import activate

        became = activate(self._context.store(), at=self._context.clock.now())
        return f"{counted(len(became), 'candidate')} became active"

    def _decay_step(self) -> str:
        """Return how many lost confidence.

        Whoever starts a server or a worker says with which settings. What a person stands by and what is confirmed
        decays here no faster than by default, whatever these say; a person's ``decay`` follows them.
        """
        from reasoningbank.curation.lifecycle import decay, decay_rules

        with observed("decay_memories", store=self._context.place):
            rules = decay_rules(self._context.settings)
            done = decay(self._context.store(), rules, at=self._context.clock.now(), higher=rules.gentler(DecayRules()))
        return f"{_memories(done.decayed)} lost confidence"

    def _prune_step(self) -> str:
        """Return how many were archived; of what stands higher only what would be by default."""
        from reasoningbank.curation.lifecycle import prune, prune_rules

        with observed("prune_memories", store=self._context.place):
            rules = prune_rules(self._context.settings)
            done = prune(self._context.store(), rules, at=self._context.clock.now(), higher=rules.gentler(PruneRules()))
        return f"{_memories(done.pruned)} archived"

    def _erase_step(self) -> str:
        """Return how much was erased of what agents have deleted; nothing is said when nothing was due."""
        from reasoningbank.curation.lifecycle import erase_withdrawn

        erased = erase_withdrawn(self._context.store(), at=self._context.clock.now())
        return f"{_memories(erased)} erased that an agent deleted a month ago" if erased else ""

    def _consolidate_step(self) -> str:
        """Return what was consolidated; nothing is said when a person does not want it."""
        if not self._context.settings.consolidate:
            return ""
        from reasoningbank.curation.consolidator import Consolidator

        with observed("consolidate_memories", store=self._context.place):
            options = ConsolidationOptions(window=_UPKEEP_WINDOW)
            done = Consolidator(self._context).run(options, near=self._context.model is None)
        made = f"{_memories(done.archived_memories)} became {len(done.created_memories)}"
        undo = "; rbank undo takes one apart" if done.created_memories else ""
        return " ".join([f"{made}{undo}", *done.messages])

    def _stability_step(self) -> str:
        """Return what the repository says of commits; nothing when there is none to look into."""
        repository = self._repository()
        if repository is None:
            return ""
        check = self._curation.check_stability(repository)
        return f"{_memories(check.reports)} moved by {counted(check.commits, 'commit')}"

    def _expire_step(self) -> str:
        """Erase logs that are older than they are kept; nothing is said when there are none."""
        days, now = self._context.settings.keep_logs_days, self._context.clock.now()
        if not days:
            return ""
        before = now - timedelta(days=days)
        with self._context.store().transaction() as transaction:
            names = transaction.erasure.names_before(before)
            found = transaction.erasure.erase(names, at=now, before=before, history=False)
        return f"{counted(found.searches, 'search', 'searches')} erased from the log" if found.some else ""

    def _measure_step(self) -> str:
        """Export the success criteria where OpenTelemetry listens; nothing is said of it."""
        if is_listened_to():
            from reasoningbank.curation.metrics import measured

            now = self._context.clock.now()
            criteria_measured(measured(self._context.store(), now).all, store=self._context.place)
        return ""

    def _repository(self) -> Path | None:
        """Return the configured repository, else the working directory's when that is this project's.

        A team or an org has none: its memories come from several.
        """
        if self._context.scope.level != "project":
            return None
        if self._context.settings.repository:
            return Path(self._context.settings.repository)
        here = Path.cwd()
        inside = any((folder / ".git").exists() for folder in (here, *here.parents))
        return here if inside and project_of(here) == self._context.scope.project else None

    def _queue_next(self, now: datetime) -> None:
        due = now + TEND_EVERY
        with self._context.store().transaction() as transaction:
            transaction.jobs.enqueue(Job(kind=TEND, key=f"{due:%Y-%m-%d}", due=due))

    def _tend_job(self, job: Job) -> None:  # noqa: ARG002 - there is one a day
        """Do the day's work; the next day's is queued first, so that it comes even when this one fails."""
        self._queue_next(self._context.clock.now())
        _, error = self.done()
        if error is not None:
            raise error


def _memories(found: Sized) -> str:
    return counted(len(found), "memory", "memories")

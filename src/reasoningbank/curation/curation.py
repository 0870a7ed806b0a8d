"""Consolidate memories that say nearly the same, and let unused ones age."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from reasoningbank.context import ROLL_UP
from reasoningbank.errors import (
    BankError,
    BudgetExhausted,
    InvalidInput,
    MalformedAnswer,
    MemoryNotFound,
    ModelUnavailable,
    PaidCallRefused,
    StoreBusy,
)
from reasoningbank.jobs.jobs import LOOK_EVERY, Handler
from reasoningbank.safety.arguments import session_name, usable_path
from reasoningbank.settings import project_of
from reasoningbank.storage.store import Store, Transaction
from reasoningbank.telemetry import observed
from reasoningbank.types.consolidation import (
    CONTRADICTS,
    SIMILARITY_THRESHOLD,
    ConsolidatedMemory,
    ConsolidationOptions,
    ConsolidationResult,
    Contradiction,
    SimilarityCluster,
    UndoReport,
    check_threshold,
)
from reasoningbank.types.lifecycle import (
    DecayReport,
    DecayRules,
    PruneReport,
    PruneRules,
    StabilityCheck,
    StabilityReport,
)
from reasoningbank.types.memory import check_memory_id
from reasoningbank.types.recall import CONTENT_LEG
from reasoningbank.types.records import Job, Link, Run
from reasoningbank.types.scope import Scope
from reasoningbank.types.signal import Rater

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reasoningbank.context import Context
    from reasoningbank.curation.clusters import Similar

CONSOLIDATED = "consolidated"
"""The kind of the note that says when the last run that went well was; it is no work to be done."""
UNDONE = "undone"
"""The kind of the notes that say which memories a person wants apart."""
_MOST_SAID = 500
_NEVER_DUE = timedelta(days=36_500)
_ALL_TIME = timedelta(days=73_000)
TEND = "tend"
"""The kind of job that does the day's upkeep: see ``Curation.upkeep``."""
TEND_EVERY = timedelta(hours=24)
_UPKEEP_WINDOW = timedelta(hours=12)
"""A person's consolidation keeps the daily one away for so long: less than a day, whose runs are not on the second."""


class Curation:
    """Consolidate memories that say nearly the same, and let unused ones age."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._tend_after: datetime | None = None

    def clusters(self, threshold: float = SIMILARITY_THRESHOLD) -> tuple[SimilarityCluster, ...]:
        """Return memories of one outcome, recallable ones alone, whose every pair is more similar than the threshold.

        Args:
            threshold: A cosine from 0 to 1 in the leg over title and content, on the scale of all-MiniLM; pairs
                exactly at it are apart.

        Returns:
            The closest first; no memory is in two of them.

        Raises:
            InvalidInput: When the threshold is not in [0, 1].
            ModelMismatch: When the bank was built with another embedder.
        """
        from reasoningbank.curation.clusters import with_centroids

        clusters = self._similar(check_threshold(threshold)).clusters
        return with_centroids(self._context.store(), clusters)

    def merge(self, cluster: SimilarityCluster) -> ConsolidatedMemory:
        """Make one memory of a cluster: its sources are archived and linked, its evidence is the union of theirs.

        The language model writes the text, and each of its claims is checked against the sources it names. Without a
        model the best source is kept word for word.

        Raises:
            InvalidInput: When the cluster has fewer than two different members, or members of two outcomes.
            ModelUnavailable, BudgetExhausted, MalformedAnswer: When there is no text, or it says what its sources do
                not; nothing was changed.
            StoreBusy: When a member was changed meanwhile; nothing was changed.
        """
        from reasoningbank.curation.consolidation import merge, put_together

        if len(set(cluster.ids)) < 2 or len(set(cluster.ids)) < len(cluster.members):
            raise InvalidInput("a cluster has at least two members, each once")
        if len({memory.outcome for memory in cluster.members}) > 1:
            raise InvalidInput("memories of opposite outcome are never merged", hint="They are linked and shown.")
        if any(memory.project != self._context.scope.project for memory in cluster.members):
            raise InvalidInput("a cluster's members belong to the bank's own project")
        text = merge(cluster, self._context.model)
        return put_together(self._context.store(), self._context.embedder, cluster, text, at=self._context.clock.now())

    def consolidate(self, options: ConsolidationOptions | None = None) -> ConsolidationResult:
        """Find clusters and make one memory of each; a second run finds nothing more to do.

        A run that went well keeps the next one away for a window of 24 hours, also after a restart; one with a refused
        merge does not. Contradictions are linked and reported. A cluster that fails leaves its members as they were,
        and the others are merged.

        Args:
            options: How the run goes; None for a threshold of 0.8 and all clusters.

        Raises:
            ModelMismatch: When the bank was built with another embedder.
            StoreError: When the bank cannot be read or written.
        """
        options = options or ConsolidationOptions()
        began = time.perf_counter()
        with observed("consolidate_memories", store=self._context.place):
            result = self._consolidated(options)
        spent = timedelta(seconds=time.perf_counter() - began)
        return ConsolidationResult(duration=spent) + result

    def consolidate_all(
        self, projects: Iterable[str] | None = None, options: ConsolidationOptions | None = None
    ) -> ConsolidationResult:
        """Consolidate several projects of this tenant and add up what was done; a project that fails is reported.

        Args:
            projects: Their names; None for all that the tenant has here.
            options: As for ``consolidate``.

        Raises:
            BankError: The last error, when every project failed.
        """
        known = {
            scope.project: scope
            for scope in self._context.storage.scopes(self._context.scope.tenant)
            if scope.level == "project"
        }
        named = sorted(known) if projects is None else list(dict.fromkeys(projects))
        result, failed, last = ConsolidationResult(), 0, None
        for name in named:
            try:
                result += self._in_project(known, name, options)
            except BankError as error:
                failed, last = failed + 1, error
                result += ConsolidationResult(messages=(f"{name}: {error.advice}",))
        if last is not None and failed == len(named):
            raise last
        return result

    def undo(self, consolidation_id: str) -> UndoReport:
        """Take a consolidated memory apart again: its sources are what they were before, whatever came since included.

        What came since goes to the source whose text the memory had word for word, or is divided among all sources of
        a model's text; see ``reasoningbank.curation.consolidation``. The same memories are not consolidated
        again unless a run is forced.

        Args:
            consolidation_id: The memory that a consolidation made.

        Raises:
            MemoryNotFound: When this tenant has no such memory.
            InvalidInput: When it is not a consolidation, was undone, went into a further one, or is in quarantine.
        """
        from reasoningbank.curation.consolidation import take_apart

        store = self._context.owner(check_memory_id(consolidation_id))
        now = self._context.clock.now()
        with observed("undo_consolidation", store=self._context.place), store.transaction() as transaction:
            report = take_apart(transaction, consolidation_id, at=now)
            note = Job(
                kind=UNDONE,
                key=consolidation_id,
                due=now + _NEVER_DUE,
                payload={"apart": json.dumps(list(report.restored))},
            )
            transaction.jobs.enqueue(note)
        return report

    def contradictions(self, memory_id: str | None = None) -> tuple[Contradiction, ...]:
        """Return recallable memories of nearly the same text and opposite outcome, the closest first.

        Args:
            memory_id: Only those that contradict this memory.

        Raises:
            MemoryNotFound: When this project has no such memory.
        """
        if memory_id is not None:
            self._context.store().memories.get(check_memory_id(memory_id))
        found = self._similar(SIMILARITY_THRESHOLD).contradictions
        return tuple(each for each in found if memory_id in {None, each.success, each.failure})

    def decay(self, rules: DecayRules | None = None, *, dry_run: bool = False) -> DecayReport:
        """Lower the confidence of every memory for each full month without activity; a second run changes nothing.

        The fall is stored as evidence against the memory, so that it can be seen in its history and any use, rating or
        outcome ends it. It never goes below half of the initial confidence.

        Args:
            rules: How; None takes the settings.
            dry_run: Say what would be done and write nothing.

        Raises:
            InvalidInput: When a setting is out of its range.
        """
        from reasoningbank.curation.lifecycle import decay

        with observed("decay_memories", store=self._context.place):
            return decay(
                self._context.store(), rules or self._decay_rules(), at=self._context.clock.now(), dry_run=dry_run
            )

    def prune(self, rules: PruneRules | None = None, *, dry_run: bool = False) -> PruneReport:
        """Archive memories that are neither believed nor used, with the reason; none is deleted.

        ``update(memory_id, state="active")`` brings one back.

        Args:
            rules: Which; None takes the settings.
            dry_run: Say what would be archived and write nothing.

        Raises:
            InvalidInput: When a setting is out of its range.
        """
        from reasoningbank.curation.lifecycle import prune

        with observed("prune_memories", store=self._context.place):
            return prune(
                self._context.store(), rules or self._prune_rules(), at=self._context.clock.now(), dry_run=dry_run
            )

    def report_stability(
        self, memory_id: str, *, reverted: bool, commit: str = "", session: str | None = None, rater: Rater = "human"
    ) -> StabilityReport:
        """Report that the code a memory led to has stood for seven days, or was reverted.

        Args:
            memory_id: The memory.
            reverted: True when it was reverted, False when it has stood.
            commit: Its commit: then either counts once per memory and commit, else once per memory and session.
            session: Who says so; None for the bank's own session.
            rater: Who reports it: a person or an agent.

        Raises:
            MemoryNotFound: When this tenant has no such memory.
        """
        from reasoningbank.curation.stability import report_stability

        at, name = self._context.clock.now(), session_name(commit)

        def write(transaction: Transaction, place: str) -> StabilityReport:
            return report_stability(
                transaction, memory_id, reverted=reverted, commit=name, session=place, rater=rater, at=at
            )

        with observed("stability_memory", store=self._context.place):
            return self._context.written(memory_id, session_name(session) or self._context.session, write)

    def check_stability(self, repository: str | Path | None = None, *, dry_run: bool = False) -> StabilityCheck:
        """Look up in a git repository what became of the commits that this project's strategies are tied to.

        Args:
            repository: A directory inside it; None takes the setting, else the working directory.
            dry_run: Say what would be counted and write nothing.

        Raises:
            InvalidInput: When that is no git repository.
            StoreUnavailable: When git is not installed or takes too long.
        """
        from reasoningbank.curation.stability import Repository, foreseen, report_stability, ties

        where = usable_path(repository or self._context.settings.repository or Path.cwd())
        store, now = self._context.store(), self._context.clock.now()
        with observed("check_stability", store=self._context.place):
            tied = ties(store)
            names = list(dict.fromkeys(name for each in tied.values() for name in each))
            fates = Repository(where).fates(names, now=now)
            reports: list[StabilityReport] = []
            known = store.memories.many(list(tied))
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
                            session=self._context.session,
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

    def _similar(self, threshold: float) -> Similar:
        from reasoningbank.curation.clusters import find_similar
        from reasoningbank.memories.admission import check_space

        store = self._context.store()
        check_space(store, self._context.embedder)
        return find_similar(store, threshold)

    def _consolidated(self, options: ConsolidationOptions, *, near: bool = False) -> ConsolidationResult:
        """Return what was merged; with ``near`` only near-duplicates of the source whose text is kept."""
        store, now = self._context.store(), self._context.clock.now()
        until = None if options.force_all else _last_run(store, now, options.window)
        if until is not None:
            return ConsolidationResult(
                messages=(f"Nothing was done: the last run was less than a window ago. Next run at {until:%F %R} UTC.",)
            )
        similar = self._similar(options.similarity_threshold)
        apart = [] if options.force_all else _apart(store, now)
        clusters = [cluster for cluster in similar.clusters if not _wanted_apart(cluster, apart)]
        undone = len(similar.clusters) - len(clusters)
        if near:
            clusters = [kept for cluster in clusters if (kept := self._near(cluster)) is not None]
        notes = (f"{undone} clusters stay apart because they were undone before; a forced run merges them.",)
        if options.max_clusters_per_run:
            clusters = clusters[: options.max_clusters_per_run]
        if options.dry_run:
            return ConsolidationResult(
                created_memories=tuple(f"dry-run-cluster-{number}" for number in range(1, len(clusters) + 1)),
                archived_memories=tuple(name for cluster in clusters for name in cluster.ids),
                total_processed=sum(len(cluster.members) for cluster in clusters),
                contradictions=similar.contradictions,
                messages=notes if undone else (),
            )
        result = ConsolidationResult(messages=notes if undone else ())
        for cluster in clusters:
            result += self._merged(cluster)
        if result.created_memories:
            similar = self._similar(options.similarity_threshold)
        with store.transaction() as transaction:
            for each in similar.contradictions:
                transaction.memories.link(Link(source=each.success, target=each.failure, kind=CONTRADICTS))
            if not result.skipped_count:
                note = Job(kind=CONSOLIDATED, key="last", due=now + _NEVER_DUE, payload={"at": now.isoformat()})
                transaction.jobs.finish(note)
                transaction.jobs.enqueue(note)
        return result + ConsolidationResult(contradictions=similar.contradictions)

    def _near(self, cluster: SimilarityCluster) -> SimilarityCluster | None:
        """Return the cluster's best member with those that say what it says; None when there are none."""
        from reasoningbank.curation.consolidation import best
        from reasoningbank.memories.similarity import cosine_similarity, is_near

        kept = best(cluster.members)
        vectors = self._context.store().search.vectors(CONTENT_LEG, list(cluster.ids))
        model_id = self._context.embedder.model_id
        members = tuple(
            each
            for each in cluster.members
            if each.id == kept.id
            or is_near(each, kept, cosine_similarity(vectors.get(each.id, ()), vectors.get(kept.id, ())), model_id)
        )
        return replace(cluster, members=members) if len(members) > 1 else None

    def _merged(self, cluster: SimilarityCluster) -> ConsolidationResult:
        """Return one cluster, merged or left as it was with the reason."""
        size = len(cluster.members)
        try:
            made = self.merge(cluster)
        except (
            ModelUnavailable,
            BudgetExhausted,
            PaidCallRefused,
            MalformedAnswer,
            StoreBusy,
            MemoryNotFound,
            InvalidInput,
        ) as error:
            reason = f"{', '.join(cluster.ids)}: {error.advice}"
            return ConsolidationResult(skipped_count=size, total_processed=size, messages=(reason,))
        return ConsolidationResult(created_memories=(made.id,), archived_memories=made.source_ids, total_processed=size)

    def _in_project(
        self, known: dict[str, Scope], name: str, options: ConsolidationOptions | None
    ) -> ConsolidationResult:
        if name == self._context.scope.project and self._context.scope.level == "project":
            return self.consolidate(options)
        if name not in known:
            raise InvalidInput(f"there is no project {name[:80]!r}", hint="Name a project that has memories.")
        context = self._context.beside(known[name])
        try:
            return Curation(context).consolidate(options)
        finally:
            context.close()

    def _decay_rules(self) -> DecayRules:
        settings = self._context.settings
        return DecayRules(step=settings.decay_step, floor=settings.decay_floor, recorded=settings.decay_recorded)

    def _prune_rules(self) -> PruneRules:
        return PruneRules(below=self._context.settings.prune_below, after_days=self._context.settings.prune_after_days)

    def handlers(self) -> Mapping[str, Handler]:
        """Return what does each kind of job of this resource."""
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

    def upkeep(self) -> tuple[Run, ...]:
        """Do what a bank needs once a day, and keep what came of each step where ``rbank jobs`` shows it.

        In this order: old signals are rolled up, candidates that evidence has carried over the threshold become
        active, unused memories decay and are pruned, near-duplicates are consolidated (with a language model also what
        it can put together), and the commits that strategies are tied to are looked up in the project's repository. A
        step that fails keeps none of the others away.
        """
        return self._upkept()[0]

    def _upkept(self) -> tuple[tuple[Run, ...], BankError | None]:
        """Return what was done, and the first error."""
        steps: tuple[tuple[str, Callable[[], str]], ...] = (
            ("roll-up", self._roll_up_step),
            ("activate", self._activate_step),
            ("decay", lambda: f"{len(self.decay().decayed)} memories lost confidence"),
            ("prune", lambda: f"{len(self.prune().pruned)} memories archived"),
            ("consolidate", self._consolidate_step),
            ("stability", self._stability_step),
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
        return f"{self._context.roll_up()} signals rolled up"

    def _activate_step(self) -> str:
        from reasoningbank.curation.lifecycle import activate

        return f"{len(activate(self._context.store(), at=self._context.clock.now()))} candidates became active"

    def _consolidate_step(self) -> str:
        """Return what was consolidated; nothing is said when a person does not want it."""
        if not self._context.settings.consolidate:
            return ""
        with observed("consolidate_memories", store=self._context.place):
            done = self._consolidated(ConsolidationOptions(window=_UPKEEP_WINDOW), near=self._context.model is None)
        made = f"{len(done.archived_memories)} memories became {len(done.created_memories)}"
        undo = "; rbank undo takes one apart" if done.created_memories else ""
        return " ".join([f"{made}{undo}", *done.messages])

    def _stability_step(self) -> str:
        """Return what the repository says of commits; nothing when there is none to look into."""
        repository = self._repository()
        if repository is None:
            return ""
        check = self.check_stability(repository)
        return f"{len(check.reports)} memories moved by {check.commits} commits"

    def _repository(self) -> Path | None:
        """Return the configured repository, else the working directory's when that is this project's."""
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
        _, error = self._upkept()
        if error is not None:
            raise error


def _last_run(store: Store, now: datetime, window: timedelta) -> datetime | None:
    """Return when the next run may be, when the last one that went well was less than a window ago."""
    for job in _notes(store, now, lambda job: job.kind == CONSOLIDATED):
        until = datetime.fromisoformat(job.payload["at"]) + window
        if now < until:
            return until
    return None


def _apart(store: Store, now: datetime) -> list[frozenset[str]]:
    return [frozenset(json.loads(job.payload["apart"])) for job in _notes(store, now, lambda job: job.kind == UNDONE)]


def _notes(store: Store, now: datetime, wanted: Callable[[Job], bool]) -> list[Job]:
    return [job for job in store.jobs.waiting(due=now + _ALL_TIME) if wanted(job)]


def _wanted_apart(cluster: SimilarityCluster, apart: Sequence[frozenset[str]]) -> bool:
    """Return whether two of the members were taken apart by a person."""
    members = set(cluster.ids)
    return any(len(members & each) > 1 for each in apart)

"""The part of a bank that keeps it small: memories that say nearly the same become one, and several again."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Self

from reasoningbank.domain.consolidation import (
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
from reasoningbank.domain.memory import check_memory_id
from reasoningbank.domain.scope import Scope
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
from reasoningbank.ports import Job, Link, Store
from reasoningbank.scaling import Scaling
from reasoningbank.telemetry import observed

if TYPE_CHECKING:
    from reasoningbank.engine.consolidating.clusters import Similar

CONSOLIDATED = "consolidated"
"""The kind of the note that says when the last run that went well was; it is no work to be done."""
UNDONE = "undone"
"""The kind of the notes that say which memories a person wants apart."""
_NEVER_DUE = timedelta(days=36_500)
_ALL_TIME = timedelta(days=73_000)


class Curating(Scaling):
    """Consolidates memories that say nearly the same, shows those that contradict each other, and undoes it."""

    def find_similar_clusters(self, threshold: float = SIMILARITY_THRESHOLD) -> tuple[SimilarityCluster, ...]:
        """Memories of one outcome, recallable ones alone, whose every pair is more similar than the threshold.

        Args:
            threshold: A cosine from 0 to 1 in the leg over title and content, on the scale of all-MiniLM; pairs
                exactly at it are apart.

        Returns:
            The closest first; no memory is in two of them.

        Raises:
            InvalidInput: When the threshold is not in [0, 1].
            ModelMismatch: When the bank was built with another embedder.
        """
        from reasoningbank.engine.consolidating.clusters import with_centroids

        clusters = self._similar(check_threshold(threshold)).clusters
        return with_centroids(self._open_store(), clusters)

    def merge_cluster(self, cluster: SimilarityCluster) -> ConsolidatedMemory:
        """Makes one memory of a cluster: its sources are archived and linked, its evidence is the union of theirs.

        The language model writes the text, and each of its claims is checked against the sources it names. Without a
        model the best source is kept word for word.

        Raises:
            InvalidInput: When the cluster has fewer than two different members, or members of two outcomes.
            ModelUnavailable, BudgetExhausted, MalformedAnswer: When there is no text, or it says what its sources do
                not; nothing was changed.
            StoreBusy: When a member was changed meanwhile; nothing was changed.
        """
        from reasoningbank.engine.consolidating.merging import merge
        from reasoningbank.engine.consolidating.writing import put_together

        if len(set(cluster.ids)) < 2 or len(set(cluster.ids)) < len(cluster.members):
            raise InvalidInput("a cluster has at least two members, each once")
        if len({memory.outcome for memory in cluster.members}) > 1:
            raise InvalidInput("memories of opposite outcome are never merged", hint="They are linked and shown.")
        if any(memory.project != self._scope.project for memory in cluster.members):
            raise InvalidInput("a cluster's members belong to the bank's own project")
        text = merge(cluster, self._model)
        return put_together(self._open_store(), self._embedder, cluster, text, at=self._clock.now())

    def consolidate(self, options: ConsolidationOptions | None = None) -> ConsolidationResult:
        """Finds clusters and makes one memory of each; a second run finds nothing more to do.

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
        with observed("consolidate_memories", store=self._place()):
            result = self._consolidated(options)
        spent = timedelta(seconds=time.perf_counter() - began)
        return ConsolidationResult(duration=spent) + result

    def consolidate_all(
        self, projects: Iterable[str] | None = None, options: ConsolidationOptions | None = None
    ) -> ConsolidationResult:
        """Consolidates several projects of this tenant and adds up what was done; a project that fails is reported.

        Args:
            projects: Their names; None for all that the tenant has here.
            options: As for ``consolidate``.

        Raises:
            BankError: The last error, when every project failed.
        """
        known = {scope.project: scope for scope in self._storage.scopes(self._scope.tenant) if scope.level == "project"}
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
        """Takes a consolidated memory apart again: its sources are what they were before, whatever came since included.

        What came since goes to the source whose text the memory had word for word, or is divided among all sources of
        a model's text; see ``reasoningbank.engine.consolidating.undoing``. The same memories are not consolidated
        again unless a run is forced.

        Raises:
            MemoryNotFound: When this tenant has no such memory.
            InvalidInput: When it is no consolidation, was undone before, went into a further one, or is in quarantine.
        """
        from reasoningbank.engine.consolidating.undoing import take_apart

        store = self._owner(check_memory_id(consolidation_id))
        now = self._clock.now()
        with observed("undo_consolidation", store=self._place()), store.transaction() as transaction:
            report = take_apart(transaction, consolidation_id, at=now)
            note = Job(
                kind=UNDONE,
                key=consolidation_id,
                due=now + _NEVER_DUE,
                payload={"apart": json.dumps(list(report.restored))},
            )
            transaction.enqueue(note)
        return report

    def contradictions(self, memory_id: str | None = None) -> tuple[Contradiction, ...]:
        """Recallable memories of nearly the same text and opposite outcome, the closest first.

        Args:
            memory_id: Only those that contradict this memory.

        Raises:
            MemoryNotFound: When this project has no such memory.
        """
        if memory_id is not None:
            self._open_store().get(check_memory_id(memory_id))
        found = self._similar(SIMILARITY_THRESHOLD).contradictions
        return tuple(each for each in found if memory_id in {None, each.success, each.failure})

    def _similar(self, threshold: float) -> Similar:
        from reasoningbank.engine.consolidating.clusters import find_similar
        from reasoningbank.engine.index import check_space

        store = self._open_store()
        check_space(store, self._embedder)
        return find_similar(store, threshold)

    def _consolidated(self, options: ConsolidationOptions) -> ConsolidationResult:
        store, now = self._open_store(), self._clock.now()
        until = None if options.force_all else _last_run(store, now, options.window)
        if until is not None:
            return ConsolidationResult(
                messages=(f"Nothing was done: the last run was less than a window ago. Next run at {until:%F %R} UTC.",)
            )
        similar = self._similar(options.similarity_threshold)
        apart = [] if options.force_all else _apart(store, now)
        clusters = [cluster for cluster in similar.clusters if not _wanted_apart(cluster, apart)]
        undone = len(similar.clusters) - len(clusters)
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
                transaction.link(Link(source=each.success, target=each.failure, kind=CONTRADICTS))
            if not result.skipped_count:
                note = Job(kind=CONSOLIDATED, key="last", due=now + _NEVER_DUE, payload={"at": now.isoformat()})
                transaction.finish(note)
                transaction.enqueue(note)
        return result + ConsolidationResult(contradictions=similar.contradictions)

    def _merged(self, cluster: SimilarityCluster) -> ConsolidationResult:
        """One cluster, merged or left as it was with the reason."""
        size = len(cluster.members)
        try:
            made = self.merge_cluster(cluster)
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
        if name == self._scope.project and self._scope.level == "project":
            return self.consolidate(options)
        if name not in known:
            raise InvalidInput(f"there is no project {name[:80]!r}", hint="Name a project that has memories.")
        with self._beside(known[name]) as bank:
            return bank.consolidate(options)

    def _beside(self, scope: Scope) -> Self:
        """A bank of another project of the tenant, with the same parts."""
        return type(self)(
            self._storage,
            scope,
            self._embedder,
            settings=self._settings,
            clock=self._clock,
            chance=self._chance,
            session=self._session,
            model=self._model,
        )


def _last_run(store: Store, now: datetime, window: timedelta) -> datetime | None:
    """When the next run may be, when the last one that went well was less than a window ago."""
    for job in _notes(store, now, lambda job: job.kind == CONSOLIDATED):
        until = datetime.fromisoformat(job.payload["at"]) + window
        if now < until:
            return until
    return None


def _apart(store: Store, now: datetime) -> list[frozenset[str]]:
    return [frozenset(json.loads(job.payload["apart"])) for job in _notes(store, now, lambda job: job.kind == UNDONE)]


def _notes(store: Store, now: datetime, wanted: Callable[[Job], bool]) -> list[Job]:
    return [job for job in store.jobs(due=now + _ALL_TIME) if wanted(job)]


def _wanted_apart(cluster: SimilarityCluster, apart: Sequence[frozenset[str]]) -> bool:
    """Whether two of the members were taken apart by a person."""
    members = set(cluster.ids)
    return any(len(members & each) > 1 for each in apart)

"""A run of consolidation: which clusters are merged, which a person wants apart, and when the next run may be."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from reasoningbank.curation.clusters import Similar, find_similar
from reasoningbank.curation.consolidation import best, merge, put_together, take_apart
from reasoningbank.errors import (
    BudgetExhausted,
    InvalidInput,
    MalformedAnswer,
    MemoryNotFound,
    ModelUnavailable,
    PaidCallRefused,
    StoreBusy,
)
from reasoningbank.memories.similarity import cosine_similarity, is_near
from reasoningbank.memories.standing import speaker
from reasoningbank.storage.store import Store
from reasoningbank.telemetry import observed
from reasoningbank.types.consolidation import (
    CONTRADICTS,
    SIMILARITY_THRESHOLD,
    ConsolidatedMemory,
    ConsolidationOptions,
    ConsolidationResult,
    SimilarityCluster,
    UndoReport,
)
from reasoningbank.types.memory import check_memory_id
from reasoningbank.types.quantity import counted
from reasoningbank.types.recall import CONTENT_LEG
from reasoningbank.types.records import Job, Link

if TYPE_CHECKING:
    from reasoningbank.context import Context

LAST_RUN = "consolidated"
"""The kind of the note that says when the last run that went well was; it is not work to be done."""
APART = "undone"
"""The kind of the notes that say which memories a person wants apart."""
_NEVER_DUE = timedelta(days=36_500)
_ALL_TIME = timedelta(days=73_000)
_ONLY_NEAR = f"Below {SIMILARITY_THRESHOLD:g} an agent merges near-duplicates alone; a person runs `rbank consolidate`."


class Consolidator:
    """Merge clusters of near-duplicates, and take what was merged apart again."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def merge(self, cluster: SimilarityCluster) -> ConsolidatedMemory:
        """Make one memory of a cluster; see ``Curation.merge``."""
        if len(set(cluster.ids)) < 2 or len(set(cluster.ids)) < len(cluster.members):
            raise InvalidInput("a cluster has at least two members, each once")
        if len({memory.outcome for memory in cluster.members}) > 1:
            raise InvalidInput("memories of opposite outcome are never merged", hint="They are linked and shown.")
        if any(memory.project != self._context.scope.project for memory in cluster.members):
            raise InvalidInput("a cluster's members belong to the bank's own project")
        text = merge(cluster, self._context.model)
        return put_together(self._context.store(), self._context.embedder, cluster, text, at=self._context.clock.now())

    def undo(self, consolidation_id: str) -> UndoReport:
        """Take a consolidated memory apart again; see ``Curation.undo``."""
        store = self._context.owner(check_memory_id(consolidation_id, "consolidation"))
        now = self._context.clock.now()
        with observed("undo_consolidation", store=self._context.place), store.transaction() as transaction:
            report = take_apart(transaction, consolidation_id, at=now)
            note = Job(
                kind=APART,
                key=consolidation_id,
                due=now + _NEVER_DUE,
                payload={"apart": json.dumps(list(report.restored))},
            )
            transaction.jobs.enqueue(note)
        return report

    def similar(self, threshold: float) -> Similar:
        """Return clusters and contradictions among the recallable memories.

        Raises:
            ModelMismatch: When the bank was built with another embedder.
        """
        return find_similar(self._context.store_in_space(), threshold)

    def run(
        self,
        options: ConsolidationOptions,
        *,
        near: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> ConsolidationResult:
        """Return what was merged; with ``near`` only near-duplicates of the source whose text is kept.

        Nor does an agent merge anything else below the default threshold, and what a person took apart stays apart,
        also when it forces a run: else one call would take lessons away that are not near each other.
        """
        store, now = self._context.store(), self._context.clock.now()
        until = None if options.force_all else _last_run(store, now, options.window)
        if until is not None:
            return ConsolidationResult(
                messages=(f"Nothing was done: the last run was less than a window ago. Next run at {until:%F %R} UTC.",)
            )
        similar = self.similar(options.similarity_threshold)
        apart = [] if options.force_all and not speaker() else _apart(store, now)
        clusters = [cluster for cluster in similar.clusters if not _wanted_apart(cluster, apart)]
        undone = len(similar.clusters) - len(clusters)
        below = bool(speaker()) and options.similarity_threshold < SIMILARITY_THRESHOLD
        if near or below:
            clusters = [kept for cluster in clusters if (kept := self._near(cluster)) is not None]
        apart_before = counted(undone, "cluster stays", "clusters stay")
        notes: tuple[str, ...] = (_ONLY_NEAR,) if below else ()
        if undone:
            notes = (f"{apart_before} apart, undone before; a person's forced run merges everything.", *notes)
        if options.max_clusters_per_run:
            clusters = clusters[: options.max_clusters_per_run]
        if options.dry_run:
            return ConsolidationResult(
                created_memories=tuple(f"dry-run-cluster-{number}" for number in range(1, len(clusters) + 1)),
                archived_memories=tuple(name for cluster in clusters for name in cluster.ids),
                total_processed=sum(len(cluster.members) for cluster in clusters),
                contradictions=similar.contradictions,
                messages=notes,
            )
        result = ConsolidationResult(messages=notes)
        for number, cluster in enumerate(clusters, start=1):
            result += self._merged(cluster)
            if progress is not None:
                progress(number, len(clusters))
        if result.created_memories:
            similar = self.similar(options.similarity_threshold)
        with store.transaction() as transaction:
            for each in similar.contradictions:
                transaction.memories.link(Link(source=each.success, target=each.failure, kind=CONTRADICTS))
            if not result.skipped_count:
                note = Job(kind=LAST_RUN, key="last", due=now + _NEVER_DUE, payload={"at": now.isoformat()})
                transaction.jobs.finish(note)
                transaction.jobs.enqueue(note)
        return result + ConsolidationResult(contradictions=similar.contradictions)

    def _near(self, cluster: SimilarityCluster) -> SimilarityCluster | None:
        """Return the cluster's best member with those that say what it says; None when there are none."""
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


def _last_run(store: Store, now: datetime, window: timedelta) -> datetime | None:
    """Return when the next run may be, when the last one that went well was less than a window ago."""
    for job in _notes(store, now, lambda job: job.kind == LAST_RUN):
        until = datetime.fromisoformat(job.payload["at"]) + window
        if now < until:
            return until
    return None


def _apart(store: Store, now: datetime) -> list[frozenset[str]]:
    return [frozenset(json.loads(job.payload["apart"])) for job in _notes(store, now, lambda job: job.kind == APART)]


def _notes(store: Store, now: datetime, wanted: Callable[[Job], bool]) -> list[Job]:
    return [job for job in store.jobs.waiting(due=now + _ALL_TIME) if wanted(job)]


def _wanted_apart(cluster: SimilarityCluster, apart: Sequence[frozenset[str]]) -> bool:
    """Return whether two of the members were taken apart by a person."""
    members = set(cluster.ids)
    return any(len(members & each) > 1 for each in apart)

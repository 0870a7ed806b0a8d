"""Consolidate memories that say nearly the same, and let unused ones age."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from reasoningbank.errors import (
    BankError,
    InvalidInput,
)
from reasoningbank.memories.standing import check_person, said_by
from reasoningbank.safety.checks import (
    MAX_SESSION,
    given_name,
    session_name,
    usable_path,
)
from reasoningbank.storage.store import Transaction
from reasoningbank.telemetry import observed
from reasoningbank.types.argument import Limit, Offset, Share, check_kind
from reasoningbank.types.consolidation import (
    CONSOLIDATED_FROM,
    SIMILARITY_THRESHOLD,
    ConsolidatedMemory,
    ConsolidationOptions,
    ConsolidationResult,
    Contradiction,
    Merged,
    SimilarityCluster,
    UndoReport,
    is_consolidated,
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
from reasoningbank.types.recall import Filter
from reasoningbank.types.records import Run
from reasoningbank.types.resource import checked
from reasoningbank.types.scope import Scope
from reasoningbank.types.signal import Rater

if TYPE_CHECKING:
    from reasoningbank.context import Context
    from reasoningbank.curation.consolidator import Consolidator


@checked
class Curation:
    """Consolidate memories that say nearly the same, and let unused ones age."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def clusters(self, threshold: Share = SIMILARITY_THRESHOLD) -> tuple[SimilarityCluster, ...]:
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

        clusters = self._consolidator().similar(threshold).clusters
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
        return self._consolidator().merge(cluster)

    def consolidate(
        self, options: ConsolidationOptions | None = None, *, progress: Callable[[int, int], None] | None = None
    ) -> ConsolidationResult:
        """Find clusters and make one memory of each; a second run finds nothing more to do.

        A run that went well keeps the next one away for a window of 24 hours, also after a restart; one with a refused
        merge does not. Contradictions are linked and reported. A cluster that fails leaves its members as they were,
        and the others are merged.

        Args:
            options: How the run goes; None for a threshold of 0.8 and all clusters.
            progress: Called with clusters merged and with how many there are.

        Raises:
            ModelMismatch: When the bank was built with another embedder.
            StoreError: When the bank cannot be read or written.
        """
        options = check_kind(options or ConsolidationOptions(), ConsolidationOptions, "options")
        began = time.perf_counter()
        with observed("consolidate_memories", store=self._context.place):
            result = self._consolidator().run(options, progress=progress)
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

    def merges(self, memory_id: str | None = None, *, limit: Limit = 20, offset: Offset = 0) -> tuple[Merged, ...]:
        """Return memories that others went into, the newest first, each with its sources; limit 0 means all.

        Args:
            memory_id: Only this one.
            limit: Most of them.
            offset: How many to leave out first.

        Raises:
            MemoryNotFound: When this tenant has no such memory.
        """
        from reasoningbank.safety.stored_text import reveal

        store = self._context.store()
        if memory_id is None:
            memories = store.memories.page(Filter(consolidated=True), limit=limit, offset=offset, order="newest")
        else:
            store = self._context.owner(memory_id)
            memories = [memory for memory in (store.memories.get(memory_id),) if is_consolidated(memory)]
        sources: dict[str, list[str]] = {memory.id: [] for memory in memories}
        for link in store.memories.links_from(tuple(sources)):
            if link.kind == CONSOLIDATED_FROM:
                sources[link.source].append(link.target)
        known = store.memories.many([name for names in sources.values() for name in names])
        return tuple(
            Merged(
                memory=reveal(memory),
                sources=tuple(reveal(known[name]) for name in sources[memory.id] if name in known),
            )
            for memory in memories
        )

    def undo(self, consolidation_id: str) -> UndoReport:
        """Take a consolidated memory apart again: its sources are what they were before, whatever came since included.

        What came since goes to the source whose text the memory had word for word, or is divided among all sources of
        a model's text. The same memories are not consolidated again unless a run is forced.

        Args:
            consolidation_id: The memory that a consolidation made.

        Raises:
            MemoryNotFound: When this tenant has no such memory.
            InvalidInput: When it is not a consolidation, was undone, went into a further one, or is in quarantine.
        """
        check_person("to undo a consolidation")
        return self._consolidator().undo(consolidation_id)

    def contradictions(self, memory_id: str | None = None) -> tuple[Contradiction, ...]:
        """Return recallable memories of nearly the same text and opposite outcome, the closest first.

        Args:
            memory_id: Only those that contradict this memory.

        Raises:
            MemoryNotFound: When this project has no such memory.
        """
        if memory_id is not None:
            self._context.store().memories.get(check_memory_id(memory_id))
        found = self._consolidator().similar(SIMILARITY_THRESHOLD).contradictions
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
        from reasoningbank.curation.lifecycle import decay, decay_rules

        with observed("decay_memories", store=self._context.place):
            return decay(
                self._context.store(),
                rules or decay_rules(self._context.settings),
                at=self._context.clock.now(),
                dry_run=dry_run,
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
        from reasoningbank.curation.lifecycle import prune, prune_rules

        with observed("prune_memories", store=self._context.place):
            return prune(
                self._context.store(),
                rules or prune_rules(self._context.settings),
                at=self._context.clock.now(),
                dry_run=dry_run,
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
        rater = said_by(rater)
        from reasoningbank.curation.stability import report_stability

        at, name = self._context.clock.now(), given_name(commit, "commit", MAX_SESSION)

        def write(transaction: Transaction, place: str) -> StabilityReport:
            return report_stability(
                transaction,
                memory_id,
                reverted=reverted,
                commit=name,
                session=place,
                rater=rater,
                at=at,
            )

        with observed("stability_memory", store=self._context.place):
            return self._context.written(memory_id, session_name(session) or self._context.session, write)

    def check_stability(self, repository: str | Path | None = None, *, dry_run: bool = False) -> StabilityCheck:
        """Look up in a git repository what became of the commits that this project's strategies are tied to.

        Args:
            repository: A directory inside it. Left out: that of the setting, else the working directory.
            dry_run: Say what would be counted and write nothing.

        Raises:
            InvalidInput: When that is not a git repository.
            StoreUnavailable: When git is not installed or takes too long.
        """
        from reasoningbank.curation.stability import check

        where = usable_path(repository or self._context.settings.repository or Path.cwd())
        return check(self._context, where, dry_run=dry_run)

    def _consolidator(self) -> Consolidator:
        from reasoningbank.curation.consolidator import Consolidator

        return Consolidator(self._context)

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

    def upkeep(self) -> tuple[Run, ...]:
        """Do what a bank needs once a day, and keep what came of each step where ``rbank jobs`` shows it.

        In this order: old signals are rolled up, candidates that evidence has carried over the threshold become
        active, unused memories decay and are pruned, near-duplicates are consolidated (with a language model also what
        it can put together), and the commits that strategies are tied to are looked up in the project's repository. A
        step that fails keeps none of the others away.
        """
        from reasoningbank.curation.upkeep import Upkeep

        return Upkeep(self._context, self).done()[0]

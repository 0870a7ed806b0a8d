"""Every write to a bank in memory. Each method checks first and changes afterwards: an error leaves nothing behind."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from reasoningbank.domain.changes import Cause, Erasure, StateChange, changed_state
from reasoningbank.domain.memory import Memory
from reasoningbank.domain.recall import VECTOR_LEGS, Recall
from reasoningbank.domain.scope import Membership
from reasoningbank.domain.signal import Signal, SignalAggregate
from reasoningbank.errors import InvalidInput, ModelMismatch, ScopeViolation, StoreClosed
from reasoningbank.ports import Indexed, Link, RecallEntry, RecallLog, WeightChange, WordsWorth
from reasoningbank.storage.learning_rows import owned
from reasoningbank.storage.memory_contents import Contents, check_text
from reasoningbank.storage.memory_exposures import forget_memory
from reasoningbank.storage.memory_graph import MemoryGraphWrites
from reasoningbank.storage.memory_learning import MemoryLearningWrites
from reasoningbank.storage.rows import to_microseconds
from reasoningbank.storage.vectors import unit_vector


class MemoryTransaction(MemoryLearningWrites, MemoryGraphWrites):
    """The Transaction port over a copy of a bank's contents, which replaces the original at the end."""

    def __init__(self, contents: Contents) -> None:
        self._contents: Contents | None = contents

    @property
    def contents(self) -> Contents:
        if self._contents is None:
            raise StoreClosed("the transaction has ended", hint="Write inside the block of bank.transaction().")
        return self._contents

    def end(self) -> None:
        """Refuses every further use."""
        self._contents = None

    def insert(self, memory: Memory, indexed: Indexed) -> None:
        contents = self.contents
        if memory.id in contents.memories:
            raise InvalidInput(f"a memory with the id {memory.id[:80]!r} exists already")
        self._check(memory, indexed)
        contents.memories[memory.id] = _own(memory)
        contents.last_row_id += 1
        contents.row_ids[memory.id] = contents.last_row_id
        self._index(memory.id, indexed)

    def update(
        self, memory: Memory, indexed: Indexed | None = None, *, revision: bool = False, cause: Cause | None = None
    ) -> None:
        contents = self.contents
        old = contents.memory(memory.id)
        kept = contents.revisions.get(memory.id, ())
        if revision and any(earlier.version == old.version for earlier in kept):
            raise InvalidInput(f"version {old.version} of memory {memory.id[:80]!r} is kept already")
        self._check(memory, indexed)
        change = changed_state(old, memory, cause)
        kept_change = () if change is None else (owned(change)[0],)
        if revision:
            contents.revisions[memory.id] = tuple(sorted((*kept, old), key=lambda earlier: earlier.version))
        contents.memories[memory.id] = _own(memory)
        contents.state_changes += kept_change
        if indexed is not None:
            self._index(memory.id, indexed)

    def forget_vectors(self) -> None:
        contents = self.contents
        contents.vectors, contents.trace_vectors, contents.document_vectors, contents.model = {}, {}, {}, None
        contents.graph_vectors = {}

    def delete(self, memory_id: str, *, at: datetime | None = None) -> None:
        contents = self.contents
        erasure = Erasure(created_at=contents.memory(memory_id).created_at, at=at or datetime.now(UTC))
        to_microseconds(erasure.at)
        contents.erasures += (erasure,)
        contents.state_changes = tuple(each for each in contents.state_changes if each.memory_id != memory_id)
        del contents.memories[memory_id], contents.words[memory_id]
        for vectors in contents.vectors.values():
            vectors.pop(memory_id, None)
        contents.revisions.pop(memory_id, None)
        contents.aggregates.pop(memory_id, None)
        contents.signals = {key: signal for key, signal in contents.signals.items() if signal.memory_id != memory_id}
        contents.counted = {place for place in contents.counted if place[0] != memory_id}
        contents.links = {link for link in contents.links if memory_id not in {link.source, link.target}}
        contents.origins = {place: origin for place, origin in contents.origins.items() if place[0] != memory_id}
        forget_memory(contents, memory_id)
        contents.row_ids.pop(memory_id)
        contents.contexts.pop(memory_id, None)
        contents.pointers = {pointer for pointer in contents.pointers if pointer.memory_id != memory_id}
        contents.recalls = {
            key: replace(log, entries=tuple(entry for entry in log.entries if entry.memory_id != memory_id))
            for key, log in contents.recalls.items()
        }

    def note(self, change: StateChange) -> None:
        kept, _ = owned(change)
        self.contents.memory(kept.memory_id)
        self.contents.state_changes += (kept,)

    def add_signal(self, signal: Signal, *, once: bool = False) -> bool:
        contents = self.contents
        contents.memory(signal.memory_id)
        if signal.weight is None:
            raise InvalidInput("a stored signal carries the weight of its time")
        place = (signal.memory_id, signal.type, signal.session)
        if once and place in contents.counted:
            return False
        if signal.id in contents.signals:
            raise InvalidInput(f"a signal with the id {signal.id[:80]!r} exists already")
        if once:
            contents.counted.add(place)
        contents.signals[signal.id] = replace(signal, project=contents.project)
        return True

    def set_aggregate(self, aggregate: SignalAggregate) -> None:
        contents = self.contents
        contents.memory(aggregate.memory_id)
        if aggregate.positive is None or aggregate.negative is None or aggregate.last_rollup is None:
            raise InvalidInput("a stored aggregate carries the evidence and the time of its roll-up")
        contents.aggregates[aggregate.memory_id] = replace(aggregate, project=contents.project)

    def set_weights(self, change: WeightChange) -> None:
        contents = self.contents
        weights = replace(change.weights, project=contents.project)
        contents.changes = (*contents.changes, replace(change, weights=weights))

    def set_membership(self, membership: Membership) -> None:
        self.contents.membership = membership

    def set_words_worth(self, worth: WordsWorth) -> None:
        self.contents.words_worth = worth

    def roll_up(self, cutoff: datetime, at: datetime) -> int:
        contents = self.contents
        moved = [signal for signal in contents.signals.values() if signal.at < cutoff]
        for signal in moved:
            contents.aggregates[signal.memory_id] = replace(
                self.aggregate(signal.memory_id).add(signal), last_rollup=at
            )
            del contents.signals[signal.id]
        return len(moved)

    def log_recall(self, recall: Recall) -> None:
        contents = self.contents
        if recall.id in contents.recalls:
            raise InvalidInput(f"a recall with the id {recall.id[:80]!r} exists already")
        for hit in recall.delivered:
            contents.memory(hit.id)
        contents.recalls[recall.id] = RecallLog(
            id=recall.id,
            at=recall.at,
            query=recall.query,
            session=recall.session,
            embedder=recall.embedder,
            tokens=recall.tokens,
            entries=tuple(
                RecallEntry(
                    memory_id=hit.id,
                    rank=rank,
                    unproven=hit.unproven,
                    relevance=hit.relevance,
                    legs=dict(hit.legs),
                )
                for rank, hit in enumerate(recall.delivered, start=1)
            ),
        )

    def link(self, link: Link) -> None:
        self.contents.links.add(link)

    def _check(self, memory: Memory, indexed: Indexed | None) -> None:
        """Refuses what the bank could not hold faithfully."""
        contents = self.contents
        if memory.project != contents.project:
            raise ScopeViolation(f"the memory belongs to project {memory.project[:80]!r}")
        check_text((memory.title, memory.description, memory.content, memory.category, *memory.tags))
        check_text(text for item in memory.provenance.items() for text in item)
        if indexed is None:
            return
        for leg in indexed.vectors:
            if leg not in VECTOR_LEGS:
                raise InvalidInput(f"there is no dense leg {leg[:80]!r}")
        dimensions = {len(unit_vector(vector)) for vector in indexed.vectors.values()}
        if len(dimensions) > 1:
            raise ModelMismatch("the vectors of one memory have different dimensions")
        for dimension in dimensions:
            contents.check_space(indexed.model_id, dimension)

    def _index(self, memory_id: str, indexed: Indexed) -> None:
        contents = self.contents
        contents.words[memory_id] = tuple(indexed.text.lower().split())
        contents.contexts[memory_id] = indexed.context
        if indexed.vectors and not contents.has_vectors:
            contents.model = None
        for vectors in contents.vectors.values():
            vectors.pop(memory_id, None)
        for leg, vector in indexed.vectors.items():
            kept = unit_vector(vector)
            kept.flags.writeable = False
            contents.vectors.setdefault(leg, {})[memory_id] = kept
            contents.model = contents.model or (indexed.model_id, len(kept))


def _own(memory: Memory) -> Memory:
    """The memory with a mapping of its own: the caller may go on to change theirs."""
    return replace(memory, provenance=dict(memory.provenance))

"""A naive model of a store, to compare the real one with: plain dictionaries and lists, and searches that look at all.

It is the store and its transaction in one. A transaction that fails goes back to a copy of everything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Self, cast

import numpy

from reasoningbank.errors import BankError, InvalidInput, ScopeViolation, StoreUnavailable
from reasoningbank.storage.rows import owned
from reasoningbank.storage.store import Store, Transaction
from reasoningbank.types.memory import Cause, Erasure, Memory, StateChange, changed_state, check_same_texts
from reasoningbank.types.ports import Vector
from reasoningbank.types.recall import CONTENT_LEG, DENSE_LEGS, VECTOR_LEGS, Filter, Recall
from reasoningbank.types.records import (
    Candidates,
    ClosePairs,
    Given,
    Idle,
    Indexed,
    LexicalMatches,
    Link,
    Pool,
    RecallEntry,
    RecallLog,
    Scored,
    StoreReport,
    Voices,
    WeightChange,
    WordsWorth,
)
from reasoningbank.types.scope import Membership
from reasoningbank.types.signal import ProjectWeights, Signal, SignalAggregate, SignalType
from storage.naive_graph import NaiveGraph
from storage.naive_learning import NaiveLearning
from storage.naive_state import check_text, product
from storage.naive_words import best_matches


class NaiveStore(NaiveLearning, NaiveGraph):
    """Both a store and its transaction over one scope, and each of its groups of tables."""

    @property
    def as_store(self) -> Store:
        """The model where a store is expected."""
        return cast(Store, self)

    @property
    def memories(self) -> Self:
        return self

    @property
    def evidence(self) -> Self:
        return self

    @property
    def deliveries(self) -> Self:
        return self

    @property
    def sessions(self) -> Self:
        return self

    @property
    def graph(self) -> Self:
        return self

    @property
    def documents(self) -> Self:
        return self

    @property
    def jobs(self) -> Self:
        return self

    @property
    def search(self) -> Self:
        return self

    @property
    def model_id(self) -> str | None:
        return None if self.model is None else self.model[0]

    def transaction(self) -> AbstractContextManager[Transaction]:
        return self._transaction()

    @contextmanager
    def _transaction(self) -> Iterator[Transaction]:
        before = self.copied()
        try:
            yield cast(Transaction, self)
        except BaseException:
            self.go_back(before)
            raise

    def check(self) -> StoreReport:
        problems = [
            f"memory {name!r} has no text index or no vector"
            for name in self.held
            if (CONTENT_LEG, name) not in self.memory_vectors
        ]
        return StoreReport(engine="a model", location="", schema=0, sizes={}, problems=tuple(problems))

    def backup(self, target: Path) -> None:
        raise StoreUnavailable(f"a model is copied with copied(), not to {target}")

    def close(self) -> None:
        """Does nothing."""

    # Memories

    def page(self, condition: Filter, *, limit: int, offset: int) -> Sequence[Memory]:
        met = [memory for memory in self.held.values() if condition.accepts(memory)]
        return met[offset : offset + limit] if limit else met[offset:]

    def count(self, condition: Filter) -> int:
        return len(self.page(condition, limit=0, offset=0))

    def many(self, memory_ids: Sequence[str]) -> Mapping[str, Memory]:
        return {name: self.held[name] for name in memory_ids if name in self.held}

    def same_text(self, fingerprint: bytes) -> Sequence[str]:
        return [memory.id for memory in self.held.values() if memory.fingerprint == fingerprint]

    def revisions(self, memory_id: str) -> Sequence[Memory]:
        return self.versions.get(memory_id, ())

    def insert(self, memory: Memory, indexed: Indexed) -> None:
        if memory.id in self.held:
            raise InvalidInput(f"{memory.id} exists already")
        rows = self._checked(memory, indexed)
        self.last_number += 1
        self.numbers[memory.id] = self.last_number
        self.held[memory.id] = replace(memory, provenance=dict(memory.provenance))
        self._index(memory.id, indexed, rows)

    def update(
        self, memory: Memory, indexed: Indexed | None = None, *, revision: bool = False, cause: Cause | None = None
    ) -> None:
        old, kept = self.get(memory.id), self.revisions(memory.id)
        if revision and old.version in [earlier.version for earlier in kept]:
            raise InvalidInput(f"version {old.version} is kept already")
        rows = self._checked(memory, indexed)
        change = changed_state(old, memory, cause)
        if change is not None:
            self.state_changes.append(owned(change)[0])
        if revision:
            self.versions[memory.id] = tuple(sorted((*kept, old), key=lambda earlier: earlier.version))
        self.held[memory.id] = replace(memory, provenance=dict(memory.provenance))
        if indexed is not None:
            self._index(memory.id, indexed, rows)

    def update_state(self, memory: Memory, *, revision: bool = False, cause: Cause | None = None) -> None:
        stored = self.get(memory.id)
        same = replace(
            memory,
            title=stored.title,
            description=stored.description,
            content=stored.content,
            tags=stored.tags,
            category=stored.category,
        )
        if memory != same:
            raise InvalidInput(f"memory {memory.id} has other texts in the bank")
        self.update(memory, revision=revision, cause=cause)

    def update_states(self, changes: Sequence[tuple[Memory, Memory]]) -> None:
        for before, after in changes:
            if self.get(after.id) != before:
                raise InvalidInput("a memory is not as it was read")
            check_same_texts(before, after)
        for _, after in changes:
            self.update_state(after)

    def whole(self) -> AbstractContextManager[None]:
        return nullcontext()

    @property
    def seen_model_id(self) -> str | None:
        return None

    def delete(self, memory_id: str, *, at: datetime | None = None) -> None:
        self.erased.append(Erasure(created_at=self.get(memory_id).created_at, at=at or datetime.now(UTC)))
        for table in (self.held, self.words, self.contexts, self.numbers, self.versions, self.aggregates):
            table.pop(memory_id, None)
        self.state_changes = [change for change in self.state_changes if change.memory_id != memory_id]
        self.memory_vectors = {place: row for place, row in self.memory_vectors.items() if place[1] != memory_id}
        self.signal_log = {name: each for name, each in self.signal_log.items() if each.memory_id != memory_id}
        self.once = {place: given for place, given in self.once.items() if place[0] != memory_id}
        self.relations = {link for link in self.relations if memory_id not in {link.source, link.target}}
        self.taught = {place: origin for place, origin in self.taught.items() if place[0] != memory_id}
        self.pointed = {pointer for pointer in self.pointed if pointer.memory_id != memory_id}
        self.met = {
            session: replace(each, shown=tuple(one for one in each.shown if one.memory_id != memory_id))
            for session, each in self.met.items()
        }
        self.recall_logs = {
            name: replace(log, entries=tuple(entry for entry in log.entries if entry.memory_id != memory_id))
            for name, log in self.recall_logs.items()
        }

    def changes(
        self, *, memory_id: str | None = None, reference: str | None = None, since: datetime | None = None
    ) -> Sequence[StateChange]:
        return [
            change
            for change in self.state_changes
            if memory_id in {None, change.memory_id}
            and reference in {None, change.reference}
            and (since is None or change.at > since)
        ]

    def changes_since(self) -> datetime | None:
        return None

    def erasures(self, *, since: datetime) -> Sequence[Erasure]:
        return [erasure for erasure in self.erased if erasure.at > since]

    def note(self, change: StateChange) -> None:
        self.get(change.memory_id)
        self.state_changes.append(owned(change)[0])

    # Evidence

    def signals(self, memory_id: str, *, since: datetime | None = None) -> Sequence[Signal]:
        found = [
            signal
            for signal in self.signal_log.values()
            if signal.memory_id == memory_id and (since is None or signal.at > since)
        ]
        return sorted(found, key=lambda signal: (signal.at, signal.id))

    def counted(self, memory_id: str, kind: SignalType, session: str) -> bool:
        return (memory_id, kind, session) in self.once

    def add_signal(self, signal: Signal, *, once: bool = False) -> bool:
        self.get(signal.memory_id)
        place = (signal.memory_id, signal.type, signal.session)
        if signal.weight is None:
            raise InvalidInput("a stored signal has a weight")
        if once and place in self.once:
            return False
        if signal.id in self.signal_log:
            raise InvalidInput(f"{signal.id} exists already")
        if once:
            self.once[place] = Given(signal.type, signal.session, signal.positive, signal.weight, signal.rater)
        self.signal_log[signal.id] = replace(signal, project=self.project)
        return True

    def given(self, memory_id: str, kind: SignalType, session: str) -> Given | None:
        return self.once.get((memory_id, kind, session))

    def take_back(self, memory_id: str, given: Given) -> bool:
        self.get(memory_id)
        same = [
            each
            for each in self.signals(memory_id)
            if Given(each.type, each.session, each.positive, each.weight, each.rater) == given
        ]
        if same:
            del self.signal_log[same[0].id]
        else:
            known = self.aggregate(memory_id)
            side = "positive" if given.positive else "negative"
            name = f"{given.type}_{side}"
            left = {name: getattr(known, name) - 1, side: getattr(known, side) - (given.weight or 0)}
            if min(left.values()) < 0:
                return False
            self.aggregates[memory_id] = replace(known, **left)
        del self.once[memory_id, given.type, given.session]
        return True

    def add_signals(self, signals: Sequence[Signal]) -> None:
        before = dict(self.signal_log)
        try:
            for signal in signals:
                self.add_signal(signal)
        except BankError:
            self.signal_log = before
            raise

    def take_principal(self, session: str, principal: str) -> None:
        self.principals[session] = principal

    def note_principal(self, session: str, principal: str) -> None:
        self.principals.setdefault(session, principal)

    def voices(self, memory_ids: Collection[str], *, named: Collection[str] = ()) -> Mapping[str, Voices]:
        found = {
            memory_id: Voices(
                [*self.signals(memory_id)],
                [*self.origins(memory_id=memory_id)],
                [
                    given
                    for (name, kind, session), given in self.once.items()
                    if name == memory_id
                    and not any(each.type == kind and each.session == session for each in self.signals(name))
                ],
                {
                    log.session
                    for log in self.recall_logs.values()
                    if memory_id in {entry.memory_id for entry in log.entries}
                },
                {},
            )
            for memory_id in memory_ids
        }
        sessions = {*named}
        for one in found.values():
            sessions |= one.shown | {each.session for each in one.signals} | {each.session for each in one.rolled}
            sessions |= {origin.session for origin in one.origins}
        for one in found.values():
            one.principals.update((name, who) for name, who in self.principals.items() if name in sessions)
        return found

    def aggregate(self, memory_id: str) -> SignalAggregate:
        empty = SignalAggregate(memory_id=memory_id, project=self.project, positive=0, negative=0)
        return self.aggregates.get(memory_id, empty)

    def set_aggregate(self, aggregate: SignalAggregate) -> None:
        self.get(aggregate.memory_id)
        if None in (aggregate.positive, aggregate.negative, aggregate.last_rollup):
            raise InvalidInput("a stored aggregate is complete")
        self.aggregates[aggregate.memory_id] = replace(aggregate, project=self.project)

    def roll_up(self, cutoff: datetime, at: datetime) -> int:
        moved = [signal for signal in self.signal_log.values() if signal.at < cutoff]
        for signal in moved:
            name = signal.memory_id
            self.aggregates[name] = replace(self.aggregate(name).add(signal), last_rollup=at)
            del self.signal_log[signal.id]
        return len(moved)

    def weights(self) -> ProjectWeights:
        return self.weight_changes[-1].weights if self.weight_changes else ProjectWeights(project=self.project)

    def weight_history(self) -> Sequence[WeightChange]:
        return self.weight_changes

    def set_weights(self, change: WeightChange) -> None:
        self.weight_changes.append(replace(change, weights=replace(change.weights, project=self.project)))

    def idle(self, before: datetime, *, below: float | None = None, after: str = "", limit: int = 0) -> Sequence[Idle]:
        found: list[Idle] = []
        names = list(self.held)
        for memory in map(self.get, names[names.index(after) + 1 if after in names else 0 :]):
            signals, aggregate = self.signals(memory.id), self.aggregate(memory.id)
            active = [memory.created_at, memory.updated_at, memory.last_used, aggregate.active_at]
            active += [signal.at for signal in signals if signal.type != "disuse"]
            active += [change.at for change in self.state_changes if change.memory_id == memory.id]
            disused = [aggregate.last_disuse, *(signal.at for signal in signals if signal.type == "disuse")]
            newest = max(moment for moment in active if moment is not None)
            if newest <= before and Filter(below_confidence=below).accepts(memory):
                last = max((moment for moment in disused if moment is not None), default=None)
                found.append(
                    Idle(id=memory.id, belief=memory.belief, provenance=memory.provenance, active=newest, disused=last)
                )
        return found[:limit] if limit else found

    # Deliveries and relations

    def recalls(self, *, limit: int, session: str | None = None) -> Sequence[RecallLog]:
        newest = [log for log in reversed(self.recall_logs.values()) if session in {None, log.session}]
        return newest[:limit] if limit else newest

    def log_recall(self, recall: Recall) -> None:
        if recall.id in self.recall_logs:
            raise InvalidInput(f"{recall.id} exists already")
        for hit in recall.delivered:
            self.get(hit.id)
        entries = tuple(
            RecallEntry(
                memory_id=hit.id, rank=rank, unproven=hit.unproven, relevance=hit.relevance, legs=dict(hit.legs)
            )
            for rank, hit in enumerate(recall.delivered, start=1)
        )
        self.recall_logs[recall.id] = RecallLog(
            id=recall.id,
            at=recall.at,
            query=recall.query,
            session=recall.session,
            embedder=recall.embedder,
            tokens=recall.tokens,
            entries=entries,
        )

    def links(self, memory_id: str) -> Sequence[Link]:
        found = [link for link in self.relations if memory_id in {link.source, link.target}]
        return sorted(found, key=lambda link: (link.source, link.target, link.kind))

    def link(self, link: Link) -> None:
        self.relations.add(link)

    def set_membership(self, membership: Membership) -> None:
        self.membership = membership

    def set_words_worth(self, worth: WordsWorth) -> None:
        self.words_worth = worth

    # Searches

    def nearest(self, leg: str, vector: Vector, condition: Filter, limit: int) -> Sequence[Scored]:
        accepted = [memory.id for memory in self.page(condition, limit=0, offset=0)]
        scores = self.similarities(leg, vector, accepted)
        ranked = sorted(scores.items(), key=lambda pair: -pair[1])
        return [Scored(id=name, score=score) for name, score in ranked[: max(0, limit)]]

    def similarities(self, leg: str, vector: Vector, memory_ids: Sequence[str]) -> Mapping[str, float]:
        self.check_query(vector)
        return {name: product(row, vector) for name, row in self.vectors(leg, memory_ids).items()}

    def vector(self, leg: str, memory_id: str) -> Vector | None:
        return self.memory_vectors.get((leg, memory_id))

    def vectors(self, leg: str, memory_ids: Sequence[str]) -> Mapping[str, Vector]:
        return {name: self.memory_vectors[leg, name] for name in memory_ids if (leg, name) in self.memory_vectors}

    def forget_vectors(self) -> None:
        for vectors in (self.memory_vectors, self.trace_vectors, self.filed_vectors, self.graph_vectors):
            vectors.clear()
        self.model = None

    def matching(self, text: str, condition: Filter, limit: int, function_words: str = "") -> LexicalMatches:
        texts = {name: self.words[name] for name in self.held}
        return best_matches(texts, text, self._accepted(condition), limit, function_words)

    def matching_context(self, text: str, condition: Filter, limit: int) -> LexicalMatches:
        spans = {name: self.contexts[name] for name in self.held if self.contexts[name][1]}
        texts = {name: self.words[name][start : start + count] for name, (start, count) in spans.items()}
        return best_matches(texts, text, self._accepted(condition), limit)

    def candidates(
        self, vector: Vector, text: str, pools: Sequence[Pool], function_words: str = ""
    ) -> Sequence[Candidates]:
        return [self._candidates(vector, text, pool, function_words) for pool in pools]

    def close_pairs(self, leg: str, threshold: float, condition: Filter, *, limit: int) -> ClosePairs:
        rows = self.vectors(leg, [memory.id for memory in self.page(condition, limit=0, offset=0)])
        ids = list(rows)
        found = [
            (min(1.0, product(rows[older], rows[younger])), first, second)
            for first, older in enumerate(ids)
            for second, younger in enumerate(ids)
            if first < second
        ]
        close = sorted((each for each in found if each[0] > threshold), key=lambda each: -each[0])[: max(0, limit)]
        return ClosePairs(
            ids=tuple(ids),
            first=numpy.array([first for _, first, _ in close], dtype=numpy.int32),
            second=numpy.array([second for _, _, second in close], dtype=numpy.int32),
            scores=numpy.array([score for score, _, _ in close], dtype=numpy.float32),
        )

    def _accepted(self, condition: Filter) -> set[str]:
        return {memory.id for memory in self.page(condition, limit=0, offset=0)}

    def _candidates(self, vector: Vector, text: str, pool: Pool, function_words: str) -> Candidates:
        lexical = self.matching(text, pool.condition, pool.lexical, function_words)
        found = {hit.id for hit in lexical.hits}
        for leg in DENSE_LEGS:
            found |= {hit.id for hit in self.nearest(leg, vector, pool.condition, pool.dense)}
        return Candidates(
            dense={leg: self.similarities(leg, vector, sorted(found)) for leg in DENSE_LEGS},
            lexical=lexical,
            vectors=self.vectors(CONTENT_LEG, sorted(found)),
        )

    def _checked(self, memory: Memory, indexed: Indexed | None) -> list[Vector]:
        """The vectors as they are kept; nothing is changed before."""
        if memory.project != self.project:
            raise ScopeViolation(memory.project)
        check_text((memory.title, memory.description, memory.content, memory.category, *memory.tags))
        check_text(text for item in memory.provenance.items() for text in item)
        if indexed is None:
            return []
        if not set(indexed.vectors) <= set(VECTOR_LEGS):
            raise InvalidInput("there is no such leg")
        return self.fit(indexed.vectors.values(), indexed.model_id)

    def _index(self, memory_id: str, indexed: Indexed, rows: Sequence[Vector]) -> None:
        self.note_space(rows, indexed.model_id)
        self.words[memory_id], self.contexts[memory_id] = indexed.text.lower().split(), indexed.context
        self.memory_vectors = {place: row for place, row in self.memory_vectors.items() if place[1] != memory_id}
        self.memory_vectors.update({(leg, memory_id): row for leg, row in zip(indexed.vectors, rows, strict=True)})

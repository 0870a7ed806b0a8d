"""The reference store: banks that live in this process, simple enough to be checked by reading.

Every other store is compared with it. A write works on a copy of the bank's contents and swaps the copy in at the end,
so that readers see all of it or nothing; searches look at every memory. Its lexical leg splits analysed text at white
space and does not stem.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import numpy

from reasoningbank.domain.memory import Memory
from reasoningbank.domain.recall import CONTENT_LEG, DENSE_LEGS, Filter
from reasoningbank.domain.scope import LEVELS, Membership, Scope
from reasoningbank.domain.signal import replay
from reasoningbank.errors import InvalidInput, ModelMismatch, StoreBusy, StoreClosed
from reasoningbank.ports import (
    Candidates,
    ClosePairs,
    LexicalMatches,
    Pool,
    RecallLog,
    Scored,
    StoreReport,
    Transaction,
    Vector,
    WeightChange,
    WordsWorth,
)
from reasoningbank.storage.bm25 import best_matches
from reasoningbank.storage.memory_backup import read_backup, write_backup
from reasoningbank.storage.memory_contents import Contents, MemoryReads
from reasoningbank.storage.memory_graph import MemoryGraphReads, graph_problems
from reasoningbank.storage.memory_learning import MemoryLearningReads, learning_problems
from reasoningbank.storage.memory_writes import MemoryTransaction

LOCK_TIMEOUT = 30.0
"""Seconds a writer waits for its turn before it gives up with StoreBusy."""


class SharedBank:
    """One scope's contents, shared by every store that was opened for it."""

    def __init__(self, contents: Contents) -> None:
        self.contents = contents
        self.replaced: list[Contents] = []
        self._lock = threading.Lock()
        self._writer: int | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Waits for the turn to write, then holds it.

        Raises:
            StoreBusy: When this thread writes already, or the turn did not come in time.
        """
        if self._writer == threading.get_ident():
            raise StoreBusy("this thread is inside a transaction of the bank already", hint="Finish it first.")
        if not self._lock.acquire(timeout=LOCK_TIMEOUT):
            raise StoreBusy(f"another thread has been writing for {LOCK_TIMEOUT:.0f} s")
        self._writer = threading.get_ident()
        try:
            yield
        finally:
            self._writer = None
            self._lock.release()


class MemoryStore(MemoryLearningReads, MemoryGraphReads):
    """The Store port over contents in this process. Nothing outlives the process but a backup."""

    def __init__(self, scope: Scope, bank: SharedBank, *, location: str = "memory://") -> None:
        self._scope = scope
        self._bank = bank
        self._location = location
        self._closed = False

    @property
    def scope(self) -> Scope:
        return self._scope

    @property
    def contents(self) -> Contents:
        if self._closed:
            raise StoreClosed("the bank is closed")
        return self._bank.contents

    @property
    def model_id(self) -> str | None:
        model = self.contents.model
        return None if model is None else model[0]

    @property
    def words_worth(self) -> WordsWorth:
        return self.contents.words_worth

    @property
    def membership(self) -> Membership:
        return self.contents.membership

    def transaction(self) -> AbstractContextManager[Transaction]:
        return self._transaction()

    @contextmanager
    def _transaction(self) -> Iterator[Transaction]:
        self._check_open()
        with self._bank.held():
            written = self.contents.copy()
            transaction = MemoryTransaction(written)
            try:
                yield transaction
            finally:
                transaction.end()
            self._bank.contents = written

    def nearest(self, leg: str, vector: Vector, condition: Filter, limit: int) -> Sequence[Scored]:
        contents = self.contents
        _check_query(contents, vector)
        rows = contents.vectors.get(leg, {})
        scored = [
            Scored(id=memory.id, score=_product(rows[memory.id], vector))
            for memory in contents.memories.values()
            if memory.id in rows and condition.accepts(memory)
        ]
        return sorted(scored, key=lambda each: -each.score)[: max(0, limit)]

    def similarities(self, leg: str, vector: Vector, memory_ids: Sequence[str]) -> Mapping[str, float]:
        contents = self.contents
        _check_query(contents, vector)
        rows = contents.vectors.get(leg, {})
        return {memory_id: _product(rows[memory_id], vector) for memory_id in memory_ids if memory_id in rows}

    def matching(self, text: str, condition: Filter, limit: int) -> LexicalMatches:
        contents = self.contents
        texts = {memory_id: contents.words[memory_id] for memory_id in contents.memories}
        allowed = {memory.id for memory in contents.memories.values() if condition.accepts(memory)}
        return best_matches(texts, text, allowed, limit)

    def candidates(self, vector: Vector, text: str, pools: Sequence[Pool]) -> Sequence[Candidates]:
        still = MemoryStore(self._scope, SharedBank(self.contents))
        return [_candidates(still, vector, text, pool) for pool in pools]

    def close_pairs(self, leg: str, threshold: float, condition: Filter, *, limit: int) -> ClosePairs:
        contents = self.contents
        vectors = contents.vectors.get(leg, {})
        held = [
            memory.id for memory in contents.memories.values() if memory.id in vectors and condition.accepts(memory)
        ]
        found = [
            (min(1.0, _product(vectors[older], vectors[younger])), older, younger)
            for place, older in enumerate(held)
            for younger in held[place + 1 :]
        ]
        close = sorted((each for each in found if each[0] > threshold), key=lambda each: -each[0])[: max(0, limit)]
        paired = {memory_id for _, *both in close for memory_id in both}
        ids = tuple(memory_id for memory_id in held if memory_id in paired)
        place_of = {memory_id: place for place, memory_id in enumerate(ids)}
        return ClosePairs(
            ids=ids,
            first=numpy.array([place_of[older] for _, older, _ in close], dtype=numpy.int32),
            second=numpy.array([place_of[younger] for _, _, younger in close], dtype=numpy.int32),
            scores=numpy.array([score for score, _, _ in close], dtype=numpy.float32),
        )

    def vector(self, leg: str, memory_id: str) -> Vector | None:
        found = self.contents.vectors.get(leg, {}).get(memory_id)
        return None if found is None else found.copy()

    def vectors(self, leg: str, memory_ids: Sequence[str]) -> Mapping[str, Vector]:
        rows = self.contents.vectors.get(leg, {})
        return {memory_id: rows[memory_id].copy() for memory_id in memory_ids if memory_id in rows}

    def many(self, memory_ids: Sequence[str]) -> Mapping[str, Memory]:
        memories = self.contents.memories
        return {memory_id: memories[memory_id] for memory_id in memory_ids if memory_id in memories}

    def weight_history(self) -> Sequence[WeightChange]:
        return self.contents.changes

    def recalls(self, *, limit: int, session: str | None = None) -> Sequence[RecallLog]:
        newest = [log for log in reversed(self.contents.recalls.values()) if session in {None, log.session}]
        return newest[:limit] if limit else newest

    def check(self) -> StoreReport:
        contents = self.contents
        sizes = {
            "vectors": sum(vector.nbytes for rows in contents.vectors.values() for vector in rows.values()),
            "words": sum(len(word.encode()) for words in contents.words.values() for word in words),
        }
        return StoreReport(
            engine="dictionaries in this process",
            location=self._location,
            schema=1,
            sizes=sizes,
            problems=(*_problems(self, contents), *learning_problems(contents), *graph_problems(contents)),
        )

    def backup(self, target: Path) -> None:
        write_backup(self._scope, self.contents, target)

    def close(self) -> None:
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed("the bank is closed")


class MemoryStorage:
    """The Storage port over banks in this process.

    Args:
        name: What its location is called in reports.
    """

    def __init__(self, name: str = "") -> None:
        self._name = name
        self._banks: dict[Scope, SharedBank] = {}
        self._lock = threading.Lock()

    def open(self, scope: Scope) -> MemoryStore:
        """The scope's store, made when it does not exist; every store of one scope sees the same bank."""
        return MemoryStore(scope, self._bank(scope), location=f"memory://{self._name}")

    def scopes(self, tenant: str) -> Sequence[Scope]:
        """The scopes of one tenant that were opened here, by level and name."""
        with self._lock:
            found = [scope for scope in self._banks if scope.tenant == tenant]
        return sorted(found, key=lambda scope: (LEVELS.index(scope.level), scope.project))

    def has(self, scope: Scope) -> bool:
        """Whether the scope was opened here; asking makes no bank."""
        with self._lock:
            return scope in self._banks

    def restore(self, scope: Scope, source: Path) -> None:
        """Replaces the scope's bank by a backup of the same scope; the old contents are kept until the process ends.

        Raises:
            StoreUnavailable: When the backup does not exist.
            StoreCorrupt: When the backup is damaged; the bank stays as it is.
            ScopeViolation: When the backup is of another scope.
        """
        contents = read_backup(scope, source)
        bank = self._bank(scope)
        with bank.held():
            bank.replaced.append(bank.contents)
            bank.contents = contents

    def _bank(self, scope: Scope) -> SharedBank:
        with self._lock:
            return self._banks.setdefault(scope, SharedBank(Contents(project=scope.project)))


_shared: dict[str, MemoryStorage] = {}
_shared_lock = threading.Lock()


def shared_storage(name: str) -> MemoryStorage:
    """The place behind ``memory://name``: one for the whole process, for everybody who asks by that name."""
    with _shared_lock:
        return _shared.setdefault(name, MemoryStorage(name))


def _candidates(store: MemoryStore, vector: Vector, text: str, pool: Pool) -> Candidates:
    """Asks each leg by itself, then for the scores that are missing; the store must not change meanwhile."""
    lexical = store.matching(text, pool.condition, pool.lexical)
    found = {hit.id for hit in lexical.hits}
    for leg in DENSE_LEGS:
        found.update(hit.id for hit in store.nearest(leg, vector, pool.condition, pool.dense))
    return Candidates(
        dense={leg: store.similarities(leg, vector, sorted(found)) for leg in DENSE_LEGS},
        lexical=lexical,
        vectors=store.vectors(CONTENT_LEG, sorted(found)),
    )


def _product(row: Vector, vector: Vector) -> float:
    """The inner product, summed in double precision."""
    return float(numpy.dot(row.astype(numpy.float64), vector.astype(numpy.float64)))


def _check_query(contents: Contents, vector: Vector) -> None:
    if not bool(numpy.isfinite(vector).all()):
        raise InvalidInput("a vector holds a value that is not a finite number")
    if contents.model is not None and contents.model[1] != len(vector):
        raise ModelMismatch(f"the bank's vectors have {contents.model[1]} dimensions, the query's {len(vector)}")


def _problems(reads: MemoryReads, contents: Contents) -> Iterator[str]:
    for memory in contents.memories.values():
        if memory.id not in contents.words or memory.id not in contents.vectors.get(CONTENT_LEG, {}):
            yield f"memory {memory.id!r} has no text index or no vector"
        evidence = (reads.aggregate(memory.id), reads.signals(memory.id), reads.weights())
        if replay(memory.belief.initial, *evidence) != memory.belief:
            yield f"the confidence of memory {memory.id} does not follow from its evidence"

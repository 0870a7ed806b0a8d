"""Memories that can be told from their id and version alone, what is done to them, and how a bank is read back.

Whatever a bank gives after a crash is compared with these: text, tags, index, vector and evidence of one memory all
follow from (id, version, number of signals), so that a mixture of two states is recognised as torn.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Literal

import numpy

from reasoningbank.errors import MemoryNotFound
from reasoningbank.storage.store import Store, Transaction
from reasoningbank.types.memory import STATES, Memory
from reasoningbank.types.ports import Vector
from reasoningbank.types.recall import DENSE_LEGS, Filter
from reasoningbank.types.records import Indexed
from reasoningbank.types.scope import Scope
from reasoningbank.types.signal import Signal

SCOPE = Scope(tenant="durable", project="bank")
EVERYTHING = Filter(states=STATES)
MODEL = "test/16"
DIMENSION = 16
START = datetime(2026, 1, 1, tzinfo=UTC)
LATE = START + timedelta(days=300)
WEIGHT = 400_000_000

Operation = Literal["record", "update", "signal", "delete", "roll_up"]


def word(memory_id: str, version: int) -> str:
    """A word that only this version of this memory holds."""
    return f"w{zlib.crc32(f'{memory_id}/{version}'.encode()):08x}z"


@cache
def vector(memory_id: str, version: int, leg: str, dimension: int = DIMENSION) -> Vector:
    """The unit vector of one version in one leg."""
    seed = zlib.crc32(f"{memory_id}/{version}/{leg}".encode())
    drawn = numpy.random.default_rng(seed).standard_normal(dimension).astype(numpy.float32)
    unit: Vector = (drawn / numpy.linalg.norm(drawn)).astype(numpy.float32)
    return unit


def lesson(memory_id: str, version: int = 1) -> Memory:
    """The memory as it is recorded or edited; its evidence is that of no signal."""
    filling = "remember this " * (zlib.crc32(memory_id.encode()) % 120)
    return Memory(
        id=memory_id,
        project=SCOPE.project,
        title=f"Lesson {memory_id}",
        content=f"{word(memory_id, version)} {filling}version {version}",
        description=f"when {memory_id}",
        outcome="success" if version % 2 else "failure",
        tags=(f"version-{version}", "durable"),
        created_at=START,
        updated_at=START + timedelta(minutes=version),
        version=version,
    )


def derived(memory_id: str, version: int = 1, dimension: int = DIMENSION) -> Indexed:
    """What is indexed with it."""
    return Indexed(
        text=f"{word(memory_id, version)} common lesson",
        model_id=f"test/{dimension}",
        vectors={leg: vector(memory_id, version, leg, dimension) for leg in DENSE_LEGS},
    )


def record(transaction: Transaction, memory_id: str) -> None:
    """Stores a new memory."""
    transaction.memories.insert(lesson(memory_id), derived(memory_id))


def edit(transaction: Transaction, memory_id: str, version: int) -> None:
    """Replaces text, tags and vectors, and keeps the earlier version and the evidence."""
    old = transaction.memories.get(memory_id)
    transaction.memories.update(
        replace(lesson(memory_id, version), belief=old.belief), derived(memory_id, version), revision=True
    )


def rate(transaction: Transaction, memory_id: str, number: int) -> None:
    """Adds one signal and the belief that follows from it."""
    positive = number % 3 != 0
    transaction.evidence.add_signal(
        Signal(
            id=f"{memory_id}/signal/{number}",
            memory_id=memory_id,
            project=SCOPE.project,
            type="outcome",
            positive=positive,
            session=f"s{number}",
            at=START + timedelta(days=number),
            weight=WEIGHT,
        )
    )
    memory = transaction.memories.get(memory_id)
    transaction.memories.update(replace(memory, belief=memory.belief.with_evidence(positive=positive, weight=WEIGHT)))


@dataclass
class Model:
    """What a bank must hold: version and number of signals per memory, and which ones are deleted."""

    versions: dict[str, int] = field(default_factory=dict)
    signals: dict[str, int] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)

    def copy(self) -> Model:
        """A model of its own with the same content."""
        return Model(dict(self.versions), dict(self.signals), set(self.deleted))

    def apply(self, operation: Operation, memory_id: str) -> None:
        """Follows one operation."""
        if operation == "record":
            self.versions[memory_id], self.signals[memory_id] = 1, 0
        elif operation == "update":
            self.versions[memory_id] += 1
        elif operation == "signal":
            self.signals[memory_id] += 1
        elif operation == "delete":
            del self.versions[memory_id], self.signals[memory_id]
            self.deleted.add(memory_id)

    def perform(self, transaction: Transaction, operation: Operation, memory_id: str) -> None:
        """Does to a bank what ``apply`` does to the model."""
        if operation == "record":
            record(transaction, memory_id)
        elif operation == "update":
            edit(transaction, memory_id, self.versions[memory_id] + 1)
        elif operation == "signal":
            rate(transaction, memory_id, self.signals[memory_id] + 1)
        elif operation == "delete":
            transaction.memories.delete(memory_id)
        else:
            transaction.evidence.roll_up(START + timedelta(days=3), LATE)

    def choose(self, chance: random.Random, prefix: str, number: int) -> tuple[Operation, str]:
        """The next operation of a random writer that owns the ids of a prefix."""
        known = list(self.versions)
        share = chance.random()
        if share < 0.45 or not known:
            return "record", f"{prefix}-{number}"
        if share < 0.65:
            return "update", chance.choice(known)
        if share < 0.92:
            return "signal", chance.choice(known)
        return ("delete", chance.choice(known)) if share < 0.96 else ("roll_up", "")


def read_back(store: Store, prefix: str = "") -> Model:
    """What the bank holds of the ids of a prefix; every memory of them must be whole."""
    found = Model()
    for memory in store.memories.page(EVERYTHING, limit=0, offset=0):
        if memory.id.startswith(prefix):
            found.versions[memory.id] = memory.version
            found.signals[memory.id] = check_whole(store, memory)
    return found


def check_whole(store: Store, memory: Memory) -> int:
    """Asserts that all parts of one memory are of one version; returns how many signals it has."""
    expected = lesson(memory.id, memory.version)
    assert replace(memory, belief=expected.belief) == expected, f"torn row: {memory.id}"
    for leg in DENSE_LEGS:
        stored = store.search.vector(leg, memory.id)
        assert stored is not None, f"lost vector: {memory.id}"
        assert numpy.array_equal(stored, vector(memory.id, memory.version, leg, len(stored))), f"torn: {memory.id}"
    hits = store.search.matching(word(memory.id, memory.version), EVERYTHING, 3).hits
    assert [hit.id for hit in hits] == [memory.id], f"torn text index: {memory.id}"
    if memory.version > 1:
        assert not store.search.matching(word(memory.id, memory.version - 1), EVERYTHING, 3).hits, (
            f"old text: {memory.id}"
        )
        assert [old.version for old in store.memories.revisions(memory.id)] == list(range(1, memory.version))
    aggregate = store.evidence.aggregate(memory.id)
    rolled = aggregate.outcome_positive + aggregate.outcome_negative
    count = rolled + len(store.evidence.signals(memory.id))
    belief = expected.belief
    for number in range(1, count + 1):
        belief = belief.with_evidence(positive=number % 3 != 0, weight=WEIGHT)
    assert memory.belief == belief, f"torn evidence: {memory.id}"
    return count


def check_gone(store: Store, memory_id: str) -> None:
    """Asserts that nothing of a deleted memory can be found."""
    try:
        store.memories.get(memory_id)
    except MemoryNotFound:
        assert store.search.vector("content", memory_id) is None
        assert not store.search.matching(word(memory_id, 1), EVERYTHING, 3).hits
        return
    raise AssertionError(f"deleted memory {memory_id} is there")


def operations(seed: int, prefix: str, model: Model) -> Iterator[tuple[Operation, str]]:
    """An endless run of a random writer; the model must follow each operation before the next is asked for."""
    chance = random.Random(seed)
    number = 0
    while True:
        number += 1
        yield model.choose(chance, prefix, number)

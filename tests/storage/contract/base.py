"""What every part of the contract uses: a store to test, and memories to put into it."""

from __future__ import annotations

import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import ClassVar

import numpy

from reasoningbank.errors import BankError
from reasoningbank.storage.store import Storage, Store
from reasoningbank.types.memory import STATES, Memory
from reasoningbank.types.ports import Vector
from reasoningbank.types.recall import CONTENT_LEG, DESCRIPTION_LEG, Filter
from reasoningbank.types.records import Indexed
from reasoningbank.types.scope import Scope
from reasoningbank.types.signal import Rater, Signal, SignalType

SCOPE = Scope(tenant="acme", project="shop")
START = datetime(2026, 1, 1, 12, 0, 0, 123_456, tzinfo=UTC)
MODEL = "conformance/4"
EVERYTHING = Filter(states=STATES)
EAST, NORTH, UP, WEST = ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (-1, 0, 0, 0))


class Conformance(ABC):
    """The base of every part: gives the tests a store.

    Attributes:
        durable: Whether what was written outlives the storage object; a store of a process's memory says False.
    """

    durable: ClassVar[bool] = True

    @abstractmethod
    def storage(self) -> Storage:
        """A new, empty place. Each store implements it."""

    def reopened(self, storage: Storage) -> Storage:
        """Another storage object over the same place. To be implemented for durable stores."""
        return storage

    @contextmanager
    def fresh(self, scope: Scope = SCOPE) -> Iterator[Store]:
        """An empty store in a new place, closed at the end."""
        store = self.storage().open(scope)
        try:
            yield store
        finally:
            store.close()

    @contextmanager
    def directory(self) -> Iterator[Path]:
        """An empty directory for backups, removed at the end."""
        with tempfile.TemporaryDirectory(prefix="reasoningbank-conformance-") as name:
            yield Path(name)


@contextmanager
def refuses(error: type[BankError]) -> Iterator[None]:
    """Passes when the block raises this error, with a hint.

    Raises:
        AssertionError: When the block raises nothing.
    """
    try:
        yield
    except error as caught:
        assert caught.hint, f"{error.__name__} has no hint"
        return
    raise AssertionError(f"{error.__name__} was not raised")


def vector(*numbers: float) -> Vector:
    """These numbers as a vector."""
    return numpy.array(numbers, dtype=numpy.float32)


def indexed(text: str = "", content: Vector | None = None, description: Vector | None = None) -> Indexed:
    """Analysed text and vectors of the suite's model; the content's vector points east when none is given."""
    vectors = {CONTENT_LEG: vector(*EAST) if content is None else content}
    if description is not None:
        vectors[DESCRIPTION_LEG] = description
    return Indexed(text=text, model_id=MODEL, vectors=vectors)


def lesson(name: str, **changes: object) -> Memory:
    """A memory with this id, one second of age apart by its trailing digits."""
    number = int("".join(filter(str.isdigit, name)) or 0)
    plain = Memory(
        id=name,
        project=SCOPE.project,
        title=f"Lesson {name}",
        content=f"What {name} taught.",
        outcome="success",
        created_at=START + timedelta(seconds=number),
        updated_at=START + timedelta(seconds=number),
    )
    changed: Memory = replace(plain, **changes)  # type: ignore[arg-type]  # names of fields, checked by the dataclass
    return changed


def signal(
    memory_id: str,
    kind: SignalType = "usage",
    *,
    positive: bool = True,
    session: str = "s1",
    day: float = 0.0,
    weight: int | None = 294_117_647,
    rater: Rater = "agent",
) -> Signal:
    """A signal that many days after the start."""
    at = START + timedelta(days=day)
    return Signal(
        memory_id=memory_id,
        project=SCOPE.project,
        type=kind,
        positive=positive,
        session=session,
        rater=rater,
        at=at,
        weight=weight,
    )


def fill(store: Store, memories: Iterable[Memory | tuple[Memory, Indexed]]) -> None:
    """Stores all of them in one transaction, each with what is derived from it when that is given."""
    with store.transaction() as transaction:
        for each in memories:
            memory, derived = each if isinstance(each, tuple) else (each, indexed())
            transaction.memories.insert(memory, derived)

"""Keeps what searches need of one bank file in memory and in step with it: vectors, filter columns, text lengths."""

from __future__ import annotations

import json
import threading
import uuid
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, cast

import numpy
from numpy.typing import NDArray

from reasoningbank.errors import ModelMismatch, StoreCorrupt
from reasoningbank.storage.connection import RowSource
from reasoningbank.storage.rows import (
    LEGS_PER_KEY,
    SOURCE_OUTCOMES,
    WEIGHTS,
    WORDS_WORTH,
    Row,
    Value,
    checksum,
    current_weights,
    decoding,
    source_outcomes_from,
    vector_id,
    words_worth_from,
)
from reasoningbank.storage.search_sql import (
    LOOK_SQL,
    NAMED_VECTORS_SQL,
)
from reasoningbank.storage.sidecars import Renewal, Sidecars
from reasoningbank.storage.text_search import NO_CONTEXTS, Contexts, measured
from reasoningbank.storage.unit import BankStanding
from reasoningbank.storage.vector_file import Header, Snapshot
from reasoningbank.storage.vector_search import SNAPSHOT_MIN_ROWS, Columns, LegMatrix, LegView, Names
from reasoningbank.types.recall import DENSE_LEGS, VECTOR_LEGS, Filter
from reasoningbank.types.records import SourceOutcomes, WordsWorth

_BATCH = 4_096
_FLOAT = 4
"""Bytes of a number of a vector."""
_FACT, _COLUMNS, _VECTOR = range(3)
_NEVER_READ = 2**62
"""A leg that is held up to this change has no vector that came later."""
_ON_DEMAND = frozenset(VECTOR_LEGS) - frozenset(DENSE_LEGS)


class VectorReader(RowSource, Protocol):
    """Run the queries of one consistent read."""

    @property
    def state(self) -> int:
        """A number that changes when the bank has, asked for inside of a read; it is this reader's own."""

    def prepare_words(self, table: str) -> None:
        """Make the words of a table's column readable, once for a connection."""

    def parts(self, sql: str, values: Sequence[Value] = ()) -> Iterator[Sequence[Row]]:
        """Yield the rows of a query part by part, for one that may read the whole bank."""

    def first_read(self, sql: str, values: Sequence[Value] = ()) -> Iterator[Sequence[Row]]:
        """Yield the rows of the query for the bank's state, without the last; the other queries see that state.

        The first part is empty: by then the state is fixed.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """Hold what the bank says of itself in one consistent read.

    Attributes:
        bank: The bank's identifier, and how often all its vectors were made anew.
        facts: All that its ``meta`` table holds.
        gone: The keys of memories that were deleted since the last state.
        words_worth: What words are worth in the bank.
        sources: How what each source recorded has turned out.
        standing: What a writer that has seen no later change begins with; None before the first state.
    """

    bank: str
    change: int
    model: tuple[str, int] | None
    facts: Mapping[str, str]
    gone: Sequence[int]
    words_worth: WordsWorth
    standing: BankStanding | None
    sources: SourceOutcomes = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Hold what searches need of one state of the bank. Places count the memories by age.

    Attributes:
        documents: How many memories the bank holds.
        keys: The key of the memory at each place, ascending.
        masks: For each condition asked for, which places meet it.
        lengths: How many words the text at each place has.
        contexts: Where the words of each description stand; of no memory when that was not asked for.
        word_counts: How many texts hold a word, as far as searches of these texts have counted them.
        legs: The dense legs.
        names: The id at each place.
        words_worth: What words are worth in the bank.
        sources: How what each source recorded has turned out.
        model_id: The vector space; empty when there are no vectors.
        standing: What a writer begins with in this state; None when the state was seen before.
        facts: All that the bank says of itself.
    """

    documents: int
    keys: NDArray[numpy.int64]
    masks: Sequence[NDArray[numpy.bool_]]
    lengths: NDArray[numpy.int32]
    contexts: Contexts
    word_counts: dict[str, int]
    legs: Mapping[str, LegView]
    names: Names
    words_worth: WordsWorth
    sources: SourceOutcomes
    model_id: str
    standing: BankStanding | None
    facts: Mapping[str, str]

    def places(self, keys: NDArray[numpy.int64]) -> NDArray[numpy.int64]:
        """Return the place of each key.

        Raises:
            StoreCorrupt: When no memory has one of these keys.
        """
        places = numpy.searchsorted(self.keys, keys)
        if len(keys) and (places.max() >= len(self.keys) or bool((self.keys[places] != keys).any())):
            raise StoreCorrupt("the text index names a memory that does not exist")
        return places


class DenseIndex:
    """Hold what searches need of one bank, refreshed from the bank's change counter before every search."""

    _state: _State

    def __init__(self, sidecars: Sidecars, project: str) -> None:
        self._sidecars = sidecars
        self._project = project
        self._lock = threading.Lock()
        self._forget()

    @property
    def model_id(self) -> str | None:
        """The vector space of the state that was seen last; None when it had none."""
        model = self._state.model
        return None if model is None else model[0]

    @contextmanager
    def renewal(self) -> Iterator[Renewal | None]:
        """Give what makes new sidecars of the legs that have many rows in memory; nobody else does so meanwhile.

        None when there are no such legs, or somebody is at them: then it is for the next write.
        """
        if not self._grown() or not self._lock.acquire(blocking=False):
            yield None
            return
        try:
            state = self._state
            headers = {leg: _header(leg, state, self._reached.get(leg, state.change)) for leg in self._grown()}
            with self._sidecars.held() as free:
                yield self._renewal(headers) if free and headers else None
        finally:
            self._lock.release()

    def view(
        self,
        read: VectorReader,
        conditions: Sequence[Filter],
        dimension: int | None = None,
        *,
        leg: str = "",
        context: bool = False,
        again: bool = False,
        held: bool = True,
    ) -> View:
        """Return the state that ``read`` sees; this must be the first read of its transaction.

        It is made under the index's lock, which keeps the states that the index sees in order.

        Args:
            read: Reads the state.
            conditions: What the masks are made for.
            dimension: The query's; None when there is none.
            leg: A leg that must be there although the fused search does not use it.
            context: Tell the words of the descriptions from the others.
            again: Use the state that was seen last: no look is taken at what has changed since.
            held: Hold the vectors of the dense legs; without it those that were held are forgotten.

        Raises:
            ModelMismatch: When the bank's vectors have another dimension.
        """
        with self._lock:
            try:
                with decoding("the bank"):
                    if not held:
                        self._forget_legs()
                    if not again or self._state.change < 0 or (held and (self._late(leg) or self._lacking())):
                        self._refresh(read, leg, held=held)
            except BaseException:
                self._forget()
                raise
            model = self._state.model
            if model is not None and dimension not in (None, model[1]):
                raise ModelMismatch(f"the bank's vectors have {model[1]} dimensions, the query's {dimension}")
            starts, counts = self._columns.contexts() if context else (NO_CONTEXTS.starts, NO_CONTEXTS.counts)
            masks = [self._columns.mask(condition) for condition in conditions]
            return View(
                documents=self._columns.living,
                keys=self._columns.keys,
                masks=masks,
                lengths=self._lengths,
                contexts=Contexts(starts=starts, counts=counts),
                word_counts=self._word_counts,
                legs=self._views,
                names=self._columns.names,
                words_worth=self._state.words_worth,
                sources=self._state.sources,
                model_id="" if model is None else model[0],
                standing=None if again else self._state.standing,
                facts=self._state.facts,
            )

    def _forget(self) -> None:
        self._columns = Columns()
        self._lengths = numpy.empty(0, dtype=numpy.int32)
        self._word_counts: dict[str, int] = {}
        self._forget_legs()
        self._facts: Sequence[Row] = ()
        self._looked: tuple[VectorReader, int, _State] | None = None
        self._state = _State(bank="", change=-1, model=None, facts={}, gone=(), words_worth=WordsWorth(), standing=None)

    def _forget_legs(self) -> None:
        self._legs: dict[str, LegMatrix] = {}
        self._views: Mapping[str, LegView] = {}
        self._reached: dict[str, int] = {}

    def _refresh(self, read: VectorReader, leg: str, *, held: bool) -> None:
        if held:
            self._look(read, (*DENSE_LEGS, leg) if leg in _ON_DEMAND else DENSE_LEGS, leg)
        else:
            self._look(read, (), "")
        self._looked = (read, read.state, self._state)

    def _look(self, read: VectorReader, legs: Sequence[str], leg: str) -> None:
        """Take over what has changed since the last look; at the first look all of it, part by part.

        Args:
            read: Reads the state.
            legs: The legs whose vectors are held.
            leg: A leg that only some searches use is refreshed when they do.
        """
        missing = [self._sidecars.last(each) for each in legs if each not in self._legs]
        snapshots = {each.header.leg: each for each in missing if each is not None}
        held: list[tuple[str, int, Mapping[str, str]]] = [(each, -1, {}) for each in legs if each not in self._legs]
        held += [
            (each.header.leg, each.header.change, self._sidecars.facts(each.header)) for each in snapshots.values()
        ]
        if self._late(leg) and leg in self._legs:
            held.append((leg, self._reached[leg], {}))
        if not legs:
            held += [(each, _NEVER_READ, {}) for each in DENSE_LEGS]
        parts = read.first_read(
            LOOK_SQL,
            (
                self._state.change,
                LEGS_PER_KEY,
                VECTOR_LEGS.index((*DENSE_LEGS, *legs)[-1]),
                self._state.bank,
                json.dumps([(VECTOR_LEGS.index(name), change, dict(facts)) for name, change, facts in held]),
            ),
        )
        next(parts)
        seen = self._looked is not None and self._looked[0] is read and self._looked[1:] == (read.state, self._state)
        if seen and not self._late(leg) and not (legs and self._lacking()):
            return
        self._take_over(read, parts, legs, snapshots)

    def _late(self, leg: str) -> bool:
        """Return whether a leg that only some searches use is not of the last state."""
        return leg in _ON_DEMAND and self._reached.get(leg, -1) != self._state.change

    def _lacking(self) -> bool:
        """Return whether the vectors of the last state are not held, because the last search had no need of them."""
        return self._state.model is not None and any(leg not in self._legs for leg in DENSE_LEGS)

    def _take_over(
        self,
        read: VectorReader,
        parts: Iterable[Sequence[Row]],
        legs: Sequence[str],
        snapshots: Mapping[str, Snapshot],
    ) -> None:
        """Take over the rows of a look at these legs."""
        facts: list[Row] = []
        state: _State | None = None
        derived = ready = False
        for rows in parts:
            keyless = bisect_left(rows, _COLUMNS, key=_kind)
            facts += rows[:keyless]
            if keyless == len(rows):
                continue
            state = state or self._begun(facts)
            vectors = bisect_left(rows, _VECTOR, key=_kind)
            derived |= self._take_columns(rows[keyless:vectors])
            if vectors < len(rows):
                ready = ready or self._prepared(read, legs, state, snapshots)
                self._take_vectors(legs, [row[2:5] for row in rows[vectors:]], state)
        state = state or self._begun(facts)
        self._columns.apply((), state.gone)
        if not ready:
            self._prepared(read, legs, state, snapshots)
        if derived or state.gone or (legs and not self._views):
            self._word_counts = {}
            gone = numpy.array(state.gone, dtype=numpy.int64)
            self._lengths[self._columns.found(gone)[0]] = 0
            for leg in DENSE_LEGS:
                if leg in self._legs:
                    self._legs[leg].forget(gone)
            self._see(DENSE_LEGS)
        for leg in _ON_DEMAND.intersection(legs):
            self._see([leg])
            self._reached[leg] = state.change
        self._state = state

    def _begun(self, facts: Sequence[Row]) -> _State:
        """Return what the bank says of itself, and forget what does not belong to that any more."""
        # Between most looks nothing has changed: then the facts mean what they meant.
        state = self._state if facts == self._facts else _state(self._project, [row[1:] for row in facts])
        if state.bank != self._state.bank or state.change < self._state.change:
            self._forget()
        elif state.model != self._state.model:
            # The bank had no vectors in between: those that it has now came after the last look.
            self._forget_legs()
        self._facts = facts
        return state

    def _take_columns(self, rows: Sequence[Row]) -> bool:
        """Take over the columns of memories, and the lengths of texts that have changed; return whether any have."""
        self._columns.apply(rows, ())
        sizes = [(row[0], row[-1]) for row in rows if row[-1] is not None]
        if sizes:
            self._lengths = measured(sizes, self._columns, self._lengths)
            changed = numpy.array([key for key, _ in sizes], dtype=numpy.int64)
            for leg in DENSE_LEGS:
                if leg in self._legs:
                    self._legs[leg].forget(changed)
        return bool(sizes)

    def _prepared(
        self, read: VectorReader, legs: Iterable[str], state: _State, snapshots: Mapping[str, Snapshot]
    ) -> bool:
        """Make legs ready for vectors that have changed, once the columns of all memories are there."""
        for leg in legs if state.model is not None else ():
            if leg not in self._legs:
                self._legs[leg] = self._made(read, leg, state, snapshots.get(leg))
            elif leg in _ON_DEMAND:
                changed = self._columns.derived_since(self._reached[leg])
                self._legs[leg].forget(numpy.concatenate([self._columns.keys[~self._columns.alive], changed]))
        return True

    def _take_vectors(self, legs: Iterable[str], rows: Sequence[Row], state: _State) -> None:
        """Take the vectors of each of these legs from the rows of all of them."""
        assert state.model is not None
        for leg in legs:
            number = vector_id(0, leg)
            mine = [row for row in rows if cast(int, row[0]) % LEGS_PER_KEY == number]
            self._append(self._legs[leg], mine)

    def _see(self, legs: Iterable[str]) -> None:
        """Let searches see these legs as they are now."""
        self._views = {**self._views, **{leg: self._legs[leg].view() for leg in legs if leg in self._legs}}

    def _made(self, read: VectorReader, leg: str, state: _State, snapshot: Snapshot | None) -> LegMatrix:
        """Return a leg of its sidecar without what has changed since; an empty one when the sidecar is not current."""
        assert state.model is not None
        _, dimension = state.model
        facts = {} if snapshot is None else self._sidecars.facts(snapshot.header)
        if snapshot is None or any(state.facts.get(name, "") != fact for name, fact in facts.items()):
            return LegMatrix(dimension, None, self._columns)
        matrix = LegMatrix(dimension, snapshot, self._columns)
        since = snapshot.header.change
        erased = snapshot.keys[snapshot.erased]
        if self._columns.found(erased)[1].any():
            named = (LEGS_PER_KEY, vector_id(0, leg), since, str(erased.tolist()))
            self._append(matrix, read.run(NAMED_VECTORS_SQL, named))
        matrix.forget(self._columns.derived_since(since))
        return matrix

    def _append(self, matrix: LegMatrix, rows: Sequence[Row]) -> None:
        for start in range(0, len(rows), _BATCH):
            batch = rows[start : start + _BATCH]
            keys = numpy.array([row[0] for row in batch], dtype=numpy.int64) // LEGS_PER_KEY
            matrix.append(keys, decoded_vectors(batch))

    def _grown(self) -> Sequence[str]:
        """Return the legs of which so much came after the sidecar that the next one is due."""
        return [
            leg
            for leg, matrix in list(self._legs.items())
            if matrix.tail_rows > max(SNAPSHOT_MIN_ROWS, matrix.snapshot_rows // 4)
        ]

    def _renewal(self, headers: Mapping[str, Header]) -> Renewal:
        return Renewal(
            tokens={self._sidecars.name(header): header.token for header in headers.values()},
            change=min(header.change for header in headers.values()),
            write=partial(self._write, headers),
        )

    def _write(self, headers: Mapping[str, Header]) -> None:
        """Make the next sidecars of these legs and go on with them; a leg stays as it is when that cannot be done."""
        for leg, header in headers.items():
            snapshot = self._sidecars.write(header, *self._legs[leg].compact())
            if snapshot is not None:
                self._legs[leg] = LegMatrix(header.dimension, snapshot, self._columns)
                self._views = {**self._views, leg: self._legs[leg].view()}


def _header(leg: str, state: _State, change: int) -> Header:
    """Return what a sidecar of the leg as it was at a change belongs to, under a new name."""
    assert state.model is not None
    model_id, dimension = state.model
    return Header(
        bank=state.bank,
        leg=leg,
        model_id=model_id,
        dimension=dimension,
        rows=0,
        change=change,
        token=uuid.uuid4().hex,
    )


def _state(project: str, rows: Sequence[Row]) -> _State:
    """Return the state of rows that hold a name and a value, or None and the key of a deleted memory."""
    values = {name: cast(str, row[0]) for name, *row in rows if isinstance(name, str)}
    weights = next(row[2 : 2 + WEIGHTS.count] for row in rows if row[0] == "standing")
    space = {name: values[name] for name in ("model_id", "dimension") if "model_id" in values}
    return _State(
        bank=f"{values['bank']} {values.get('space', '')}",
        change=int(values["change"]),
        model=(space["model_id"], int(space["dimension"])) if space else None,
        facts=values,
        gone=[cast(int, row[1]) for row in rows if row[0] is None],
        words_worth=words_worth_from(values.get(WORDS_WORTH)),
        sources=source_outcomes_from(values.get(SOURCE_OUTCOMES)),
        standing=BankStanding(
            schema=int(values["standing"]),
            change=int(values["change"]),
            key=int(values["key"]),
            space=space,
            weights=current_weights(project, weights),
        ),
    )


def _kind(row: Row) -> int:
    """Return which part of a look the row belongs to; the parts come in this order."""
    if row[0] is None:
        return _FACT
    return _VECTOR if row[1] is None else _COLUMNS


def decoded_vectors(rows: Sequence[Row]) -> NDArray[numpy.float32]:
    """Return the vectors of rows of the table, each with its number and its checksum.

    Raises:
        StoreCorrupt: When a row is not what was written.
    """
    width = len(cast(bytes, rows[0][1])) // _FLOAT
    matrix = numpy.empty((len(rows), width), dtype=numpy.float32)
    for number, (name, vector, stored) in enumerate(rows):
        if checksum((name, vector)) != stored:
            raise StoreCorrupt(f"vector number {name!r} does not hold what was written to it")
        matrix[number] = numpy.frombuffer(cast(bytes, vector), dtype=numpy.float32)
    return matrix

"""Keeps what searches need of one bank file in memory and in step with it: vectors, filter columns, text lengths."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Protocol, cast

import numpy
from numpy.typing import NDArray

from reasoningbank.errors import ModelMismatch, StoreCorrupt
from reasoningbank.storage.connection import RowSource
from reasoningbank.storage.rows import (
    LEGS_PER_KEY,
    WEIGHTS,
    WORDS_WORTH,
    Row,
    Value,
    checksum,
    current_weights,
    decoding,
    vector_id,
    words_worth_from,
)
from reasoningbank.storage.search_sql import (
    BOTH_VECTORS_SQL,
    CHANGES_SQL,
    COLUMNS_SQL,
    COUNT_OF_COLUMNS,
    DERIVED_SQL,
    LENGTHS_AND_VECTORS_SQL,
    NAMED_VECTORS_SQL,
    VECTORS_SQL,
)
from reasoningbank.storage.sidecars import Renewal, Sidecars
from reasoningbank.storage.text_search import NO_CONTEXTS, Contexts, lengths, measured
from reasoningbank.storage.unit import BankStanding
from reasoningbank.storage.vector_file import Header
from reasoningbank.storage.vector_search import SNAPSHOT_MIN_ROWS, Columns, LegMatrix, LegView, Names
from reasoningbank.types.recall import DENSE_LEGS, VECTOR_LEGS, Filter
from reasoningbank.types.records import WordsWorth

_BATCH = 4_096
_DENSE_PLACE = (LEGS_PER_KEY, vector_id(0, DENSE_LEGS[0]), vector_id(0, DENSE_LEGS[-1]))
"""What makes the ids of a memory's vectors of the dense legs of its key."""
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
        gone: The keys of memories that were deleted since the last state.
        words_worth: What words are worth in the bank.
        standing: What a writer that has seen no later change begins with; None before the first state.
    """

    bank: str
    change: int
    model: tuple[str, int] | None
    tokens: Mapping[str, str]
    gone: Sequence[int]
    words_worth: WordsWorth
    standing: BankStanding | None


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
        model_id: The vector space; empty when there are no vectors.
        standing: What a writer begins with in this state; None when the state was seen before.
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
    model_id: str
    standing: BankStanding | None

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

        Raises:
            ModelMismatch: When the bank's vectors have another dimension.
        """
        with self._lock:
            try:
                with decoding("the bank"):
                    if not again or self._state.change < 0:
                        self._refresh(read)
                    if leg in _ON_DEMAND:
                        self._refresh_on_demand(read, leg)
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
                model_id="" if model is None else model[0],
                standing=None if again else self._state.standing,
            )

    def _forget(self) -> None:
        self._columns = Columns()
        self._lengths = numpy.empty(0, dtype=numpy.int32)
        self._word_counts: dict[str, int] = {}
        self._legs: dict[str, LegMatrix] = {}
        self._views: Mapping[str, LegView] = {}
        self._reached: dict[str, int] = {}
        self._facts: Sequence[Row] = ()
        self._looked: tuple[VectorReader, int, _State] | None = None
        self._state = _State(
            bank="", change=-1, model=None, tokens={}, gone=(), words_worth=WordsWorth(), standing=None
        )

    def _refresh(self, read: VectorReader) -> None:
        self._look(read)
        self._looked = (read, read.state, self._state)

    def _look(self, read: VectorReader) -> None:
        """Take over what has changed since the last look."""
        since = self._state.change
        if since >= 0:
            parts = read.first_read(CHANGES_SQL, (since, *_DENSE_PLACE))
            next(parts)
            if self._looked is not None and self._looked[0] is read and self._looked[1:] == (read.state, self._state):
                return
            state, changed = self._read_changes(parts)
            if (state.bank, state.change, state.model) == (self._state.bank, since, self._state.model):
                self._state = state
                return
            if state.change > since and (state.bank, state.model) == (self._state.bank, self._state.model):
                columns, derived = _parted(changed)
                self._columns.apply(columns, state.gone)
                if state.gone or self._columns.derived_since(since).size:
                    self._refresh_derived(read, since, state.gone, state, derived)
                self._state = state
                return
            self._forget()
        if self._sidecars.present:
            state = self._read_columns(read)
            self._refresh_derived(read, self._state.change, (), state, ())
        else:
            state = self._read_all(read)
        self._state = state

    def _read_columns(self, read: VectorReader) -> _State:
        """Take over the columns of all memories; return what the bank says of itself."""
        facts: list[Row] = []
        for rows in read.first_read(COLUMNS_SQL, (-1,)):
            end = _count_of_keyless(rows)
            facts += rows[:end]
            self._columns.apply(rows[end:], ())
        return _state(self._project, [row[1:] for row in facts])

    def _read_all(self, read: VectorReader) -> _State:
        """Take over columns, lengths and vectors of all memories; return what the bank says of itself."""
        facts: list[Row] = []
        state: _State | None = None
        prepared: dict[str, tuple[LegMatrix, int]] = {}
        for rows in read.first_read(CHANGES_SQL, (-1, *_DENSE_PLACE)):
            end = _count_of_keyless(rows)
            facts += rows[:end]
            if end == len(rows):
                continue
            if state is None:
                state = _state(self._project, [row[1:] for row in facts])
                if state.model is not None:
                    dimension = state.model[1]
                    prepared = {leg: (LegMatrix(dimension, None, self._columns), -1) for leg in DENSE_LEGS}
            columns, derived = _parted(rows[end:])
            self._columns.apply(columns, ())
            self._take_all(prepared, prepared, self._measured(derived), state)
        if state is None:
            state = _state(self._project, [row[1:] for row in facts])
        self._legs.update({leg: matrix for leg, (matrix, _) in prepared.items()})
        self._views = {leg: matrix.view() for leg, matrix in self._legs.items()}
        return state

    def _read_changes(self, parts: Iterable[Sequence[Row]]) -> tuple[_State, Sequence[Row]]:
        """Return what the bank says of itself, and what has changed since with what is derived of it."""
        rows = [row for part in parts for row in part]
        end = _count_of_keyless(rows)
        facts = rows[:end]
        # Between most looks nothing has changed: then the facts mean what they meant.
        state = self._state if facts == self._facts else _state(self._project, [row[1:] for row in facts])
        self._facts = facts
        return state, rows[end:]

    def _refresh_derived(
        self, read: VectorReader, since: int, gone: Sequence[int], state: _State, derived: Sequence[Row]
    ) -> None:
        """Refresh lengths and vectors, which a search's own log does not change.

        What has changed since a state is there already. Else one statement reads all, but for a leg that has a sidecar
        where another has none: of that one only what is newer is read.
        """
        self._word_counts = {}
        prepared = {leg: self._prepared(read, leg, gone, since, state) for leg in DENSE_LEGS if state.model is not None}
        begun = {start for _, start in prepared.values()} | {since}
        start = min((start for _, start in prepared.values()), default=since)
        if len(begun) == 1 and since >= 0:
            self._take_all(prepared, prepared, self._measured(derived), state)
        elif len(begun) == 1:
            self._read_derived(read, DENSE_LEGS, since, prepared, state)
        elif start >= 0:
            for matrix, begin in prepared.values():
                if begin > start:
                    matrix.forget(self._columns.derived_since(start))
            place = (*_DENSE_PLACE, start)
            if since >= 0:
                self._lengths = lengths(read.run, since, self._columns, self._lengths)
            for rows in read.parts(LENGTHS_AND_VECTORS_SQL if since < 0 else BOTH_VECTORS_SQL, place):
                end = _count_of_keyless(rows)
                if end:
                    self._lengths = measured([row[1:] for row in rows[:end]], self._columns, self._lengths)
                self._take_all(prepared, prepared, rows[end:], state)
        else:
            whole = next((leg for leg, (_, begin) in prepared.items() if begin == since), DENSE_LEGS[0])
            self._read_derived(read, [whole], since, prepared, state)
            for leg, (matrix, begin) in prepared.items():
                if leg != whole:
                    self._take_parts(matrix, read.parts(VECTORS_SQL, (*_place(leg), begin)), state)
        if gone:
            self._lengths[self._columns.found(numpy.array(gone, dtype=numpy.int64))[0]] = 0
        self._legs.update({leg: matrix for leg, (matrix, _) in prepared.items()})
        self._views = {leg: self._legs[leg].view() for leg in DENSE_LEGS if leg in self._legs}

    def _read_derived(
        self,
        read: VectorReader,
        legs: Sequence[str],
        since: int,
        prepared: Mapping[str, tuple[LegMatrix, int]],
        state: _State,
    ) -> None:
        """Refresh the lengths, and take the vectors of neighbouring legs that come with them."""
        first, last = vector_id(0, legs[0]), vector_id(0, legs[-1])
        for rows in read.parts(DERIVED_SQL, (LEGS_PER_KEY, first, last, since)):
            self._take_all([leg for leg in legs if leg in prepared], prepared, self._measured(rows), state)

    def _measured(self, rows: Sequence[Row]) -> list[Row]:
        """Refresh the lengths by rows of a key, an entry of the table of sizes and a vector; return the vectors."""
        self._lengths = measured([row[:2] for row in rows], self._columns, self._lengths)
        return [row[2:] for row in rows if row[2] is not None]

    def _take_all(
        self,
        legs: Iterable[str],
        prepared: Mapping[str, tuple[LegMatrix, int]],
        rows: Sequence[Row],
        state: _State,
    ) -> None:
        """Take the vectors of each of these legs from the rows of all of them."""
        for leg in legs:
            number = vector_id(0, leg)
            mine = [row for row in rows if cast(int, row[0]) % LEGS_PER_KEY == number]
            self._take_parts(prepared[leg][0], [mine], state)

    def _refresh_on_demand(self, read: VectorReader, leg: str) -> None:
        """Refresh a leg that only some searches use, when they do."""
        state, since = self._state, self._reached.get(leg, -1)
        if state.model is None or since == state.change:
            return
        gone = self._columns.keys[~self._columns.alive].tolist()
        matrix, start = self._prepared(read, leg, gone, since, state)
        changed = start < 0 or self._columns.derived_since(start).size
        self._take_parts(matrix, read.parts(VECTORS_SQL, (*_place(leg), start)) if changed else (), state)
        self._legs[leg] = matrix
        self._views = {**self._views, leg: self._legs[leg].view()}
        self._reached[leg] = state.change

    def _prepared(
        self, read: VectorReader, leg: str, gone: Sequence[int], since: int, state: _State
    ) -> tuple[LegMatrix, int]:
        """Return the leg without what was deleted or changed, and the change after which its vectors are to be read."""
        matrix = self._legs.get(leg)
        dead = numpy.array(gone, dtype=numpy.int64)
        if matrix is None:
            matrix, since = self._loaded(read, leg, state)
            dead = numpy.empty(0, dtype=numpy.int64)
        if since >= 0:
            dead = numpy.concatenate([dead, self._columns.derived_since(since)])
        matrix.forget(dead)
        return matrix, since

    def _take_parts(self, matrix: LegMatrix, parts: Iterable[Sequence[Row]], state: _State) -> None:
        assert state.model is not None
        for rows in parts:
            self._append(matrix, rows, state.model[1])

    def _loaded(self, read: VectorReader, leg: str, state: _State) -> tuple[LegMatrix, int]:
        """Return the leg's sidecar, and the change from which on the bank is to be read.

        All of it without a sidecar.
        """
        header = _header(leg, state, state.change)
        dimension = header.dimension
        snapshot = self._sidecars.read(header, state.tokens)
        if snapshot is None or snapshot.header.change > state.change:
            return LegMatrix(dimension, None, self._columns), -1
        matrix = LegMatrix(dimension, snapshot, self._columns)
        since = snapshot.header.change
        erased = snapshot.keys[snapshot.erased]
        if self._columns.found(erased)[1].any():
            named = (*_place(leg), since, str(erased.tolist()))
            self._append(matrix, read.run(NAMED_VECTORS_SQL, named), dimension)
        return matrix, since

    def _append(self, matrix: LegMatrix, rows: Sequence[Row], dimension: int) -> None:
        for start in range(0, len(rows), _BATCH):
            batch = rows[start : start + _BATCH]
            keys = numpy.array([row[0] for row in batch], dtype=numpy.int64) // LEGS_PER_KEY
            matrix.append(keys, _decoded(batch, dimension))

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
        tokens=values,
        gone=[cast(int, row[1]) for row in rows if row[0] is None],
        words_worth=words_worth_from(values.get(WORDS_WORTH)),
        standing=BankStanding(
            schema=int(values["standing"]),
            change=int(values["change"]),
            key=int(values["key"]),
            space=space,
            weights=current_weights(project, weights),
        ),
    )


def _parted(changed: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """Return the columns of memories that have changed, each once, and what is derived of them."""
    columns = {row[0]: row[:COUNT_OF_COLUMNS] for row in changed}
    derived = [(row[0], *row[COUNT_OF_COLUMNS:]) for row in changed if row[COUNT_OF_COLUMNS] is not None]
    return list(columns.values()), derived


def _count_of_keyless(rows: Sequence[Row]) -> int:
    """Return how many rows stand before the first that begins with a key."""
    return next((place for place, row in enumerate(rows) if row[0] is not None), len(rows))


def _place(leg: str) -> tuple[int, int]:
    """Return what makes a vector's id of a memory's key."""
    return LEGS_PER_KEY, vector_id(0, leg)


def _decoded(rows: Sequence[Row], dimension: int) -> NDArray[numpy.float32]:
    matrix = numpy.empty((len(rows), dimension), dtype=numpy.float32)
    for number, (name, vector, stored) in enumerate(rows):
        if checksum((name, vector)) != stored:
            raise StoreCorrupt(f"vector number {name!r} does not hold what was written to it")
        matrix[number] = numpy.frombuffer(cast(bytes, vector), dtype=numpy.float32)
    return matrix

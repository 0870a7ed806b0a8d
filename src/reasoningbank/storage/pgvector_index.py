"""pgvector beside the truth, in tables of the same PostgreSQL database (DESIGN D1, docs/decisions/0025).

A vector is a row with what conditions are about, behind the policies that keep tenants apart in all other tables. Each
leg and each length of vectors has an HNSW graph, which all banks share. A search walks it until enough rows of its own
bank are found that meet its condition. Where they are few, the rows of the bank are compared one by one: a graph over
all tenants shows a small one little. What is known of a bank is a row of its own, written after the vectors.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from reasoningbank.errors import BankError, ConfigurationError, StoreUnavailable
from reasoningbank.settings import shown_url
from reasoningbank.storage.index_port import DOWN_HINT, NO_HEAD, BankPlace, Head, Named, Near, Point, digest
from reasoningbank.storage.pgvector_schema import EXTENSION, HEADS, TABLES, VECTORS
from reasoningbank.storage.postgres import place_key, tenant_key
from reasoningbank.storage.postgres_connection import (
    INIT_HINT,
    READ_STATE,
    SCHEMA,
    BankOwner,
    ConnectionPool,
    cursor_rows,
    translated,
)
from reasoningbank.storage.rows import Row, Value, to_microseconds
from reasoningbank.types.recall import VECTOR_LEGS, Filter

if TYPE_CHECKING:
    import psycopg
    from numpy.typing import NDArray

MOST_COMPARED = 10_000
"""The vectors of a bank that has at most so many are compared one by one."""
_LEAST_EFFORT, _MOST_EFFORT = 128, 1_000
"""The size of the list of candidates in the graph that a search goes through."""
_AT_ONCE = 256
_CACHED_BANKS = 4_096
_KNOWN_SQL = f"""
SELECT quote_ident(n.nspname), (
    SELECT array_agg(c.relname::text) FROM pg_class AS c JOIN pg_namespace AS m ON m.oid = c.relnamespace
    WHERE m.nspname = '{SCHEMA}' AND starts_with(c.relname::text, '{VECTORS}')
)
FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace WHERE e.extname = '{EXTENSION}'
"""  # noqa: S608 - constant names
_INSERT = (
    f"INSERT INTO {VECTORS} (dimension, leg, key, consolidated, confidence, created, state, outcome, standing, "  # noqa: S608
    "category, tags, stamp, vector) "
    "VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s::text[], %s, %s::{extension}.vector)"
)


class _Database(NamedTuple):
    """What a database has of pgvector: the schema of the extension, and the lengths that have a graph."""

    extension: str
    graphs: frozenset[int]


class PgvectorIndex:
    """The VectorIndex port over tables of the database that holds the truth.

    Its connections are its own: a search that waits for it holds one that reads the bank.

    Args:
        url: That of the banks.
    """

    def __init__(self, url: str) -> None:
        self.shown = f"pgvector in {shown_url(url)}"
        self._pool = ConnectionPool(url)
        self._lock = threading.Lock()
        self._database: _Database | None = None
        self._banks: dict[str, int] = {}
        self._pool.join()

    def near(self, place: BankPlace, asked: Sequence[Near]) -> tuple[Head, Sequence[Named]]:
        with self._begun(place) as connection:
            found = self._heads(connection, place)
            if not found:
                return NO_HEAD, [Named((), None) for _ in asked]
            [(mark, change, large)] = found
            return Head(str(mark), cast(int, change)), [
                self._named(connection, place, each, large=bool(large)) for each in asked
            ]

    def head(self, place: BankPlace) -> Head:
        with self._begun(place) as connection:
            found = self._heads(connection, place)
        return Head(str(found[0][0]), cast(int, found[0][1])) if found else NO_HEAD

    def put_head(self, place: BankPlace, head: Head) -> None:
        with self._begun(place, writing=True) as connection:
            _run(
                connection,
                f"INSERT INTO {HEADS} (dimension, mark, change, large) SELECT %s, %s, %s, count(*) > {MOST_COMPARED} "  # noqa: S608
                f"FROM (SELECT 1 FROM {VECTORS} WHERE dimension = %s AND leg >= 0 LIMIT {MOST_COMPARED + 1}) AS v "
                "ON CONFLICT (bank, dimension) "
                "DO UPDATE SET mark = excluded.mark, change = excluded.change, large = excluded.large",
                (place.dimension, head.mark, head.change, place.dimension),
            )

    def put(self, place: BankPlace, points: Sequence[Point]) -> None:
        for start in range(0, len(points), _AT_ONCE):
            part = points[start : start + _AT_ONCE]
            rows = [row for point in part for row in _rows(place, point)]
            with self._begun(place, writing=True) as connection:
                self._remove(connection, place, [point.key for point in part])
                statement = _INSERT.format(extension=self._known().extension)
                with connection.cursor() as cursor:
                    cursor.executemany(cast("Any", statement), rows)

    def remove(self, place: BankPlace, keys: Sequence[int]) -> None:
        if keys:
            with self._begun(place, writing=True) as connection:
                self._remove(connection, place, keys)

    def stamps(self, place: BankPlace) -> Iterator[tuple[int, str]]:
        with self._begun(place) as connection:
            found = _run(
                connection,
                f"SELECT DISTINCT ON (key) key, stamp FROM {VECTORS} WHERE dimension = %s ORDER BY key",  # noqa: S608
                (place.dimension,),
            )
        for key, stamp in found:
            yield cast(int, key), str(stamp)

    def drop(self, place: BankPlace, *, others: bool = False) -> None:
        kept = place.dimension if others else 0
        with self._begun(place, writing=True) as connection:
            for table in TABLES:
                _run(connection, f"DELETE FROM {table} WHERE dimension <> %s", (kept,))  # noqa: S608 - constant names

    def close(self) -> None:
        self._pool.leave()

    def _named(self, connection: psycopg.Connection[Row], place: BankPlace, near: Near, *, large: bool) -> Named:
        """Return the best of one wish: by the graph where that finds enough, else of all rows of the bank."""
        known = self._known()
        by_graph = large and place.dimension in known.graphs
        found: Sequence[Row] = self._best(connection, known, place, near, by_graph=True) if by_graph else ()
        if len(found) < near.limit:
            found = self._best(connection, known, place, near, by_graph=False)
        least = -max((cast(float, row[1]) for row in found), default=0.0)
        return Named([cast(int, row[0]) for row in found], least if len(found) == near.limit else None)

    def _best(
        self, connection: psycopg.Connection[Row], known: _Database, place: BankPlace, near: Near, *, by_graph: bool
    ) -> Sequence[Row]:
        column = f"vector::{known.extension}.vector({place.dimension})" if by_graph else "vector"
        distance = f"{column} OPERATOR({known.extension}.<#>) %(vector)s::{known.extension}.vector"
        where, values = _conditions(near.condition)
        if by_graph:
            effort = min(_MOST_EFFORT, max(_LEAST_EFFORT, 2 * near.limit))
            _run(
                connection,
                f"SET LOCAL hnsw.iterative_scan = relaxed_order; SET LOCAL hnsw.ef_search = {effort}; "
                "SET LOCAL enable_sort = off",
            )
        # Lengths and legs are spelled out: a graph is used only where the statement names what it is of.
        return _run(
            connection,
            f"SELECT key, {distance} AS distance FROM {VECTORS} WHERE dimension = {place.dimension} "  # noqa: S608
            f"AND leg = {VECTOR_LEGS.index(near.leg)} AND {where} ORDER BY {distance} LIMIT %(limit)s",
            {**values, "vector": _text(near.vector), "limit": near.limit},
        )

    def _remove(self, connection: psycopg.Connection[Row], place: BankPlace, keys: Sequence[int]) -> None:
        legs = ", ".join(map(str, range(-1, len(VECTOR_LEGS))))
        _run(
            connection,
            f"DELETE FROM {VECTORS} WHERE dimension = %s AND leg IN ({legs}) AND key = ANY(%s::bigint[])",  # noqa: S608
            (place.dimension, cast("Any", list(keys))),
        )

    def _heads(self, connection: psycopg.Connection[Row], place: BankPlace) -> Sequence[Row]:
        return _run(
            connection,
            f"SELECT mark, change, large FROM {HEADS} WHERE dimension = %s",  # noqa: S608 - a constant name
            (place.dimension,),
        )

    @contextmanager
    def _begun(self, place: BankPlace, *, writing: bool = False) -> Iterator[psycopg.Connection[Row]]:
        """Give a transaction of a bank, committed when the block ends without an error.

        Raises:
            StoreUnavailable: When the database does not answer, refuses, or has no tables for vectors.
        """
        try:
            self._known()
            owner = self._owner(place)
            limits = self._pool.limits
            begin = owner.begin_indexing(limits) if writing else owner.begin(READ_STATE, limits)
            with self._pool.begun(begin, writing=writing) as connection, translated(self.shown):
                yield connection
                connection.execute("COMMIT")
        except (StoreUnavailable, ConfigurationError):
            raise
        except BankError as error:
            # Its number may be that of a bank which somebody has removed and made anew.
            self._banks.pop(place.bank, None)
            raise StoreUnavailable(f"the vector index failed: {error}", hint=DOWN_HINT) from error

    def _owner(self, place: BankPlace) -> BankOwner:
        """Return whose rows those of a bank are; of one that does not exist there are none."""
        tenant = tenant_key(place.scope.tenant)
        known = self._banks.get(place.bank)
        if known is None:
            with (
                self._pool.begun(BankOwner(tenant, 0).begin("READ ONLY", self._pool.limits)) as connection,
                translated(self.shown),
            ):
                rows = _run(connection, "SELECT id FROM banks WHERE place = %s", (place_key(place.scope),))
            if not rows:
                return BankOwner(tenant, 0)
            known = cast(int, rows[0][0])
            with self._lock:
                if len(self._banks) >= _CACHED_BANKS:
                    self._banks.clear()
                self._banks[place.bank] = known
        return BankOwner(tenant, known)

    def _known(self) -> _Database:
        if self._database is None:
            with self._pool.begun("BEGIN READ ONLY") as connection, translated(self.shown):
                found = _run(connection, _KNOWN_SQL)
            tables = [str(name) for name in cast("Sequence[str]", found[0][1] or ())] if found else []
            if VECTORS not in tables:
                raise ConfigurationError(f"{self.shown}: the database has no tables for vectors", hint=INIT_HINT)
            lengths = [name.split("_")[2] for name in tables if name.endswith("_0")]
            self._database = _Database(str(found[0][0]), frozenset(int(each) for each in lengths if each.isdigit()))
        return self._database


def _run(
    connection: psycopg.Connection[Row], sql: str, values: Sequence[Value] | Mapping[str, Value] = ()
) -> Sequence[Row]:
    return cursor_rows(connection, sql, values)


def _rows(place: BankPlace, point: Point) -> list[tuple[object, ...]]:
    """Return the rows of a memory, one for each leg that it has a vector in."""
    fields = point.fields
    shared = (
        point.key,
        *(fields[name] for name in ("consolidated", "confidence", "created", "state", "outcome", "standing")),
        digest(str(fields["category"])),
        [digest(tag) for tag in cast("Sequence[str]", fields["tags"])],
        point.stamp,
    )
    vectors: dict[int, str | None] = {VECTOR_LEGS.index(leg): _text(each) for leg, each in point.vectors.items()}
    return [(place.dimension, leg, *shared, text) for leg, text in (vectors or {-1: None}).items()]


def _text(vector: NDArray[Any]) -> str:
    return json.dumps(vector.tolist())


def _conditions(condition: Filter) -> tuple[str, dict[str, Any]]:
    """Return a filter as the rows know it, and its values."""
    after, before = condition.created_after, condition.created_before
    compared: Mapping[str, object] = {
        "outcome =": condition.outcome,
        "consolidated =": condition.consolidated,
        "category =": None if condition.category is None else digest(condition.category),
        "confidence >=": condition.min_confidence,
        "confidence <": condition.below_confidence,
        "created >=": None if after is None else to_microseconds(after),
        "created <": None if before is None else to_microseconds(before),
    }
    parts, values = ["state = ANY(%(states)s::text[])"], cast("dict[str, Any]", {"states": list(condition.states)})
    for number, (name, value) in enumerate(compared.items()):
        if value is not None:
            parts.append(f"{name} %(c{number})s")
            values[f"c{number}"] = value
    if condition.categories is not None:
        parts.append("category = ANY(%(categories)s::text[])")
        values["categories"] = [digest(each) for each in condition.categories]
    if condition.tags:
        parts.append("tags @> %(tags)s::text[]")
        values["tags"] = [digest(tag) for tag in condition.tags]
    return " AND ".join(parts), values

"""Connections to a PostgreSQL database: how they spell statements, what a transaction begins with, what errors mean."""

from __future__ import annotations

import atexit
import itertools
import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from reasoningbank.errors import (
    BankError,
    ConfigurationError,
    InvalidInput,
    ScopeViolation,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreTooNew,
    StoreUnavailable,
)
from reasoningbank.settings import shown_url
from reasoningbank.storage import schema
from reasoningbank.storage.connection import statements_of
from reasoningbank.storage.locks import ThreadTurn
from reasoningbank.storage.postgres_url import Limits, postgres_url
from reasoningbank.storage.rows import WEIGHT_COLUMNS, Row, Value
from reasoningbank.storage.sqlite_connection import PART, TEXT_INDEXES
from reasoningbank.storage.unit import ERASURE

if TYPE_CHECKING:
    import psycopg


SCHEMA = "reasoningbank"
"""The schema of a database in which all banks are."""
LOCKS = 0x52424E4B << 32
"""Advisory locks: this one of whoever changes the schema, and behind it one for each bank."""
INDEX_LOCKS = LOCKS + (1 << 31)
"""Behind this, one for the index of vectors of each bank."""
INIT_HINT = "Run `rbank database init ADMIN_URL` once, and open banks with the URL that it prints."
_SERVER_HINT = "Check that the server runs and can be reached; what was acknowledged is safe."
_BATCH = 500


# --- How statements and values are spelled ---------------------------------------------------------------------------

_NUMBERED_PLACE = re.compile(r"\?(\d)")
_CONFLICT = re.compile(r"\bON CONFLICT \((?=\w)")
_HINT = re.compile(r" INDEXED BY \w+")
_CROSS = re.compile(r"\bCROSS JOIN (?=\w+ AS \w+ ON\b)")


def spelled(sql: str) -> str:
    """Return a statement of the tables in PostgreSQL's own words (``reasoningbank.storage.database`` lists them)."""
    return _spelled_once(sql) if len(sql) <= _LONGEST_KEPT else _spelled(sql)


def _spelled(sql: str) -> str:
    sql = _CONFLICT.sub("ON CONFLICT (bank, ", sql).replace("AS INTEGER)", "AS bigint)").replace("%", "%%")
    sql = _CROSS.sub("JOIN ", _HINT.sub("", sql))
    return _NUMBERED_PLACE.sub(r"%(p\1)s", sql).replace("?", "%s")


_LONGEST_KEPT = 4_096
"""Longer statements hold many rows of values, and seldom come again."""
_spelled_once = lru_cache(maxsize=1_024)(_spelled)


def kept(text: str) -> str:
    """Return a text as it is stored: PostgreSQL takes no NUL. Stored texts have the order of the texts.

    NUL becomes U+0001 U+0001, and U+0001 becomes U+0001 U+0002.
    """
    return text.replace("\x01", "\x01\x02").replace("\x00", "\x01\x01")


def given_back(text: str) -> str:
    """Return the inverse of ``kept``."""
    return text.replace("\x01\x01", "\x00").replace("\x01\x02", "\x01")


class _Statements(NamedTuple):
    """What is run, one statement after another, for one statement of a search; all get the same values."""

    each: Sequence[str]


@cache
def _searches() -> Mapping[str, _Statements]:
    """Return what is run for those statements of a search that use what SQLite alone has."""
    from reasoningbank.storage import search_sql

    since = search_sql.since_sql("json_array_elements(?5::json) AS w (value)", "json_each_text(w.value -> 2) AS f")
    facts = (
        f"SELECT NULL, 'standing', CAST(version AS text), {WEIGHT_COLUMNS} FROM schema_version "  # noqa: S608 - constant columns
        "LEFT JOIN weight_history ON number = (SELECT max(number) FROM weight_history) "
        f"UNION ALL SELECT NULL, name, CAST(value AS text){_NO_WEIGHTS} FROM counters "
        f"UNION ALL SELECT NULL, name, value{_NO_WEIGHTS} FROM meta"
    )
    look = (
        "SELECT NULL, NULL, key FROM deletions WHERE change > (SELECT change FROM known)",
        search_sql.CHANGED_COLUMNS_SQL,
        search_sql.CHANGED_VECTORS_SQL,
    )
    traces = search_sql.TRACES_SQL.replace(
        "json_each(chosen.body, '$.strategies')", "texts_in(chosen.body::json ->> 'strategies')"
    )
    postings = {
        search_sql.POSTINGS_SQL.format(index.vocabulary, index.occurrences, read): _Statements(
            (_POSTINGS.format(index=index.table, occurrences=occurrences),)
        )
        for index in TEXT_INDEXES.values()
        for read, occurrences in ((search_sql.KEYS, _KEYS), (search_sql.PLACES, _PLACES))
    }
    return {
        **postings,
        search_sql.LOOK_SQL: _Statements((facts, *(spelled(since + part) for part in look))),
        search_sql.TRACES_SQL: _Statements((spelled(traces),)),
        search_sql.TRACE_VECTORS_SQL: _Statements(tuple(map(spelled, search_sql.TRACE_PARTS))),
    }


_NO_WEIGHTS = ", NULL" * (WEIGHT_COLUMNS.count(",") + 1)
_KEYS = "string_agg(o.key::text, ',' ORDER BY o.key)"
_PLACES = f"{_KEYS} || ';' || string_agg(p.place::text, ',' ORDER BY o.key, p.place)"
_POSTINGS = """
WITH words AS MATERIALIZED (
    SELECT w.place - 1 AS place, w.value ->> 0 AS term, coalesce((w.value ->> 1)::bigint, (
        SELECT count(*) FROM {index}_words AS v WHERE v.term = kept_term(w.value ->> 0)
    )) AS documents
    FROM json_array_elements(%(p1)s::json) WITH ORDINALITY AS w (value, place)
), spent AS MATERIALIZED (
    SELECT place, term, documents,
        sum(documents) OVER (ORDER BY place >= %(p3)s, documents, place ROWS UNBOUNDED PRECEDING) AS postings
    FROM words
)
SELECT term, documents, CASE
    WHEN documents > 0 AND (postings <= %(p2)s OR postings = documents) AND (place < %(p3)s OR documents <= %(p4)s)
    THEN (
        SELECT {occurrences} FROM {index}_words AS o, unnest(o.places) AS p (place) WHERE o.term = kept_term(spent.term)
    )
END
FROM spent ORDER BY place
"""
"""As ``search_sql.POSTINGS_SQL``."""


# --- Connections -----------------------------------------------------------------------------------------------------


def connected(url: str) -> psycopg.Connection[Row]:
    """Open a connection that begins and ends its transactions by itself.

    Raises:
        ConfigurationError: When the extra is not installed, or the URL says something that PostgreSQL does not know.
        StoreUnavailable: When the server cannot be reached.
    """
    driver = _driver()
    place = postgres_url(url)
    try:
        connection = driver.connect(
            place.server,
            autocommit=True,
            prepare_threshold=None,
            client_encoding="utf8",
            connect_timeout=max(2, round(place.connect_seconds)),
            application_name="reasoningbank",
        )
    except (driver.ProgrammingError, ValueError) as error:
        # What the driver says of a URL that it cannot read may hold its password.
        raise ConfigurationError(
            f"the URL of {shown_url(url)} cannot be read",
            hint="Write it as postgresql://USER:PASSWORD@HOST:PORT/DATABASE.",
        ) from error
    except driver.OperationalError as error:
        raise StoreUnavailable(
            f"{shown_url(url)} cannot be reached: {_first_line(error)}", hint=_SERVER_HINT
        ) from error
    for adapter in _adapters():
        adapter(connection)
    return cast("psycopg.Connection[Row]", connection)


def _driver() -> Any:
    try:
        import psycopg
    except ImportError as error:
        raise ConfigurationError(
            "PostgreSQL needs the extra `postgres`", hint="Run: pip install 'psycopg[binary,pool]'."
        ) from error
    return psycopg


@cache
def _adapters() -> Sequence[Any]:
    """Return what makes a connection keep texts as ``kept`` says, and give sums as whole numbers."""
    from psycopg.adapt import Buffer, Dumper, Loader
    from psycopg.pq import Format

    class KeptText(Dumper):
        def dump(self, obj: str) -> bytes:
            return (kept(obj) if "\x00" in obj or "\x01" in obj else obj).encode()

    class GivenBack(Loader):
        def load(self, data: Buffer) -> str:
            text = bytes(data).decode()
            return given_back(text) if "\x01" in text else text

    class GivenBackBinary(GivenBack):
        format = Format.BINARY

    class WholeNumber(Loader):
        def load(self, data: Buffer) -> int | float:
            text = bytes(data).decode()
            return float(text) if "." in text else int(text)

    def adapt(connection: Any) -> None:
        connection.adapters.register_dumper(str, KeptText)
        for loader in (GivenBack, GivenBackBinary):
            connection.adapters.register_loader("text", loader)
        connection.adapters.register_loader("numeric", WholeNumber)

    return (adapt,)


def cursor_rows(
    connection: psycopg.Connection[Any], sql: str, values: Sequence[Value] | Mapping[str, Value]
) -> list[Row]:
    """Return the rows of a statement in PostgreSQL's own words; none of one that gives none."""
    cursor = connection.execute(cast("Any", sql), values)
    return cast("list[Row]", cursor.fetchall()) if cursor.description is not None else []


class ConnectionPool:
    """The connections of this process to one database, lent for a transaction at a time.

    There are as many for readers as for writers: whoever writes may read through another connection meanwhile.

    Args:
        url: With the role that works with banks.

    Attributes:
        url: The same.
        place: What it says.
        limits: How long a transaction may take.
        position: The position in the log of the database up to which this process has seen it, where that matters;
            None when it is not known.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.place = postgres_url(url)
        self.limits = self.place.limits
        self.position: int | None = 0
        self._places = {writing: threading.BoundedSemaphore(self.place.connections) for writing in (False, True)}
        self._lock = threading.Lock()
        self._idle: list[psycopg.Connection[Row]] = []
        self._users = 0
        self._turns: dict[int, ThreadTurn] = {}
        self._greeted = False

    @contextmanager
    def used(self) -> Iterator[None]:
        """Keep connections open for as long as the block runs."""
        self.join()
        try:
            yield
        finally:
            self.leave()

    def join(self) -> None:
        """Count one who will need connections."""
        with self._lock:
            self._users += 1

    def leave(self) -> None:
        """Close what is idle when nobody is left."""
        with self._lock:
            self._users -= 1
            idle, self._idle = (self._idle, []) if self._users <= 0 else ([], self._idle)
        for connection in idle:
            connection.close()

    def turn(self, bank: int, name: str) -> ThreadTurn:
        """Return the turn of the threads of this process that write to a bank."""
        with self._lock:
            return self._turns.setdefault(bank, ThreadTurn(name))

    @contextmanager
    def begun(self, begin: str, *, writing: bool = False) -> Iterator[psycopg.Connection[Row]]:
        """Lend a connection on which these statements were run; a transaction that is still open then is taken back.

        Raises:
            StoreBusy: When none becomes free.
        """
        places = self._places[writing]
        if not places.acquire(timeout=self.limits.lock):
            raise StoreBusy(
                f"all {self.place.connections} connections to {self.place.shown} are in use",
                hint="Try again; ?pool= in the URL allows more of them.",
            )
        try:
            connection = self._begun(begin)
            try:
                yield connection
            finally:
                self._give_back(connection)
        finally:
            places.release()

    def seen(self, connection: psycopg.Connection[Row]) -> None:
        """Remember the position in the log up to which a connection shows the database."""
        [(position,)] = cursor_rows(connection, POSITION, ())
        with self._lock:
            self.position = max(self.position or 0, int(cast(int, position)))

    def _begun(self, begin: str) -> psycopg.Connection[Row]:
        """Return a connection in a transaction; one that was idle may have lost its server, and then a new one."""
        while connection := self._taken():
            try:
                connection.execute(cast("Any", begin))
            except _driver().Error as error:
                broken = connection.broken or connection.closed
                connection.close()
                if not broken:
                    raise failure(shown_url(self.url), error) from error
            else:
                return connection
        connection = connected(self.url)
        try:
            if not self._greeted:
                self._greet(connection)
                self._greeted = True
            connection.execute(cast("Any", begin))
        except _driver().Error as error:
            connection.close()
            raise failure(shown_url(self.url), error) from error
        except BaseException:
            connection.close()
            raise
        return connection

    def _taken(self) -> psycopg.Connection[Row] | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _give_back(self, connection: psycopg.Connection[Row]) -> None:
        status = _driver().pq.TransactionStatus
        if connection.info.transaction_status in {status.INTRANS, status.INERROR}:
            with suppress(_driver().Error):
                connection.execute("ROLLBACK")
        with self._lock:
            if self._users > 0 and connection.info.transaction_status == status.IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def _greet(self, connection: psycopg.Connection[Row]) -> None:
        """Refuse a role that policies do not hold for, and a database without banks or of another version.

        Raises:
            ConfigurationError: When the role could get around the policies.
            StoreUnavailable: When the database was not prepared, or for an earlier version.
            StoreTooNew: When a newer version has prepared it.
        """
        place = shown_url(self.url)
        [(above, name)] = cursor_rows(connection, _POWERS, ())
        if above:
            raise ConfigurationError(
                f"{name!r} could get around the separation of tenants in {place}: do not work with this role",
                hint=INIT_HINT,
            )
        if not cursor_rows(connection, f"SELECT to_regclass('{SCHEMA}.schema_version')::text", ())[0][0]:
            raise StoreUnavailable(f"{place} was not prepared for banks", hint=INIT_HINT)
        version = int(cast(int, cursor_rows(connection, _VERSION, ())[0][0]))
        if version < len(schema.MIGRATIONS):
            raise StoreUnavailable(
                f"{place} has schema {version}, and this version needs {len(schema.MIGRATIONS)}", hint=INIT_HINT
            )
        if version > len(schema.MIGRATIONS):
            raise StoreTooNew(f"{place} has schema {version}; this version knows up to {len(schema.MIGRATIONS)}")


POSITION = "SELECT (pg_current_wal_lsn() - '0/0')::bigint"
_VERSION = f"SELECT version FROM {SCHEMA}.schema_version"  # noqa: S608 - a constant name
_POWERS = f"""
SELECT EXISTS (SELECT 1 FROM pg_roles AS r WHERE (r.rolsuper OR r.rolbypassrls) AND pg_has_role(r.oid, 'MEMBER'))
    OR EXISTS (
        SELECT 1 FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
        WHERE n.nspname = '{SCHEMA}' AND pg_has_role(c.relowner, 'MEMBER')
    ), current_user::text
"""  # noqa: S608 - a constant name
"""Whether policies do not hold for the user, or it could switch them off."""


_pools: dict[str, ConnectionPool] = {}
_pools_lock = threading.Lock()


def pool_of(url: str) -> ConnectionPool:
    """Return the pool of a URL: one for the whole process."""
    with _pools_lock:
        if not _pools:
            atexit.register(_close_pools)
        return _pools.setdefault(url, ConnectionPool(url))


def _close_pools() -> None:
    for pool in _pools.values():
        pool.leave()


# --- Errors ----------------------------------------------------------------------------------------------------------

_FULL = {"53100"}
_BUSY = {"55P03", "57014", "53300", "40001", "40P01"}
_GONE = {"57P01", "57P02", "57P03"}
_CORRUPT = {"XX001", "XX002", "42P01", "42703", "42883", "3F000"}
_REFUSED = {"42501", "28000", "28P01", "25006"}


@contextmanager
def translated(place: str) -> Iterator[None]:
    """Turn what the driver raises into our errors."""
    try:
        yield
    except BankError:
        raise
    except (_driver().Error, UnicodeError, OverflowError, ValueError, TypeError) as error:
        raise failure(place, error) from error


def failure(place: str, error: Exception) -> BankError:
    """Return our error for one of the driver's, or of a value that it cannot take.

    Args:
        place: What it is about, for people.
        error: What was raised.
    """
    driver = _driver()
    if isinstance(error, BankError):
        return error
    if not isinstance(error, driver.Error):
        return InvalidInput(f"a value does not fit the store: {error}")
    code, said = getattr(error, "sqlstate", None) or "", _first_line(error)
    if code in _FULL:
        return StoreFull(f"no space is left on the server of {place}; what was acknowledged is safe")
    if code in _BUSY:
        return StoreBusy(f"{place} is busy: {said}", hint="Try again.")
    if code in _CORRUPT:
        return StoreCorrupt(f"{place} has lost a part: {said}")
    if code == "42501" and "row-level security" in said:
        return ScopeViolation(f"the row belongs to another tenant or bank: {said}")
    if code in _REFUSED:
        return StoreUnavailable(f"{place} cannot be used: {said}", hint=INIT_HINT)
    if code == "23505":
        return InvalidInput(f"it is stored already: {said}")
    if code[:2] in {"22", "23", "54"} or isinstance(error, driver.DataError):
        return InvalidInput(f"a value does not fit the store: {said}")
    if code in _GONE or code[:2] == "08" or (not code and isinstance(error, driver.OperationalError)):
        return StoreUnavailable(f"the connection to {place} was lost: {said}", hint=_SERVER_HINT)
    return StoreError(f"{place}: {type(error).__name__}: {said}")


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0]


# --- One transaction -------------------------------------------------------------------------------------------------


class BankOwner(NamedTuple):
    """Whose rows a transaction sees: the tenant, and one of its banks."""

    tenant: str
    bank: int

    def begin(self, mode: str, limits: Limits) -> str:
        """Return what begins a transaction; nothing of it outlives the transaction."""
        return (
            f"BEGIN {mode}; SET LOCAL search_path = {SCHEMA}, pg_temp; SET LOCAL jit = off; "
            f"SET LOCAL statement_timeout = '{round(limits.statement * 1_000)}ms'; "
            f"SET LOCAL lock_timeout = '{round(limits.lock * 1_000)}ms'; "
            f"SET LOCAL reasoningbank.tenant = '{self.tenant}'; SET LOCAL reasoningbank.bank = '{self.bank}'"
        )

    def begin_writing(self, limits: Limits) -> str:
        """Return the same for a transaction that writes: under the bank's lock, and durable when it is committed."""
        return (
            f"{self.begin('READ WRITE', limits)}; SET LOCAL synchronous_commit = on; "
            f"SELECT pg_advisory_xact_lock({LOCKS + self.bank}); SAVEPOINT begun"
        )

    def begin_indexing(self, limits: Limits) -> str:
        """Return the same for a transaction that writes to the index of the bank's vectors, under a lock of its own."""
        return f"{self.begin('READ WRITE', limits)}; SELECT pg_advisory_xact_lock({INDEX_LOCKS + self.bank})"


READ_ONE, READ_STATE = "READ ONLY", "ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_states = itertools.count(-1, -1)


class PostgresSource:
    """The rows of one transaction, with the engine's errors in our words.

    Args:
        place: What it is about, for people.
        project: The project of every memory.
        connection: In a transaction of the bank.
        bank: The bank, where the transaction writes.
    """

    schema_sql = "(SELECT version FROM schema_version)"

    def __init__(self, place: str, project: str, connection: psycopg.Connection[Row], bank: int = 0) -> None:
        self.project = project
        self._place = place
        self._connection = connection
        self._bank = bank
        self._written = 0

    @property
    def state(self) -> int:
        """How many transactions have written to the bank; for who only reads a new number every time."""
        return self._written or next(_states)

    def begun_on(self, connection: psycopg.Connection[Row]) -> PostgresSource:
        """Go on with the connection of another transaction that writes."""
        self._connection = connection
        [(written,)] = self.run("SELECT written FROM banks WHERE id = ?", (self._bank,))
        self._written = cast(int, written) + 1
        return self

    @property
    def in_transaction(self) -> bool:
        return bool(self._connection.info.transaction_status != _driver().pq.TransactionStatus.IDLE)

    def begin(self) -> None:
        """Do nothing: the transaction was begun with the bank's lock, and keeps it when its first write fails."""

    def run(self, sql: str, values: Sequence[Value] = ()) -> Sequence[Row]:
        if sql == "ROLLBACK":
            sql = "ROLLBACK TO begun"
        elif sql == "COMMIT":
            return self._commit()
        found: list[Row] = []
        with translated(self._place):
            own = _searches().get(sql) if len(values) else None
            if own is None:
                return self._rows(spelled(sql), values)
            for statement in own.each:
                found += self._rows(statement, values)
        return found

    def _commit(self) -> Sequence[Row]:
        """Make everything durable; what was deleted is for the server's own cleaning."""
        with translated(self._place):
            self._connection.execute(
                cast(
                    "Any",
                    f"DELETE FROM meta WHERE name = '{ERASURE}'; "  # noqa: S608 - a constant and a number
                    f"UPDATE banks SET written = written + 1 WHERE id = {self._bank}; COMMIT",
                )
            )
        self._written += 1
        return []

    def _rows(self, sql: str, values: Sequence[Value]) -> Sequence[Row]:
        return cast("Sequence[Row]", cursor_rows(self._connection, sql, _given(sql, values)))

    def run_each(self, sql: str, rows: Sequence[Row]) -> Sequence[Row]:
        """Run one statement with each of these rows of values; return all that it gives."""
        parts = statements_of(sql, rows) or [(sql, list(row)) for row in rows]
        return [row for statement, values in parts for row in self.run(statement, values)]

    def parts(self, sql: str, values: Sequence[Value] = ()) -> Iterator[Sequence[Row]]:
        """Yield the rows of one statement part by part."""
        own = _searches().get(sql)
        for statement in (spelled(sql),) if own is None else own.each:
            yield from self._parts(statement, values)

    def _parts(self, sql: str, values: Sequence[Value]) -> Iterator[Sequence[Row]]:
        with translated(self._place), self._connection.cursor(name="parts") as cursor:
            cursor.execute(cast("Any", sql), _given(sql, values))
            while rows := cursor.fetchmany(PART):
                yield rows

    def first_read(self, sql: str, values: Sequence[Value] = ()) -> Iterator[Sequence[Row]]:
        """Yield the rows of a statement in parts; the first part is empty, and by then the state is fixed."""
        with translated(self._place):
            self._connection.execute("SELECT 1")
        yield []
        yield from self.parts(sql, values)

    def claim(self, sql: str, values: Sequence[Value]) -> Sequence[Row]:
        """Return the rows that no other transaction has claimed."""
        return self.run(f"{sql} FOR UPDATE SKIP LOCKED", values)

    def index_text(self, table: str, column: str) -> None:
        """Refuse: the schema belongs to an administrator."""
        raise StoreUnavailable(f"the index of {column} in {table} is made with the schema", hint=INIT_HINT)

    def index_words(self, table: str, first: int, last: int) -> None:
        from reasoningbank.storage.text_search import places_of, size_of

        index = TEXT_INDEXES[table]
        sizes: list[Row] = []
        words: list[tuple[str, int, list[int]]] = []
        for key, text in self.run(
            f"SELECT key, {index.column} FROM {table} WHERE key BETWEEN ? AND ? ORDER BY key",  # noqa: S608 - constant
            (first, last),
        ):
            found = places_of(cast(str, text))
            sizes.append((key, size_of(sum(map(len, found.values())))))
            words += [(term, cast(int, key), places) for term, places in found.items()]
        if sizes:
            self.run_each(f"INSERT INTO {index.table}_docsize VALUES (?, ?)", sizes)  # noqa: S608 - constant table
        if words:
            listed = json.dumps([[term, key, places] for term, key, places in words])
            self.run(
                f"INSERT INTO {index.table}_words (term, key, places) SELECT kept_term(w ->> 0), (w ->> 1)::bigint, "  # noqa: S608
                "ARRAY(SELECT p::integer FROM json_array_elements_text(w -> 2) AS p) "
                "FROM json_array_elements(?::json) AS w",
                (listed,),
            )

    def forget_words(self, table: str, key: int) -> None:
        from reasoningbank.storage.text_search import places_of

        index = TEXT_INDEXES[table]
        for (text,) in self.run(f"SELECT {index.column} FROM {table} WHERE key = ?", (key,)):  # noqa: S608 - constant
            self.run(
                f"DELETE FROM {index.table}_words WHERE key = ? AND term IN "  # noqa: S608 - constant table
                "(SELECT kept_term(value) FROM texts_in(?))",
                (key, json.dumps(list(places_of(cast(str, text))))),
            )
        self.run(f"DELETE FROM {index.table}_docsize WHERE id = ?", (key,))  # noqa: S608 - constant table

    def prepare_words(self, table: str) -> None:
        """Do nothing: words are rows."""


def _given(sql: str, values: Sequence[Value]) -> Sequence[Value] | Mapping[str, Value]:
    """Return values by their numbers where the statement has these, and none where it takes none."""
    if "%(p" in sql:
        return {f"p{number}": value for number, value in enumerate(values, 1)}
    return values if "%s" in sql else ()

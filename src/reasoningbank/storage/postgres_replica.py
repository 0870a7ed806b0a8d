"""Reads from a copy of a PostgreSQL database that follows it: only where it holds what this process has seen."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, cast

from reasoningbank.errors import BankError
from reasoningbank.storage.postgres_connection import ConnectionPool, cursor_rows, pool_of, translated
from reasoningbank.storage.rows import Row

if TYPE_CHECKING:
    import psycopg

REST_SECONDS = 5.0
"""So long a replica is not asked again after it has failed."""
_REPLAYED = "SELECT CASE WHEN pg_is_in_recovery() THEN (pg_last_wal_replay_lsn() - '0/0')::bigint END"
_log = logging.getLogger(__name__)


class ReadPool:
    """Lends connections that read: of the replica where it has come far enough, else of the database itself.

    A search never shows an older state than one that this process has written or searched before. The position in the
    log of the database that this needs is kept with the database's own connections, which every bank shares.

    Args:
        primary: The connections of the database.
        replica: Those of the replica; None for none.
    """

    def __init__(self, primary: ConnectionPool, replica: ConnectionPool | None) -> None:
        self._primary = primary
        self._replica = replica
        self._rests_until = 0.0

    @contextmanager
    def begun(self, begin: str) -> Iterator[psycopg.Connection[Row]]:
        """Lend a connection on which these statements were run."""
        if self._replica is None:
            with self._primary.begun(begin) as connection:
                yield connection
            return
        with ExitStack() as stack:
            connection = self._from_replica(begin, self._replica, stack) or self._from_primary(begin, stack)
            yield connection

    def written(self, connection: psycopg.Connection[Row]) -> None:
        """Remember the position of what a connection has just committed, where a replica must have come that far."""
        if self._replica is not None:
            try:
                with translated(self._primary.place.shown):
                    self._primary.seen(connection)
            except BankError:
                # What was committed is durable all the same; until the position is known no replica is asked.
                self._primary.position = None

    def _from_replica(self, begin: str, replica: ConnectionPool, stack: ExitStack) -> psycopg.Connection[Row] | None:
        """Return a connection in a transaction of the replica; None when it does not answer or lags."""
        wanted = self._primary.position
        if wanted is None or time.monotonic() < self._rests_until:
            return None
        trying = stack.enter_context(ExitStack())
        try:
            # Before the transaction: the state of that is fixed by its first statement.
            connection = trying.enter_context(replica.begun(_REPLAYED))
            with translated(replica.place.shown):
                [(position,)] = cursor_rows(connection, _REPLAYED, ())
                if position is not None and cast(int, position) >= wanted:
                    connection.execute(begin.encode())
                    return connection
            failure = "" if position is not None else "it is no replica"
        except BankError as error:
            failure = str(error)
        trying.close()
        if failure:
            self._rests_until = time.monotonic() + REST_SECONDS
            _log.warning("The database itself is read instead of its replica %s: %s.", replica.place.shown, failure)
        return None

    def _from_primary(self, begin: str, stack: ExitStack) -> psycopg.Connection[Row]:
        """Return a connection of the database, and remember the position of what it shows."""
        connection = stack.enter_context(self._primary.begun(begin))
        with translated(self._primary.place.shown):
            self._primary.seen(connection)
        return connection


_reads: dict[str, ReadPool] = {}
_making = threading.Lock()


def reads_of(primary: ConnectionPool) -> ReadPool:
    """Return what lends connections that read a database: one for the whole process."""
    with _making:
        if primary.url not in _reads:
            url = primary.place.replica
            replica = pool_of(url) if url else None
            if replica is not None:
                replica.join()
            _reads[primary.url] = ReadPool(primary, replica)
        return _reads[primary.url]

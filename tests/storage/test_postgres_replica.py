"""Searches that read a replica of PostgreSQL: never older than what the process has seen, and never in its way."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pytest

from postgres_servers import PostgresServer, why_none
from promises import promise
from reasoningbank.errors import ConfigurationError, StoreBusy
from reasoningbank.storage import open_storage
from reasoningbank.storage.postgres_url import Limits, postgres_url
from reasoningbank.storage.store import Store
from reasoningbank.types.scope import Scope
from storage.contract.base import EVERYTHING, fill, indexed, lesson

SCOPE = Scope(tenant="acme", project="shop")


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[PostgresServer, PostgresServer]]:
    """A server with a database for banks, and its replica."""
    if reason := why_none():
        pytest.skip(reason)
    primary = PostgresServer(durable=True)
    try:
        primary.role()
        replica = PostgresServer(durable=True, of=primary)
        try:
            yield primary, replica
        finally:
            replica.stop()
    finally:
        primary.stop()


def url_of(primary: PostgresServer, replica: PostgresServer) -> str:
    """The URL of the banks with their replica."""
    copied = quote(replica.url("prepared", primary.role()), safe="")
    return f"{primary.url('prepared', primary.role())}&replica={copied}"


def found(store: Store) -> int:
    """How many memories a search finds."""
    return len(store.search.matching("kiwi", EVERYTHING, 999).hits)


@promise(
    "postgres:replica",
    "With a read replica a search shows all that its process has written and searched before: it reads the replica "
    "where that has come far enough, else the database itself; a replica that is down is a warning in the log and no "
    "error.",
    source="issue 15 read replica",
)
def test_a_search_reads_the_replica_that_holds_what_it_wrote(
    servers: tuple[PostgresServer, PostgresServer], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    primary, replica = servers
    monkeypatch.setattr("reasoningbank.storage.postgres_replica.REST_SECONDS", 0.0)
    url = url_of(primary, replica)
    with closing(open_storage(url, home=Path("unused")).open(SCOPE)) as store:
        for number in range(20):
            fill(store, [(lesson(f"m{number}"), indexed("kiwi"))])
            assert found(store) == number + 1
        waited = primary.told("SELECT pg_current_wal_lsn()")
        while replica.told(f"SELECT pg_last_wal_replay_lsn() >= '{waited}'") != "True":
            pass
        primary.kill()
        assert found(store) == 20
        primary.start()
        replica.told("SELECT pg_wal_replay_pause()")
        fill(store, [(lesson("m20"), indexed("kiwi"))])
        assert found(store) == 21
        replica.told("SELECT pg_wal_replay_resume()")
        assert not caplog.records
        replica.kill()
        with caplog.at_level(logging.WARNING):
            assert found(store) == 21
        assert "instead of its replica" in caplog.text
        fill(store, [(lesson("m21"), indexed("kiwi"))])
        replica.start()
        assert found(store) == 22


@promise(
    "postgres:limits",
    "The URL of a PostgreSQL database says how many connections a process has and how long statements, locks and "
    "connecting may take; what makes no sense is refused by name, and no password is shown.",
    source="issue 15 PostgreSQL",
)
def test_a_url_says_limits_and_a_replica() -> None:
    read = postgres_url(
        "postgresql://me:secret@db/x?pool=3&statement_timeout=1.5&lock_timeout=2&connect_timeout=4&sslmode=require"
        "&replica=postgresql%3A%2F%2Fme%3Asecret%40copy%2Fx"
    )
    assert (read.connections, read.connect_seconds, read.limits) == (3, 4.0, Limits(statement=1.5, lock=2.0))
    assert read.server == "postgresql://me:secret@db/x?sslmode=require"
    assert read.replica == "postgresql://me:secret@copy/x"
    assert "secret" not in read.shown
    for option in ("pool=0", "pool=many", "statement_timeout=-1", "lock_timeout=0", "replica=http%3A%2F%2Fcopy"):
        with pytest.raises(ConfigurationError) as refused:
            postgres_url(f"postgresql://me:secret@db/x?{option}")
        assert refused.value.hint and "secret" not in str(refused.value)


@promise("postgres:limits")
def test_a_statement_a_lock_and_a_connection_end_in_time(servers: tuple[PostgresServer, PostgresServer]) -> None:
    primary, _ = servers
    url = f"{primary.url('prepared', primary.role())}&statement_timeout=3&lock_timeout=0.2&pool=1"
    with closing(open_storage(url, home=Path("unused")).open(SCOPE)) as store:
        database = store.database
        with pytest.raises(StoreBusy, match="statement timeout"):
            database.run("SELECT pg_sleep(60)")
        other = f"{primary.url('prepared', primary.role())}&pool=2"
        with (
            closing(open_storage(other, home=Path("unused")).open(SCOPE)) as second,
            second.transaction(),
            pytest.raises(StoreBusy, match="lock timeout"),
            store.transaction(),
        ):
            pass
        with database.search([EVERYTHING]), pytest.raises(StoreBusy, match="all 1 connections"):
            database.run("SELECT 1")

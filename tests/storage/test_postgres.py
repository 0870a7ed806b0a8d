"""What PostgreSQL alone owes: tenants apart by the database itself, servers that come and go, and the same answers."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from postgres_servers import PostgresServer, shared_server, why_none
from postgres_writers import writers_at_work
from promises import promise
from reasoningbank.errors import ConfigurationError, StoreUnavailable
from reasoningbank.storage import open_storage
from reasoningbank.storage.postgres_connection import pool_of
from reasoningbank.storage.rows import LAST, LEGS_PER_KEY
from reasoningbank.storage.search_sql import LOOK_SQL
from reasoningbank.storage.sqlite_memory import ProcessStorage
from reasoningbank.storage.store import Store
from reasoningbank.types.memory import Memory
from reasoningbank.types.recall import CONTENT_LEG, DESCRIPTION_LEG, Filter
from reasoningbank.types.records import Indexed, Pool
from reasoningbank.types.scope import Scope
from storage.contract.base import EAST, EVERYTHING, fill, indexed, lesson, vector

psycopg = pytest.importorskip("psycopg")
HOME = Path("unused")
MINE, THEIRS = Scope(tenant="acme", project="shop"), Scope(tenant="evil", project="shop")
WORDS = ("retry", "network", "Retries", "cache", "index", "na\u00efve", "x" * 300, "42")
SCORES = 1e-3


@pytest.fixture
def url() -> Iterator[str]:
    """An empty database for banks."""
    with shared_server().place() as place:
        yield place


def opened(url: str, scope: Scope = MINE) -> Store:
    """The store of a scope."""
    return open_storage(url, home=HOME).open(scope)


def tables(connection: Any) -> list[str]:
    """Every table that the role may read, but for the version of the schema."""
    rows = connection.execute(
        "SELECT c.relname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace "
        "WHERE n.nspname = 'reasoningbank' AND c.relkind = 'r' AND c.relname <> 'schema_version' ORDER BY 1"
    ).fetchall()
    return [row[0] for row in rows]


@promise(
    "postgres:no-tenant",
    "In PostgreSQL every table of banks has forced row-level security: as the role that works with banks, raw SQL "
    "without a tenant reads no row and writes none.",
    source="issue 15 Isolation",
)
def test_raw_sql_without_a_tenant_reads_and_writes_nothing(url: str) -> None:
    for scope in (MINE, THEIRS):
        with closing(opened(url, scope)) as store:
            fill(store, [(replace(lesson("m1"), project=scope.project), indexed("kiwi"))])
    with psycopg.connect(url, autocommit=True) as raw:
        raw.execute("SET search_path = reasoningbank")
        names = tables(raw)
        assert {"memories", "banks", "signals", "jobs", "vectors", "memory_text_words", "numbers"} <= set(names)
        for name in names:
            assert raw.execute(f"SELECT count(*) FROM {name}").fetchone() == (0,), name
            assert raw.execute(f"DELETE FROM {name}").rowcount == 0, name
            flags = raw.execute(
                "SELECT relrowsecurity, relforcerowsecurity FROM pg_class WHERE oid = %s::regclass", (name,)
            ).fetchone()
            assert flags == (True, True), name
        for statement in (
            "INSERT INTO meta VALUES ('a', 'b')",
            "INSERT INTO vectors VALUES (1, 'a', 'b')",
            "INSERT INTO banks (place, owner, level, project) VALUES ('a', 'b', 'project', 'c')",
        ):
            with pytest.raises(psycopg.errors.Error):
                raw.execute(statement)
        for statement in (
            "ALTER TABLE memories NO FORCE ROW LEVEL SECURITY",
            "ALTER TABLE memories DISABLE ROW LEVEL SECURITY",
            "DROP POLICY own ON memories",
            "CREATE TABLE reasoningbank.other (a int)",
            "UPDATE schema_version SET version = 99",
            "SET row_security = off; SELECT * FROM memories",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                raw.execute(statement)
    for scope in (MINE, THEIRS):
        with closing(opened(url, scope)) as store:
            assert store.memories.count(EVERYTHING) == 1


@promise(
    "postgres:forged-tenant",
    "A tenant that sets itself as another one's bank, or writes another tenant's or bank's number into a row, reaches "
    "no row of it.",
    source="issue 15 Isolation",
)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_forged_tenant_reaches_nothing(shared_place: str, data: st.DataObject) -> None:
    mine, theirs = opened(shared_place, MINE), opened(shared_place, THEIRS)
    tenants = {"mine": mine._database.owner.tenant, "theirs": theirs._database.owner.tenant}  # type: ignore[attr-defined]
    banks = {"mine": mine._database.owner.bank, "theirs": theirs._database.owner.bank}  # type: ignore[attr-defined]
    mine.close()
    theirs.close()
    forged = data.draw(st.sampled_from([banks["theirs"], 0, -1, 2**40, None]), label="bank")
    with psycopg.connect(shared_place) as raw:
        raw.execute("SET search_path = reasoningbank")
        raw.execute("SELECT set_config('reasoningbank.tenant', %s, true)", (tenants["mine"],))
        raw.execute("SELECT set_config('reasoningbank.bank', %s, true)", ("" if forged is None else str(forged),))
        for name in tables(raw):
            if name != "banks":
                assert raw.execute(f"SELECT count(*) FROM {name}").fetchone() == (0,), name
        assert {row[0] for row in raw.execute("SELECT id FROM banks").fetchall()} == {banks["mine"]}
        bank = banks[data.draw(st.sampled_from(["mine", "theirs"]), label="row's bank")]
        tenant = tenants[data.draw(st.sampled_from(["mine", "theirs"]), label="row's tenant")]
        with pytest.raises(psycopg.errors.Error):
            raw.execute("INSERT INTO meta (name, value, tenant, bank) VALUES ('x', 'y', %s, %s)", (tenant, bank))
        raw.rollback()


@pytest.fixture(scope="module")
def shared_place() -> Iterator[str]:
    """A database with a bank of each of two tenants."""
    with shared_server().place() as place:
        for scope in (MINE, THEIRS):
            with closing(opened(place, scope)) as store:
                fill(store, [(replace(lesson("m1"), project=scope.project), indexed("kiwi"))])
        yield place


@promise(
    "postgres:names",
    "Whatever a name, an id, a tag or a word holds, NUL and quotes included, finds and changes rows of its own tenant "
    "alone, by its vectors and words, too.",
    source="issue 15 Isolation",
)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.text(min_size=1, max_size=20).filter(lambda text: bool(text.strip()))
    | st.sampled_from(
        ["' OR 1=1 --", "%", "\x00", "\x01\x00", "$1", "%s", "?", "\\u0000", '"', "acme", "reasoningbank.tenant"]
    )
)
def test_no_text_reaches_another_tenant(shared_place: str, text: str) -> None:
    with closing(opened(shared_place, Scope(tenant=f"{text} ", project="shop"))) as store:
        name = text if text.isprintable() else "other"
        other = replace(lesson("m1"), id=name, title=text, tags=(text,), project="shop")
        fill(store, [(other, indexed(text))])
        assert store.memories.many([name]) == {name: other}
        assert name == "m1" or store.memories.many(["m1"]) == {}
        assert [memory.id for memory in store.memories.page(Filter(tags=(text,)), limit=0, offset=0)] == [name]
        for condition in (EVERYTHING, Filter(tags=(text,))):
            assert [hit.id for hit in store.search.nearest(CONTENT_LEG, vector(*EAST), condition, 9)] == [name]
        assert {hit.id for hit in store.search.matching("kiwi", EVERYTHING, 9).hits} <= {name}
        with store.transaction() as transaction:
            transaction.memories.delete(name)
    for scope in (MINE, THEIRS):
        with closing(opened(shared_place, scope)) as store:
            assert [memory.id for memory in store.memories.page(EVERYTHING, limit=0, offset=0)] == ["m1"]
            assert store.memories.count(Filter(tags=(text,))) == 0
            assert [hit.id for hit in store.search.nearest(CONTENT_LEG, vector(*EAST), EVERYTHING, 9)] == ["m1"]


@promise(
    "postgres:powerful-role",
    "The URL of a superuser, or of a role that owns the tables or gets around policies, is refused for work.",
    source="issue 15 PostgreSQL",
)
def test_a_superuser_is_refused_for_work(url: str) -> None:
    server = shared_server()
    database = url.rpartition("/")[2].partition("?")[0]
    with pytest.raises(ConfigurationError, match="get around"):
        opened(server.url(database))
    with psycopg.connect(server.url(), autocommit=True) as admin:
        admin.execute("CREATE ROLE seer LOGIN BYPASSRLS")
        admin.execute("CREATE ROLE member LOGIN IN ROLE seer")
    for name in ("seer", "member"):
        with pytest.raises(ConfigurationError, match="get around"):
            opened(server.url(database, name))
    with pytest.raises(StoreUnavailable, match="not prepared"):
        opened(server.url(server.created(), server.role()))


INIT = "import sys; from reasoningbank.cli import main; main(['database', 'init', sys.argv[1], '--json'])"


@promise(
    "postgres:init-together",
    "Ten processes that prepare one database at the same time all succeed, and it is prepared once.",
    source="issue 15 PostgreSQL",
)
def test_ten_processes_prepare_one_database() -> None:
    server = shared_server()
    admin = server.url(server.created())
    running = [
        subprocess.Popen([sys.executable, "-c", INIT, admin], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(10)
    ]
    answers = [process.communicate(timeout=240) for process in running]
    assert [process.returncode for process in running] == [0] * 10, answers
    assert sum('"made": true' in out for out, _ in answers) == 1
    with psycopg.connect(admin) as connection:
        assert connection.execute("SELECT count(*) FROM reasoningbank.schema_version").fetchone() == (1,)
        assert connection.execute("SELECT count(*) FROM reasoningbank.banks").fetchone() == (0,)
    role = shared_server().url(
        admin.rpartition("/")[2].partition("?")[0], f"reasoningbank_{admin.rpartition('/')[2].partition('?')[0]}"
    )
    with closing(opened(role)) as store:
        fill(store, [lesson("m1")])
        assert store.check().problems == ()


@promise(
    "postgres:no-session-state",
    "Nothing outlives a transaction on a connection to PostgreSQL: no setting, lock, cursor or prepared statement, so "
    "that a proxy may lend connections for a transaction at a time.",
    source="issue 15 PostgreSQL",
)
def test_nothing_outlives_a_transaction_on_a_connection(url: str) -> None:
    with closing(opened(url)) as store:
        for number in range(12):
            fill(store, [(lesson(f"m{number}"), indexed("kiwi"))])
            assert store.search.matching("kiwi", EVERYTHING, 99).documents == number + 1
        pool = pool_of(url)
        seen = 0
        while connection := pool._taken():
            with connection:
                for name in ("reasoningbank.tenant", "reasoningbank.bank"):
                    assert connection.execute("SELECT current_setting(%s, true)", (name,)).fetchone() in {
                        ("",),
                        (None,),
                    }
                for what in (
                    "pg_prepared_statements",
                    "pg_cursors WHERE name <> ''",
                    "pg_locks WHERE locktype = 'advisory'",
                ):
                    assert connection.execute(f"SELECT count(*) FROM {what}").fetchone() == (0,)
                assert connection.execute("SELECT count(*) FROM reasoningbank.memories").fetchone() == (0,)
            seen += 1
        assert seen


@promise(
    "postgres:server-killed",
    "When the PostgreSQL server is killed and started again under load, no acknowledged write is lost, writers hear of "
    "it by StoreUnavailable, and go on by themselves.",
    source="issue 15 Faults",
)
def test_a_killed_server_loses_no_acknowledged_write() -> None:
    if reason := why_none():
        pytest.skip(reason)
    server = PostgresServer(durable=True)
    try:
        with closing(opened(server.url("prepared", server.role()))) as store:
            with writers_at_work(store, 4) as writers:
                for _ in range(3):
                    writers.wait_for_more(8)
                    server.kill()
                    server.start()
                writers.wait_for_more(8)
            writers.check_nothing_is_lost()
    finally:
        server.stop()


def derived(chance: random.Random) -> Indexed:
    """Words and vectors by chance."""
    words = chance.choices(WORDS, k=chance.choice((0, 3, 12)))
    begin = chance.randint(0, len(words))
    return Indexed(
        text=" ".join(words),
        model_id="random/8",
        vectors={
            leg: numpy.array([chance.gauss(0, 1) for _ in range(8)], dtype=numpy.float32)
            for leg in (CONTENT_LEG, DESCRIPTION_LEG)
        },
        context=(begin, len(words) - begin),
    )


def memory(number: int, chance: random.Random) -> Memory:
    """A memory whose filter columns are by chance."""
    return replace(
        lesson(f"m{number}"),
        outcome=cast("Any", chance.choice(["success", "failure"])),
        category=chance.choice(["", "network", "cache"]),
        tags=tuple(chance.sample(["a", "b", "na\u00efve", '"', "\x00", "%"], k=chance.randint(0, 3))),
        state=cast("Any", chance.choice(["active", "candidate", "archived"])),
    )


FILTERS = st.builds(
    Filter,
    outcome=st.none() | st.sampled_from(["success", "failure"]),
    category=st.none() | st.sampled_from(["network", "cache", "none"]),
    tags=st.lists(st.sampled_from(["a", "na\u00efve", '"', "\x00", "%"]), max_size=2, unique=True).map(tuple),
    min_confidence=st.none() | st.floats(0, 1),
    below_confidence=st.none() | st.floats(0, 1),
)


@promise(
    "postgres:same-answers",
    "SQLite and PostgreSQL with the same memories give the same ids in the same order, with scores within 1e-3, for "
    "every filter, leg and text.",
    source="issue 15 It must show",
)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 2**32),
    conditions=st.lists(FILTERS, min_size=1, max_size=3),
    text=st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join),
    steps=st.integers(1, 4),
)
def test_both_engines_give_the_same_answers(
    shared_place: str, seed: int, conditions: list[Filter], text: str, steps: int
) -> None:
    scope = Scope(tenant="same", project=f"shop {uuid.uuid4()}")
    with closing(ProcessStorage().open(scope)) as first, closing(opened(shared_place, scope)) as second:
        for step in range(steps):
            for store in (first, second):
                _change(store, random.Random(seed + step), step, scope.project)
            chance = random.Random(seed)
            query = numpy.array([chance.gauss(0, 1) for _ in range(8)], dtype=numpy.float32)
            for condition in conditions:
                assert first.memories.count(condition) == second.memories.count(condition)
                pages = [store.memories.page(condition, limit=9, offset=1) for store in (first, second)]
                assert pages[0] == pages[1]
                for answers in (
                    [store.search.nearest(CONTENT_LEG, query, condition, 5) for store in (first, second)],
                    [store.search.matching(text, condition, 9, "retry the").hits for store in (first, second)],
                    [store.search.matching_context(text, condition, 9).hits for store in (first, second)],
                ):
                    _same(*answers)
            pools = [Pool(condition=condition, dense=4, lexical=4) for condition in conditions]
            for one, two in zip(
                *(store.search.candidates(query, text, pools, "the cache") for store in (first, second)), strict=True
            ):
                _same(one.lexical.hits, two.lexical.hits)
                assert one.lexical.terms == two.lexical.terms
                assert {leg: set(found) for leg, found in one.dense.items()} == {
                    leg: set(found) for leg, found in two.dense.items()
                }
        assert second.check().problems == ()


HELD: tuple[list[tuple[int, int, dict[str, str]]], ...] = (
    [],
    [(0, 2, {})],
    [(0, 1, {"model_id": "random/8"}), (1, 3, {"model_id": "another"})],
    [(0, 3, {}), (1, 4, {"dimension": "8", "missing": ""}), (2, -1, {})],
)


@promise("postgres:same-answers")
@pytest.mark.parametrize("known", [-1, 0, 2, 3, 99])
@pytest.mark.parametrize("held", HELD)
def test_a_look_at_a_bank_reads_the_same_rows_in_both_engines(
    shared_place: str, known: int, held: list[tuple[int, int, dict[str, str]]]
) -> None:
    scope = Scope(tenant="same", project=f"shop {uuid.uuid4()}")
    with closing(ProcessStorage().open(scope)) as first, closing(opened(shared_place, scope)) as second:
        for store in (first, second):
            for step in range(2):
                _change(store, random.Random(step), step, scope.project)
        for last in (1, 2):
            whole, again = (_looked(store, known, last, held) for store in (first, second))
            assert whole == again
            assert bool(whole[2]) is (known < 4 or known == 99)
        assert _looked(second, known, 1, held, bank="another") == _looked(second, -1, 1, held)


def _looked(
    store: Any, known: int, last: int, held: list[tuple[int, int, dict[str, str]]], bank: str = ""
) -> tuple[set[str], list[int], list[Any], list[Any]]:
    """The names of what a bank says of itself, the keys that are gone, and the rows of columns and of vectors."""
    [(name,)] = store._database.run("SELECT value FROM meta WHERE name = 'bank'")
    rows = store._database.run(LOOK_SQL, (known, LEGS_PER_KEY, last, bank or f"{name} ", json.dumps(held)))
    facts = [row for row in rows if row[0] is None]
    others = [row for row in rows if row[0] is not None and row[0] != LAST]
    columns, vectors = ([row for row in others if (row[1] is None) is kind] for kind in (False, True))
    assert [*facts, *columns, *vectors] == [row for row in rows if row[0] != LAST]
    assert all([row[0] for row in part] == sorted(row[0] for row in part) for part in (columns, vectors))
    gone = sorted(row[2] for row in facts if row[1] is None)
    return {row[1] for row in facts if row[1]} - {"checksums"}, gone, columns, sorted(row[:5] for row in vectors)


def _same(one: Any, two: Any) -> None:
    assert [hit.id for hit in one] == [hit.id for hit in two]
    assert [hit.score for hit in one] == pytest.approx([hit.score for hit in two], abs=SCORES)


def _change(store: Store, chance: random.Random, step: int, project: str) -> None:
    """Stores, changes and deletes memories: the same in every store by the same chance."""
    with store.transaction() as transaction:
        for number in range(step * 10, step * 10 + 10):
            transaction.memories.insert(replace(memory(number, chance), project=project), derived(chance))
    with store.transaction() as transaction:
        for number in chance.sample(range(step * 10, step * 10 + 10), 3):
            transaction.memories.update(replace(memory(number, chance), project=project), derived(chance))
        transaction.memories.delete(f"m{step * 10 + chance.randrange(10)}")

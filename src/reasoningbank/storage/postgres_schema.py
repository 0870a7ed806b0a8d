"""The schema of a PostgreSQL database that many banks share: one set of tables whose rows say whose they are.

The migrations are those of every engine. Here a table gets two more columns, the tenant and the bank of each row, which
are also in front of each key, each reference and each index. Both have as default what the transaction was given, and a
row-level policy shows and takes no row of any other tenant or bank; it holds for the owner of the tables too. Whoever
works with banks has a role that owns nothing and cannot get around policies. Without a tenant nothing is readable and
nothing can be written.

What needs the rights of an administrator is done here, by ``rbank database init``, and nothing else is.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit, urlunsplit

from reasoningbank.errors import ConfigurationError, StoreTooNew, StoreUnavailable
from reasoningbank.storage import schema
from reasoningbank.storage.pgvector_schema import DIMENSION, prepare_vectors
from reasoningbank.storage.postgres_connection import LOCKS, SCHEMA, connected, cursor_rows, spelled, translated
from reasoningbank.storage.rows import Row, Value
from reasoningbank.storage.sqlite_connection import TEXT_INDEXES

if TYPE_CHECKING:
    import psycopg

OLDEST_SERVER = 150_000
"""PostgreSQL 15: views that check the rights of whoever reads them."""
_TEMPLATE = "00000000-0000-0000-0000-000000000000"
"""The tenant of a bank that is there only while the schema changes: migrations write the first rows of a bank."""
_NEW_TEMPLATE = "INSERT INTO banks (place, owner, level, project) VALUES ('', '', '', '') RETURNING id"
_LONGEST_NAME = 63
_COLUMNS = (
    "tenant uuid NOT NULL DEFAULT own_tenant()",
    "bank bigint NOT NULL DEFAULT own_bank()",
    "FOREIGN KEY (tenant, bank) REFERENCES banks (tenant, id) ON DELETE CASCADE",
)
_USE = f"SET LOCAL search_path = {SCHEMA}, pg_temp"
_BEGIN = """
CREATE TABLE schema_version (version bigint NOT NULL);
INSERT INTO schema_version VALUES (0);

CREATE FUNCTION own_tenant() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
    RETURN nullif(current_setting('reasoningbank.tenant', true), '')::uuid;
CREATE FUNCTION own_bank() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
    RETURN nullif(current_setting('reasoningbank.bank', true), '')::bigint;

CREATE TABLE banks (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant uuid NOT NULL DEFAULT own_tenant(),
    place text NOT NULL,
    owner text NOT NULL,
    level text NOT NULL,
    project text NOT NULL,
    written bigint NOT NULL DEFAULT 0,
    UNIQUE (tenant, place),
    UNIQUE (tenant, id)
);
ALTER TABLE banks ENABLE ROW LEVEL SECURITY;
ALTER TABLE banks FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON banks USING (tenant = (SELECT own_tenant()));

CREATE FUNCTION texts_in(listed text) RETURNS TABLE (value text) LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 10 AS $$
    SELECT json_array_elements_text(CASE WHEN strpos(listed, '\\u000') = 0 THEN listed ELSE
        replace(replace(replace(listed, '\\\\', '\\u005c'), '\\u0001', '\\u0001\\u0002'), '\\u0000', '\\u0001\\u0001')
    END::json)
$$;
CREATE FUNCTION numbers_in(listed text) RETURNS TABLE (value bigint) LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 10 AS $$
    SELECT number::bigint FROM json_array_elements_text(listed::json) AS number
$$;
CREATE FUNCTION kept_term(term text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN length(term) <= 200 THEN term ELSE encode(sha256(convert_to(term, 'UTF8')), 'hex') END;
"""
"""What all tables need; ``texts_in`` keeps texts as the engine keeps them (``postgres.kept``)."""
_TOKENS = """
CREATE TABLE IF NOT EXISTS tokens (
    tenant uuid NOT NULL DEFAULT own_tenant(),
    sha256 text NOT NULL,
    id text NOT NULL,
    owner text NOT NULL,
    scopes text NOT NULL,
    name text NOT NULL,
    team text NOT NULL,
    org text NOT NULL,
    created text NOT NULL,
    PRIMARY KEY (tenant, sha256)
);
ALTER TABLE tokens ENABLE ROW LEVEL SECURITY;
ALTER TABLE tokens FORCE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS own ON tokens;
CREATE POLICY own ON tokens USING (tenant = (SELECT own_tenant()));
"""
"""The tokens of servers; a token says which tenant it is of, and is looked for among the rows of that one alone."""
_NUMBERS = """
CREATE TABLE numbers (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
"""
_NEXT_NUMBER = """
CREATE FUNCTION next_number(wanted text) RETURNS bigint LANGUAGE sql VOLATILE SET search_path FROM CURRENT AS $$
    INSERT INTO numbers (name, value) VALUES (wanted, 1)
    ON CONFLICT (bank, name) DO UPDATE SET value = numbers.value + 1 RETURNING value
$$;
"""
"""Numbers rows of a bank one after another; none is ever given out twice."""
_WORDS = """
CREATE TABLE {index}_docsize (id INTEGER PRIMARY KEY REFERENCES {table} ON DELETE CASCADE, sz BLOB NOT NULL);
CREATE TABLE {index}_words (
    term TEXT NOT NULL,
    key INTEGER NOT NULL,
    places PLACES NOT NULL,
    PRIMARY KEY (term, key)
);
"""
"""The words of the texts of a table: how many each has, as SQLite's FTS5 keeps it, and where each stands."""
_TYPES = {
    r"\bTEXT\b": 'text COLLATE "C"',
    r"\bINTEGER\b": "bigint",
    r"\bREAL\b": "double precision",
    r"\bBLOB\b": "bytea",
    r"\bPLACES\b": "integer[]",
}
_IDENTITY = "INTEGER GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY"
_NUMBERED = "INTEGER PRIMARY KEY"
_REFERENCE = re.compile(r" REFERENCES (\w+)( ON DELETE CASCADE)?")
_KEY = re.compile(r"(PRIMARY KEY|UNIQUE) \((.*)\)")
_TABLE = re.compile(r"CREATE TABLE (\w+) \((.*)\)", re.DOTALL)
_INDEX = re.compile(r"(CREATE INDEX \w+ ON \w+ \()")
_VIEW = re.compile(r"(CREATE VIEW \w+ \([^)]*\)) AS\b")


def table_sql(name: str, body: str) -> str:
    """Return the definition of a table that all banks share, and of whose rows each of them sees its own.

    Args:
        name: Its name.
        body: Its columns and constraints, as the table is defined for one bank.
    """
    parts: list[str] = []
    constraints: list[str] = []
    for part in re.split(r",\s*(?![^()]*\))", body.strip()):
        if key := _KEY.fullmatch(part):
            constraints.append(f"{key[1]} (bank, {key[2]})")
            continue
        column, definition = part.split(" ", 1)
        reference = _REFERENCE.search(definition)
        if reference is not None:
            definition = definition.replace(reference[0], "")
            constraints.append(f"FOREIGN KEY (bank, {column}) REFERENCES {reference[1]}{reference[2] or ''}")
        if definition in {_IDENTITY, _NUMBERED}:
            given = "" if reference is not None else f" DEFAULT next_number('{name}')"
            definition = f"INTEGER NOT NULL{given}"
            constraints.append(f"PRIMARY KEY (bank, {column})")
        for word in ("PRIMARY KEY", "UNIQUE"):
            if definition.endswith(f" {word}"):
                definition = definition.removesuffix(f" {word}") + (" NOT NULL" if word == "PRIMARY KEY" else "")
                constraints.append(f"{word} (bank, {column})")
        parts.append(f"{column} {_typed(definition)}")
    listed = ",\n    ".join([*parts, *_COLUMNS, *constraints])
    return (
        f"CREATE TABLE {name} (\n    {listed}\n);\n"
        f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY;\n"
        f"ALTER TABLE {name} FORCE ROW LEVEL SECURITY;\n"
        f"CREATE POLICY own ON {name} "
        "USING (bank = (SELECT own_bank()) AND tenant = (SELECT own_tenant()))"
    )


def shared(sql: str) -> str:
    """Return one definition of a bank's schema as that of a schema that many banks share; others as they are run."""
    if table := _TABLE.fullmatch(sql):
        return table_sql(table[1], table[2])
    if sql.startswith("CREATE INDEX"):
        return _INDEX.sub(r"\1bank, ", sql)
    if sql.startswith("CREATE VIEW"):
        return _VIEW.sub(r"\1 WITH (security_invoker = true) AS", sql)
    return _typed(sql) if sql.startswith("ALTER TABLE") else spelled(sql)


def _typed(definition: str) -> str:
    for word, kind in _TYPES.items():
        definition = re.sub(word, kind, definition)
    return definition


class SchemaWriter:
    """Runs migrations for all banks of a database. The Writer port, but for what only a bank's transactions need.

    Args:
        connection: An administrator's, in a transaction.
    """

    project = ""
    schema_sql = "(SELECT version FROM schema_version)"
    state = 0
    in_transaction = True

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection

    def run(self, sql: str, values: Sequence[Value] = ()) -> Sequence[Row]:
        if values:
            return cursor_rows(self._connection, shared(sql), values)
        rows: Sequence[Row] = ()
        for statement in filter(None, (part.strip() for part in sql.split(";"))):
            rows = cursor_rows(self._connection, shared(statement), ())
        return rows

    def run_each(self, sql: str, rows: Sequence[Row]) -> Sequence[Row]:
        return [row for values in rows for row in self.run(sql, values)]

    def begin(self) -> None:
        """Do nothing: the transaction of the whole change is open."""

    def claim(self, sql: str, values: Sequence[Value]) -> Sequence[Row]:
        return self.run(sql, values)

    def index_text(self, table: str, column: str) -> None:  # noqa: ARG002 - the words come from the engine
        self.run(_WORDS.format(index=TEXT_INDEXES[table].table, table=table))

    def index_words(self, table: str, first: int, last: int) -> None:
        """Do nothing: a migration writes no words."""

    def forget_words(self, table: str, key: int) -> None:
        """Do nothing: a migration removes no words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedDatabase:
    """What ``rbank database init`` has made.

    Attributes:
        url: What banks are opened with; it holds the role's password when that was made now.
        role: The role that works with banks.
        schema: How many migrations the database has had.
        made: Whether the role was made, or got a new password, now.
        vectors: What the database has for an index of vectors, or why it has none.
    """

    url: str
    role: str
    schema: int
    made: bool
    vectors: str


def prepare_database(url: str, *, new_password: bool = False, dimension: int = DIMENSION) -> PreparedDatabase:
    """Make or bring up to date the schema of a database for banks, and the role that works with them.

    Any number of processes may do so at once: one after another looks at what is missing.

    Args:
        url: ``postgresql://...`` with an administrator's name: who may make roles and schemas.
        new_password: Give a role that is there already a new password; the old one is refused from then on.
        dimension: The length of the vectors that get a graph of pgvector, where the server has that.

    Raises:
        ConfigurationError: When the URL is none of a PostgreSQL database, or vectors of that length have no graph.
        StoreUnavailable: When the server cannot be reached, is too old, or lets this user not do it.
        StoreTooNew: When a newer version has changed the schema.
    """
    with translated("the database"), connected(url) as connection:
        connection.execute("BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = '60s'")
        connection.execute(f"SELECT pg_advisory_xact_lock({LOCKS})")
        _check_server(connection)
        version = _migrate(connection)
        vectors = prepare_vectors(connection, dimension)
        role, password = _role(connection, new_password=new_password)
        connection.execute("COMMIT")
    return PreparedDatabase(
        url=_url(url, role, password), role=role, schema=version, made=bool(password), vectors=vectors
    )


def _check_server(connection: psycopg.Connection) -> None:
    version = connection.info.server_version
    if version < OLDEST_SERVER:
        raise StoreUnavailable(
            f"the server is PostgreSQL {version // 10_000}; banks need {OLDEST_SERVER // 10_000} or newer",
            hint="Upgrade the server.",
        )
    if connection.info.parameter_status("server_encoding") != "UTF8":
        raise StoreUnavailable(
            "the database does not keep text as UTF-8",
            hint="Create a database with ENCODING 'UTF8' TEMPLATE template0, and name that one.",
        )


def _migrate(connection: psycopg.Connection) -> int:
    """Apply what is missing; return how many migrations the database has had."""
    known = cursor_rows(connection, f"SELECT to_regclass('{SCHEMA}.schema_version') IS NOT NULL", ())[0][0]
    writer = SchemaWriter(connection)
    if not known:
        connection.execute(f"CREATE SCHEMA {SCHEMA}; {_USE}")
        connection.execute(_BEGIN)
        writer.run(_NUMBERS)
        connection.execute(_NEXT_NUMBER)
    connection.execute(_USE)
    connection.execute(_TOKENS)
    version = int(str(cursor_rows(connection, "SELECT version FROM schema_version", ())[0][0]))
    if version > len(schema.MIGRATIONS):
        raise StoreTooNew(f"the database has schema {version}; this version knows up to {len(schema.MIGRATIONS)}")
    if version < len(schema.MIGRATIONS):
        connection.execute(f"SET LOCAL reasoningbank.tenant = '{_TEMPLATE}'")
        [(template,)] = cursor_rows(connection, _NEW_TEMPLATE, ())
        connection.execute(f"SET LOCAL reasoningbank.bank = '{template!s}'")
        for migration in schema.MIGRATIONS[version:]:
            migration(writer)
        connection.execute("DELETE FROM banks WHERE place = ''")
        cursor_rows(connection, "UPDATE schema_version SET version = %s", (len(schema.MIGRATIONS),))
    return len(schema.MIGRATIONS)


def _role(connection: psycopg.Connection, *, new_password: bool) -> tuple[str, str]:
    """Make the role that works with banks and give it its rights; return its name and its password when that is new."""
    from psycopg import sql

    database = connection.info.dbname
    name = f"reasoningbank_{database}"
    if len(name.encode()) > _LONGEST_NAME:
        raise ConfigurationError(
            f"the name of the database {database!r} is too long to name a role by", hint="Use a shorter name."
        )
    role = sql.Identifier(name)
    known = bool(cursor_rows(connection, "SELECT 1 FROM pg_roles WHERE rolname = %s", (name,)))
    password = "" if known and not new_password else secrets.token_urlsafe(24)
    attributes = sql.SQL("LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOREPLICATION")
    if not known:
        connection.execute(sql.SQL("CREATE ROLE {} {} NOINHERIT").format(role, attributes))
    if password:
        connection.execute(sql.SQL("ALTER ROLE {} PASSWORD {}").format(role, sql.Literal(password)))
    connection.execute(sql.SQL("GRANT CONNECT ON DATABASE {} TO {}").format(sql.Identifier(database), role))
    for right in (
        f"USAGE ON SCHEMA {SCHEMA}",
        f"SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {SCHEMA}",
    ):
        connection.execute(sql.SQL(f"GRANT {right} TO {{}}").format(role))
    connection.execute(sql.SQL("REVOKE INSERT, UPDATE, DELETE ON schema_version FROM {}").format(role))
    return name, password


def _url(url: str, role: str, password: str) -> str:
    """Return the URL with another user."""
    parts = urlsplit(url)
    user = quote(role, safe="") + (f":{quote(password, safe='')}" if password else "")
    return urlunsplit(parts._replace(netloc=f"{user}@{parts.netloc.rpartition('@')[2]}"))

"""The tables of vectors in a PostgreSQL database that has pgvector; ``rbank database init`` makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reasoningbank.errors import ConfigurationError
from reasoningbank.storage.postgres_connection import SCHEMA, cursor_rows
from reasoningbank.types.recall import VECTOR_LEGS

if TYPE_CHECKING:
    import psycopg

EXTENSION = "vector"
OLDEST = (0, 8)
"""The first version of pgvector that goes on walking a graph where a condition leaves too few."""
DIMENSION = 384
"""The length of the vectors of the embedders that come with ReasoningBank."""
LONGEST = 2_000
"""Longer vectors have no graph in pgvector."""
HEADS, VECTORS = "index_heads", "index_vectors"
TABLES = (HEADS, VECTORS)

_TABLES = f"""
CREATE TABLE {HEADS} (
    tenant uuid NOT NULL DEFAULT own_tenant(),
    bank bigint NOT NULL DEFAULT own_bank(),
    dimension integer NOT NULL,
    mark text NOT NULL,
    change bigint NOT NULL,
    large boolean NOT NULL,
    PRIMARY KEY (bank, dimension),
    FOREIGN KEY (tenant, bank) REFERENCES banks (tenant, id) ON DELETE CASCADE
);
CREATE TABLE {VECTORS} (
    tenant uuid NOT NULL DEFAULT own_tenant(),
    bank bigint NOT NULL DEFAULT own_bank(),
    dimension integer NOT NULL,
    leg smallint NOT NULL,
    key bigint NOT NULL,
    consolidated boolean NOT NULL,
    confidence double precision NOT NULL,
    created bigint NOT NULL,
    state text COLLATE "C" NOT NULL,
    outcome text COLLATE "C" NOT NULL,
    standing text COLLATE "C" NOT NULL,
    category text COLLATE "C" NOT NULL,
    tags text[] COLLATE "C" NOT NULL,
    stamp text NOT NULL,
    vector {{extension}}.vector,
    PRIMARY KEY (bank, dimension, leg, key),
    FOREIGN KEY (tenant, bank) REFERENCES banks (tenant, id) ON DELETE CASCADE
);
ALTER TABLE {VECTORS} ALTER COLUMN vector SET STORAGE MAIN
"""
"""A memory without any vector has a row whose leg is -1. Vectors stay beside their rows where a page holds them."""
_POLICY = """
ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;
ALTER TABLE {table} FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON {table} USING (bank = (SELECT own_bank()) AND tenant = (SELECT own_tenant()))
"""
_GRAPH = f"""
CREATE INDEX IF NOT EXISTS {VECTORS}_{{dimension}}_{{leg}} ON {VECTORS}
USING hnsw ((vector::{{extension}}.vector({{dimension}})) {{extension}}.vector_ip_ops)
WHERE dimension = {{dimension}} AND leg = {{leg}}
"""
_OFFERED = f"SELECT default_version FROM pg_available_extensions WHERE name = '{EXTENSION}'"  # noqa: S608 - a constant
_INSTALLED = f"""
SELECT quote_ident(n.nspname), e.extversion
FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace WHERE e.extname = '{EXTENSION}'
"""  # noqa: S608 - a constant


def prepare_vectors(connection: psycopg.Connection, dimension: int = DIMENSION) -> str:
    """Make the tables and graphs of vectors where the server has pgvector; return what it has, or why there are none.

    Args:
        connection: An administrator's, in a transaction whose names are those of the schema for banks.
        dimension: The length of the vectors that get a graph; those of other lengths are compared one by one.

    Raises:
        ConfigurationError: When no graph can be made for this length.
    """
    import psycopg

    if not 0 < dimension <= LONGEST:
        raise ConfigurationError(
            f"pgvector has no graph for vectors of length {dimension}",
            hint=f"Give --dimension a number from 1 to {LONGEST}; other vectors are compared one by one.",
        )
    if not cursor_rows(connection, _INSTALLED, ()):
        if not cursor_rows(connection, _OFFERED, ()):
            return "none: the server has no pgvector"
        try:
            with connection.transaction():
                connection.execute(f"CREATE EXTENSION {EXTENSION} SCHEMA {SCHEMA}")
        except psycopg.errors.InsufficientPrivilege:
            return f"none: this user may not make the extension {EXTENSION}"
    extension, version = map(str, cursor_rows(connection, _INSTALLED, ())[0])
    numbers = tuple(int(each) for each in version.split(".")[:2])
    if numbers < OLDEST:
        return f"none: pgvector is {version}, and {'.'.join(map(str, OLDEST))} is needed"
    if cursor_rows(connection, f"SELECT to_regclass('{SCHEMA}.{VECTORS}') IS NULL", ())[0][0]:
        cursor_rows(connection, _TABLES.format(extension=extension), ())
        for table in TABLES:
            cursor_rows(connection, _POLICY.format(table=table), ())
    for leg in range(len(VECTOR_LEGS)):
        cursor_rows(connection, _GRAPH.format(extension=extension, dimension=dimension, leg=leg), ())
    return f"pgvector {version}"

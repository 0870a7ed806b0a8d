"""The tokens of servers in a PostgreSQL database: rows of their tenants, apart from each other as all rows are."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import cast
from uuid import UUID

from reasoningbank.settings import shown_url
from reasoningbank.storage.postgres import tenant_key
from reasoningbank.storage.postgres_connection import READ_ONE, BankOwner, PostgresSource, pool_of, translated
from reasoningbank.storage.rows import Row, Value
from reasoningbank.types.access import Access, BearerToken
from reasoningbank.types.scope import Membership

_COLUMNS = "id, sha256, owner, scopes, name, team, org, created"
_SPACE = " "


class PostgresTokens:
    """The TokenRegister port over one database.

    Args:
        url: ``postgresql://...`` with the role that works with banks.
    """

    def __init__(self, url: str) -> None:
        self._pool = pool_of(url)
        self._pool.join()

    def tokens(self, tenant: str) -> list[BearerToken]:
        sql = f"SELECT {_COLUMNS} FROM tokens ORDER BY created, id"  # noqa: S608 - constant columns
        return [_token(row) for row in self._asked(tenant_key(tenant), sql)]

    def found(self, place: str, sha256: str) -> BearerToken | None:
        sql = f"SELECT {_COLUMNS} FROM tokens WHERE sha256 = ?"  # noqa: S608 - constant columns
        rows = self._asked(str(UUID(place)), sql, (sha256,))
        return _token(rows[0]) if rows else None

    def add(self, token: BearerToken) -> None:
        self._changed(
            token.tenant,
            "INSERT INTO tokens (id, sha256, owner, scopes, name, team, org, created) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
            (
                token.id,
                token.sha256,
                token.tenant,
                _SPACE.join(token.scopes),
                token.name,
                token.membership.team,
                token.membership.org,
                token.created.isoformat() if token.created else "",
            ),
        )

    def revoke(self, tenant: str, token_id: str) -> bool:
        return bool(self._changed(tenant, "DELETE FROM tokens WHERE id = ? RETURNING id", (token_id,)))

    def _asked(self, tenant: str, sql: str, values: Sequence[Value] = ()) -> Sequence[Row]:
        with self._pool.begun(BankOwner(tenant, 0).begin(READ_ONE, self._pool.limits)) as connection:
            return PostgresSource(shown_url(self._pool.url), "", connection).run(sql, values)

    def _changed(self, tenant: str, sql: str, values: Sequence[Value]) -> Sequence[Row]:
        place = shown_url(self._pool.url)
        begin = BankOwner(tenant_key(tenant), 0).begin("READ WRITE", self._pool.limits)
        with self._pool.begun(begin, writing=True) as connection:
            rows = PostgresSource(place, "", connection).run(sql, values)
            with translated(place):
                connection.execute("COMMIT")
        return rows


def _token(row: Row) -> BearerToken:
    token_id, sha256, owner, scopes, name, team, org, created = row
    return BearerToken(
        id=str(token_id),
        sha256=str(sha256),
        tenant=str(owner),
        scopes=cast("tuple[Access, ...]", tuple(str(scopes).split(_SPACE))),
        name=str(name),
        membership=Membership(team=str(team), org=str(org)),
        created=datetime.fromisoformat(str(created)) if created else None,
    )

"""What a writer must know of a bank before it writes, read again only when somebody else has written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from reasoningbank.storage.connection import ConnectionSource
from reasoningbank.storage.failures import decoding

_STANDING_SQL = (
    "SELECT 'schema', user_version FROM pragma_user_version UNION ALL SELECT name, value FROM counters "
    "UNION ALL SELECT name, value FROM meta WHERE name IN ('model_id', 'dimension')"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The bank as the last transaction left it.

    Attributes:
        schema: How many migrations the file has had.
        change: The number of the last transaction that changed memories.
        key: The last key given out.
        space: The model and the dimension of the bank's vectors; empty when it has none yet.
    """

    schema: int
    change: int
    key: int
    space: Mapping[str, str]


class Standings:
    """The standing that one connection knows; good for as long as the file's data version stays the same."""

    def __init__(self) -> None:
        self._known: tuple[ConnectionSource, int, Standing] | None = None

    def read(self, source: ConnectionSource) -> Standing:
        """Return the standing at the beginning of a write transaction of this connection."""
        known = self._known
        if known is not None and known[0] is source and known[1] == source.connection.data_version():
            return known[2]
        self._known = None
        with decoding("the bank"):
            rows = dict(cast("list[tuple[str, str | int]]", source.run(_STANDING_SQL)))
            return Standing(
                schema=int(rows.pop("schema")),
                change=int(rows.pop("change")),
                key=int(rows.pop("key")),
                space={name: str(value) for name, value in rows.items()},
            )

    def keep(self, source: ConnectionSource, standing: Standing) -> None:
        """Take the standing that this connection has just committed."""
        self._known = (source, source.connection.data_version(), standing)

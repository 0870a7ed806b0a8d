"""What a writer must know of a bank before it writes, read again only when somebody else has written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from reasoningbank.storage.connection import ConnectionSource
from reasoningbank.storage.failures import decoding
from reasoningbank.storage.reads import WEIGHT_COLUMNS
from reasoningbank.storage.rows import weights_from
from reasoningbank.types.signal import ProjectWeights

_STANDING_SQL = (
    "SELECT 'schema', user_version FROM pragma_user_version UNION ALL SELECT name, value FROM counters "
    "UNION ALL SELECT name, value FROM meta WHERE name IN ('model_id', 'dimension')"
)
_WEIGHTS_SQL = "".join(
    f" UNION ALL SELECT '{name}', {name} FROM weight_history "  # noqa: S608 - constant columns
    "WHERE number = (SELECT max(number) FROM weight_history)"
    for name in WEIGHT_COLUMNS.split(", ")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The bank as the last transaction left it.

    Attributes:
        schema: How many migrations the file has had.
        change: The number of the last transaction that changed memories.
        key: The last key given out.
        space: The model and the dimension of the bank's vectors; empty when it has none yet.
        weights: The project's current weights.
    """

    schema: int
    change: int
    key: int
    space: Mapping[str, str]
    weights: ProjectWeights


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
            rows = dict(cast("list[tuple[str, str | int | float]]", source.run(_STANDING_SQL + _WEIGHTS_SQL)))
            numbers = [rows.pop(name, None) for name in WEIGHT_COLUMNS.split(", ")]
            return Standing(
                schema=int(rows.pop("schema")),
                change=int(rows.pop("change")),
                key=int(rows.pop("key")),
                space={name: str(value) for name, value in rows.items()},
                weights=(
                    ProjectWeights(project=source.project)
                    if numbers[0] is None
                    else weights_from(source.project, tuple(numbers))
                ),
            )

    def keep(self, source: ConnectionSource, standing: Standing) -> None:
        """Take the standing that this connection has just committed."""
        self._known = (source, source.connection.data_version(), standing)

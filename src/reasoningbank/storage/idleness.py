"""Which memories of a bank file have not been active, found without reading one by one."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import cast

from reasoningbank.storage.failures import decoding
from reasoningbank.storage.rows import Row, Value, from_microseconds, to_microseconds
from reasoningbank.types.belief import Belief
from reasoningbank.types.recall import Filter
from reasoningbank.types.records import Idle
from reasoningbank.types.signal import RECENT_DAYS

_RECENT = timedelta(days=RECENT_DAYS) // timedelta(microseconds=1)
_ROLLED = f"coalesce(a.last_activity, iif(a.last_disuse IS NULL, a.last_rollup - {_RECENT}, NULL), 0)"
"""As ``SignalAggregate.active_at``."""
_IDLE = f"""
SELECT m.id, m.prior, m.positive, m.negative, m.provenance,
    max(
        m.created_at, m.updated_at, coalesce(m.last_used, 0), {_ROLLED},
        coalesce((SELECT max(s.at) FROM signals AS s WHERE s.key = m.key AND s.type <> 'disuse'), 0),
        coalesce((SELECT max(c.at) FROM state_changes AS c WHERE c.memory = m.key), 0)
    ),
    max(
        coalesce((SELECT max(s.at) FROM signals AS s WHERE s.key = m.key AND s.type = 'disuse'), 0),
        coalesce(a.last_disuse, 0)
    )
FROM memories AS m LEFT JOIN aggregates AS a ON a.key = m.key
WHERE m.state IN (SELECT value FROM json_each(?1)) AND (?2 IS NULL OR m.confidence < ?2)
    AND m.created_at <= ?3 AND m.updated_at <= ?3 AND coalesce(m.last_used, 0) <= ?3 AND {_ROLLED} <= ?3
    AND NOT EXISTS (SELECT 1 FROM signals AS s WHERE s.key = m.key AND s.at > ?3 AND s.type <> 'disuse')
    AND NOT EXISTS (SELECT 1 FROM state_changes AS c WHERE c.memory = m.key AND c.at > ?3)
    AND m.key > coalesce((SELECT key FROM memories WHERE id = ?4), -1)
ORDER BY m.key LIMIT ?5
"""  # noqa: S608 - constant clauses


def idle(
    run: Callable[[str, Sequence[Value]], Sequence[Row]],
    before: datetime,
    *,
    below: float | None,
    after: str,
    limit: int,
) -> Sequence[Idle]:
    """Return ``StoreReader.idle`` over a source of rows."""
    values = (json.dumps(Filter().states), below, to_microseconds(before), after, limit or -1)
    return [_idle(row) for row in run(_IDLE, values)]


def _idle(row: Row) -> Idle:
    identifier, prior, positive, negative, provenance, active, disused = row
    with decoding(f"memory {str(identifier)[:80]!r}"):
        return Idle(
            id=cast(str, identifier),
            belief=Belief(prior=cast(int, prior), positive=cast(int, positive), negative=cast(int, negative)),
            provenance=json.loads(cast(str, provenance)),
            active=from_microseconds(cast(int, active)),
            disused=from_microseconds(cast(int, disused)) if disused else None,
        )

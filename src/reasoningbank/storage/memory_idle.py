"""Which memories of a bank in memory have not been active."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from reasoningbank.domain.recall import Filter
from reasoningbank.domain.signal import later
from reasoningbank.ports import Idle
from reasoningbank.storage.rows import to_microseconds

if TYPE_CHECKING:
    from reasoningbank.storage.memory_contents import Contents


def idle(contents: Contents, before: datetime, *, below: float | None, after: str, limit: int) -> Sequence[Idle]:
    """``StoreReader.idle`` over everything there is."""
    to_microseconds(before)
    active: dict[str, datetime | None] = {}
    disused: dict[str, datetime | None] = {}
    for name, aggregate in contents.aggregates.items():
        active[name], disused[name] = aggregate.active_at, aggregate.last_disuse
    for signal in contents.signals.values():
        newest = disused if signal.type == "disuse" else active
        newest[signal.memory_id] = later(newest.get(signal.memory_id), signal.at)
    for change in contents.state_changes:
        active[change.memory_id] = later(active.get(change.memory_id), change.at)
    names = list(contents.memories)
    if after in contents.memories:
        names = names[names.index(after) + 1 :]
    condition = Filter(below_confidence=below)
    found: list[Idle] = []
    for memory in (contents.memories[name] for name in names):
        moment = max(memory.created_at, memory.updated_at, *_known(memory.last_used, active.get(memory.id)))
        if moment <= before and condition.accepts(memory):
            found.append(
                Idle(
                    id=memory.id,
                    belief=memory.belief,
                    provenance=memory.provenance,
                    active=moment,
                    disused=disused.get(memory.id),
                )
            )
    return found[:limit] if limit else found


def _known(*moments: datetime | None) -> list[datetime]:
    return [moment for moment in moments if moment is not None]

"""Which quarantines there are in the banks of a tenant, whom they hold, and whom a release lets go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reasoningbank.domain.changes import StateChange
from reasoningbank.domain.memory import Memory, State
from reasoningbank.domain.quarantine import Isolated, Quarantine
from reasoningbank.domain.recall import Filter
from reasoningbank.domain.scope import Scope
from reasoningbank.engine.guarding.deriving import Place
from reasoningbank.engine.guarding.setting_aside import holding
from reasoningbank.engine.guarding.standing import without_quarantine
from reasoningbank.engine.hygiene import reveal
from reasoningbank.ports import Store

_QUARANTINED = Filter(states=("quarantined",))


@dataclass(slots=True)
class Held:
    """What one quarantine holds: each memory with the entry of the log that says why."""

    memories: dict[Place, Memory] = field(default_factory=dict)
    entries: dict[Place, StateChange] = field(default_factory=dict)
    before: dict[Place, State] = field(default_factory=dict)


def held_by(stores: Mapping[Scope, Store]) -> dict[str, Held]:
    """Every quarantine that holds memories in these banks now, by its id."""
    found: dict[str, Held] = {}
    for scope, store in stores.items():
        for memory in store.page(_QUARANTINED, limit=0, offset=0):
            changes = store.changes(memory_id=memory.id)
            for reference, entry in holding(changes).items():
                held, place = found.setdefault(reference, Held()), Place(scope, memory.id)
                held.memories[place], held.entries[place] = memory, entry
                held.before[place] = without_quarantine(memory, changes).state
    return found


def listed(stores: Mapping[Scope, Store]) -> tuple[Quarantine, ...]:
    """The quarantines that hold memories now, oldest first; states that were set by hand are of none."""
    found = []
    for reference, held in held_by(stores).items():
        if reference:
            newest = max(held.entries.values(), key=lambda entry: entry.at)
            members = tuple(
                isolated(place, memory, held.before[place], held.entries[place].because)
                for place, memory in held.memories.items()
            )
            found.append(Quarantine(id=reference, reason=newest.reason, by=newest.by, at=newest.at, members=members))
    return tuple(sorted(found, key=lambda one: (one.at, one.id)))


def isolated(place: Place, memory: Memory, before: State, because: tuple[str, ...]) -> Isolated:
    """A member of a quarantine, as it is shown: without secrets."""
    return Isolated(
        id=place.id,
        level=place.scope.level,
        name=place.scope.project,
        before=before,
        because=because,
        title=reveal(memory).title,
    )


def freed(held: Held, memory_id: str) -> list[Place]:
    """The memory, and those that the quarantine holds for its sake alone."""
    roots = {place.id for place, entry in held.entries.items() if not entry.because and place.id != memory_id}
    reached, waiting = set(roots), list(roots)
    while waiting:
        current = waiting.pop()
        for place, entry in held.entries.items():
            if current in entry.because and place.id not in reached and place.id != memory_id:
                reached.add(place.id)
                waiting.append(place.id)
    return [place for place in held.entries if place.id not in reached]

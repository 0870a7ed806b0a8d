"""What was made of a memory: the consolidations it went into, its copies in wider scopes, and lessons it was part of.

A lesson was made of a memory when that memory was shown to the session that taught it (``in_context`` in its
provenance), or when a search that showed it taught a strategy (``trace``). Both name the memory; likeness of text alone
makes nothing a descendant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from reasoningbank.domain.consolidation import CONSOLIDATED_INTO, is_consolidated
from reasoningbank.domain.memory import STATES, Memory
from reasoningbank.domain.quarantine import Selection
from reasoningbank.domain.recall import Filter
from reasoningbank.domain.scope import Scope
from reasoningbank.domain.sharing import PROMOTED_FROM, PROMOTED_TO, Reference
from reasoningbank.errors import InvalidInput, TrajectoryNotFound
from reasoningbank.ports import Store

_EVERYTHING = Filter(states=STATES)
_BATCH = 500


@dataclass(frozen=True, slots=True)
class Place:
    """One memory of one scope."""

    scope: Scope
    id: str


def everything(store: Store) -> Iterator[Memory]:
    """All memories of a bank, batch by batch."""
    offset = 0
    while batch := store.page(_EVERYTHING, limit=_BATCH, offset=offset):
        yield from batch
        offset += len(batch)


def selected(store: Store, selection: Selection) -> list[Place]:
    """The memories of a bank that a quarantine names; a consolidation follows from its sources and is not one of them.

    A consolidation has the origins of all its sources, of which perhaps one is meant; it is selected only by what it is
    itself: its id, its time, or the model that wrote it.
    """
    if selection.memory_id is not None:
        memories: Iterable[Memory] = store.many([selection.memory_id]).values()
    else:
        memories = everything(store)
    return [
        Place(store.scope, memory.id)
        for memory in memories
        if selection.covers(memory, () if is_consolidated(memory) else store.origins(memory_id=memory.id))
    ]


def descendants(stores: Mapping[Scope, Store], selected: Sequence[Place]) -> dict[Place, frozenset[str]]:
    """Everything that was made of the selected memories, in any of the banks, each with what it was made of.

    Args:
        stores: The banks of one tenant.
        selected: Where it begins; none of these is in the answer.
    """
    mentions = _mentions(stores)
    found: dict[Place, set[str]] = {}
    begun = set(selected)
    waiting = list(dict.fromkeys(selected))
    while waiting:
        place = waiting.pop()
        for made in (*_linked(stores, place), *mentions.get(place.id, ())):
            if made == place or made in begun:
                continue
            if made not in found:
                waiting.append(made)
            found.setdefault(made, set()).add(place.id)
    return {place: frozenset(because) for place, because in found.items()}


def _linked(stores: Mapping[Scope, Store], place: Place) -> Iterator[Place]:
    """What links lead to from the memory: consolidations in its own bank, promoted copies in wider ones.

    A promoted copy is linked from its own bank first, so it is found also when its source was not linked to it in time.
    """
    store = stores[place.scope]
    named = str(Reference.to(place.scope, place.id))
    for scope, wider in stores.items():
        if scope.level != "project":
            for link in wider.links(named):
                if link.kind == PROMOTED_FROM and link.source in wider.many([link.source]):
                    yield Place(scope, link.source)
    for link in store.links(place.id):
        if link.source != place.id:
            continue
        if link.kind == CONSOLIDATED_INTO:
            made = Place(place.scope, link.target)
        elif link.kind == PROMOTED_TO and (reference := _reference(link.target)) is not None:
            made = Place(reference.scope(place.scope.tenant), reference.id)
        else:
            continue
        if made.scope in stores and made.id in stores[made.scope].many([made.id]):
            yield made


def _reference(text: str) -> Reference | None:
    try:
        return Reference.parse(text)
    except InvalidInput:
        return None


def _mentions(stores: Mapping[Scope, Store]) -> dict[str, list[Place]]:
    """The lessons of all banks by the memories that they name as shown when they were learned."""
    found: dict[str, list[Place]] = {}
    for scope, store in stores.items():
        for memory in everything(store):
            for name in _named(store, memory):
                found.setdefault(name, []).append(Place(scope, memory.id))
    return found


def _named(store: Store, memory: Memory) -> set[str]:
    names = {name for name in memory.provenance.get("in_context", "").split(",") if name}
    if trace := memory.provenance.get("trace"):
        try:
            names.update(store.trace(trace).results)
        except TrajectoryNotFound:
            return names
    return names

"""Quarantine memories with everything derived from them, and release them again.

A lesson was made of a memory when that memory was shown to the session that taught it (``in_context`` in its
provenance), or when a search that showed it taught a strategy (``trace``). Both name the memory; likeness of text alone
makes nothing a descendant.

A memory's state follows from two things: what the log says of it without any quarantine (module ``states``), and what
holds it now. So a release computes the state again instead of copying an old one back: whatever happened meanwhile,
evidence, edits, an undo, has its place in it, and when nothing happened the memory is what it was.

A source that was archived because it went into a consolidation is visible again while that consolidation is in a
quarantine that reaches further than single memories; it is then in no consolidation, so that everything may be done
with it. When the consolidation is released it takes its sources back. One whose sources went elsewhere meanwhile stays
archived, because its evidence would count twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from reasoningbank.errors import InvalidInput, TrajectoryNotFound
from reasoningbank.memories.admission import speakers_of, vouched_for
from reasoningbank.memories.memories import _ATTEMPTS
from reasoningbank.memories.silence import hear, silence, silenced
from reasoningbank.memories.standing import PRINCIPAL, check_person
from reasoningbank.memories.states import (
    HELD,
    WITHHELD,
    Placement,
    echoes_of,
    existing,
    hold,
    holding,
    placement_of,
    refuse_quarantined,
    sources_of,
    unquoted_reason,
    without_quarantine,
)
from reasoningbank.memories.voices import refuse_taking, spoken_by
from reasoningbank.safety.checks import given_reason
from reasoningbank.safety.stored_text import reveal
from reasoningbank.storage.store import Store, StoreReader, Transaction
from reasoningbank.telemetry import observed
from reasoningbank.types.argument import Limit
from reasoningbank.types.consolidation import CONSOLIDATED_INTO, is_consolidated
from reasoningbank.types.memory import (
    PARTED,
    QUARANTINED,
    RELEASED,
    SILENCED,
    STATES,
    SURFACED,
    Cause,
    Memory,
    State,
    StateChange,
    change_of,
)
from reasoningbank.types.moment import as_moment
from reasoningbank.types.promotion import PROMOTED_FROM, PROMOTED_TO, Reference
from reasoningbank.types.quarantine import (
    SPREADING,
    Isolated,
    Quarantine,
    QuarantineReport,
    QuarantineSelection,
    Reader,
    ReleaseReport,
    Review,
)
from reasoningbank.types.recall import Filter
from reasoningbank.types.resource import checked
from reasoningbank.types.scope import Scope, session_in

if TYPE_CHECKING:
    from reasoningbank.context import Context

_EVERYTHING = Filter(states=STATES)
_BATCH = 500


@dataclass(frozen=True, slots=True)
class ScopedMemory:
    """One memory of one scope."""

    scope: Scope
    id: str


def everything(store: Store) -> Iterator[Memory]:
    """Yield all memories of a bank, batch by batch."""
    offset = 0
    while batch := store.memories.page(_EVERYTHING, limit=_BATCH, offset=offset):
        yield from batch
        offset += len(batch)


def selected(store: Store, selection: QuarantineSelection) -> list[ScopedMemory]:
    """Return the memories of a bank that a quarantine names.

    A consolidation follows from its sources and is not one of them.

    A consolidation has the origins of all its sources, of which perhaps one is meant; it is selected only by what it is
    itself: its id, its time, or the model that wrote it.
    """
    if selection.memory_id is not None:
        memories: Iterable[Memory] = store.memories.many([selection.memory_id]).values()
    else:
        memories = everything(store)
    spoken = set() if selection.principal is None else spoken_by(store, selection.principal)
    return [
        ScopedMemory(store.scope, memory.id)
        for memory in memories
        if selection.covers(
            memory, () if is_consolidated(memory) else store.sessions.origins(memory_id=memory.id), spoken
        )
    ]


def voices_in(store: Store, selection: QuarantineSelection, chosen: Sequence[ScopedMemory], own: Scope) -> set[str]:
    """Return the sessions whose votes a quarantine takes out of a bank, as they are named there.

    That are the session that is selected, those of the principal that is, and, when a source is, those of the clients
    that recorded what came from it. One memory, or a time, is not a voice.
    """
    if selection.memory_id is not None or (selection.session, selection.principal, selection.source) == (None,) * 3:
        return set()
    named = {name for name in (selection.session, selection.principal) if name is not None}
    if selection.source is not None:
        for place in chosen:
            memory = existing(store, place.id) if place.scope == store.scope else None
            provenance: Mapping[str, str] = {} if memory is None else memory.provenance
            named.add(provenance.get("session", ""))
            if PRINCIPAL in provenance:
                named |= spoken_by(store, provenance[PRINCIPAL])
    places = {session_in(store.scope, name, own) for name in named if name}
    if selection.principal is not None:
        places |= spoken_by(store, selection.principal)
    return places


def descendants(stores: Mapping[Scope, Store], selected: Sequence[ScopedMemory]) -> dict[ScopedMemory, frozenset[str]]:
    """Return everything that was made of the selected memories, in any of the banks, each with what it was made of.

    Args:
        stores: The banks of one tenant.
        selected: Where it begins; none of these is in the answer.
    """
    mentions = _mentions(stores)
    found: dict[ScopedMemory, set[str]] = {}
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


def _linked(stores: Mapping[Scope, Store], place: ScopedMemory) -> Iterator[ScopedMemory]:
    """Yield what links lead to from the memory: consolidations in its own bank, promoted copies in wider ones.

    A promoted copy is linked from its own bank first, so it is found also when its source was not linked to it in time.
    """
    store = stores[place.scope]
    named = str(Reference.to(place.scope, place.id))
    for scope, wider in stores.items():
        if scope.level != "project":
            for link in wider.memories.links(named):
                if link.kind == PROMOTED_FROM and link.source in wider.memories.many([link.source]):
                    yield ScopedMemory(scope, link.source)
    for echo in echoes_of(store, place.id):
        yield ScopedMemory(place.scope, echo.id)
    for link in store.memories.links(place.id):
        if link.source != place.id:
            continue
        if link.kind == CONSOLIDATED_INTO:
            made = ScopedMemory(place.scope, link.target)
        elif link.kind == PROMOTED_TO and (reference := _reference(link.target)) is not None:
            made = ScopedMemory(reference.scope(place.scope.tenant), reference.id)
        else:
            continue
        if made.scope in stores and made.id in stores[made.scope].memories.many([made.id]):
            yield made


def _reference(text: str) -> Reference | None:
    try:
        return Reference.parse(text)
    except InvalidInput:
        return None


def _mentions(stores: Mapping[Scope, Store]) -> dict[str, list[ScopedMemory]]:
    """Return the lessons of all banks by the memories that they name as shown when they were learned."""
    found: dict[str, list[ScopedMemory]] = {}
    for scope, store in stores.items():
        for memory in everything(store):
            for name in _named(store, memory):
                found.setdefault(name, []).append(ScopedMemory(scope, memory.id))
    return found


def _named(store: Store, memory: Memory) -> set[str]:
    names = {name for name in memory.provenance.get("in_context", "").split(",") if name}
    if trace := memory.provenance.get("trace"):
        try:
            names.update(store.sessions.trace(trace).results)
        except TrajectoryNotFound:
            return names
    return names


_QUARANTINED = Filter(states=("quarantined",))


@dataclass(slots=True)
class HeldMemories:
    """List what one quarantine holds: each memory with the entry of the log that says why."""

    memories: dict[ScopedMemory, Memory] = field(default_factory=dict)
    entries: dict[ScopedMemory, StateChange] = field(default_factory=dict)
    before: dict[ScopedMemory, State] = field(default_factory=dict)


def held_by(stores: Mapping[Scope, Store]) -> dict[str, HeldMemories]:
    """Return every quarantine that holds memories in these banks now, by its id."""
    found: dict[str, HeldMemories] = {}
    for scope, store in stores.items():
        for memory in store.memories.page(_QUARANTINED, limit=0, offset=0):
            changes = store.memories.changes(memory_id=memory.id)
            for reference, entry in holding(changes).items():
                held, place = found.setdefault(reference, HeldMemories()), ScopedMemory(scope, memory.id)
                held.memories[place], held.entries[place] = memory, entry
                held.before[place] = without_quarantine(memory, changes).state
    return found


def listed(stores: Mapping[Scope, Store], reader: Reader = "human") -> tuple[Quarantine, ...]:
    """Return the quarantines that hold memories now, oldest first; states that were set by hand are of none."""
    found = []
    for reference, held in held_by(stores).items():
        if reference:
            newest, entry = max(held.entries.items(), key=lambda item: item[1].at)
            members = tuple(
                isolated(place, memory, held.before[place], held.entries[place].because, reader)
                for place, memory in held.memories.items()
            )
            reason = entry.reason if reader == "human" else unquoted_reason(held.memories[newest], entry)
            found.append(Quarantine(id=reference, reason=reason, by=entry.by, at=entry.at, members=members))
    return tuple(sorted(found, key=lambda one: (one.at, one.id)))


def isolated(
    place: ScopedMemory, memory: Memory, before: State, because: tuple[str, ...], reader: Reader = "human"
) -> Isolated:
    """Return a member of a quarantine, as it is shown: without secrets, to an agent without its title."""
    return Isolated(
        id=place.id,
        level=place.scope.level,
        name=place.scope.project,
        before=before,
        because=because,
        title=WITHHELD if reader == "agent" else reveal(memory).title,
    )


def freed(held: HeldMemories, memory_id: str) -> list[ScopedMemory]:
    """Return the memory, and those that the quarantine holds for its sake alone."""
    roots = {place.id for place, entry in held.entries.items() if not entry.because and place.id != memory_id}
    reached, waiting = set(roots), list(roots)
    while waiting:
        current = waiting.pop()
        for place, entry in held.entries.items():
            if current in entry.because and place.id not in reached and place.id != memory_id:
                reached.add(place.id)
                waiting.append(place.id)
    return [place for place in held.entries if place.id not in reached]


ARCHIVED = "archived"
"""The kind of change by which a consolidation stays archived that cannot come back."""
_VISIBLE = Filter().states


@dataclass(slots=True)
class Settled:
    """Hold what a change of a quarantine did to a bank."""

    changed: list[str] = field(default_factory=list)
    surfaced: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    kept: list[tuple[str, str]] = field(default_factory=list)


def isolate(transaction: Transaction, members: Mapping[str, Sequence[str]], cause: Cause) -> Settled:
    """Hold memories in the quarantine that the cause names; a second time changes nothing.

    Args:
        transaction: Where it is written.
        members: Ids of the bank's memories, each with the memories it was made of that are in quarantine.
        cause: Who, when and why; its reference is the quarantine's id.

    Members that are gone are passed over.
    """
    done = Settled()
    for memory_id, because in members.items():
        memory = existing(transaction, memory_id)
        if memory is not None and hold(transaction, memory, replace(cause, because=tuple(sorted(because)))):
            done.changed.append(memory_id)
    if cause.reference.startswith(SPREADING):
        for source in _sources(transaction, members):
            if source.id not in members:
                _settle(transaction, source, replace(cause, kind=SURFACED), done)
    return done


def _vouch(transaction: Transaction, memory: Memory) -> None:
    """Note that a person stands by a text that the gate had stopped."""
    if HELD in memory.provenance:
        transaction.memories.update_state(vouched_for(memory, "released by a person"))
        transaction.evidence.untaint([name for name in speakers_of(memory) if name])


def let_go(transaction: Transaction, memory_ids: Iterable[str], cause: Cause) -> Settled:
    """End the hold of the quarantine that the cause names on these memories, and give each the state it is due.

    Args:
        transaction: Where it is written.
        memory_ids: Memories of the bank; those that the quarantine does not hold are passed over.
        cause: Who, when and why; its reference is the quarantine's id, empty for a state that was set by hand.
    """
    done = Settled()
    let: list[Memory] = []
    for memory_id in dict.fromkeys(memory_ids):
        memory = existing(transaction, memory_id)
        if memory is not None and cause.reference in holding(transaction.memories.changes(memory_id=memory_id)):
            transaction.memories.note(change_of(memory, memory, cause))
            let.append(memory)
    affected = {memory.id: memory for memory in (*let, *_sources(transaction, [memory.id for memory in let]))}
    for memory in sorted(affected.values(), key=lambda each: _depth(transaction, each)):
        _settle(transaction, transaction.memories.get(memory.id), replace(cause, kind=RELEASED), done)
    return done


def due(reader: StoreReader, memory: Memory) -> Placement:
    """Return what the memory's state is to be now, with every quarantine and consolidation as it is."""
    changes = reader.memories.changes(memory_id=memory.id)
    if holding(changes):
        return Placement("quarantined", memory.consolidation_id)
    natural = without_quarantine(memory, changes)
    if natural.merged is None:
        return natural
    into = existing(reader, natural.merged)
    if into is None:
        return _left_alone(natural, changes)
    if natural.state == "archived" and _is_out(reader, into):
        return Placement(sources_of(into).get(memory.id, "candidate"), None)
    return natural


def _settle(transaction: Transaction, memory: Memory, cause: Cause, done: Settled) -> None:
    """Give a memory the state it is due, and note what that was."""
    wanted = due(transaction, memory)
    if wanted == placement_of(memory):
        if wanted.state == "quarantined" and cause.kind == RELEASED:
            done.kept.append((memory.id, "another quarantine holds it"))
        return
    if memory.state == "quarantined" and wanted.state in _VISIBLE and (gone := _taken(transaction, memory)):
        _retire(transaction, memory, gone, cause, done)
        return
    shown = memory.state == "archived" and wanted.state in _VISIBLE
    kind = SURFACED if shown else RELEASED
    transaction.memories.update_state(
        replace(memory, state=wanted.state, consolidation_id=wanted.merged), cause=replace(cause, kind=kind)
    )
    if shown:
        done.surfaced.append(memory.id)
    elif memory.state == "quarantined":
        done.changed.append(memory.id)
    else:
        done.hidden.append(memory.id)


def _retire(transaction: Transaction, memory: Memory, gone: Memory, cause: Cause, done: Settled) -> None:
    """Archive a consolidation that cannot come back, and let its sources be what they are without it."""
    reason = f"its source {gone.id} went into {gone.consolidation_id} meanwhile"
    transaction.memories.update_state(
        replace(memory, state="archived"), cause=replace(cause, kind=ARCHIVED, reason=reason)
    )
    done.kept.append((memory.id, reason))
    for name in sources_of(memory):
        source = existing(transaction, name)
        if source is not None:
            transaction.memories.note(change_of(source, source, replace(cause, kind=PARTED, reference=memory.id)))


def _taken(reader: StoreReader, memory: Memory) -> Memory | None:
    """Return a source of a consolidation that went into another one meanwhile."""
    for name in sources_of(memory):
        source = existing(reader, name)
        if source is not None and source.consolidation_id not in {None, memory.id}:
            return source
    return None


def _is_out(reader: StoreReader, into: Memory) -> bool:
    """Return whether a consolidation would be visible without the quarantines that spread to it."""
    if into.state != "quarantined":
        return False
    changes = reader.memories.changes(memory_id=into.id)
    if not any(name.startswith(SPREADING) for name in holding(changes)):
        return False
    natural = without_quarantine(into, changes)
    if natural.state in _VISIBLE:
        return True
    further = None if natural.merged is None else existing(reader, natural.merged)
    return further is not None and _is_out(reader, further)


def _left_alone(natural: Placement, changes: Sequence[StateChange]) -> Placement:
    """Return the state of a source whose consolidation was erased: as visible as it was when that happened."""
    for change in reversed(changes):
        if change.kind == SURFACED and change.merged_before == natural.merged:
            return Placement(change.after, None)
    return natural


def _sources(reader: StoreReader, memory_ids: Iterable[str]) -> list[Memory]:
    """Return the sources of those of these memories that are consolidations, the outermost consolidation's first."""
    found: dict[str, Memory] = {}
    for memory_id in memory_ids:
        memory = existing(reader, memory_id)
        for name in sources_of(memory) if memory is not None else ():
            source = existing(reader, name)
            if source is not None:
                found[name] = source
    return sorted(found.values(), key=lambda each: _depth(reader, each))


def _depth(reader: StoreReader, memory: Memory) -> int:
    """Return how many consolidations the memory lies in."""
    depth, passed = 0, {memory.id}
    current: Memory | None = memory
    while current is not None:
        into = without_quarantine(current, reader.memories.changes(memory_id=current.id)).merged
        if into is None or into in passed:
            return depth
        passed.add(into)
        depth, current = depth + 1, existing(reader, into)
    return depth


MAX_REASON = 500


@checked
class Quarantines:
    """Hold memories back with everything derived from them, and release them."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def add(
        self,
        *,
        memory_id: str | None = None,
        session: str | None = None,
        source: str | None = None,
        principal: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        reason: str,
        cascade: bool = True,
        dry_run: bool = False,
        reader: Reader = "human",
    ) -> QuarantineReport:
        """Hold memories back: no search, briefing, hook or consolidation sees them, until ``release``.

        What meets every condition is selected: by id in any bank of the tenant, else in this project. With ``cascade``
        everything made of the selected memories follows, in every bank of the tenant: consolidations they went into,
        promoted copies, and lessons of sessions they were shown to. The other sources of a consolidation are visible
        again meanwhile. With a session, a client or a source, what agents said of memories in those sessions stops to
        count as well, until ``release``; a person's words always count. Each bank changes in one transaction;
        the same call again completes what was interrupted and adds what came since.

        Args:
            memory_id: This memory.
            session: What this session recorded or taught.
            source: What came from this surface, kind of origin, language model, prompt, trajectory or search.
            principal: What this client recorded or taught, whatever it called its sessions; ``rbank get`` names it.
            since: Recorded at this time or later.
            until: Recorded before this time.
            reason: Why; it is kept and shown in the memories' history.
            cascade: Include what was made of them.
            dry_run: Say what would be held and write nothing.
            reader: Who asks and is given the answer; an agent gets no title, and adds nothing to what is in quarantine.

        Raises:
            InvalidInput: When nothing is selected, no reason is given, or the reason looks like a prompt injection.
            MemoryNotFound: When this tenant has no such memory.
            MemoryQuarantined: When an agent names a memory that is in quarantine already; nothing was added.
            PolicyError: When an agent asks, and a person stands by one of them, or it is confirmed, or when an agent's
                command asks, and another client recorded one; nothing was added.
        """
        selection = QuarantineSelection(
            memory_id=memory_id,
            session=session,
            source=source,
            principal=principal,
            since=None if since is None else as_moment(since, "since"),
            until=None if until is None else as_moment(until, "until"),
        )
        cause = Cause(
            at=self._context.clock.now(),
            kind=QUARANTINED,
            reference=selection.quarantine_id(cascade=cascade),
            reason=_said(reason),
            by=self._context.session,
        )
        with observed("quarantine_memories", store=self._context.place):
            report = QuarantineReport(
                id=cause.reference, reason=cause.reason, by=cause.by, at=cause.at, dry_run=dry_run
            )
            for attempt in range(_ATTEMPTS):
                stores = self._tenant_stores()
                members = self._members(stores, selection, cascade=cascade)
                fresh = self._fresh(stores, members, cause.reference, reader)
                if attempt == 0:
                    if memory_id is not None and reader == "agent" and not fresh:
                        self._refuse(memory_id)
                    if reader == "agent":
                        self._refuse_taking(stores, fresh, selection)
                    report = replace(report, held=len(members) - len(fresh))
                report = replace(report, quarantined=(*report.quarantined, *fresh.values()))
                if reader == "agent":
                    members = {place: members[place] for place in fresh}
                if dry_run or not fresh:
                    break
                for scope, store in stores.items():
                    own = {place.id: because for place, because in members.items() if place.scope == scope}
                    if own:
                        with store.transaction() as transaction:
                            surfaced = isolate(transaction, own, cause).surfaced
                        report = replace(report, surfaced=(*report.surfaced, *surfaced))
            if reader == "human" and not dry_run:
                report = replace(report, votes=self._silenced(selection, cause))
            return report

    def _silenced(self, selection: QuarantineSelection, cause: Cause) -> int:
        """Take out the votes of what is selected, in every bank of the tenant; return how many."""
        stores, count = self._tenant_stores(), 0
        chosen = selected(self._context.store(), selection)
        for store in stores.values():
            if places := voices_in(store, selection, chosen, self._context.scope):
                with store.transaction() as transaction:
                    beside = next((place.id for place in chosen if place.scope == store.scope), "")
                    count += silence(transaction, places, cause, beside=beside)
        return count

    def release(
        self, *, memory_id: str | None = None, quarantine_id: str | None = None, reason: str = ""
    ) -> ReleaseReport:
        """End a quarantine, or let one memory go; each memory is what it was before, with what came since.

        With a memory every quarantine lets go of it, and of what it holds for that memory's sake alone. Memories that
        another quarantine holds stay. Sources that had become visible go back into their consolidation. Only people
        release: there is a command and this method, and no tool of the MCP server.

        Args:
            memory_id: Let this memory go from every quarantine.
            quarantine_id: The quarantine that ends.
            reason: Why; it stays in the memories' history.

        Raises:
            InvalidInput: When not exactly one of the two is named, or there is no such quarantine.
            MemoryNotFound: When this tenant has no such memory.
        """
        check_person("to release from quarantine")
        if (memory_id is None) == (quarantine_id is None):
            raise InvalidInput("name either a memory or a quarantine", hint="`rbank quarantines` shows them.")
        cause = Cause(at=self._context.clock.now(), kind=RELEASED, reason=_line(reason), by=self._context.session)
        with observed("release_memories", store=self._context.place):
            stores = self._tenant_stores()
            held = held_by(stores)
            if memory_id is not None:
                owner = self._context.owner(memory_id).scope
                named = {key: one for key, one in held.items() if ScopedMemory(owner, memory_id) in one.entries}
                going = [(key, place) for key, one in named.items() for place in freed(one, memory_id)]
            else:
                if not quarantine_id or not (quarantine_id in held or self._votes(stores, quarantine_id)):
                    raise InvalidInput(
                        f"no quarantine {str(quarantine_id)[:80]!r} holds anything",
                        hint="`rbank quarantines` shows what is in quarantine.",
                    )
                going = [(quarantine_id, place) for place in held.get(quarantine_id, HeldMemories()).entries]
            report = ReleaseReport()
            for scope, store in stores.items():
                if quarantine_id is not None and silenced(store, quarantine_id):
                    with store.transaction() as transaction:
                        heard = hear(transaction, replace(cause, reference=quarantine_id))
                    report = replace(report, votes=report.votes + heard)
                own = [(key, place.id) for key, place in going if place.scope == scope]
                if not own:
                    continue
                with store.transaction() as transaction:
                    for key in dict.fromkeys(key for key, _ in own):
                        ids = [name for known, name in own if known == key]
                        done = let_go(transaction, ids, replace(cause, reference=key))
                        if memory_id in done.changed:
                            _vouch(transaction, transaction.memories.get(memory_id))
                        report = replace(
                            report,
                            released=(*report.released, *done.changed),
                            hidden=(*report.hidden, *done.hidden),
                            kept=(*report.kept, *done.kept),
                        )
            kept = tuple((name, why) for name, why in dict.fromkeys(report.kept) if name not in report.released)
            return replace(report, kept=kept)

    def list(self, *, reader: Reader = "human") -> tuple[Quarantine, ...]:
        """Return the quarantines that hold memories of this tenant now, oldest first.

        Args:
            reader: Who is given them; an agent gets no title, and no words that a reason quotes.
        """
        stores = self._tenant_stores()
        found = {each.id: each for each in listed(stores, reader)}
        for reference, entry in _silencings(stores).items():
            known = found.get(reference)
            if known is None:
                known = Quarantine(id=reference, reason=entry.reason, by=entry.by, at=entry.at, members=())
            found[reference] = replace(known, votes=self._votes(stores, reference))
        return tuple(sorted(found.values(), key=lambda one: (one.at, one.id)))

    @staticmethod
    def _votes(stores: Mapping[Scope, Store], reference: str) -> int:
        """Return how many votes a quarantine keeps from counting now."""
        return sum(len(change.votes) for store in stores.values() for change in silenced(store, reference))

    def review(
        self,
        *,
        approve: Iterable[str] = (),
        reject: Iterable[str] = (),
        reason: str = "A person rejected it.",
        limit: Limit = 20,
    ) -> Review:
        """Show what agents recorded and nobody has confirmed, what was delivered most first; approve or reject it.

        What a person approves is vouched for, active, and rated as helpful. What a person rejects goes into quarantine
        with everything that was made of it; ``release`` takes that back. Only people review: there is a command and
        this method, and no tool of the MCP server.

        Args:
            approve: Stand by this memory; several are allowed.
            reject: Put this memory into quarantine; several are allowed.
            reason: Why something is rejected.
            limit: Most that are shown; 0 shows all.

        Raises:
            InvalidInput: When a memory is both approved and rejected; nothing was changed.
            MemoryNotFound: When this tenant has no such memory.
            MemoryQuarantined: When one that is approved is in quarantine.
        """
        from reasoningbank.curation.review import approve as approved
        from reasoningbank.curation.review import waiting

        good, bad, most = tuple(dict.fromkeys(approve)), tuple(dict.fromkeys(reject)), limit
        if both := set(good) & set(bad):
            raise InvalidInput(f"memory {min(both)[:80]!r} is both approved and rejected", hint="Name it once.")
        at, session = self._context.clock.now(), self._context.session
        for memory_id in (*good, *bad):
            self._context.owner(memory_id)
        for memory_id in good:
            with self._context.owner(memory_id).transaction() as transaction:
                approved(transaction, memory_id, session=session, at=at)
        for memory_id in bad:
            self.add(memory_id=memory_id, reason=reason)
        items, count = waiting(self._context.store(), most)
        return Review(items=tuple(items), waiting=count, approved=good, rejected=bad)

    def _tenant_stores(self) -> dict[Scope, Store]:
        """Return every bank of the tenant that exists, this one first."""
        stores = {self._context.scope: self._context.store()}
        for scope in self._context.storage.scopes(self._context.scope.tenant):
            if scope != self._context.scope:
                stores[scope] = self._context.neighbour(scope)
        return stores

    def _members(
        self, stores: Mapping[Scope, Store], selection: QuarantineSelection, *, cascade: bool
    ) -> dict[ScopedMemory, tuple[str, ...]]:
        """Return what a quarantine is to hold now, each with what it was made of."""
        store = stores[self._context.scope] if selection.memory_id is None else self._context.owner(selection.memory_id)
        chosen = selected(store, selection)
        members: dict[ScopedMemory, tuple[str, ...]] = dict.fromkeys(chosen, ())
        if cascade and chosen:
            made = descendants({**stores, store.scope: store}, chosen)
            members |= {place: tuple(sorted(because)) for place, because in made.items()}
        return members

    @staticmethod
    def _fresh(
        stores: Mapping[Scope, Store],
        members: Mapping[ScopedMemory, tuple[str, ...]],
        reference: str,
        reader: Reader,
    ) -> dict[ScopedMemory, Isolated]:
        """Return the members that the quarantine does not hold yet; for an agent those that no quarantine holds."""
        found = {}
        for place, because in members.items():
            store = stores[place.scope]
            memory, changes = store.memories.get(place.id), store.memories.changes(memory_id=place.id)
            held = holding(changes)
            if reference not in held and not (reader == "agent" and held):
                before = without_quarantine(memory, changes).state
                found[place] = isolated(place, memory, before, because, reader)
        return found

    @staticmethod
    def _refuse_taking(
        stores: Mapping[Scope, Store], fresh: Iterable[ScopedMemory], selection: QuarantineSelection
    ) -> None:
        """Tell an agent that it does not hold back what a person stands by, or another client recorded.

        Raises:
            PolicyError: When one of them is such.
        """
        found: dict[Scope, list[Memory]] = {}
        for place in fresh:
            found.setdefault(place.scope, []).append(stores[place.scope].memories.get(place.id))
        therefore = "Nothing was put into quarantine."
        command = f"rbank quarantine {'--memory ID --reason WHY' if selection.memory_id is not None else '--help'}"
        for scope, memories in found.items():
            refuse_taking(stores[scope], memories, therefore, command)

    def _refuse(self, memory_id: str) -> None:
        """Tell an agent that a memory is in quarantine already; raise MemoryQuarantined."""
        store = self._context.owner(memory_id)
        refuse_quarantined(store, store.memories.get(memory_id), "it is there already, and nothing was added.")


def _silencings(stores: Mapping[Scope, Store]) -> dict[str, StateChange]:
    """Return the quarantines that keep votes from counting now, each with the entry of the log that says why."""
    found: dict[str, StateChange] = {}
    for store in stores.values():
        references = {each.reference for each in store.memories.changes(referring=True) if each.kind == SILENCED}
        for reference in references:
            if entries := silenced(store, reference):
                found[reference] = entries[-1]
    return found


def _said(reason: str) -> str:
    line = _line(reason)
    if not line:
        raise InvalidInput("a quarantine needs its reason", hint="Say in one sentence why.")
    return line


def _line(text: str) -> str:
    """Return a reason as it is stored: one clean line without secrets.

    Raises:
        InvalidInput: When it is too long, or looks like a prompt injection.
    """
    return given_reason(text, "a reason", MAX_REASON)

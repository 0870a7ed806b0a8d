"""The part of a bank that holds memories back, lets them go, and shows how everything stood at another moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from reasoningbank.errors import InvalidInput
from reasoningbank.matts.matts import Scaling
from reasoningbank.storage.store import Store
from reasoningbank.telemetry import observed
from reasoningbank.types.memory import EDITED, QUARANTINED, RELEASED, Cause, Memory, check_memory_id
from reasoningbank.types.quarantine import Isolated, Quarantine, QuarantineReport, ReleaseReport, Selection
from reasoningbank.types.scope import Scope

if TYPE_CHECKING:
    from reasoningbank.curation.quarantine import Place
    from reasoningbank.past import Past

MAX_REASON = 500
_ATTEMPTS = 5


class Guarding(Scaling):
    """Quarantine and release, the bank as it was, and the way back to an earlier text."""

    def quarantine(
        self,
        *,
        memory_id: str | None = None,
        session: str | None = None,
        source: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        reason: str,
        cascade: bool = True,
        dry_run: bool = False,
    ) -> QuarantineReport:
        """Hold memories back: no search, briefing, hook or consolidation sees them, until ``release``.

        What meets every condition is selected: by id in any bank of the tenant, else in this project. With ``cascade``
        everything made of the selected memories follows, in every bank of the tenant: consolidations they went into,
        promoted copies, and lessons of sessions they were shown to. The other sources of a consolidation are visible
        again meanwhile. Each bank changes in one transaction; the same call again completes what was interrupted and
        adds what came since.

        Args:
            memory_id: This memory.
            session: What this session recorded or taught.
            source: What came from this surface, kind of origin, language model, prompt, trajectory or search.
            since: Recorded at this time or later.
            until: Recorded before this time.
            reason: Why; it is kept and shown in the memories' history.
            cascade: Whether what was made of them follows.
            dry_run: Says what would be held and writes nothing.

        Raises:
            InvalidInput: When nothing is selected or no reason is given.
            MemoryNotFound: When this tenant has no such memory.
        """
        from reasoningbank.curation.quarantine import isolate

        selection = Selection(memory_id=memory_id, session=session, source=source, since=since, until=until)
        cause = Cause(
            at=self._clock.now(),
            kind=QUARANTINED,
            reference=selection.quarantine_id(cascade=cascade),
            reason=_said(reason),
            by=self._session,
        )
        with observed("quarantine_memories", store=self._place()):
            report = QuarantineReport(
                id=cause.reference, reason=cause.reason, by=cause.by, at=cause.at, dry_run=dry_run
            )
            for attempt in range(_ATTEMPTS):
                stores = self._tenant_stores()
                members = self._members(stores, selection, cascade=cascade)
                fresh = self._fresh(stores, members, cause.reference)
                if attempt == 0:
                    report = replace(report, held=len(members) - len(fresh))
                report = replace(report, quarantined=(*report.quarantined, *fresh))
                if dry_run or not fresh:
                    break
                for scope, store in stores.items():
                    own = {place.id: because for place, because in members.items() if place.scope == scope}
                    if own:
                        with store.transaction() as transaction:
                            surfaced = isolate(transaction, own, cause).surfaced
                        report = replace(report, surfaced=(*report.surfaced, *surfaced))
            return report

    def release(
        self, *, memory_id: str | None = None, quarantine_id: str | None = None, reason: str = ""
    ) -> ReleaseReport:
        """End a quarantine, or let one memory go; each memory is what it was before, with what came since.

        With a memory every quarantine lets go of it, and of what it holds for that memory's sake alone. Memories that
        another quarantine holds stay. Sources that had become visible go back into their consolidation. Only people
        release: there is a command and this method, and no tool of the MCP server.

        Raises:
            InvalidInput: When not exactly one of the two is named, or there is no such quarantine.
            MemoryNotFound: When this tenant has no such memory.
        """
        from reasoningbank.curation.quarantine import Place, freed, held_by, let_go

        if (memory_id is None) == (quarantine_id is None):
            raise InvalidInput("name either a memory or a quarantine", hint="`rbank quarantine --list` shows them.")
        cause = Cause(at=self._clock.now(), kind=RELEASED, reason=_line(reason), by=self._session)
        with observed("release_memories", store=self._place()):
            stores = self._tenant_stores()
            held = held_by(stores)
            if memory_id is not None:
                owner = self._owner(memory_id).scope
                named = {key: one for key, one in held.items() if Place(owner, memory_id) in one.entries}
                going = [(key, place) for key, one in named.items() for place in freed(one, memory_id)]
            else:
                if not quarantine_id or quarantine_id not in held:
                    raise InvalidInput(
                        f"no quarantine {str(quarantine_id)[:80]!r} holds anything",
                        hint="`rbank quarantine --list` shows what is in quarantine.",
                    )
                going = [(quarantine_id, place) for place in held[quarantine_id].entries]
            report = ReleaseReport()
            for scope, store in stores.items():
                own = [(key, place.id) for key, place in going if place.scope == scope]
                if not own:
                    continue
                with store.transaction() as transaction:
                    for key in dict.fromkeys(key for key, _ in own):
                        ids = [name for known, name in own if known == key]
                        done = let_go(transaction, ids, replace(cause, reference=key))
                        report = ReleaseReport(
                            released=(*report.released, *done.changed),
                            hidden=(*report.hidden, *done.hidden),
                            kept=(*report.kept, *done.kept),
                        )
            kept = tuple((name, why) for name, why in dict.fromkeys(report.kept) if name not in report.released)
            return replace(report, kept=kept)

    def quarantines(self) -> tuple[Quarantine, ...]:
        """Return the quarantines that hold memories of this tenant now, oldest first."""
        from reasoningbank.curation.quarantine import listed

        return listed(self._tenant_stores())

    def as_of(self, moment: datetime) -> Past:
        """Return this project's bank as it stood then, to be read: texts, states, beliefs and evidence of that time.

        What cannot be known any more is said and never guessed; see ``Past``. The view reads this bank, and ends with
        it.

        Raises:
            InvalidInput: When the time has no time zone or lies in the future.
        """
        from reasoningbank.past import Past

        if moment.tzinfo is None:
            raise InvalidInput("times must carry a time zone", hint="Use for example 2026-03-01T12:00:00+00:00.")
        if moment > self._clock.now():
            raise InvalidInput(f"{moment.isoformat()} has not come yet", hint="Name a time that is over.")
        return Past(self._open_store(), self._embedder, moment, session=self._session)

    def versions(self, memory_id: str) -> tuple[Memory, ...]:
        """Return every version of a memory that is kept, oldest first, the current one last; secrets removed once more.

        An imported memory has no versions from before its import.

        Raises:
            MemoryNotFound: When this tenant has no such memory.
        """
        from reasoningbank.safety.text import reveal

        store = self._owner(memory_id)
        return tuple(reveal(memory) for memory in (*store.revisions(memory_id), store.get(memory_id)))

    def restore_version(self, memory_id: str, version: int) -> Memory:
        """Make an earlier text the newest version; the text it replaces is kept as a version of its own.

        Title, content, description, outcome, tags and category come back. State, evidence and use stay as they are.

        Raises:
            MemoryNotFound: When this tenant has no such memory.
            InvalidInput: When no such version is kept, or others keep editing the memory.
        """
        from reasoningbank.memories.admission import clean, edit, prepare_edit

        with observed("update_memory", store=self._place()):
            store = self._owner(check_memory_id(memory_id))
            for _ in range(_ATTEMPTS):
                current = store.get(memory_id)
                kept = {earlier.version: earlier for earlier in store.revisions(memory_id)}
                if version == current.version:
                    return current
                if version not in kept:
                    known = ", ".join(map(str, [*kept, current.version]))
                    raise InvalidInput(
                        f"memory {memory_id[:80]!r} has no version {version}", hint=f"Its versions are {known}."
                    )
                old = kept[version]
                new = clean(
                    replace(
                        current,
                        title=old.title,
                        content=old.content,
                        description=old.description,
                        outcome=old.outcome,
                        tags=old.tags,
                        category=old.category,
                    )
                )
                at = self._clock.now()
                ready = prepare_edit(current, new, self._embedder, at=at)
                with store.transaction() as transaction:
                    restored = edit(transaction, ready, cause=Cause(at=at, kind=EDITED, by=self._session))
                if restored is not None:
                    return restored
            raise InvalidInput(f"memory {memory_id[:80]!r} is being edited by others", hint="Try again.")

    def _tenant_stores(self) -> dict[Scope, Store]:
        """Return every bank of the tenant that exists, this one first."""
        stores = {self._scope: self._open_store()}
        for scope in self._storage.scopes(self._scope.tenant):
            if scope != self._scope:
                stores[scope] = self._neighbour(scope)
        return stores

    def _members(
        self, stores: Mapping[Scope, Store], selection: Selection, *, cascade: bool
    ) -> dict[Place, tuple[str, ...]]:
        """Return what a quarantine is to hold now, each with what it was made of."""
        from reasoningbank.curation.quarantine import descendants, selected

        store = stores[self._scope] if selection.memory_id is None else self._owner(selection.memory_id)
        chosen = selected(store, selection)
        members: dict[Place, tuple[str, ...]] = dict.fromkeys(chosen, ())
        if cascade and chosen:
            made = descendants({**stores, store.scope: store}, chosen)
            members |= {place: tuple(sorted(because)) for place, because in made.items()}
        return members

    @staticmethod
    def _fresh(
        stores: Mapping[Scope, Store], members: Mapping[Place, tuple[str, ...]], reference: str
    ) -> tuple[Isolated, ...]:
        """Return the members that the quarantine does not hold yet."""
        from reasoningbank.curation.quarantine import isolated
        from reasoningbank.memories.states import holding, without_quarantine

        found = []
        for place, because in members.items():
            store = stores[place.scope]
            memory, changes = store.get(place.id), store.changes(memory_id=place.id)
            if reference not in holding(changes):
                found.append(isolated(place, memory, without_quarantine(memory, changes).state, because))
        return tuple(found)


def _said(reason: str) -> str:
    line = _line(reason)
    if not line:
        raise InvalidInput("a quarantine needs its reason", hint="Say in one sentence why.")
    return line


def _line(text: str) -> str:
    """Return a reason as it is stored: one clean line without secrets."""
    from reasoningbank.safety.text import safe_line

    if len(text) > MAX_REASON:
        raise InvalidInput(f"a reason has at most {MAX_REASON} characters, not {len(text)}")
    return safe_line(text)

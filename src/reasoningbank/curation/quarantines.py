"""Hold memories back with everything derived from them, and release them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from reasoningbank.errors import InvalidInput
from reasoningbank.memories.memories import _ATTEMPTS
from reasoningbank.storage.store import Store
from reasoningbank.telemetry import observed
from reasoningbank.types.memory import QUARANTINED, RELEASED, Cause
from reasoningbank.types.quarantine import Quarantine, QuarantineReport, ReleaseReport, Selection
from reasoningbank.types.scope import Scope

if TYPE_CHECKING:
    from reasoningbank.context import Context
    from reasoningbank.curation.quarantine import Place
    from reasoningbank.memories.memories import Memories

MAX_REASON = 500


class Quarantines:
    """Hold memories back with everything derived from them, and release them."""

    def __init__(self, context: Context, memories: Memories) -> None:
        self._context = context
        self._memories = memories

    def add(
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
                fresh = self._memories.fresh(stores, members, cause.reference)
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

        Args:
            memory_id: Let this memory go from every quarantine.
            quarantine_id: The quarantine that ends.
            reason: Why; it stays in the memories' history.

        Raises:
            InvalidInput: When not exactly one of the two is named, or there is no such quarantine.
            MemoryNotFound: When this tenant has no such memory.
        """
        from reasoningbank.curation.quarantine import Place, freed, held_by, let_go

        if (memory_id is None) == (quarantine_id is None):
            raise InvalidInput("name either a memory or a quarantine", hint="`rbank quarantine --list` shows them.")
        cause = Cause(at=self._context.clock.now(), kind=RELEASED, reason=_line(reason), by=self._context.session)
        with observed("release_memories", store=self._context.place):
            stores = self._tenant_stores()
            held = held_by(stores)
            if memory_id is not None:
                owner = self._context.owner(memory_id).scope
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

    def list(self) -> tuple[Quarantine, ...]:
        """Return the quarantines that hold memories of this tenant now, oldest first."""
        from reasoningbank.curation.quarantine import listed

        return listed(self._tenant_stores())

    def _tenant_stores(self) -> dict[Scope, Store]:
        """Return every bank of the tenant that exists, this one first."""
        stores = {self._context.scope: self._context.store()}
        for scope in self._context.storage.scopes(self._context.scope.tenant):
            if scope != self._context.scope:
                stores[scope] = self._context.neighbour(scope)
        return stores

    def _members(
        self, stores: Mapping[Scope, Store], selection: Selection, *, cascade: bool
    ) -> dict[Place, tuple[str, ...]]:
        """Return what a quarantine is to hold now, each with what it was made of."""
        from reasoningbank.curation.quarantine import descendants, selected

        store = stores[self._context.scope] if selection.memory_id is None else self._context.owner(selection.memory_id)
        chosen = selected(store, selection)
        members: dict[Place, tuple[str, ...]] = dict.fromkeys(chosen, ())
        if cascade and chosen:
            made = descendants({**stores, store.scope: store}, chosen)
            members |= {place: tuple(sorted(because)) for place, because in made.items()}
        return members


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

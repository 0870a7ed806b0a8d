"""Read memories, their versions and where they come from."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from heapq import nlargest, nsmallest
from typing import TYPE_CHECKING

from reasoningbank.errors import InvalidInput
from reasoningbank.memories.standing import check_person, readable, said_by
from reasoningbank.safety.checks import checked_filter, checked_order
from reasoningbank.telemetry import observed
from reasoningbank.types.argument import Confidence, Limit, Offset
from reasoningbank.types.identifier import SHORTEST_BEGINNING, Identified, IdKind
from reasoningbank.types.memory import STATES, Event, Memory, Move, News, Order, State, check_memory_id
from reasoningbank.types.moment import as_moment
from reasoningbank.types.recall import Filter
from reasoningbank.types.resource import checked
from reasoningbank.types.session import Origin

if TYPE_CHECKING:
    from datetime import datetime

    from reasoningbank.context import Context
    from reasoningbank.types.graph_search import Lesson
    from reasoningbank.types.ports import Vector
    from reasoningbank.types.quarantine import Reader
    from reasoningbank.types.uplift import Meeting

_ATTEMPTS = 5
_IDENTIFIED = 6
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@checked
class Memories:
    """Read memories, their versions and where they come from."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def list(
        self,
        *,
        limit: Limit = 0,
        offset: Offset = 0,
        outcome: str | None = None,
        tags: Iterable[str] = (),
        category: str | None = None,
        states: Sequence[State] = STATES,
        min_confidence: Confidence | None = None,
        linked_to: Iterable[str] | None = None,
        order: Order = "recorded",
        reader: Reader = "human",
    ) -> tuple[Memory, ...]:
        """Return memories in the order they were recorded, archived ones included; limit 0 means all.

        Args:
            limit: Most memories; 0 lists all.
            offset: How many to leave out first.
            outcome: Only strategies or only anti-patterns.
            tags: Only with this tag; of several all.
            category: Only this kind of knowledge.
            states: Only this state; several are allowed.
            min_confidence: Only at least this confidence.
            linked_to: Only memories that are linked with any of these nodes of the graph.
            order: The order: as recorded, the newest, surest, most shown or last changed first.
            reader: Who is given them; an agent gets no text of a memory in quarantine.

        Raises:
            NegativeLimit, NegativeOffset: When they are below zero.
            InvalidInput: When there is no such order, or what is linked with a node is to be ordered.
        """
        from reasoningbank.memories.admission import withheld
        from reasoningbank.memories.links import checked_nodes, linked_with
        from reasoningbank.safety.stored_text import reveal

        by_agent = said_by(reader) == "agent"
        condition = checked_filter(outcome, tags, category, states, min_confidence)
        begin, most, chosen = offset, limit, checked_order(order)
        store = self._context.store()
        if linked_to is None:
            page: Sequence[Memory] = store.memories.page(condition, limit=most, offset=begin, order=chosen)
        elif chosen != "recorded":
            raise InvalidInput("what is linked with a node is listed as recorded", hint="Leave order out.")
        else:
            ids = linked_with(store, checked_nodes(linked_to))
            known = store.memories.many(ids)
            met = [known[name] for name in ids if name in known and condition.accepts(known[name])]
            page = met[begin : begin + most] if most else met[begin:]
        shown = (reveal(memory) for memory in page)
        return tuple(
            replace(withheld(memory), provenance={}) if by_agent and memory.state == "quarantined" else memory
            for memory in shown
        )

    def _note_given(self, reader: str, memory_ids: Collection[str] | None) -> None:
        """Keep that an agent was given these texts of this project without a search; None for all."""
        from reasoningbank.memories.exposure import note_given

        note_given(self._context.store(), reader, memory_ids, at=self._context.clock.now())

    def count(
        self,
        *,
        outcome: str | None = None,
        tags: Iterable[str] = (),
        category: str | None = None,
        states: Sequence[State] = STATES,
        min_confidence: Confidence | None = None,
    ) -> int:
        """Return how many memories there are, archived ones included."""
        return self._context.store().memories.count(checked_filter(outcome, tags, category, states, min_confidence))

    def identified(self, kind: IdKind, beginning: str) -> tuple[Identified, ...]:
        """Return what a person may mean by an id or by the beginning of one, of memories and of what is kept with them.

        Where the whole id exists, it alone is meant; else up to six are returned. A beginning has at least four
        characters. A memory is looked for in every project of the tenant and in its teams and orgs, everything else in
        this project. A session is known by the beginning of its name only where that name is a UUID: other names are
        chosen, and may begin alike.

        Args:
            kind: What the id names.
            beginning: The id, or its beginning.

        Raises:
            StoreError: When the bank cannot be read.
        """
        if len(beginning) < SHORTEST_BEGINNING or not beginning.isprintable():
            return ()
        by_id: dict[str, Identified] = {}
        for store in self._context.stores() if kind == "memory" else (self._context.store(),):
            place = "" if store.scope == self._context.scope else f"{store.scope.level} {store.scope.project}"
            found = store.ids_beginning(kind, beginning, limit=_IDENTIFIED)
            by_id = {each.id: replace(each, place=place) for each in found} | by_id
            if beginning in by_id:
                return (by_id[beginning],)
        if kind == "session":
            by_id = {name: each for name, each in by_id.items() if _UUID.fullmatch(name)}
        return tuple(by_id[name] for name in sorted(by_id)[:_IDENTIFIED])

    def history(self, memory_id: str) -> tuple[Event, ...]:
        """Return everything that happened to a memory, oldest first, each with the confidence that followed.

        Raises:
            MemoryNotFound: When this tenant has no such memory.
        """
        from reasoningbank.memories.history import history

        return history(self._context.owner(memory_id), memory_id)

    def news(self, since: datetime | str, *, limit: Limit = 0) -> News:
        """Return what was recorded since a time, and whose confidence evidence has moved since then.

        Args:
            since: A ``datetime`` with a time zone, or a text of ISO 8601; a text without a zone is UTC.
            limit: Most new memories, and most moved ones of each side; 0 for all.
        """
        from reasoningbank.safety.stored_text import reveal

        most, store, then = limit, self._context.store(), as_moment(since, "since")
        condition = Filter(states=STATES, created_after=then)
        moved = {name: (old.score, new.score) for name, (old, new) in store.evidence.moved_since(then).items()}
        changes = {name: after - before for name, (before, after) in moved.items()}
        helped = [name for name, change in changes.items() if change > 0]
        harmed = [name for name, change in changes.items() if change < 0]
        told = (
            *nlargest(most or len(helped), helped, key=changes.__getitem__),
            *nsmallest(most or len(harmed), harmed, key=changes.__getitem__),
        )
        known = store.memories.many(told)
        newest = store.memories.page(condition, limit=most, offset=0, order="newest")
        return News(
            since=then,
            recorded=store.memories.count(condition),
            newest=tuple(map(reveal, newest)),
            helped=len(helped),
            harmed=len(harmed),
            moves=tuple(
                Move(id=name, title=reveal(known[name]).title, before=moved[name][0], after=moved[name][1])
                for name in told
                if name in known
            ),
        )

    def meetings(self, memory_id: str, *, limit: Limit = 50) -> tuple[Meeting, ...]:
        """Return the sessions that were shown a memory, or kept from it, and how they ended, the latest first.

        Args:
            memory_id: The memory.
            limit: Most sessions; 0 for all.

        Raises:
            MemoryNotFound: When this tenant has no such memory.
        """
        most = limit
        return tuple(self._context.owner(memory_id).deliveries.meetings(memory_id, limit=most))

    def vector(self, memory_id: str, *, leg: str = "content") -> Vector | None:
        """Return the stored vector of a memory in a dense leg (seed 004 ``GetMemoryVector``).

        None when it has none there.

        Raises:
            MemoryNotFound: When this tenant has no such memory.
        """
        return self._context.owner(memory_id).search.vector(leg, memory_id)

    def versions(self, memory_id: str, *, reader: Reader = "human") -> tuple[Memory, ...]:
        """Return every version of a memory that is kept, oldest first, the current one last; secrets removed once more.

        An imported memory has no versions from before its import.

        Args:
            memory_id: The memory.
            reader: Who is given them; an agent gets none of a memory in quarantine.

        Raises:
            MemoryNotFound: When this tenant has no such memory.
            MemoryQuarantined: When it is in quarantine and an agent asks.
        """
        from reasoningbank.safety.stored_text import reveal

        store = self._context.owner(memory_id)
        readable(store, memory_id, reader)
        return tuple(reveal(memory) for memory in (*store.memories.revisions(memory_id), store.memories.get(memory_id)))

    def revert(self, memory_id: str, version: int) -> Memory:
        """Make an earlier text the newest version; the text it replaces is kept as a version of its own.

        Title, content, description, outcome, tags and category come back. State, evidence and use stay as they are.

        Args:
            memory_id: The memory.
            version: The version whose text comes back.

        Raises:
            MemoryNotFound: When this tenant has no such memory.
            InvalidInput: When no such version is kept, or others keep editing the memory.
        """
        check_person("to bring back an earlier text")
        from reasoningbank.memories.versions import rewrite, with_text_of

        with observed("update_memory", store=self._context.place):
            store = self._context.owner(check_memory_id(memory_id))

            def changed(current: Memory) -> Memory:
                kept = {earlier.version: earlier for earlier in store.memories.revisions(memory_id)}
                if version == current.version:
                    return current
                if version not in kept:
                    known = ", ".join(map(str, [*kept, current.version]))
                    raise InvalidInput(
                        f"memory {memory_id[:80]!r} has no version {version}", hint=f"Its versions are {known}."
                    )
                return with_text_of(current, kept[version])

            return rewrite(self._context, store, memory_id, changed)

    def origins(self, memory_id: str, *, reader: Reader = "human") -> tuple[Origin, ...]:
        """Return which sessions taught a memory, oldest first.

        Args:
            memory_id: The memory.
            reader: Who is given them; an agent gets none of a memory in quarantine.

        Raises:
            MemoryNotFound: When there is no such memory.
            MemoryQuarantined: When it is in quarantine and an agent asks.
        """
        store = self._context.owner(memory_id)
        readable(store, memory_id, reader)
        return tuple(store.sessions.origins(memory_id=memory_id))

    def links(self, memory: int | str, *, reader: Reader = "human") -> Lesson:
        """Return a memory with its row id and the nodes of the graph that it is linked with.

        Args:
            memory: Its id, or its ``rb_id``.
            reader: Who is given it; an agent gets no memory in quarantine.

        Raises:
            MemoryNotFound: When this project has no such memory.
            MemoryQuarantined: When it is in quarantine and an agent asks.
        """
        from reasoningbank.memories.links import lessons_of, named

        store = self._context.store()
        memory_id = named(store, memory)
        readable(store, memory_id, reader)
        return lessons_of(store, [memory_id])[memory_id]

    def link(self, memory: int | str, link_nodes: Iterable[str], *, unlink: bool = False) -> Lesson:
        """Add links between a memory and nodes of the graph, or remove them; the others stay.

        Args:
            memory: Its id, or its ``rb_id``.
            link_nodes: Ids of nodes; every one must exist.
            unlink: Remove these links instead.

        Raises:
            MemoryNotFound, NodeNotFound: When the memory or a node does not exist; nothing was changed.
        """
        from reasoningbank.memories.links import change_links, checked_nodes, named

        nodes = checked_nodes(link_nodes)
        with observed("update_memory", store=self._context.place), self._context.store().transaction() as transaction:
            return change_links(transaction, named(transaction, memory), nodes, unlink=unlink)

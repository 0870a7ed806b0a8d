"""What the resources of a bank share: its store, embedder, model, clock, settings, session and scope."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from reasoningbank.errors import BankError, MemoryNotFound, StoreClosed, StoreCorrupt, StoreError
from reasoningbank.memories.standing import project_side, said_in, speaker, speaking_session
from reasoningbank.safety.checks import place_name, session_name
from reasoningbank.settings import Settings
from reasoningbank.storage.store import Storage, Store, Transaction
from reasoningbank.telemetry import observed
from reasoningbank.types.memory import check_memory_id, new_session
from reasoningbank.types.ports import Clock, Embedder, LanguageModel, Reranker
from reasoningbank.types.records import Job, Salvage
from reasoningbank.types.scope import Membership, Scope, session_in

ROLL_UP = "roll_up"
"""The kind of the daily job that turns old signals into counts."""
_ROLL_UP_EVERY = timedelta(hours=24)
_LOOK_EVERY = timedelta(hours=1)
_Answer = TypeVar("_Answer")


class SystemClock:
    """The real time."""

    def now(self) -> datetime:
        """Return the current time in UTC."""
        return datetime.now(UTC)


class Context:
    """One open bank, as its resources see it. Thread-safe.

    A damaged bank opens too, so that it can be checked and restored; every other use then raises StoreCorrupt.

    Attributes:
        scope: The tenant and project, fixed for the bank's life.
        membership: The team and org that the bank was opened with; searches go on there.
        wider: The scopes of that team and org.
        settings: The settings in use.
        embedder: The embedder in use.
        model: The language model in use, None when there is none.
        reranker: What puts the best hits of a search into a better order, None when there is none.
        clock: The clock.
        chance: The source of randomness.
        storage: Where the banks of all scopes live.
        damage: Why the bank cannot be read; None when it can.
        unremembered: Why team and org could not be noted in the bank; empty when they were.
        last_confidence: The confidence of the first memory of the last search; None before the first.
    """

    def __init__(
        self,
        storage: Storage,
        scope: Scope,
        embedder: Embedder,
        *,
        settings: Settings,
        clock: Clock | None = None,
        chance: random.Random | None = None,
        session: str | None = None,
        model: LanguageModel | None = None,
        membership: Membership | None = None,
        reranker: Reranker | None = None,
    ) -> None:
        self.scope = scope
        self.membership = membership or Membership()
        named = {"tenant": scope.tenant, scope.level: scope.project}
        for what, name in (*named.items(), ("team", self.membership.team), ("org", self.membership.org)):
            place_name(name, what)
        self.wider = self.membership.scopes(scope.tenant)
        self.settings = settings
        self.embedder = embedder
        self.model = model
        self.reranker = reranker
        self.clock: Clock = clock or SystemClock()
        self.chance = chance or random.Random()  # noqa: S311 - sampling, not secrecy
        self._session = session_name(session) or new_session()
        self.storage = storage
        self.damage: StoreCorrupt | None = None
        self.unremembered = ""
        self.last_confidence: float | None = None
        self._lock = threading.Lock()
        self._neighbours: dict[Scope, Store] = {}
        self._closed = False
        self._next_look = self.clock.now()
        self._store: Store | None = None
        with observed("create_memory_store", store=self.place):
            try:
                self._store = storage.open(scope)
            except StoreCorrupt as error:
                self.damage = error
        if self.wider and self._store is not None and scope.level == "project":
            self.unremembered = _remember(self._store, self.membership)

    @property
    def session(self) -> str:
        """What counts when no session is named: that of the transport that speaks, else the bank's own.

        The bank's own is shared by everybody who uses one open bank; what one transport did is not the others'.
        """
        return speaking_session() or self._session

    @property
    def place(self) -> str:
        """The tenant and project as one name, for telemetry."""
        return f"{self.scope.tenant}\x00{self.scope.project}"

    def store(self) -> Store:
        """Return the store of this project.

        Raises:
            StoreClosed: When the bank is closed.
            StoreCorrupt: When the bank is damaged.
        """
        if self._closed:
            raise StoreClosed("the bank is closed")
        if self._store is None:
            raise self.damage or StoreClosed("the bank is not open")
        return self._store

    def store_in_space(self) -> Store:
        """Return the store of this project, when the embedder is the one that the bank was built with.

        Raises:
            ModelMismatch: When it is another one.
        """
        from reasoningbank.memories.admission import check_space

        store = self.store()
        check_space(store, self.embedder)
        return store

    def owner(self, memory_id: str) -> Store:
        """Return the store of this tenant that holds a memory (DESIGN D9).

        This project's comes first, then its team's and org's, then the tenant's other projects, teams and orgs.

        Raises:
            MemoryNotFound: When this tenant has no such memory.
        """
        store = self.store()
        check_memory_id(memory_id)
        if memory_id in store.memories.many([memory_id]):
            return store
        unreadable: StoreError | None = None
        for scope in self._beside_it():
            try:
                neighbour = self.neighbour(scope)
                if memory_id in neighbour.memories.many([memory_id]):
                    return neighbour
            except StoreError as error:
                unreadable = error
        if unreadable is not None:
            raise unreadable
        raise MemoryNotFound(f"no memory {memory_id[:80]!r} in tenant {self.scope.tenant[:80]!r}")

    def stores(self) -> Iterator[Store]:
        """Give every store of this tenant in which ``owner`` looks for a memory, in that order, but unreadable ones."""
        yield self.store()
        for scope in self._beside_it():
            with suppress(StoreError):
                yield self.neighbour(scope)

    def _beside_it(self) -> list[Scope]:
        near = [scope for scope in self.wider if self.storage.has(scope)]
        every = dict.fromkeys([*near, *self.storage.scopes(self.scope.tenant)])
        return [scope for scope in every if scope != self.scope]

    def neighbour(self, scope: Scope) -> Store:
        """Return the store of another scope of this tenant; it stays open until the bank is closed."""
        with self._lock:
            store = self._neighbours.get(scope)
            if store is None:
                store = self._neighbours[scope] = self.storage.open(scope)
            return store

    def beside(self, scope: Scope) -> Context:
        """Return the context of another project of this tenant, with the same parts; its user closes it."""
        return Context(
            self.storage,
            scope,
            self.embedder,
            settings=self.settings,
            clock=self.clock,
            chance=self.chance,
            session=self.session,
            model=self.model,
            reranker=self.reranker,
        )

    def written(
        self,
        memory_id: str,
        session: str,
        write: Callable[[Transaction, str], _Answer],
        note: Callable[[Transaction, str], None] | None = None,
    ) -> _Answer:
        """Run a write in one transaction of the store that holds a memory, and return its result.

        Args:
            memory_id: The memory.
            session: The session's name in this project.
            write: Takes the transaction and the session's name there.
            note: Notes what is known of the session itself: in the same transaction, or in this project's bank when
                the memory belongs to a team or an org, which know no sessions. Nothing is noted for who speaks in
                another principal's session.
        """
        store = self.owner(memory_id)
        place = session_in(store.scope, session, self.scope)
        with store.transaction() as transaction:
            project = "" if place == session else project_side(self.scope)
            name = said_in(transaction, place, project=project)
            answer = write(transaction, name)
            if note is not None and name == place == session:
                note(transaction, place)
        if note is not None and place != session:
            with self.store().transaction() as transaction:
                if said_in(transaction, session) == session:
                    note(transaction, session)
        self.keep_up()
        return answer

    @contextmanager
    def gated(self) -> Iterator[None]:
        """Note whose text the gate has stopped in the block, when it came through an agent's transport."""
        try:
            yield
        except BankError as error:
            spoken = speaker()
            if error.held and spoken:
                from reasoningbank.memories.admission import note_held

                with self.store().transaction() as transaction:
                    note_held(transaction, [spoken], at=self.clock.now())
            raise

    def roll_up(self) -> int:
        """Move signals older than thirty days into counts; return how many. No confidence changes.

        How what each source recorded has turned out is counted anew.
        """
        from reasoningbank.memories.evidence import roll_up
        from reasoningbank.memories.source_trust import learn_sources

        now = self.clock.now()
        with self.store().transaction() as transaction:
            moved = roll_up(transaction, now)
            learn_sources(transaction)
            job = Job(kind=ROLL_UP, key="daily", due=now + _ROLL_UP_EVERY)
            transaction.jobs.finish(job)
            transaction.jobs.enqueue(job)
        return moved

    def keep_up(self) -> None:
        """Do the daily roll-up when it is due; look once an hour."""
        now = self.clock.now()
        with self._lock:
            if now < self._next_look:
                return
            self._next_look = now + _LOOK_EVERY
        store = self.store()
        if any(job.kind == ROLL_UP for job in store.jobs.waiting(due=now)):
            self.roll_up()
            return
        with store.transaction() as transaction:
            transaction.jobs.enqueue(Job(kind=ROLL_UP, key="daily", due=now + _ROLL_UP_EVERY))

    @contextmanager
    def salvaged(self) -> Iterator[tuple[Store, Salvage, Path]]:
        """Give a new store of every whole row of the bank, whether it can be opened or not; ``Storage`` says how."""
        with self.storage.salvaged(self.scope) as found:
            yield found

    def restore(self, source: Path) -> None:
        """Replace the bank's content by that of a backup; a damaged bank can be read again afterwards."""
        if self.damage is None:
            self.store()
        self.storage.restore(self.scope, source)
        if self.damage is not None:
            self._store, self.damage = self.storage.open(self.scope), None

    def close(self) -> None:
        """Release everything; a second time does nothing."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            stores = [self._store, *self._neighbours.values()]
        for store in stores:
            if store is not None:
                store.close()


def _remember(store: Store, membership: Membership) -> str:
    """Keep the membership in the project's bank; return why it could not be kept, empty when it is.

    A bank that is full, busy or damaged opens all the same; the next opening tries again.
    """
    try:
        if store.membership != membership:
            with store.transaction() as transaction:
                transaction.set_membership(membership)
    except StoreError as error:
        return f"The bank could not note its team and org: {error} {error.hint}"
    return ""

"""An open bank as a whole: its wiring, its life, and the verbs that care for it rather than for one memory."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from reasoningbank.errors import (
    BankError,
    InvalidInput,
    MemoryNotFound,
    NegativeLimit,
    NegativeOffset,
    StoreClosed,
    StoreCorrupt,
    StoreError,
    StoreUnavailable,
)
from reasoningbank.memories.admission import Origin, Ready
from reasoningbank.settings import Settings
from reasoningbank.storage.store import Storage, Store, Transaction
from reasoningbank.telemetry import observed
from reasoningbank.types.memory import Health, ImportReport, Memory, Outcome, check_memory_id, new_session
from reasoningbank.types.ports import Clock, Embedder, LanguageModel
from reasoningbank.types.records import Job
from reasoningbank.types.scope import Membership, Scope, session_in

ROLL_UP = "roll_up"
ROLL_UP_EVERY = timedelta(hours=24)
_LOOK_EVERY = timedelta(hours=1)
_IMPORT_BATCH = 64
MAX_SESSION = 500
_Answer = TypeVar("_Answer")


class SystemClock:
    """The real time."""

    def now(self) -> datetime:
        """Return the current time in UTC."""
        return datetime.now(UTC)


class Upkeep:
    """The half of a bank that opens, keeps, copies, checks and closes it.

    A damaged bank opens too, so that it can be checked and restored; every other verb then raises StoreCorrupt.
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
    ) -> None:
        self._model = model
        self._membership = membership or Membership()
        self._wider = self._membership.scopes(scope.tenant)
        self._unremembered = ""
        self._storage = storage
        self._scope = scope
        self._embedder = embedder
        self._settings = settings
        self._clock: Clock = clock or SystemClock()
        self._chance = chance or random.Random()  # noqa: S311 - sampling, not secrecy
        self._session = session_name(session) or new_session()
        self._lock = threading.Lock()
        self._neighbours: dict[Scope, Store] = {}
        self._closed = False
        self._last_confidence = 0.0
        self._next_look = self._clock.now()
        self._damage: StoreCorrupt | None = None
        self._store: Store | None = None
        with observed("create_memory_store", store=self._place()):
            try:
                self._store = storage.open(scope)
            except StoreCorrupt as error:
                self._damage = error
        if self._wider and self._store is not None and scope.level == "project":
            from reasoningbank.sharing.membership import remember

            self._unremembered = remember(self._store, self._membership)

    @property
    def scope(self) -> Scope:
        """The tenant and project, fixed for the bank's life."""
        return self._scope

    @property
    def membership(self) -> Membership:
        """The team and org that this bank was opened with, fixed for its life; searches go on there."""
        return self._membership

    @property
    def session(self) -> str:
        """What searches and ratings count for when they name no session."""
        return self._session

    @property
    def embedder(self) -> Embedder:
        """The embedder in use."""
        return self._embedder

    def rollup(self) -> int:
        """Move signals older than thirty days into counts; return how many. No confidence changes."""
        from reasoningbank.memories.evidence import roll_up

        now = self._clock.now()
        with self._open_store().transaction() as transaction:
            moved = roll_up(transaction, now)
            job = Job(kind=ROLL_UP, key="daily", due=now + ROLL_UP_EVERY)
            transaction.finish(job)
            transaction.enqueue(job)
        return moved

    def backup(self, target: str | Path | None = None) -> Path:
        """Write a complete, consistent copy while others read and write; return where it lies.

        Args:
            target: The file to write; None makes one below the data directory and keeps the newest few.

        Raises:
            StoreUnavailable: When the target's directory does not exist or the file exists already.
        """
        store = self._open_store()
        if target is not None:
            path = usable_path(target)
            if path.exists():
                raise StoreUnavailable(f"{path} exists already", hint="Name a file that does not exist.")
            store.backup(path)
            return path
        from reasoningbank.types.scope import directory_name

        folder = self._settings.home / "backups" / directory_name(self._scope.tenant)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        name = self._scope.file_name
        path = folder / f"{name}.{self._clock.now():%Y%m%dT%H%M%S%f}.db"
        store.backup(path)
        for old in sorted(folder.glob(f"{name}.*.db"))[: -self._settings.backups]:
            old.unlink(missing_ok=True)
        return path

    def restore(self, source: str | Path) -> None:
        """Replace the bank by a backup of it; what it held until now is kept aside in a file of its own.

        Raises:
            StoreUnavailable: When there is no such backup.
            StoreCorrupt: When the backup is damaged; the bank stays as it is.
            ScopeViolation: When it is a backup of another tenant or project.
        """
        if self._damage is None:
            self._open_store()
        self._storage.restore(self._scope, usable_path(source))
        if self._damage is not None:
            self._store, self._damage = self._storage.open(self._scope), None

    def export(self, target: str | Path) -> int:
        """Write all memories with their evidence as JSON lines, secrets removed; return how many memories."""
        from reasoningbank.memories.transfer import write_export

        store = self._open_store()
        path = usable_path(target)
        partial = path.with_name(path.name + ".partial")
        try:
            partial.touch(mode=0o600)
            with partial.open("w", encoding="utf-8") as file:
                count = write_export(store, file)
            partial.replace(path)
        except OSError as error:
            partial.unlink(missing_ok=True)
            raise StoreUnavailable(f"{path} cannot be written: {error.strerror}") from error
        return count

    def import_(self, source: str | Path, *, progress: Callable[[int, int], None] | None = None) -> ImportReport:
        """Add the memories, documents and graph of an export; all of them or, when a line is unusable, none.

        Args:
            source: A file that ``export`` wrote.
            progress: Called with memories done and memories in all.

        Raises:
            InvalidInput: When a line is no part of an export; the message names it.
        """
        from reasoningbank.documents.documents import imported, put, vectors_of
        from reasoningbank.graph.importer import graph_of, put_graph
        from reasoningbank.memories.admission import clean, prepare, sift_documents, why_held
        from reasoningbank.memories.transfer import Record, parse, write_import

        store = self._open_store()
        try:
            with usable_path(source).open(encoding="utf-8") as file:
                records, weights = parse(iter(file), self._scope.project)
                file.seek(0)
                documents = imported(file)
                file.seek(0)
                graph = graph_of(file, self._clock.now())
        except OSError as error:
            raise StoreUnavailable(f"{source} cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise InvalidInput(f"{source} is not UTF-8 text", hint="Pass a file that `rbank export` wrote.") from error
        known = store.many([record.memory.id for record in records])
        fresh = [replace(record, memory=clean(record.memory)) for record in records if record.memory.id not in known]
        documents, left_out = sift_documents(documents)
        prepared: list[tuple[Record, Ready]] = []
        for start in range(0, len(fresh), _IMPORT_BATCH):
            batch = fresh[start : start + _IMPORT_BATCH]
            ready = prepare([record.memory for record in batch], self._embedder, origin="import")
            prepared += zip(batch, ready, strict=True)
            if progress:
                progress(len(prepared), len(fresh))
        texts = vectors_of(documents, self._embedder)
        with store.transaction() as transaction:
            stored = write_import(transaction, prepared, at=self._clock.now())
            for document in documents:
                if transaction.document(*document.place) is None:
                    put(transaction, document, texts, self._embedder.model_id)
            put_graph(transaction, graph, at=self._clock.now())
            if weights and not store.weight_history():
                for change in weights:
                    transaction.set_weights(change)
        same = {record.memory.id for record in records if record.memory.id in known}
        conflicts = {
            record.memory.id
            for record in records
            if record.memory.id in same and record.memory.fingerprint != known[record.memory.id].fingerprint
        }
        return ImportReport(
            imported=tuple(record.memory.id for record in fresh),
            unchanged=tuple(sorted(same - conflicts)),
            conflicts=tuple(sorted(conflicts)),
            left_out=(*graph.left_out, *left_out),
            quarantined=tuple(memory.id for memory in stored if why_held(memory)),
        )

    def reembed(self, *, progress: Callable[[int, int], None] | None = None) -> int:
        """Make every vector anew with this bank's embedder, in one step for readers; return how many memories.

        The queries of the traces that are compared, the texts of documents and the graph get new vectors too.

        Args:
            progress: Called with memories, nodes and edges done, and with how many there are in all.
        """
        from reasoningbank.reembedding import put_remade, remake

        store = self._open_store()
        remade = remake(store, self._embedder, progress)
        with store.transaction() as transaction:
            return put_remade(transaction, self._embedder, remade)

    def check(self) -> Health:
        """Read the whole bank, try the embedder, and list every defect."""
        if self._damage is not None:
            facts = {"tenant": self._scope.tenant, "project": self._scope.project}
            return Health(facts=facts, problems=(f"{self._damage} {self._damage.hint}",))
        store = self._open_store()
        report = store.check()
        problems = [*report.problems, *([self._unremembered] if self._unremembered else [])]
        facts = {
            "tenant": self._scope.tenant,
            "project": self._scope.project,
            "location": report.location,
            "engine": report.engine,
            "schema": str(report.schema),
            "embedder": self._embedder.name,
            "embedder model": self._embedder.model_id,
            "bank model": store.model_id or "none yet",
        }
        facts |= {f"bytes in {name}": str(size) for name, size in report.sizes.items()}
        try:
            self._embedder.embed_queries(["A sentence to try the embedder."])
        except BankError as error:
            problems.append(f"The embedder {self._embedder.name} does not work: {error} {error.hint}")
        if store.model_id not in {None, self._embedder.model_id}:
            problems.append(
                f"The bank was built with {store.model_id}; the embedder is {self._embedder.model_id}: "
                "choose the bank's embedder, or run `rbank doctor --reembed`."
            )
        return Health(facts=facts, problems=tuple(problems))

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

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _place(self) -> str:
        return f"{self._scope.tenant}\x00{self._scope.project}"

    def _open_store(self) -> Store:
        if self._closed:
            raise StoreClosed("the bank is closed")
        if self._store is None:
            raise self._damage or StoreClosed("the bank is not open")
        return self._store

    def _owner(self, memory_id: str) -> Store:
        """Return the store of this tenant that holds the memory (DESIGN D9).

        This project's first, then its team's and org's, then the tenant's other projects, teams and orgs.
        """
        store = self._open_store()
        check_memory_id(memory_id)
        if memory_id in store.many([memory_id]):
            return store
        near = [scope for scope in self._wider if self._storage.has(scope)]
        unreadable: StoreError | None = None
        for scope in dict.fromkeys([*near, *self._storage.scopes(self._scope.tenant)]):
            if scope == self._scope:
                continue
            try:
                neighbour = self._neighbour(scope)
                if memory_id in neighbour.many([memory_id]):
                    return neighbour
            except StoreError as error:
                unreadable = error
        if unreadable is not None:
            raise unreadable
        raise MemoryNotFound(f"no memory {memory_id[:80]!r} in tenant {self._scope.tenant[:80]!r}")

    def _neighbour(self, scope: Scope) -> Store:
        with self._lock:
            store = self._neighbours.get(scope)
            if store is None:
                store = self._neighbours[scope] = self._storage.open(scope)
            return store

    def _written(
        self,
        memory_id: str,
        session: str,
        write: Callable[[Transaction, str], _Answer],
        note: Callable[[Transaction, str], None] | None = None,
    ) -> _Answer:
        """Run a write in one transaction of the store that holds the memory, with the session's name there.

        What it says of the session itself is noted in the same transaction, or where the session is: a team knows none.
        """
        store = self._owner(memory_id)
        place = session_in(store.scope, session, self._scope)
        with store.transaction() as transaction:
            answer = write(transaction, place)
            if note is not None and place == session:
                note(transaction, place)
        if note is not None and place != session:
            with self._open_store().transaction() as transaction:
                note(transaction, session)
        self._keep_up()
        return answer

    def _keep_up(self) -> None:
        """Do the daily roll-up when it is due; look once an hour."""
        now = self._clock.now()
        with self._lock:
            if now < self._next_look:
                return
            self._next_look = now + _LOOK_EVERY
        store = self._open_store()
        due = store.jobs(due=now)
        if any(job.kind == ROLL_UP for job in due):
            self.rollup()
            return
        with store.transaction() as transaction:
            transaction.enqueue(Job(kind=ROLL_UP, key="daily", due=now + ROLL_UP_EVERY))

    def _new(
        self,
        *,
        title: str,
        content: str,
        outcome: Outcome,
        description: str,
        tags: tuple[str, ...],
        category: str,
        provenance: Mapping[str, str],
        origin: Origin,
        confidence: float | None = None,
    ) -> Memory:
        """Return a new memory of this project."""
        from reasoningbank.memories.admission import draft

        return draft(
            origin=origin,
            project=self._scope.project,
            title=title,
            content=content,
            outcome=outcome,
            description=description,
            tags=tags,
            category=category,
            confidence=confidence,
            provenance=provenance,
            at=self._clock.now(),
        )


def session_name(session: str | None) -> str:
    """Return a session's name as it is stored: one clean line without secrets, empty when there is none."""
    if not session:
        return ""
    from reasoningbank.safety.text import safe_line

    if len(session) > MAX_SESSION:
        raise InvalidInput(f"a session's name has at most {MAX_SESSION} characters, not {len(session)}")
    return safe_line(session)


def usable_path(path: str | Path) -> Path:
    """Return the absolute path; raises StoreUnavailable when the operating system cannot even look there."""
    try:
        absolute = Path(path).expanduser().absolute()
        absolute.exists()
    except (OSError, RuntimeError, ValueError) as error:
        raise StoreUnavailable(f"{str(path)[:80]!r} names no file: {error}"[:300], hint="Name another file.") from error
    return absolute


def checked_limit(limit: int) -> int:
    """Return the limit; raise NegativeLimit below zero."""
    if limit < 0:
        raise NegativeLimit(f"limit cannot be negative: {limit}")
    return limit


def checked_offset(offset: int) -> int:
    """Return the offset; raise NegativeOffset below zero."""
    if offset < 0:
        raise NegativeOffset(f"offset cannot be negative: {offset}")
    return offset


def clean_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Return tags to search for, cleaned as stored tags are."""
    from reasoningbank.safety.text import clean_line

    return tuple(tag for tag in (clean_line(tag) for tag in tags) if tag)

"""Banks with an index of vectors beside them: what searches ask of it, and what keeps it equal to the bank (DESIGN D1).

A transaction that changes memories numbers the change, and that is the queue: the index holds every change up to one
that it names itself. The job that brings it further is written in the same transaction. Until the job is done a search
compares what was changed since beside what the index names. So a process may be killed between the two writes: the
index says how far it came, and is taken on from there.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import logging
import secrets
import threading
import time
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import cast
from urllib.parse import parse_qs, unquote, urlsplit

from reasoningbank.errors import BankError, ConfigurationError, StoreUnavailable
from reasoningbank.settings import POSTGRESQL, shown_url
from reasoningbank.storage.database import Database, GraphReader, GraphSearch, MemorySearch
from reasoningbank.storage.index_port import (
    INDEX,
    INDEX_KEY,
    NO_HEAD,
    Answer,
    BankPlace,
    Head,
    IndexUrl,
    Near,
    Nearby,
    Point,
    VectorIndex,
)
from reasoningbank.storage.job_tables import JobTables
from reasoningbank.storage.memory_tables import MEMORY_COLUMNS, memories_of
from reasoningbank.storage.rows import LEGS_PER_KEY, Row, Value, to_microseconds
from reasoningbank.storage.search_sql import CHANGED_KEYS_SQL
from reasoningbank.storage.store import INDEX_MARK, Storage, Store
from reasoningbank.storage.unit import Unit
from reasoningbank.types.consolidation import is_consolidated
from reasoningbank.types.graph_search import GraphFilter, GraphKind
from reasoningbank.types.memory import Memory
from reasoningbank.types.ports import Vector
from reasoningbank.types.recall import VECTOR_LEGS, Filter
from reasoningbank.types.records import IndexReport, Job, Salvage, SimilarTraces, StoreReport
from reasoningbank.types.scope import Scope

MOST_CHANGED = 2_000
"""So many changes that the index does not know yet are compared beside it; with more it is behind, and left alone."""
REST_SECONDS = 5.0
"""So long an index is not asked again after it has failed."""
_AT_ONCE = 500
_ALL = 2**62
_DUE = datetime(1970, 1, 1, tzinfo=UTC)
"""The job has been due for ever: it comes before all others, whatever clock they follow."""
_FACTS = "('bank', 'space', 'dimension', '" + INDEX_MARK + "')"
_log = logging.getLogger(__name__)


class Beside:
    """The index of one bank: asked by searches, and kept equal to the bank.

    Args:
        index: Where the bank is one of many.
        database: The truth.
        scope: Whose bank it is.
    """

    def __init__(self, index: VectorIndex, database: Database, scope: Scope) -> None:
        self.index = index
        self._database = database
        self._scope = scope
        self._failure = ""
        self._rests_until = 0.0

    most_changed = MOST_CHANGED

    @property
    def usable(self) -> bool:
        return time.monotonic() >= self._rests_until

    @property
    def failure(self) -> str:
        return self._failure

    @property
    def shown(self) -> str:
        """Where the index is, for people to read."""
        return self.index.shown

    def near(self, asked: Sequence[Near], facts: Mapping[str, str]) -> Answer:
        head, named = self.index.near(BankPlace(self._scope, len(asked[0].vector)), asked)
        self._failure = ""
        if head.mark != _mark(facts):
            # It knows another state of the bank, or none: everything counts as changed.
            return Answer(NO_HEAD.change, named)
        return Answer(head.change, named)

    def check_behind(self, changed: int) -> None:
        if changed > MOST_CHANGED:
            raise StoreUnavailable(
                f"the vector index at {self.shown} lacks more than {MOST_CHANGED} changes of this bank",
                hint="The background work brings it up to date; `rbank vectors reconcile` does so now.",
            )

    def failed(self, error: Exception) -> str:
        self._rests_until = time.monotonic() + REST_SECONDS
        hint = error.hint if isinstance(error, BankError) else ""
        warning = f"The vectors of the bank were compared without its index: {error}. {hint}".strip()
        if warning != self._failure:
            _log.warning("%s", warning)
        self._failure = warning
        return warning

    def behind(self) -> bool:
        """Return whether the index answers, and lacks changes of the bank."""
        facts = self._facts()
        if "dimension" not in facts:
            return False
        try:
            head = self.index.head(self._place(facts))
        except StoreUnavailable:
            return False
        return head.mark != _mark(facts) or head.change < self._change()

    def follow(self) -> IndexReport:
        """Take over what was changed since what the index knows; all of it when it does not know this bank.

        Raises:
            StoreUnavailable: When the index does not answer; what it has taken by then it keeps.
        """
        facts, change = self._facts(), self._change()
        if "dimension" not in facts:
            return IndexReport(place=self.shown)
        place = self._place(facts)
        head = self.index.head(place)
        if head.mark != _mark(facts) or head.change > change:
            return self.reconcile()
        rows = self._database.run(CHANGED_KEYS_SQL, (head.change, _ALL))
        keys = sorted({cast(int, row[0]) for row in rows})
        for start in range(0, len(keys), _AT_ONCE):
            self.index.put(place, self._points(keys[start : start + _AT_ONCE]))
        gone = [
            cast(int, row[0])
            for row in self._database.run("SELECT key FROM deletions WHERE change > ?", (head.change,))
        ]
        self.index.remove(place, gone)
        if keys or gone or head.change != change:
            self.index.put_head(place, Head(_mark(facts), change))
        self._rests_until, self._failure = 0.0, ""
        return IndexReport(place=self.shown, memories=self._count(), written=len(keys), removed=len(gone))

    def reconcile(self) -> IndexReport:
        """Compare every memory of the bank with the index, and make the index equal to it.

        Raises:
            StoreUnavailable: When the index does not answer; what it has taken by then it keeps.
        """
        facts, change = self._facts(), self._change()
        if "dimension" not in facts:
            return IndexReport(place=self.shown)
        place = self._place(facts)
        self.index.drop(place, others=True)
        held = dict(self.index.stamps(place))
        keys = [cast(int, row[0]) for row in self._database.run("SELECT key FROM memories ORDER BY key")]
        written = 0
        for start in range(0, len(keys), _AT_ONCE):
            points = self._points(keys[start : start + _AT_ONCE])
            fresh = [point for point in points if held.pop(point.key, None) != point.stamp]
            self.index.put(place, fresh)
            written += len(fresh)
        self.index.remove(place, sorted(held))
        self.index.put_head(place, Head(_mark(facts), change))
        self._rests_until, self._failure = 0.0, ""
        return IndexReport(place=self.shown, memories=len(keys), written=written, removed=len(held))

    def _place(self, facts: Mapping[str, str]) -> BankPlace:
        return BankPlace(self._scope, int(facts["dimension"]))

    def _facts(self) -> Mapping[str, str]:
        rows = self._database.run(f"SELECT name, value FROM meta WHERE name IN {_FACTS}")  # noqa: S608 - constants
        return {cast(str, name): cast(str, value) for name, value in rows}

    def _change(self) -> int:
        return cast(int, self._database.run("SELECT value FROM counters WHERE name = 'change'")[0][0])

    def _count(self) -> int:
        return cast(int, self._database.run("SELECT count(*) FROM memories")[0][0])

    def _points(self, keys: Sequence[int]) -> Sequence[Point]:
        """Return what the index should hold of those of these memories that exist."""
        import numpy

        listed = json.dumps(list(keys))
        rows = self._database.run(
            f"SELECT {MEMORY_COLUMNS} FROM memories WHERE key IN (SELECT value FROM numbers_in(?))",  # noqa: S608
            (listed,),
        )
        known = {cast(str, row[0]): cast(int, row[-1]) for row in rows}
        memories = memories_of(self._scope.project, rows, Unit.outside(self._scope.project))
        vectors: dict[int, dict[str, tuple[bytes, bytes]]] = {}
        for number, vector, stored in self._database.run(
            "SELECT v.id, v.vector, v.checksum FROM numbers_in(?) AS k CROSS JOIN vectors AS v "
            "ON v.id BETWEEN ? * k.value AND ? * k.value + ?",
            (listed, LEGS_PER_KEY, LEGS_PER_KEY, LEGS_PER_KEY - 1),
        ):
            key, leg = divmod(cast(int, number), LEGS_PER_KEY)
            vectors.setdefault(key, {})[VECTOR_LEGS[leg]] = (cast(bytes, vector), cast(bytes, stored))
        links: dict[int, list[str]] = {}
        for memory_key, node in self._database.run(
            "SELECT p.memory, n.id FROM graph_pointers AS p JOIN graph_nodes AS n ON n.key = p.node "
            "WHERE p.memory IN (SELECT value FROM numbers_in(?)) ORDER BY n.key",
            (listed,),
        ):
            links.setdefault(cast(int, memory_key), []).append(cast(str, node))
        points = []
        for memory in memories.values():
            key = known[memory.id]
            held = vectors.get(key, {})
            fields = {**_fields(memory), "link_nodes": links.get(key, [])}
            points.append(
                Point(
                    key=key,
                    stamp=_stamp(fields, memory, {leg: stored for leg, (_, stored) in held.items()}),
                    fields=fields,
                    lesson=f"{memory.title}\n{memory.content}",
                    context=memory.description,
                    vectors={leg: numpy.frombuffer(raw, dtype=numpy.float32) for leg, (raw, _) in held.items()},
                )
            )
        return points


def _fields(memory: Memory) -> dict[str, str | int | float | bool | Sequence[str]]:
    return {
        "state": memory.state,
        "outcome": memory.outcome,
        "category": memory.category,
        "consolidated": is_consolidated(memory),
        "confidence": memory.confidence,
        "created": to_microseconds(memory.created_at),
        "tags": list(memory.tags),
        "standing": memory.standing,
    }


def _stamp(fields: Mapping[str, object], memory: Memory, checksums: Mapping[str, bytes]) -> str:
    whole = [
        fields,
        memory.title,
        memory.description,
        memory.content,
        {leg: one.hex() for leg, one in checksums.items()},
    ]
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()[:32]


def _mark(facts: Mapping[str, str]) -> str:
    """Return what stands for the bank in the state of its vectors that it is in."""
    return " ".join((facts.get("bank", ""), facts.get("space", ""), facts.get(INDEX_MARK, "")))


class IndexedDatabase:
    """A bank in an engine, with an index of its vectors beside it; everything else is as the engine does it.

    Args:
        truth: The bank; closed with this.
        beside: The index.
    """

    def __init__(self, truth: Database, beside: Beside) -> None:
        self.beside = beside
        self.truth = truth

    @property
    def project(self) -> str:
        return self.truth.project

    @property
    def path(self) -> Path:
        return self.truth.path

    @property
    def seen_model_id(self) -> str | None:
        return self.truth.seen_model_id

    @property
    def walked(self) -> GraphReader:
        return self.truth.walked

    def run(self, sql: str, values: Sequence[Value] = ()) -> Sequence[Row]:
        return self.truth.run(sql, values)

    def run_each(self, sql: str, rows: Sequence[Row]) -> Sequence[Row]:
        return self.truth.run_each(sql, rows)

    @contextmanager
    def writing(self) -> Iterator[Unit]:
        """Give one transaction; one that changes memories queues the job that brings the index further."""
        with self.truth.writing() as unit:
            yield unit
            unit.check_whole()
            if unit.changes_memories:
                JobTables(unit, unit).enqueue(Job(kind=INDEX, key=INDEX_KEY, due=_DUE))

    def search(
        self,
        conditions: Sequence[Filter],
        query: Vector | None = None,
        leg: str = "",
        *,
        context: bool = False,
        again: bool = False,
        nearby: Nearby | None = None,
    ) -> AbstractContextManager[MemorySearch]:
        return self.truth.search(conditions, query, leg, context=context, again=again, nearby=nearby or self.beside)

    def search_graph(
        self, kind: GraphKind, condition: GraphFilter, query: Vector | None = None
    ) -> AbstractContextManager[GraphSearch]:
        return self.truth.search_graph(kind, condition, query)

    def similar_traces(self, query: Vector, limit: int, least: float) -> SimilarTraces:
        return self.truth.similar_traces(query, limit, least)

    def check(self) -> StoreReport:
        return self.truth.check()

    def backup(self, target: Path) -> None:
        self.truth.backup(target)

    def close(self) -> None:
        self.truth.close()


class IndexedStorage:
    """The Storage port over another place, with one index for the vectors of all its banks.

    Args:
        place: Where the banks live.
        index: Where their vectors are too.
    """

    def __init__(self, place: Storage, index: VectorIndex) -> None:
        self._place = place
        self._index = index

    def open(self, scope: Scope) -> Store:
        """Return the scope's store, made when it does not exist."""
        truth = self._place.open(scope).database
        beside = Beside(self._index, truth, scope)
        return Store(IndexedDatabase(truth, beside), scope, beside)

    def scopes(self, tenant: str) -> Sequence[Scope]:
        """Return the scopes of one tenant that exist in the place, by level and name."""
        return self._place.scopes(tenant)

    def marks(self, tenant: str) -> Mapping[Scope, Hashable]:
        """Return the same scopes, each with the place's mark of its store."""
        return self._place.marks(tenant)

    def latest(self, tenant: str, limit: int) -> tuple[Sequence[Scope], int]:
        """Return the projects of the place that were written last, and how many there are in all."""
        return self._place.latest(tenant, limit)

    def has(self, scope: Scope) -> bool:
        """Return whether the scope has a bank in the place; asking makes none."""
        return self._place.has(scope)

    def restore(self, scope: Scope, source: Path) -> None:
        """Replace the scope's bank by a backup of the same scope; what the index holds of it counts no more."""
        self._place.restore(scope, source)
        store = self.open(scope)
        try:
            with store.transaction() as transaction:
                transaction.renew_index_mark(secrets.token_hex(16))
        finally:
            store.close()

    def salvaged(self, scope: Scope) -> AbstractContextManager[tuple[Store, Salvage, Path]]:
        """Give a new store of every whole row of a damaged one in the place."""
        return self._place.salvaged(scope)


_SCHEMES = {
    "qdrant+http": "http",
    "qdrant+https": "https",
    "milvus+http": "http",
    "milvus+https": "https",
    "milvus": "",
}
PGVECTOR = "pgvector"
"""What names the index in the database of the banks itself."""
_USUAL = (
    "Use qdrant+http://HOST:6333, milvus+http://HOST:19530 or milvus:///PATH/FILE.db; pgvector for banks in PostgreSQL."
)
_COLLECTIONS = ("shared", "project")


_indexes: dict[str, VectorIndex] = {}
_opening = threading.Lock()


@atexit.register
def close_indexes() -> None:
    """Release the connections to all indexes."""
    with _opening:
        held = list(_indexes.values())
        _indexes.clear()
    for each in held:
        each.close()


def index_of(url: str, *, banks: str = "") -> VectorIndex:
    """Return the index at a URL, the same for all banks of the process; it is connected to when it is needed.

    Args:
        url: ``qdrant+http://[:KEY@]HOST:PORT[/PREFIX]``, ``milvus+http://[USER:PASSWORD@]HOST:PORT[/PREFIX]`` or
            ``milvus:///FILE``; ``?collections=project`` makes one collection for each bank, ``timeout`` gives seconds.
            ``pgvector`` is that of the database of the banks.
        banks: The URL of the banks.

    Raises:
        ConfigurationError: When the URL names no index that exists.
    """
    with _opening:
        name = f"{PGVECTOR} {banks}" if url == PGVECTOR else url
        if name not in _indexes:
            _indexes[name] = _made(url, banks)
        return _indexes[name]


def _made(url: str, banks: str) -> VectorIndex:
    if url == PGVECTOR:
        if urlsplit(banks).scheme not in POSTGRESQL:
            raise ConfigurationError(
                "the index pgvector is one of a PostgreSQL database, and the banks are in none", hint=_USUAL
            )
        from reasoningbank.storage.pgvector_index import PgvectorIndex

        return PgvectorIndex(banks)
    known = _parsed(url)
    if url.startswith("qdrant"):
        from reasoningbank.storage.qdrant_index import QdrantIndex

        return QdrantIndex(known)
    from reasoningbank.storage.milvus_index import MilvusIndex

    return MilvusIndex(known)


def _parsed(url: str) -> IndexUrl:
    try:
        parts = urlsplit(url)
        options = {name: values[-1] for name, values in parse_qs(parts.query, strict_parsing=bool(parts.query)).items()}
        seconds = float(options.pop("timeout", "5"))
        named, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise ConfigurationError(f"{shown_url(url)} is not a URL of a vector index: {error}", hint=_USUAL) from error
    collections = options.pop("collections", _COLLECTIONS[0])
    prefix = unquote(parts.path).strip("/") or "reasoningbank"
    if parts.scheme not in _SCHEMES or bool(named) == (parts.scheme == "milvus"):
        raise ConfigurationError(f"{shown_url(url)} names no vector index", hint=_USUAL)
    if parts.scheme == "milvus":
        # As with sqlite:///, a fourth slash begins an absolute path.
        prefix, base = "reasoningbank", str(Path(unquote(parts.path[1:])).expanduser().absolute())
    else:
        base = f"{_SCHEMES[parts.scheme]}://{f'[{named}]' if ':' in named else named}" + (f":{port}" if port else "")
    if options or collections not in _COLLECTIONS or not 0.0 < seconds < 600.0 or not prefix.replace("_", "").isalnum():
        raise ConfigurationError(
            f"{shown_url(url)} has an option that no vector index knows",
            hint="The options are collections=shared, collections=project and timeout=SECONDS; a prefix has letters, "
            "digits and _.",
        )
    return IndexUrl(
        shown=shown_url(url).split("?")[0],
        base=base,
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        prefix=prefix,
        per_project=collections == "project",
        seconds=seconds,
    )

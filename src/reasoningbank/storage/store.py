"""The store of one scope: its tables, its searches and its transactions (DESIGN D1, D18)."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, cast

from reasoningbank.batches import Batches
from reasoningbank.errors import BankError, StoreError
from reasoningbank.storage.connection import RowSource
from reasoningbank.storage.database import Database, GraphReader
from reasoningbank.storage.delivery_tables import DeliveryTables
from reasoningbank.storage.document_tables import DocumentTables
from reasoningbank.storage.erasure import SessionErasure
from reasoningbank.storage.evidence_tables import EvidenceTables
from reasoningbank.storage.graph_tables import GraphTables, GraphText, Pointer
from reasoningbank.storage.id_ranges import ids_beginning
from reasoningbank.storage.index_port import IndexKeeper
from reasoningbank.storage.job_tables import JobTables
from reasoningbank.storage.memory_tables import MemoryTables
from reasoningbank.storage.rows import SOURCE_OUTCOMES, WORDS_WORTH, decoding, words_worth_from
from reasoningbank.storage.session_tables import SessionTables
from reasoningbank.storage.unit import Unit
from reasoningbank.types.identifier import Identified, IdKind
from reasoningbank.types.memory import STATES
from reasoningbank.types.recall import Filter
from reasoningbank.types.records import Run, Salvage, SourceOutcomes, StoreReport, WordsWorth
from reasoningbank.types.scope import Membership, Scope
from reasoningbank.types.signal import SignalAggregate, replay

if TYPE_CHECKING:
    from reasoningbank.storage.store_search import StoreSearch

__all__ = ["GraphReader", "GraphText", "Pointer", "Storage", "Store", "StoreReader", "Transaction"]
ALL_STATES = Filter(states=STATES)
_BATCH = 500
_WRITES = 32
"""Writes of so many threads share a transaction."""
MEMBERSHIP = "membership"
"""Under this name ``meta`` holds which team and org the project belongs to."""
INDEX_MARK = "index"
"""Under this name ``meta`` holds what is another text once a backup has replaced a bank with an index beside it."""
_MARK = (
    "SELECT (SELECT value FROM counters WHERE name = 'change'), (SELECT max(number) FROM recalls), "
    "(SELECT max(number) FROM weight_history)"
)
RUN = "run "
"""Under names that begin so ``meta`` holds when each kind of background work was last done."""


class StoreReader:
    """The tables of one scope; inside a transaction they see its own writes.

    Args:
        source: Where the rows come from.
        unit: The transaction that writes; outside of one every write is refused.
        walked: Answers what walks ask of the graph in place of the source.
    """

    def __init__(self, source: RowSource, unit: Unit, walked: GraphReader | None = None) -> None:
        self._source = source
        self._unit = unit
        self._walked = walked

    # Most transactions need one or two of the groups, so each is made when it is asked for.

    @cached_property
    def memories(self) -> MemoryTables:
        """Memories, their versions and what is derived from them."""
        return MemoryTables(self._source, self._unit)

    @cached_property
    def evidence(self) -> EvidenceTables:
        """Signals, and the weights that they had."""
        return EvidenceTables(self._source, self._unit)

    @cached_property
    def deliveries(self) -> DeliveryTables:
        """What was shown to whom."""
        return DeliveryTables(self._source, self._unit)

    @cached_property
    def sessions(self) -> SessionTables:
        """Sessions, judgements and what was learned from them."""
        return SessionTables(self._source, self._unit)

    @cached_property
    def graph(self) -> GraphTables:
        """Nodes and edges."""
        return GraphTables(self._source, self._unit, self._walked)

    @cached_property
    def documents(self) -> DocumentTables:
        """What frameworks file."""
        return DocumentTables(self._source, self._unit)

    @cached_property
    def jobs(self) -> JobTables:
        """Background work that waits or is done."""
        return JobTables(self._source, self._unit)

    def ids_beginning(self, kind: IdKind, beginning: str, *, limit: int) -> Sequence[Identified]:
        """Return what of this kind has an id that begins so, in the order of the ids; the id itself comes first."""
        return ids_beginning(self._source, kind, beginning, limit)

    def problems(self) -> list[str]:
        """Read every row and return every defect."""
        problems: list[str] = []
        for part in (
            self.memories.problems,
            self._beliefs,
            self.sessions.problems,
            self._lessons,
            self.documents.problems,
            self.jobs.problems,
            self.graph.problems,
        ):
            try:
                with decoding("the bank"):
                    problems += part()
            except BankError as error:
                problems.append(str(error))
        return problems

    def _lessons(self) -> list[str]:
        """Read what has no derived parts; a row that is damaged raises StoreCorrupt."""
        self.sessions.origins()
        self.sessions.refusals()
        self.sessions.traces()
        self.deliveries.exposures()
        return []

    def _beliefs(self) -> list[str]:
        """Replay every memory's evidence: the stored belief must equal the log, and the filter columns the memory."""
        problems: list[str] = []
        for batch in self.memories.batches(ALL_STATES, size=_BATCH):
            names = [memory.id for memory in batch]
            aggregates, signals = self.evidence.aggregates_of(names), self.evidence.signals_of(names)
            weights = self.evidence.weights()
            for memory in batch:
                rolled_up = aggregates.get(memory.id)
                if rolled_up is None:
                    rolled_up = SignalAggregate(
                        memory_id=memory.id, project=self._source.project, positive=0, negative=0
                    )
                replayed = replay(memory.belief.initial, rolled_up, signals.get(memory.id, ()), weights)
                if (replayed.positive, replayed.negative) != (memory.belief.positive, memory.belief.negative):
                    problems.append(f"the confidence of memory {memory.id} does not follow from its evidence")
            self.memories.revisions_of(names)
            problems += self.memories.column_problems(
                {memory.id: (memory.confidence, memory.fingerprint) for memory in batch}
            )
        return problems


class Transaction(StoreReader):
    """Writes of one scope that become visible together or not at all."""

    def __init__(self, unit: Unit) -> None:
        super().__init__(unit, unit)

    @property
    def erasure(self) -> SessionErasure:
        """Names and traces of sessions, and their end."""
        return SessionErasure(self._unit, self._unit)

    def whole(self) -> AbstractContextManager[None]:
        """Return a block whose writes happen together or not at all, also when its error is caught."""
        return self._unit.whole()

    def forget_vectors(self) -> None:
        """Remove every vector and the bank's model, so that another model's vectors may come."""
        with self._unit.whole():
            for table in ("vectors", "trace_vectors", "document_vectors", "graph_vectors"):
                self._unit.run(f"DELETE FROM {table}")  # noqa: S608 - constant tables
            self._unit.run("DELETE FROM meta WHERE name IN ('model_id', 'dimension') OR name LIKE 'sidecar %'")
            self._unit.put_meta("space", uuid.uuid4().hex)
            self._unit.note_change()
            self._unit.forget_space()

    def set_membership(self, membership: Membership) -> None:
        """Replace which team and org the project belongs to."""
        self._unit.put_meta(MEMBERSHIP, json.dumps([membership.team, membership.org]))

    def renew_index_mark(self, mark: str) -> None:
        """Let an index of the vectors beside the bank know that the bank is another one."""
        self._unit.put_meta(INDEX_MARK, mark)

    def note_run(self, run: Run) -> None:
        """Replace when a kind of background work was last done."""
        said = {"at": run.at.isoformat(), "said": run.said, "failed": run.failed}
        self._unit.put_meta(f"{RUN}{run.kind}", json.dumps(said))

    def set_words_worth(self, worth: WordsWorth) -> None:
        """Replace what the bank has learned that words are worth in it."""
        self._unit.put_meta(WORDS_WORTH, json.dumps([worth.factor, worth.model_id, worth.memories]))

    def set_source_outcomes(self, outcomes: SourceOutcomes) -> None:
        """Replace how what each source recorded has turned out."""
        self._unit.put_meta(SOURCE_OUTCOMES, json.dumps(outcomes))


class Store(StoreReader):
    """One bank: its tables as they were committed, its searches and its transactions. Threads may share it.

    Args:
        database: The engine that holds it; closed with the store.
        scope: Whose bank it is.
        index: What keeps an index of its vectors beside it; None without one.
    """

    def __init__(self, database: Database, scope: Scope, index: IndexKeeper | None = None) -> None:
        super().__init__(database, Unit.outside(scope.project), database.walked)
        self.project = scope.project
        self.index = index
        self._database = database
        self._scope = scope
        self._together: Batches[Callable[[Transaction], None], None] = Batches(self._written, most=_WRITES)

    @cached_property
    def search(self) -> StoreSearch:
        """Its searches."""
        # Only who searches needs numpy, which takes long to import.
        from reasoningbank.storage.store_search import StoreSearch

        return StoreSearch(self._database)

    @property
    def database(self) -> Database:
        """The engine that holds it."""
        return self._database

    @property
    def scope(self) -> Scope:
        """The scope it holds, fixed for its life."""
        return self._scope

    @property
    def path(self) -> Path:
        """The bank file, or what stands for it in messages."""
        return self._database.path

    @property
    def model_id(self) -> str | None:
        """The vector space of the stored vectors; None when there are none yet."""
        rows = self._database.run("SELECT value FROM meta WHERE name = 'model_id'")
        return cast(str, rows[0][0]) if rows else None

    @property
    def seen_model_id(self) -> str | None:
        """The same as it was seen last, without a look into the bank; None when it was not."""
        return self._database.seen_model_id

    @property
    def mark(self) -> Hashable:
        """A value that is another one once anything was written of memories, sessions and evidence."""
        return tuple(self._database.run(_MARK)[0])

    @property
    def words_worth(self) -> WordsWorth:
        """Return what the bank has learned that words are worth in it; factor 1 when it has not."""
        rows = self._database.run("SELECT value FROM meta WHERE name = ?", (WORDS_WORTH,))
        return words_worth_from(rows[0][0] if rows else None)

    @property
    def runs(self) -> Sequence[Run]:
        """When each kind of background work was last done, by kind."""
        rows = self._database.run(
            "SELECT name, value FROM meta WHERE substr(name, 1, ?) = ? ORDER BY name", (len(RUN), RUN)
        )
        with decoding("when background work was last done"):
            return [_run(cast(str, name), cast(str, value)) for name, value in rows]

    @property
    def membership(self) -> Membership:
        """Which team and org the project was last opened with; empty names when with none."""
        rows = self._database.run("SELECT value FROM meta WHERE name = ?", (MEMBERSHIP,))
        if not rows:
            return Membership()
        with decoding("which team and org the project belongs to"):
            team, org = json.loads(cast(str, rows[0][0]))
            return Membership(team=str(team), org=str(org))

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Return one atomic, durable unit of writes; an exception inside leaves no trace."""
        return _Writing(self._database.writing())

    def write_together(self, write: Callable[[Transaction], None]) -> None:
        """Write in one transaction with the other threads that want to at this moment.

        Each write happens as a whole or not at all, whatever the others do. When this returns it is durable.

        Args:
            write: Writes; it runs on any thread, and again when another one failed.

        Raises:
            BankError: When the write or the transaction failed.
        """
        self._together.of(write)

    def _written(self, writes: Sequence[Callable[[Transaction], None]]) -> Sequence[BaseException | None]:
        try:
            with self.transaction() as transaction, transaction.whole():
                for write in writes:
                    write(transaction)
        except StoreError as error:
            return [error] * len(writes)
        except Exception as error:  # noqa: BLE001 - each thread raises its own
            # One of them cannot be written; which one shows when each is alone.
            return [error] if len(writes) == 1 else [self._written([write])[0] for write in writes]
        return [None] * len(writes)

    def check(self) -> StoreReport:
        """Read everything and report every defect."""
        return self._database.check()

    def backup(self, target: Path) -> None:
        """Write a complete, consistent copy that ``Storage.restore`` accepts."""
        self._database.backup(target)

    def close(self) -> None:
        """Release what the store holds; a second time does nothing."""
        self._database.close()


class _Writing:
    """Give the tables of a transaction for the time of a block."""

    __slots__ = ("_units",)

    def __init__(self, units: AbstractContextManager[Unit]) -> None:
        self._units = units

    def __enter__(self) -> Transaction:
        return Transaction(self._units.__enter__())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return self._units.__exit__(kind, error, trace)


def _run(name: str, value: str) -> Run:
    said = json.loads(value)
    return Run(
        kind=name.removeprefix(RUN),
        at=datetime.fromisoformat(said["at"]),
        said=str(said["said"]),
        failed=bool(said["failed"]),
    )


class Storage(Protocol):
    """A place that holds one store per scope."""

    def open(self, scope: Scope) -> Store:
        """Return the scope's store, made when it does not exist."""

    def scopes(self, tenant: str) -> Sequence[Scope]:
        """Return the scopes of one tenant that exist here: projects by name, then teams, then orgs."""

    def marks(self, tenant: str) -> Mapping[Scope, Hashable]:
        """Return the same scopes, each with a mark that is another one once its store was written; asking is cheap."""

    def latest(self, tenant: str, limit: int) -> tuple[Sequence[Scope], int]:
        """Return the projects that were written last, the latest first, and how many there are in all.

        A place that does not know when takes those that came last. What is not returned is not opened.
        """

    def has(self, scope: Scope) -> bool:
        """Return whether the scope has a store here; asking makes none."""

    def restore(self, scope: Scope, source: Path) -> None:
        """Replace the scope's store by a backup of the same scope; an old file is kept beside it."""

    def salvaged(self, scope: Scope) -> AbstractContextManager[tuple[Store, Salvage, Path]]:
        """Give a new store of every whole row of a damaged one, which stays as it is.

        When the block ends without an error, the new store is a file beside the damaged one.

        Raises:
            StoreUnavailable: When there is nothing to take rows from.
        """

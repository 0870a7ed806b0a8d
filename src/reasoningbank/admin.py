"""Care for a bank as a whole: counts, checks, copies, exports, and vectors made again for another embedder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from io import TextIOWrapper
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from reasoningbank.documents.values import put_again, vectors_of
from reasoningbank.errors import BankError, InvalidInput, NotFound, StoreUnavailable
from reasoningbank.graph.nodes import embed_few, embedded
from reasoningbank.memories.admission import index, reindex
from reasoningbank.memories.standing import check_person, said_by
from reasoningbank.safety.checks import usable_path
from reasoningbank.safety.file_access import digest_of, open_regular, write_whole
from reasoningbank.storage import BACKUPS
from reasoningbank.storage.graph_tables import GraphText
from reasoningbank.storage.store import Store, StoreReader, Transaction
from reasoningbank.types.argument import Limit
from reasoningbank.types.belief import MIN_CONFIDENCE
from reasoningbank.types.experience import COMPARED_TRACES, Trace
from reasoningbank.types.graph_search import GRAPH_KINDS, GraphFilter, GraphKind
from reasoningbank.types.memory import STATES, Health, ImportReport, Repair, Stats
from reasoningbank.types.moment import as_moment
from reasoningbank.types.ports import Embedder, Vector
from reasoningbank.types.quarantine import Reader
from reasoningbank.types.recall import Filter
from reasoningbank.types.records import ErasedSessions, Indexed, RecallLog
from reasoningbank.types.resource import checked
from reasoningbank.types.signal import SIGNAL_TYPES

if TYPE_CHECKING:
    from reasoningbank.context import Context
    from reasoningbank.curation.metrics import Criteria
    from reasoningbank.memories.admission import EnteredBy, Ready
    from reasoningbank.types.metrics import Metrics
    from reasoningbank.types.records import WeightChange

OnProgress = Callable[[int, int], None]

_EVERYTHING = Filter(states=STATES)
_BATCH = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Remade:
    """New vectors of everything, made while others may write.

    Attributes:
        memories: By id and version.
        queries: By trace.
        texts: By a document's text.
        graph: By kind, then by id and text.
    """

    memories: Mapping[tuple[str, int], Indexed]
    queries: dict[str, Vector]
    texts: Mapping[str, Vector]
    graph: Mapping[GraphKind, Mapping[tuple[str, str], Vector]]


def remake(store: Store, embedder: Embedder, progress: OnProgress | None = None) -> Remade:
    """Embed everything that the bank holds; the longest part, and it holds no lock.

    Args:
        store: The bank.
        embedder: Makes the vectors.
        progress: Called with memories, nodes and edges done, and with how many there are in all.
    """
    memories = store.memories.page(_EVERYTHING, limit=0, offset=0)
    size = store.graph.graph_size()
    total = len(memories) + size.nodes + size.edges
    indexed: dict[tuple[str, int], Indexed] = {}
    for start in range(0, len(memories), _BATCH):
        batch = memories[start : start + _BATCH]
        for memory, each in zip(batch, index(batch, embedder), strict=True):
            indexed[memory.id, memory.version] = each
        if progress:
            progress(len(indexed), total)
    graph: dict[GraphKind, dict[tuple[str, str], Vector]] = {}
    done = len(indexed)
    for kind in GRAPH_KINDS:
        graph[kind] = {}
        texts = graph_texts(store, kind)
        for start in range(0, len(texts), _BATCH):
            group = texts[start : start + _BATCH]
            vectors = embedded(group, embedder)
            graph[kind].update({(each.id, each.text): vectors[each.id] for each in group})
            done += len(group)
            if progress:
                progress(done, total)
    return Remade(
        memories=indexed,
        queries=query_vectors(store.sessions.traces(limit=COMPARED_TRACES), embedder),
        texts=vectors_of(store.documents.below(), embedder),
        graph=graph,
    )


def put_remade(transaction: Transaction, embedder: Embedder, remade: Remade) -> int:
    """Replace every vector in one step for readers; return how many memories there are.

    What was changed since ``remake`` is embedded here.
    """
    transaction.forget_vectors()
    current = transaction.memories.page(_EVERYTHING, limit=0, offset=0)
    for memory in current:
        indexed = remade.memories.get((memory.id, memory.version)) or index([memory], embedder)[0]
        reindex(transaction, memory, indexed)
    queries = dict(remade.queries)
    for trace in transaction.sessions.traces(limit=COMPARED_TRACES):
        if trace.id not in queries:
            queries |= query_vectors([trace], embedder)
        transaction.sessions.update_trace(trace, queries[trace.id], embedder.model_id)
    put_again(transaction, embedder, remade.texts)
    for kind in GRAPH_KINDS:
        texts, known = graph_texts(transaction, kind), remade.graph[kind]
        late = embedded([each for each in texts if (each.id, each.text) not in known], embedder)
        vectors = {each.id: late[each.id] if each.id in late else known[each.id, each.text] for each in texts}
        transaction.graph.put_graph_vectors(kind, vectors, embedder.model_id)
    return len(current)


def query_vectors(traces: Sequence[Trace], embedder: Embedder) -> dict[str, Vector]:
    """Return the vectors of the traces' queries by trace id, made as those of the queries they are compared with."""
    found: dict[str, Vector] = {}
    for start in range(0, len(traces), _BATCH):
        batch = traces[start : start + _BATCH]
        vectors = embedder.embed_queries([trace.query for trace in batch])
        found |= {trace.id: vector for trace, vector in zip(batch, vectors, strict=True)}
    return found


def graph_texts(reader: StoreReader, kind: GraphKind) -> list[GraphText]:
    """Return the text of every node, or of every edge."""
    if kind == "node":
        return [GraphText(id=node.id, text=node.text) for node in reader.graph.node_page(GraphFilter(), limit=0)]
    return [GraphText(id=edge.id, text=edge.text) for edge in reader.graph.edge_page(limit=0)]


_IMPORT_BATCH = 64


@checked
class Admin:
    """Care for a bank as a whole: counts, checks, copies, exports and its embedder."""

    def __init__(self, context: Context) -> None:
        self._context = context

    @cached_property
    def _criteria(self) -> Criteria:
        from reasoningbank.curation.metrics import Criteria

        return Criteria()

    def stats(self) -> Stats:
        """Return counts, learned weights and what searches cost."""
        store = self._context.store()
        tally = store.memories.tally(proven=MIN_CONFIDENCE)
        weights = store.evidence.weights()
        logged = store.deliveries.recalls(limit=100)
        served = [log for log in logged if log.entries]
        return Stats(
            tenant=self._context.scope.tenant,
            project=self._context.scope.project,
            memories=tally.memories,
            by_state=tally.by_state,
            by_outcome=tally.by_outcome,
            proven=tally.proven,
            unproven=tally.recallable - tally.proven,
            weights={name: weights.weight_for(name) for name in SIGNAL_TYPES},
            recalls=len(served),
            mean_recall_tokens=sum(log.tokens for log in served) / len(served) if served else 0.0,
            last_confidence=self._last_confidence(store, logged),
            embedder=self._context.embedder.name,
            model_id=store.model_id or "",
        )

    def _last_confidence(self, store: Store, logged: Sequence[RecallLog]) -> float:
        """Return the confidence of the first memory of the last search, or of the last one that was logged before."""
        if self._context.last_confidence is not None:
            return self._context.last_confidence
        first = next((each for log in logged[:1] for each in log.entries if not each.unproven), None)
        return 0.0 if first is None else store.memories.many([first.memory_id])[first.memory_id].confidence

    def metrics(self) -> Metrics:
        """Return the success criteria SC-001 to SC-006 of this project, each with its sample and its interval.

        Where fewer cases are known than a criterion needs, it has no value and says what is missing.

        Raises:
            StoreError: When the bank cannot be read.
        """
        from reasoningbank.telemetry import criteria_measured

        found = self._criteria.measured(self._context.store(), self._context.clock.now())
        criteria_measured(found.all, store=self._context.place)
        return found

    def weights(self, *, limit: Limit = 0) -> tuple[WeightChange, ...]:
        """Return how the learned weights of ratings, use and outcomes have changed, the newest last.

        Args:
            limit: Only so many of the newest; 0 for all.

        Raises:
            NegativeLimit: When the limit is below zero.
        """
        found = tuple(self._context.store().evidence.weight_history())
        return found[-limit:] if limit else found

    def roll_up(self) -> int:
        """Move signals older than thirty days into counts; return how many. No confidence changes."""
        return self._context.roll_up()

    def backup(self, target: str | Path | None = None) -> Path:
        """Write a complete, consistent copy while others read and write; return where it lies.

        Args:
            target: The file to write; None makes one below the data directory and keeps the newest few.

        Raises:
            NotFound: When the project has no bank.
            StoreUnavailable: When the target's directory does not exist or the file exists already.
        """
        store = self._context.store()
        place = None if target is None else usable_path(target)
        if place is not None and not place.parent.is_dir():
            raise StoreUnavailable(f"{place.parent} is not a directory", hint="Name a file in one that exists.")
        if not self._context.storage.has(self._context.scope):
            raise NotFound(
                f"project {self._context.scope.project[:80]!r} has no bank to copy",
                hint="A bank is made by what is first stored in it.",
            )
        if target is not None:
            path = usable_path(target)
            if path.exists():
                raise StoreUnavailable(f"{path} exists already", hint="Name a file that does not exist.")
            store.backup(path)
            return path
        from reasoningbank.types.scope import directory_name

        folder = self._context.settings.home / BACKUPS / directory_name(self._context.scope.tenant)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        name = self._context.scope.file_name
        path = folder / f"{name}.{self._context.clock.now():%Y%m%dT%H%M%S%f}.db"
        store.backup(path)
        for old in sorted(folder.glob(f"{name}.*.db"))[: -self._context.settings.backups]:
            old.unlink(missing_ok=True)
        return path

    def restore(self, source: str | Path) -> None:
        """Replace the bank by a backup of it; what it held until now stays in a file of its own.

        Raises:
            StoreUnavailable: When there is no such backup.
            StoreCorrupt: When the backup is damaged; the bank stays as it is.
            ScopeViolation: When it is a backup of another tenant or project.
        """
        check_person("to replace a bank")
        self._context.restore(usable_path(source))

    def erase(self, *, session: str | None = None, before: datetime | str | None = None) -> ErasedSessions:
        """Erase what a session has left, or all that sessions have left before a time; memories stay.

        Its logged searches, what it was shown, its record of what happened, its workflow and its name are gone from
        the bank's files, and from the copies that were made without being asked for. What it said of memories stays as
        sums, so that no confidence changes.

        Args:
            session: The name of the session; workflow-ID for a workflow.
            before: Everything of sessions that have left nothing since, and older searches and records of the others.

        Raises:
            InvalidInput: When neither is given, or both, or the time is none.
        """
        check_person("to erase sessions")
        from reasoningbank.conversations.workflows import erase_workflows
        from reasoningbank.safety.checks import session_name

        if bool(session) == (before is not None):
            raise InvalidInput("name a session or a time", hint="Pass one of --session and --before.")
        until = None if before is None else as_moment(before, "before")
        store, now = self._context.store(), self._context.clock.now()
        with store.transaction() as transaction:
            erasure = transaction.erasure
            names = frozenset({session_name(session)}) if until is None else erasure.names_before(until)
            found = erasure.erase(names, at=now, before=until)
            return replace(found, workflows=erase_workflows(transaction, names, until))

    def export(self, target: str | Path, *, reader: Reader = "human") -> int:
        """Write all memories with their evidence as JSON lines, secrets removed; return how many memories.

        Args:
            target: The file.
            reader: Who is given it; an agent gets nothing of what is in quarantine.

        Raises:
            InvalidInput: When the file is a bank.
            StoreUnavailable: When it cannot be written.
        """
        from reasoningbank.documents.values import exported
        from reasoningbank.graph.importer import exported_graph
        from reasoningbank.memories.transfer import write_export

        store = self._context.store()
        others = chain(({"document": document} for document in exported(store)), exported_graph(store))
        with write_whole(usable_path(target)) as file:
            return write_export(store, file, others, held=said_by(reader) == "human")

    def import_(
        self,
        source: str | Path,
        *,
        vouched: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> ImportReport:
        """Add the memories, documents and graph of an export; all of them or, when a line is unusable, none.

        What a file says is a claim: its memories are candidates with a confidence of at most 0.6, whatever evidence the
        file holds, and the provenance keeps the file's SHA-256. With ``vouched`` they are what they were.

        Args:
            source: A file that ``export`` wrote.
            vouched: You stand by the file: confidence, evidence, states and standing are taken over as they are. A text
                that looks like a prompt injection is quarantined all the same.
            progress: Called with memories done and memories in all.

        Raises:
            InvalidInput: When a line is not a part of an export; the message names it.
        """
        check_person("to stand by a file", given=vouched)
        from reasoningbank.documents.values import imported, put, vectors_of
        from reasoningbank.graph.importer import graph_of, put_graph
        from reasoningbank.memories.admission import clean, entry_of, prepare, sift_documents, why_held
        from reasoningbank.memories.transfer import DIGEST, Record, as_claim, parse, write_import

        store = self._context.store()
        try:
            with TextIOWrapper(open_regular(usable_path(source)), encoding="utf-8-sig") as file:
                digest = digest_of(file.buffer)
                file.seek(0)
                records, weights = parse(iter(file), self._context.scope.project)
                file.seek(0)
                documents = imported(file)
                file.seek(0)
                entry = entry_of(self._context.session, "person" if vouched else "import", **{DIGEST: digest})
                graph = graph_of(file, self._context.clock.now(), entry=entry, vouched=vouched)
        except OSError as error:
            raise StoreUnavailable(f"{source} cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise InvalidInput(f"{source} is not UTF-8 text", hint="Pass a file that `rbank export` wrote.") from error
        known = store.memories.many([record.memory.id for record in records])
        fresh = [replace(record, memory=clean(record.memory)) for record in records if record.memory.id not in known]
        if not vouched:
            fresh = [as_claim(record, digest) for record in fresh]
        documents, left_out = sift_documents(documents)
        prepared: list[tuple[Record, Ready]] = []
        for start in range(0, len(fresh), _IMPORT_BATCH):
            batch = fresh[start : start + _IMPORT_BATCH]
            origin: EnteredBy = "copy" if vouched else "import"
            ready = prepare([record.memory for record in batch], self._context.embedder, origin=origin)
            prepared += zip(batch, ready, strict=True)
            if progress:
                progress(len(prepared), len(fresh))
        texts = vectors_of(documents, self._context.embedder)
        with store.transaction() as transaction:
            stored = write_import(transaction, prepared, at=self._context.clock.now())
            for document in documents:
                if transaction.documents.document(*document.place) is None:
                    put(transaction, document, texts, self._context.embedder.model_id)
            put_graph(transaction, graph, at=self._context.clock.now())
            if vouched and weights and not store.evidence.weight_history():
                for change in weights:
                    transaction.evidence.set_weights(change)
        same = {record.memory.id for record in records if record.memory.id in known}
        conflicts = {
            record.memory.id
            for record in records
            if record.memory.id in same and record.memory.fingerprint != known[record.memory.id].fingerprint
        }
        embed_few(store, self._context.embedder, at=self._context.clock.now())
        return ImportReport(
            imported=tuple(record.memory.id for record in fresh),
            unchanged=tuple(sorted(same - conflicts)),
            conflicts=tuple(sorted(conflicts)),
            left_out=(*graph.left_out, *left_out),
            quarantined=tuple(memory.id for memory in stored if why_held(memory)),
            vouched=vouched,
        )

    def reembed(self, *, progress: Callable[[int, int], None] | None = None) -> int:
        """Make every vector anew with this bank's embedder, in one step for readers; return how many memories.

        The queries of the traces that are compared, the texts of documents and the graph get new vectors too.

        Args:
            progress: Called with memories, nodes and edges done, and with how many there are in all.
        """
        store = self._context.store()
        remade = remake(store, self._context.embedder, progress)
        with store.transaction() as transaction:
            return put_remade(transaction, self._context.embedder, remade)

    def check_store(self) -> tuple[str, ...]:
        """Read the whole bank and return every defect of it, one sentence each."""
        if self._context.damage is not None:
            return (f"{self._context.damage} {self._context.damage.hint}",)
        return self._context.store().check().problems

    def repair(self, *, progress: OnProgress | None = None) -> Repair:
        """Write every whole row of a damaged bank into a new file beside it; the damaged one stays as it is.

        The words and vectors that searches need are made anew, and confidences follow from their evidence again.

        Args:
            progress: Called with memories, nodes and edges done, and with how many there are in all.

        Raises:
            StoreUnavailable: When there is no bank file.
            ScopeViolation: When the file is the bank of another tenant or project.
        """
        check_person("to repair a bank")
        from reasoningbank.graph.nodes import words
        from reasoningbank.memories.admission import Passed, admit_edges, admit_nodes
        from reasoningbank.memories.evidence import hold_evidence

        embedder = self._context.embedder
        with self._context.salvaged() as (store, found, path):
            remade = remake(store, embedder, progress)
            nodes = store.graph.node_page(GraphFilter(), limit=0)
            edges = store.graph.edge_page(limit=0)
            with store.transaction() as transaction:
                passed = Passed([*nodes, *edges])
                admit_nodes(transaction, [(node, words(node)) for node in nodes], passed=passed)
                admit_edges(transaction, [(edge, words(edge)) for edge in edges], passed=passed)
                put_remade(transaction, embedder, remade)
                held = hold_evidence(transaction, self._context.clock.now())
            problems = store.check().problems
        return Repair(
            path=str(path),
            recovered=found.recovered,
            missing=found.missing,
            held=held,
            pages=found.pages,
            damaged_pages=found.damaged_pages,
            cut=found.cut,
            problems=problems,
        )

    def check(self) -> Health:
        """Read the whole bank, try the embedder, and list every defect."""
        if self._context.damage is not None:
            facts = {"tenant": self._context.scope.tenant, "project": self._context.scope.project}
            return Health(facts=facts, problems=(f"{self._context.damage} {self._context.damage.hint}",))
        store = self._context.store()
        report = store.check()
        problems = [*report.problems, *([self._context.unremembered] if self._context.unremembered else [])]
        facts = {
            "tenant": self._context.scope.tenant,
            "project": self._context.scope.project,
            "location": report.location,
            "engine": report.engine,
            "schema": str(report.schema),
            "embedder": self._context.embedder.name,
            "embedder model": self._context.embedder.model_id,
            "bank model": store.model_id or "none yet",
        }
        facts |= {f"bytes in {name}": str(size) for name, size in report.sizes.items()}
        try:
            self._context.embedder.embed_documents(["A sentence to try the embedder."])
        except BankError as error:
            problems.append(f"The embedder {self._context.embedder.name} does not work: {error} {error.hint}")
        if store.model_id not in {None, self._context.embedder.model_id}:
            problems.append(
                f"The bank was built with {store.model_id}; the embedder is {self._context.embedder.model_id}: "
                "choose the bank's embedder, or run `rbank reembed`."
            )
        return Health(facts=facts, problems=tuple(problems))

"""The part of a bank that keeps the contextual graph: nodes, edges, conversations, imports, questions to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from reasoningbank.domain.answers import ImportReport
from reasoningbank.domain.graph import Edge, FieldValue, Node, check_graph_id
from reasoningbank.domain.graph_search import (
    GraphAdded,
    GraphImport,
)
from reasoningbank.domain.memory import Memory
from reasoningbank.errors import InvalidEdge, InvalidInput, InvalidNode, StoreUnavailable
from reasoningbank.jobs import Handler
from reasoningbank.ports import GraphText, Job, Store, Transaction
from reasoningbank.scaling import Scaling
from reasoningbank.telemetry import observed
from reasoningbank.upkeep import usable_path

if TYPE_CHECKING:
    from reasoningbank.engine.graphing.drafts import Draft, LessonDraft
    from reasoningbank.engine.graphing.importing import Ready

DEFAULT_SEEDS = 3
"""Nodes that a walk begins at when nobody says how many (seed 003)."""
MAX_IMPORT_BYTES = 256 * 2**20


class Graphing(Scaling):
    """Keeps facts as nodes and the sentences between them as edges, in the bank's one transaction and file."""

    def graph_add(self, nodes: Iterable[Node] = (), edges: Iterable[Edge] = ()) -> GraphAdded:
        """Stores nodes and edges, all of them or none; what is there already with the same contents stays as it is.

        Their times are the bank's: now. Secrets are replaced and invisible characters removed before anything is
        stored. They are found by their words at once; by their meaning too, unless they are more than 256.

        Raises:
            InvalidNode, InvalidEdge: When an id stands for something else already, or a rule is broken.
            NodeNotFound: When an end of an edge is neither among the nodes nor in the bank.
            ModelMismatch: When the bank was built with another embedder.
        """
        from reasoningbank.engine.graphing.adding import add, prepared

        now = self._clock.now()
        ready = prepared(
            [replace(node, ingestion_time=now, update_time=now) for node in nodes],
            [replace(edge, created_time=now) for edge in edges],
            self._embedder,
        )
        with observed("create_memory", store=self._place()):
            store = self._open_store()
            with store.transaction() as transaction:
                added = add(transaction, ready)
                self._note_pending(transaction, now)
        return added

    def graph_link(
        self, source: str, target: str, text: str, *, weight: float, tags: Iterable[str] = (), edge_id: str = ""
    ) -> Edge:
        """Connects two nodes by a sentence that reads from the source to the target.

        Args:
            source: The node that the sentence begins with.
            target: The node that it ends with.
            text: Why and how they belong together: a sentence, no bare "related".
            weight: How strong the connection is, from 0 to 1; see ``weight_band``.
            tags: Words for the kind of connection.
            edge_id: An id; empty to make one.

        Raises:
            InvalidEdge: When a rule is broken, or the id stands for another edge.
            NodeNotFound: When one of the nodes does not exist.
        """
        edge = Edge(source=source, target=target, text=text, weight=weight, tags=tuple(dict.fromkeys(tags)))
        if edge_id:
            edge = replace(edge, id=edge_id)
        return self.graph_add(edges=[edge]).edges[0]

    def graph_update(
        self,
        node_id: str,
        *,
        text: str | None = None,
        tags: Iterable[str] | None = None,
        fields: Mapping[str, FieldValue] | None = None,
        conv_id: str | None = None,
    ) -> Node:
        """Changes a node; what is None stays, of its times only ``update_time`` moves. Its new words are found at once.

        Args:
            node_id: The node; its id and its label never change.
            text: What it says.
            tags: All of its tags.
            fields: Special fields to set; the others stay.
            conv_id: The conversation that it is a part of.

        Raises:
            NodeNotFound: When this project has no such node.
            InvalidNode: When the changed node breaks a rule; nothing was changed.
        """
        from reasoningbank.engine.graphing.admission import reveal
        from reasoningbank.engine.graphing.indexing import embedded, words
        from reasoningbank.engine.graphing.looking import existing_node
        from reasoningbank.memories.admission import admit_nodes, check_items

        with observed("update_memory", store=self._place()):
            store = self._open_store()
            old = existing_node(store, node_id)
            changed = replace(
                old,
                text=old.text if text is None else text,
                tags=old.tags if tags is None else tuple(dict.fromkeys(tags)),
                fields={**old.fields, **(fields or {})},
                conv_id=old.conv_id if conv_id is None else conv_id,
            )
            (new,) = check_items([changed])
            if new == old:
                return reveal([old])[0]
            new = replace(new, update_time=max(self._clock.now(), old.updated_at))
            same = new.text == old.text
            vectors = {} if same else embedded([GraphText(id=new.id, text=new.text)], self._embedder)
            with store.transaction() as transaction:
                if existing_node(transaction, node_id) != old:
                    raise InvalidNode(f"node {node_id[:80]!r} is being edited by others", hint="Try again.")
                admit_nodes(transaction, [(new, words(new))])
                transaction.put_graph_vectors("node", vectors, self._embedder.model_id)
            return new

    def graph_update_edge(
        self, edge_id: str, *, text: str | None = None, weight: float | None = None, tags: Iterable[str] | None = None
    ) -> Edge:
        """Changes an edge; what is None stays, its ends and its time never change.

        Raises:
            EdgeNotFound: When this project has no such edge.
            InvalidEdge: When the changed edge breaks a rule; nothing was changed.
        """
        from reasoningbank.engine.graphing.admission import reveal
        from reasoningbank.engine.graphing.indexing import embedded, words
        from reasoningbank.engine.graphing.looking import existing_edge
        from reasoningbank.memories.admission import admit_edges, check_items

        with observed("update_memory", store=self._place()):
            store = self._open_store()
            old = existing_edge(store, edge_id)
            changed = replace(
                old,
                text=old.text if text is None else text,
                weight=old.weight if weight is None else weight,
                tags=old.tags if tags is None else tuple(dict.fromkeys(tags)),
            )
            (new,) = check_items([changed])
            if new == old:
                return reveal([old])[0]
            same = new.text == old.text
            vectors = {} if same else embedded([GraphText(id=new.id, text=new.text)], self._embedder)
            with store.transaction() as transaction:
                if existing_edge(transaction, edge_id) != old:
                    raise InvalidEdge(f"edge {edge_id[:80]!r} is being edited by others", hint="Try again.")
                admit_edges(transaction, [(new, words(new))])
                transaction.put_graph_vectors("edge", vectors, self._embedder.model_id)
            return new

    def graph_delete(self, node_id: str) -> None:
        """Erases a node, every edge that touches it, its links to lessons, its words and vectors; lessons stay.

        Raises:
            NodeNotFound: When this project has no such node.
        """
        with observed("delete_memory", store=self._place()), self._open_store().transaction() as transaction:
            transaction.delete_node(check_graph_id("id", node_id))

    def graph_delete_edge(self, edge_id: str) -> None:
        """Erases an edge, its words and its vector; its nodes stay.

        Raises:
            EdgeNotFound: When this project has no such edge.
        """
        with observed("delete_memory", store=self._place()), self._open_store().transaction() as transaction:
            transaction.delete_edge(check_graph_id("id", edge_id, InvalidEdge))

    def graph_import(self, source: str | Path, *, format: str | None = None) -> GraphImport:  # noqa: A002 - as the CLI
        """Adds the nodes, edges and lessons of a file, all of them or, when a record is unusable, none; idempotent.

        Args:
            source: A JSON, JSON lines, CSV or Cypher file; see docs/explanation/graph.md.
            format: ``json``, ``jsonl``, ``csv`` or ``cypher``; None to tell it by the file.

        Raises:
            StoreUnavailable: When the file cannot be read.
            InvalidInput: When a record is unusable; the message says which one, and names its field.
        """
        from reasoningbank.engine.graphing.files import check_format, read_draft

        form = None if format is None else check_format(format)
        path = usable_path(source)
        try:
            if path.stat().st_size > MAX_IMPORT_BYTES:
                raise InvalidInput(f"{path.name} has more than {MAX_IMPORT_BYTES >> 20} MiB", hint="Split the file.")
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise StoreUnavailable(f"{source} cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise InvalidInput(f"{source} is not UTF-8 text") from error
        return self._imported(read_draft(text, name=path.name, form=form, at=self._clock.now()))

    def import_(self, source: str | Path, *, progress: Callable[[int, int], None] | None = None) -> ImportReport:
        """Adds an export as ``Upkeep.import_`` does; the vectors of a small graph are made before it returns."""
        report = super().import_(source, progress=progress)
        self._embed_few(self._open_store())
        return report

    def _handlers(self) -> dict[str, Handler]:
        from reasoningbank.engine.graphing.indexing import EMBED

        return {**super()._handlers(), EMBED: self._embed_job}

    def _embed_job(self, job: Job) -> None:  # noqa: ARG002 - there is one per bank
        """Makes the vectors of nodes and edges that have none."""
        from reasoningbank.engine.graphing.indexing import embed_pending

        embed_pending(self._open_store(), self._embedder)

    def _queue_waiting(self) -> None:
        """Gives the graph's missing vectors a job, besides what waits to be distilled."""
        super()._queue_waiting()
        store = self._open_store()
        if store.model_id in {None, self._embedder.model_id} and store.graph_size().pending:
            with store.transaction() as transaction:
                self._note_pending(transaction, self._clock.now())

    def _note_pending(self, transaction: Transaction, now: datetime) -> None:
        from reasoningbank.engine.graphing.indexing import EMBED, EMBED_KEY

        if transaction.graph_size().pending:
            transaction.enqueue(Job(kind=EMBED, key=EMBED_KEY, due=now))

    def _imported(self, draft: Draft) -> GraphImport:
        """Stores what is new of a draft, and makes its vectors at once when they are few."""
        from reasoningbank.engine.graphing.importing import write_import

        now = self._clock.now()
        with observed("create_memory", store=self._place()):
            store = self._graph_store()
            ready = self._ready(store, draft)
            with store.transaction() as transaction:
                report = write_import(transaction, ready)
                self._note_pending(transaction, now)
            return replace(report, pending=self._embed_few(store))

    def _embed_few(self, store: Store) -> int:
        """Makes the missing vectors when they are few; returns how many are left to the background."""
        from reasoningbank.engine.graphing.indexing import AT_ONCE, EMBED, EMBED_KEY, embed_pending

        pending = store.graph_size().pending
        if 0 < pending <= AT_ONCE:
            embed_pending(store, self._embedder)
            pending = store.graph_size().pending
            if not pending:
                with store.transaction() as transaction:
                    transaction.finish(Job(kind=EMBED, key=EMBED_KEY, due=self._clock.now()))
        return pending

    def _ready(self, store: Store, draft: Draft) -> Ready:
        """The draft with texts that may be stored; the vectors of new lessons are made before the transaction."""
        from reasoningbank.engine.graphing.importing import Ready, with_words
        from reasoningbank.memories.admission import Ready as ReadyMemory
        from reasoningbank.memories.admission import prepare, sift_items

        memories = [self._lesson_memory(each) for each in draft.lessons]
        fresh = [memory for memory in memories if not store.same_text(memory.fingerprint)]
        prepared = {each.memory.id: each for each in prepare(fresh, self._embedder, origin="import")}
        nodes, bad_nodes = sift_items(draft.nodes)
        edges, bad_edges = sift_items(draft.edges)

        def derive(memory: Memory) -> ReadyMemory:
            return prepared.get(memory.id) or prepare([memory], self._embedder, origin="import")[0]

        return Ready(
            draft=draft,
            nodes=with_words(nodes),
            edges=with_words(edges),
            left_out=(*bad_nodes, *bad_edges),
            lessons=[
                (memory, each.link_nodes, partial(derive, memory))
                for memory, each in zip(memories, draft.lessons, strict=True)
            ],
        )

    def _lesson_memory(self, draft: LessonDraft) -> Memory:
        """A lesson of a file as a memory."""
        from reasoningbank.engine.lessons import title_of

        memory = self._new(
            origin="import",
            title=draft.title or title_of(draft.key_lesson),
            content=draft.key_lesson,
            outcome="success",
            description=draft.context_to_prefer,
            tags=draft.tags,
            category="",
            provenance={"source": "graph import", "session": self._session},
        )
        return replace(memory, id=draft.id) if draft.id else memory

    def _graph_store(self) -> Store:
        """The store, when the embedder is the one that the bank was built with."""
        from reasoningbank.engine.index import check_space

        store = self._open_store()
        check_space(store, self._embedder)
        return store

"""The contextual graph as operations of a bank."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from reasoningbank.context import checked_limit, checked_offset, usable_path
from reasoningbank.errors import (
    BudgetExhausted,
    EmptyContent,
    InvalidEdge,
    InvalidInput,
    InvalidNode,
    MalformedAnswer,
    ModelUnavailable,
    PaidCallRefused,
    StoreUnavailable,
)
from reasoningbank.jobs.worker import Handler
from reasoningbank.matts.matts import Scaling
from reasoningbank.search.searches import MAX_SEARCH_LIMIT, usable_query
from reasoningbank.storage.store import GraphText, Store, Transaction
from reasoningbank.telemetry import observed
from reasoningbank.types.graph import Edge, FieldValue, Node, check_graph_id
from reasoningbank.types.graph_search import (
    ACTION_OUTCOMES,
    Action,
    ActionOutcome,
    EdgeHit,
    GraphAdded,
    GraphAnswer,
    GraphFilter,
    GraphImport,
    GraphSize,
    NodeView,
    Occurrence,
    Preference,
    Source,
    time_window,
)
from reasoningbank.types.memory import ImportReport, Memory
from reasoningbank.types.mention import Mentions, SourceReport
from reasoningbank.types.records import Job
from reasoningbank.types.walk import WalkParameters, WalkResult

if TYPE_CHECKING:
    from reasoningbank.graph.importer import Ready
    from reasoningbank.graph.records import Draft, LessonDraft
    from reasoningbank.graph.search import GraphQuestion

DEFAULT_SEEDS = 3
"""Nodes that a walk begins at when nobody says how many (seed 003)."""
MAX_IMPORT_BYTES = 256 * 2**20


class Graphing(Scaling):
    """Keeps facts as nodes and the sentences between them as edges, in the bank's one transaction and file."""

    def graph_add(self, nodes: Iterable[Node] = (), edges: Iterable[Edge] = ()) -> GraphAdded:
        """Store nodes and edges, all of them or none; what is there already with the same contents stays as it is.

        Their times are the bank's: now. Secrets are replaced and invisible characters removed before anything is
        stored. They are found by their words at once; by their meaning too, unless they are more than 256.

        Raises:
            InvalidNode, InvalidEdge: When an id stands for something else already, or a rule is broken.
            NodeNotFound: When an end of an edge is neither among the nodes nor in the bank.
            ModelMismatch: When the bank was built with another embedder.
        """
        from reasoningbank.graph.nodes import add, prepared

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
        """Connect two nodes by a sentence that reads from the source to the target.

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
        """Change a node; what is None stays, of its times only ``update_time`` moves. Its new words are found at once.

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
        from reasoningbank.graph.nodes import embedded, existing_node, words
        from reasoningbank.memories.admission import admit_nodes, check_items
        from reasoningbank.safety.graph_text import reveal

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
        """Change an edge; what is None stays, its ends and its time never change.

        Raises:
            EdgeNotFound: When this project has no such edge.
            InvalidEdge: When the changed edge breaks a rule; nothing was changed.
        """
        from reasoningbank.graph.nodes import embedded, existing_edge, words
        from reasoningbank.memories.admission import admit_edges, check_items
        from reasoningbank.safety.graph_text import reveal

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
        """Erase a node, every edge that touches it, its links to lessons, its words and vectors; lessons stay.

        Raises:
            NodeNotFound: When this project has no such node.
        """
        with observed("delete_memory", store=self._place()), self._open_store().transaction() as transaction:
            transaction.delete_node(check_graph_id("id", node_id))

    def graph_delete_edge(self, edge_id: str) -> None:
        """Erase an edge, its words and its vector; its nodes stay.

        Raises:
            EdgeNotFound: When this project has no such edge.
        """
        with observed("delete_memory", store=self._place()), self._open_store().transaction() as transaction:
            transaction.delete_edge(check_graph_id("id", edge_id, InvalidEdge))

    def graph_import(self, source: str | Path, *, format: str | None = None) -> GraphImport:  # noqa: A002 - as the CLI
        """Add the nodes, edges and lessons of a file, all of them or, when a record is unusable, none; idempotent.

        Args:
            source: A JSON, JSON lines, CSV or Cypher file; see docs/explanation/graph.md.
            format: ``json``, ``jsonl``, ``csv`` or ``cypher``; None to tell it by the file.

        Raises:
            StoreUnavailable: When the file cannot be read.
            InvalidInput: When a record is unusable; the message says which one, and names its field.
        """
        from reasoningbank.graph.importer import check_format, read_draft

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
        """Add an export as ``Upkeep.import_`` does; the vectors of a small graph are made before it returns."""
        report = super().import_(source, progress=progress)
        self._embed_few(self._open_store())
        return report

    def _handlers(self) -> dict[str, Handler]:
        from reasoningbank.graph.nodes import EMBED

        return {**super()._handlers(), EMBED: self._embed_job}

    def _embed_job(self, job: Job) -> None:  # noqa: ARG002 - there is one per bank
        """Make the vectors of nodes and edges that have none."""
        from reasoningbank.graph.nodes import embed_pending

        embed_pending(self._open_store(), self._embedder)

    def _queue_waiting(self) -> None:
        """Give the graph's missing vectors a job, besides what waits to be distilled."""
        super()._queue_waiting()
        store = self._open_store()
        if store.model_id in {None, self._embedder.model_id} and store.graph_size().pending:
            with store.transaction() as transaction:
                self._note_pending(transaction, self._clock.now())

    def _note_pending(self, transaction: Transaction, now: datetime) -> None:
        from reasoningbank.graph.nodes import EMBED, EMBED_KEY

        if transaction.graph_size().pending:
            transaction.enqueue(Job(kind=EMBED, key=EMBED_KEY, due=now))

    def _imported(self, draft: Draft) -> GraphImport:
        """Store what is new of a draft, and makes its vectors at once when they are few."""
        from reasoningbank.graph.importer import write_import

        now = self._clock.now()
        with observed("create_memory", store=self._place()):
            store = self._graph_store()
            ready = self._ready(store, draft)
            with store.transaction() as transaction:
                report = write_import(transaction, ready)
                self._note_pending(transaction, now)
            return replace(report, pending=self._embed_few(store))

    def _embed_few(self, store: Store) -> int:
        """Make the missing vectors when they are few; return how many are left to the background."""
        from reasoningbank.graph.nodes import AT_ONCE, EMBED, EMBED_KEY, embed_pending

        pending = store.graph_size().pending
        if 0 < pending <= AT_ONCE:
            embed_pending(store, self._embedder)
            pending = store.graph_size().pending
            if not pending:
                with store.transaction() as transaction:
                    transaction.finish(Job(kind=EMBED, key=EMBED_KEY, due=self._clock.now()))
        return pending

    def _ready(self, store: Store, draft: Draft) -> Ready:
        """Return the draft with texts that may be stored.

        The vectors of new lessons are made before the transaction.
        """
        from reasoningbank.graph.importer import Ready, with_words
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
        """Return a lesson of a file as a memory."""
        from reasoningbank.search.lessons import title_of

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
        """Return the store, when the embedder is the one that the bank was built with."""
        from reasoningbank.memories.vectors import check_space

        store = self._open_store()
        check_space(store, self._embedder)
        return store


"""Nodes that a walk begins at when nobody says how many (seed 003)."""


class Exploring(Scaling):
    """Finds nodes and edges by their words and meaning, and walks from them along the sentences."""

    def graph_get(self, node_id: str) -> NodeView:
        """Return a node with its edges and the lessons it points to, secrets removed once more.

        Raises:
            NodeNotFound: When this project has no such node.
        """
        from reasoningbank.graph.nodes import existing_node
        from reasoningbank.safety.graph_text import reveal

        store = self._open_store()
        (node,) = reveal([existing_node(store, node_id)])
        lessons = store.at_row_ids([int(number) for number in node.pointers])
        return NodeView(node=node, edges=tuple(reveal(store.edges_of([node_id]))), lessons=lessons)

    def graph_edge(self, edge_id: str) -> Edge:
        """Return an edge, secrets removed once more.

        Raises:
            EdgeNotFound: When this project has no such edge.
        """
        from reasoningbank.graph.nodes import existing_edge
        from reasoningbank.safety.graph_text import reveal

        return reveal([existing_edge(self._open_store(), edge_id)])[0]

    def graph_search(
        self,
        query: str,
        *,
        limit: int = DEFAULT_SEEDS,
        budget: int | None = None,
        condition: GraphFilter | None = None,
        parameters: WalkParameters | None = None,
        user: str = "",
        role: str = "",
        bm25_weight: float = 0.5,
        dense_weight: float = 0.5,
        fusion: str = "weighted",
        min_score: float | None = None,
    ) -> GraphAnswer:
        """Find the nodes that fit a question best and walks from them: the paths tell how things hang together.

        Args:
            query: The question in words.
            limit: Most nodes to begin at, 0 to 100.
            budget: Most tokens of the text for a language model; None for 2,000.
            condition: What a node to begin at must be.
            parameters: How to walk; None for the default preset, where without tags the question's own words serve.
            user: Who asks: their preferences stand first in the text for a language model.
            role: In which role they ask, whose preferences follow.
            bm25_weight: The weight of the words, from 0 to 1.
            dense_weight: The weight of the meaning, from 0 to 1; not both are 0.
            fusion: ``weighted`` adds scores as seed 003 does, ``rrf`` ranks.
            min_score: At least this fused score, from 0 to 1; None leaves out what nothing speaks for.

        Raises:
            EmptyQuery, NegativeLimit, InvalidInput: When an argument is not usable.
            ModelMismatch: When the bank was built with another embedder.
        """
        from reasoningbank.graph.provenance import preferences
        from reasoningbank.graph.render import BUDGET, to_llm_context
        from reasoningbank.graph.search import find_nodes
        from reasoningbank.graph.walk import asked_with, reveal_walk, walk

        question = self._graph_question(
            query, limit, condition, bm25_weight, dense_weight, fusion=fusion, min_score=min_score
        )
        with observed("search_memory", store=self._place()) as observation:
            store = self._graph_store()
            hits, message = find_nodes(store, self._embedder, question)
            scores = {hit.node.id: hit.score for hit in hits if hit.score > 0.0}
            result = reveal_walk(walk(store, scores, asked_with(question.text, parameters)))
            wishes = preferences(store, user=user, role=role)
            context = to_llm_context(result, budget=BUDGET if budget is None else budget, preferences=wishes)
            observation.delivered(len(hits))
            return GraphAnswer(
                query=question.text,
                seeds=hits,
                walk=result,
                context=context,
                pending=store.graph_size().pending,
                message=message or _found(len(hits), len(result.paths)),
            )

    def graph_search_edges(
        self,
        query: str,
        *,
        limit: int = DEFAULT_SEEDS,
        tags: Iterable[str] = (),
        bm25_weight: float = 0.5,
        dense_weight: float = 0.5,
        fusion: str = "weighted",
        min_score: float | None = None,
    ) -> tuple[EdgeHit, ...]:
        """Find the sentences that fit a question best; the arguments are those of ``graph_search``.

        Raises:
            EmptyQuery, NegativeLimit, InvalidInput: When an argument is not usable.
            ModelMismatch: When the bank was built with another embedder.
        """
        from reasoningbank.graph.search import find_edges

        condition = GraphFilter(tags=tuple(tags))
        question = self._graph_question(
            query, limit, condition, bm25_weight, dense_weight, fusion=fusion, min_score=min_score
        )
        with observed("search_memory", store=self._place()) as observation:
            hits, _ = find_edges(self._graph_store(), self._embedder, question)
            observation.delivered(len(hits))
            return hits

    def graph_walk(self, seeds: Mapping[str, float], parameters: WalkParameters | None = None) -> WalkResult:
        """Walk from nodes that are known; a seed that does not exist is said so and stop no other.

        Args:
            seeds: The energy that each node starts with, above 0.
            parameters: How to walk; None for the default preset.

        Raises:
            InvalidInput: For seeds that no walk can start from.
        """
        from reasoningbank.graph.walk import reveal_walk, walk

        return reveal_walk(walk(self._open_store(), seeds, parameters))

    def conversation(self, conv_id: str) -> tuple[Node, ...]:
        """Return the nodes of one conversation in the order in which they were ingested.

        None when there is no such one.

        Raises:
            InvalidNode: When there can be no such conversation.
        """
        from reasoningbank.safety.graph_text import reveal

        return tuple(reveal(self._open_store().conversation(check_graph_id("conv_id", conv_id))))

    def graph_nodes(self, condition: GraphFilter | None = None, *, limit: int = 0, offset: int = 0) -> tuple[Node, ...]:
        """Return nodes that meet a condition in the order they were stored; limit 0 means all."""
        from reasoningbank.safety.graph_text import reveal

        found = self._open_store().node_page(
            condition or GraphFilter(), limit=checked_limit(limit), offset=checked_offset(offset)
        )
        return tuple(reveal(found))

    def graph_size(self) -> GraphSize:
        """Return how many nodes, edges and links there are, and how many vectors are still to be made."""
        return self._open_store().graph_size()

    def _graph_question(
        self,
        query: str,
        limit: int,
        condition: GraphFilter | None,
        bm25_weight: float,
        dense_weight: float,
        *,
        fusion: str,
        min_score: float | None,
    ) -> GraphQuestion:
        from reasoningbank.graph.search import GraphQuestion
        from reasoningbank.search.fusion import check_fusion, check_least, check_weights

        check_weights({"bm25": bm25_weight, "dense": dense_weight})
        return GraphQuestion(
            text=usable_query(query),
            limit=min(checked_limit(limit), MAX_SEARCH_LIMIT),
            bm25_weight=bm25_weight,
            dense_weight=dense_weight,
            condition=condition or GraphFilter(),
            fusion=check_fusion(fusion),
            min_score=check_least(min_score),
        )

    def _graph_store(self) -> Store:
        """Return the store, when the embedder is the one that the bank was built with."""
        from reasoningbank.memories.vectors import check_space

        store = self._open_store()
        check_space(store, self._embedder)
        return store


def _found(seeds: int, paths: int) -> str:
    nodes = "1 node fits" if seeds == 1 else f"{seeds} nodes fit"
    ways = "1 path" if paths == 1 else f"{paths} paths"
    return f"{nodes} the question; {ways} begin there."


_NO_MODEL = "No language model: nothing was looked for."


class Citing(Scaling):
    """Finds entities and concepts in sources; without a language model none are invented (seed 002)."""

    def mentions(self, text: str) -> Mentions:
        """Return what a text names and states, each at its exact place in the text as it is returned by redaction.

        No storage.

        Secrets are replaced before the language model sees the text; places count from the replaced text, which is the
        text itself when it holds none.

        Raises:
            EmptyContent: When the text is blank.
            ConfigurationError: When the library that finds them is not installed.
            ModelUnavailable, BudgetExhausted, MalformedAnswer: When there was no usable answer.
        """
        from reasoningbank.safety.secrets import redact
        from reasoningbank.safety.text import clean

        if not text.strip():
            raise EmptyContent("a source cannot be empty")
        return self._found(redact(clean(text)).text)

    def remember_source(
        self,
        text: str,
        *,
        pointer: str,
        source_type: str = "text",
        conv_id: str = "",
        tags: Iterable[str] = (),
    ) -> SourceReport:
        """Keep a source as a node, what it names as its tags, and what it states as nodes that cite their place.

        The source is stored whatever becomes of the rest. Without a usable answer of a language model its mentions
        wait for one in the background. The same source a second time changes nothing.

        Args:
            text: The source, at most as long as a node's text.
            pointer: Where it lies: a path, an address, a record's number.
            source_type: What it is, for example ``markdown`` or ``log``.
            conv_id: The conversation it is a part of.
            tags: Further tags.

        Raises:
            InvalidNode: When the source breaks a rule of a node; nothing was stored.
            ConfigurationError: When there is a language model and the library that finds mentions is not installed.
            ModelMismatch: When the bank was built with another embedder.
        """
        from reasoningbank.graph.mentions import CITE, source_node
        from reasoningbank.graph.nodes import add, prepared
        from reasoningbank.memories.admission import check_items

        (admitted,) = check_items(
            [source_node(text, pointer=pointer, source_type=source_type, conv_id=conv_id, tags=tuple(tags))]
        )
        now = self._clock.now()
        with observed("create_memory", store=self._place()):
            store = self._open_store()
            known = store.nodes([admitted.id])
            waiting = any(job.kind == CITE and job.key == admitted.id for job in store.jobs(due=now))
            if known and not waiting:
                return SourceReport(source=known[admitted.id], mentions=Mentions(), message="The source is known.")
            if not known:
                ready = prepared([admitted], [], self._embedder)
                with store.transaction() as transaction:
                    add(transaction, ready)
                    transaction.enqueue(Job(kind=CITE, key=admitted.id, due=now))
            try:
                return self._cited(admitted.id)
            except (ModelUnavailable, BudgetExhausted, PaidCallRefused, MalformedAnswer) as error:
                source = store.nodes([admitted.id])[admitted.id]
                said = f"The source is stored; its mentions wait: {error.message}"
                return SourceReport(source=source, mentions=Mentions(), waiting=True, message=said)

    def _handlers(self) -> dict[str, Handler]:
        from reasoningbank.graph.mentions import CITE

        known = super()._handlers()
        return known if self._model is None else {**known, CITE: self._cite_job}

    def _cite_job(self, job: Job) -> None:
        """Find what a stored source names and states."""
        self._cited(job.key)

    def _cited(self, source_id: str) -> SourceReport:
        """Find and store the mentions of a stored source, and end the wait for them, in one transaction."""
        from reasoningbank.graph.mentions import CITE, statements, tagged
        from reasoningbank.graph.nodes import add, existing_node, prepared, words
        from reasoningbank.memories.admission import admit_nodes

        store = self._open_store()
        source = existing_node(store, source_id)
        if self._model is None:
            said = f"The source is stored. {_NO_MODEL} Its mentions wait for one."
            return SourceReport(source=source, mentions=Mentions(message=_NO_MODEL), waiting=True, message=said)
        mentions = self._found(source.text)
        nodes, edges = statements(source, mentions.found)
        ready = prepared(nodes, edges, self._embedder)
        with store.transaction() as transaction:
            current: Node = tagged(existing_node(transaction, source_id), mentions.found)
            if current.tags != source.tags:
                admit_nodes(transaction, [(current, words(current))])
            added = add(transaction, ready)
            transaction.finish(Job(kind=CITE, key=source_id, due=self._clock.now()))
        said = f"The source is stored. {mentions.message}"
        return SourceReport(source=current, mentions=mentions, nodes=added.nodes, edges=added.edges, message=said)

    def _found(self, text: str) -> Mentions:
        from reasoningbank.llm.mentions import find_mentions
        from reasoningbank.llm.prompts import prompt

        if self._model is None:
            return Mentions(message=_NO_MODEL)
        return find_mentions(text, self._model, prompt("mentions", text))


DEFAULT_LIMIT = 20


class Reminding(Scaling):
    """Keeps preferences, and answers what happened when, what an answer rests on, and how something was done."""

    def preference_add(
        self,
        preference_type: str,
        text: str,
        *,
        user: str = "",
        role: str = "",
        conv_id: str = "",
        tags: Iterable[str] = (),
    ) -> Preference:
        """Keep a preference out of somebody's feedback; it takes the place of the earlier one of its type and owner.

        The earlier one is kept, linked by a sentence, and shown with ``preferences(history=True)``; it holds again when
        the node of the newer one is deleted. The same words once more add nothing.

        Args:
            preference_type: What it is about, for example ``report_style``; of one type only the newest holds.
            text: The rule, for example "tables, no pie charts".
            user: Whose it is, by id.
            role: Or the role for which it holds. Exactly one of both is given.
            conv_id: The conversation in which it was said.
            tags: Words to find it by.

        Raises:
            InvalidNode: When the type or the text is empty, or not exactly one owner is given.
            ModelMismatch: When the bank was built with another embedder.
        """
        from reasoningbank.graph.nodes import EMBED, EMBED_KEY, embedded
        from reasoningbank.graph.provenance import add
        from reasoningbank.memories.admission import check_items
        from reasoningbank.memories.vectors import check_space

        owner = _owner(user, role)
        if not preference_type.strip():
            raise InvalidNode("preference_type: cannot be empty")
        now = self._clock.now()
        node = Node(
            label="UserPreference",
            text=text,
            conv_id=conv_id,
            tags=tuple(dict.fromkeys(tags)),
            fields={"preference_type": preference_type.strip(), **owner},
            ingestion_time=now,
        )
        (node,) = check_items([node])
        store = self._open_store()
        check_space(store, self._embedder)
        vectors = embedded([GraphText(id=node.id, text=node.text)], self._embedder)
        with observed("create_memory", store=self._place()), store.transaction() as transaction:
            kept = add(transaction, node)
            if kept.id == node.id:
                transaction.put_graph_vectors("node", vectors, self._embedder.model_id)
                transaction.enqueue(Job(kind=EMBED, key=EMBED_KEY, due=now))
        return kept

    def preferences(
        self, *, user: str = "", role: str = "", preference_type: str = "", history: bool = False
    ) -> tuple[Preference, ...]:
        """Return what holds for a user, for a role, or for a user in a role; nobody else's preferences are looked at.

        The user's own come first, then the role's, where the user has none of the same type. A preference that names no
        owner belongs to whom its conversation was held with.

        Args:
            user: Who asks, by id.
            role: In which role.
            preference_type: Only this type.
            history: Whether those that were replaced follow, each with the id of what holds instead.

        Raises:
            InvalidInput: When neither a user nor a role is given.
        """
        from reasoningbank.graph.provenance import preferences
        from reasoningbank.safety.graph_text import reveal

        if not user.strip() and not role.strip():
            raise InvalidInput("user: say for whom; preferences are shown to nobody else", hint="Pass user= or role=.")
        with observed("search_memory", store=self._place()):
            found = preferences(
                self._open_store(), user=user, role=role, preference_type=preference_type, history=history
            )
            shown = reveal([each.node for each in found])
        return tuple(replace(each, node=node) for each, node in zip(found, shown, strict=True))

    def events(
        self,
        since: date | None = None,
        until: date | None = None,
        *,
        tags: Iterable[str] = (),
        recency: bool = False,
        limit: int = DEFAULT_LIMIT,
    ) -> tuple[Occurrence, ...]:
        """Return what happened in a window of time, each event with the answers that it led to.

        An event counts when any part of it lies in the window.

        Args:
            since: The first day, or a time with a zone; None for no beginning.
            until: The last day, all of it in the window, or a time with a zone, which is not in it; None for no end.
            tags: Only events with at least one of them; those with more of them come first.
            recency: Whether among equals the later ones come first; else they are in the order they were stored.
            limit: At most so many; 0 for all.

        Raises:
            InvalidInput: When the window ends before it begins, or a time has no zone.
        """
        from reasoningbank.graph.provenance import events
        from reasoningbank.graph.walk import reveal_paths
        from reasoningbank.safety.graph_text import reveal

        window = time_window(since, until)
        with observed("search_memory", store=self._place()):
            found = events(self._open_store(), window, tags=tuple(tags), recency=recency, limit=checked_limit(limit))
            return tuple(
                replace(
                    each,
                    event=reveal([each.event])[0],
                    answers=reveal_paths(each.answers),
                    answer_nodes=tuple(reveal(each.answer_nodes)),
                )
                for each in found
            )

    def sources(self, answer_id: str) -> tuple[Source, ...]:
        """Return the data sources that an answer or an action rests on, at most three hops away, the surest first.

        Raises:
            NodeNotFound: When this project has no such node.
            InvalidNode: When it is neither an answer nor an action.
        """
        from reasoningbank.graph.provenance import sources
        from reasoningbank.graph.walk import reveal_paths
        from reasoningbank.safety.graph_text import reveal

        with observed("search_memory", store=self._place()):
            found = sources(self._open_store(), answer_id)
            nodes = reveal([each.node for each in found])
            paths = reveal_paths([each.path for each in found])
        return tuple(Source(node=node, path=path) for node, path in zip(nodes, paths, strict=True))

    def actions(
        self,
        *,
        tags: Iterable[str] = (),
        conv_id: str | None = None,
        outcome: ActionOutcome | None = None,
        limit: int = DEFAULT_LIMIT,
    ) -> tuple[Action, ...]:
        """Return how things were done, with parameters word for word; what failed is shown as failed.

        Args:
            tags: Only actions with at least one of them; those with more of them come first.
            conv_id: Only those of this conversation.
            outcome: Only ``success``, ``failure`` or ``unknown``.
            limit: At most so many; 0 for all.

        Raises:
            InvalidInput: For another outcome, or a limit below zero.
        """
        from reasoningbank.graph.provenance import actions
        from reasoningbank.safety.graph_text import reveal

        if outcome is not None and outcome not in ACTION_OUTCOMES:
            raise InvalidInput(f"outcome: must be one of {', '.join(ACTION_OUTCOMES)}, not {str(outcome)[:80]!r}")
        with observed("search_memory", store=self._place()):
            found = actions(
                self._open_store(), tags=tuple(tags), conv_id=conv_id, outcome=outcome, limit=checked_limit(limit)
            )
            return tuple(Action(node=node) for node in reveal([each.node for each in found]))


def _owner(user: str, role: str) -> dict[str, str]:
    """Return the fields that say whose a preference is."""
    if bool(user.strip()) == bool(role.strip()):
        raise InvalidNode("user: a preference belongs to a user or to a role, to exactly one of both")
    return {"user_id": user} if user.strip() else {"user_role": role}

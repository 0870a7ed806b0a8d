"""The contextual graph: nodes, searches and walks (seed 003)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from reasoningbank.errors import InvalidInput, InvalidNode
from reasoningbank.memories.standing import check_person, said_by
from reasoningbank.safety.checks import usable_path
from reasoningbank.safety.file_access import digest_of, open_regular, read_text
from reasoningbank.storage.graph_tables import GraphText
from reasoningbank.storage.store import Store
from reasoningbank.telemetry import observed
from reasoningbank.types.argument import Budget, Limit, Offset, SearchLimit, Share, check_kind, check_kinds
from reasoningbank.types.graph import Edge, FieldValue, Node, check_graph_id
from reasoningbank.types.graph_search import (
    ACTION_OUTCOMES,
    Action,
    ActionOutcome,
    GraphAdded,
    GraphAnswer,
    GraphFilter,
    GraphImport,
    GraphRestored,
    GraphSize,
    NodeView,
    Occurrence,
    time_window,
)
from reasoningbank.types.memory import KEPT_FOR, Memory
from reasoningbank.types.moment import as_day
from reasoningbank.types.quantity import counted
from reasoningbank.types.quarantine import Reader
from reasoningbank.types.resource import checked
from reasoningbank.types.standing import rank_of
from reasoningbank.types.walk import WalkParameters, WalkResult

if TYPE_CHECKING:
    from reasoningbank.context import Context
    from reasoningbank.graph.import_records import GraphFile, LessonDraft
    from reasoningbank.graph.importer import ReadyImport

DEFAULT_SEEDS = 3
"""Nodes that a walk begins at when nobody says how many (seed 003)."""
MAX_IMPORT_BYTES = 256 * 2**20
DEFAULT_LIMIT = 20


@checked
class Graph:
    """The contextual graph: nodes, searches and walks (seed 003)."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def add(self, nodes: Iterable[Node] = (), edges: Iterable[Edge] = ()) -> GraphAdded:
        """Store nodes and edges, all of them or none; what is there already with the same contents stays as it is.

        Their times are the bank's: now. What comes through an agent's transport is that agent's claim, what a person
        or a program of theirs adds is vouched for. Secrets are replaced and invisible characters removed before
        anything is stored. They are found by their words at once; by their meaning too, unless they are more than 256.

        Raises:
            InvalidNode, InvalidEdge: When an id stands for something else already, or a rule is broken.
            NodeNotFound: When an end of an edge is neither among the nodes nor in the bank.
            ModelMismatch: When the bank was built with another embedder.
        """
        from reasoningbank.graph.nodes import add, note_pending, prepared
        from reasoningbank.memories.admission import entry_of

        now = self._context.clock.now()
        with self._context.gated():
            ready = prepared(
                [replace(node, ingestion_time=now, update_time=now) for node in check_kinds(nodes, Node, "nodes")],
                [replace(edge, created_time=now) for edge in check_kinds(edges, Edge, "edges")],
                self._context.embedder,
                entry=entry_of(self._context.session),
            )
        with observed("create_memory", store=self._context.place):
            store = self._context.store()
            with store.transaction() as transaction:
                added = add(transaction, ready)
                note_pending(transaction, at=now)
        return added

    def update(
        self,
        node_id: str,
        *,
        text: str | None = None,
        tags: Iterable[str] | None = None,
        fields: Mapping[str, FieldValue] | None = None,
        conv_id: str | None = None,
    ) -> Node:
        """Change a node; what is left out stays. Only its ``update_time`` moves; its new words are found at once.

        What a person changes, were it by giving the same text again, is vouched for. An agent's edit of what stands
        higher than a claim becomes a node of its own beside it, which is returned: a claim, linked with what it
        disputes.

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
        from reasoningbank.graph.agent_edits import beside, stands_above
        from reasoningbank.graph.nodes import embedded, existing_node, words
        from reasoningbank.memories.admission import admit_nodes, check_items, entry_of
        from reasoningbank.safety.graph_text import reveal

        with observed("update_memory", store=self._context.place), self._context.gated():
            store = self._context.store()
            old = existing_node(store, node_id)
            changed = replace(
                old,
                text=old.text if text is None else text,
                tags=old.tags if tags is None else tuple(dict.fromkeys(tags)),
                fields={**old.fields, **(fields or {})},
                conv_id=old.conv_id if conv_id is None else conv_id,
            )
            (new,) = check_items([changed])
            entry = entry_of(self._context.session)
            if new == old and rank_of(replace(old, provenance=entry).standing) <= rank_of(old.standing):
                return reveal([old])[0]
            new = replace(new, update_time=max(self._context.clock.now(), old.updated_at))
            if stands_above(old, entry):
                return self._disputed(store, old, beside(old, new, entry), entry)
            new = replace(new, provenance=entry)
            same = new.text == old.text
            vectors = {} if same else embedded([GraphText(id=new.id, text=new.text)], self._context.embedder)
            with store.transaction() as transaction:
                if existing_node(transaction, node_id) != old:
                    raise InvalidNode(f"node {node_id[:80]!r} is being edited by others", hint="Try again.")
                admit_nodes(transaction, [(new, words(new))])
                transaction.graph.put_graph_vectors("node", vectors, self._context.embedder.model_id)
            return new

    def _disputed(self, store: Store, old: Node, claim: Node, entry: Mapping[str, str]) -> Node:
        """Store an agent's edit beside the node that it would have changed; a second time nothing more."""
        from reasoningbank.graph.agent_edits import disputing
        from reasoningbank.graph.nodes import add, note_pending, prepared

        ready = prepared([claim], [disputing(claim, old, entry)], self._context.embedder, entry=entry)
        with store.transaction() as transaction:
            added = add(transaction, ready)
            note_pending(transaction, at=self._context.clock.now())
        return added.nodes[0]

    def restore(self, item_id: str) -> GraphRestored:
        """Bring back a node, with its edges and links, or an edge that an agent has deleted within thirty days.

        Args:
            item_id: The node or the edge.

        Raises:
            NodeNotFound: When no agent has deleted it, or longer ago.
        """
        check_person("to restore what was deleted")
        from reasoningbank.graph.agent_edits import bring_back
        from reasoningbank.graph.nodes import note_pending

        now = self._context.clock.now()
        with observed("create_memory", store=self._context.place), self._context.store().transaction() as transaction:
            restored = bring_back(transaction, check_graph_id("id", item_id), at=now)
            note_pending(transaction, at=now)
            return restored

    def delete(self, node_id: str, *, reader: Reader = "human") -> datetime | None:
        """Erase a node, every edge that touches it, its links to lessons, its words and vectors; lessons stay.

        What an agent deletes is kept for thirty days: ``restore`` brings it back, and a person's ``delete`` erases it.

        Args:
            node_id: The node.
            reader: Who deletes it; an agent takes away no link of a memory in quarantine.

        Returns:
            Until when it can be brought back; None when it is erased.

        Raises:
            NodeNotFound: When this project has no such node.
            MemoryQuarantined: When a memory in quarantine links it and an agent would erase it; nothing was erased.
            PolicyError: When an agent would delete what a person stands by; nothing was deleted.
        """
        reader = said_by(reader)
        from reasoningbank.graph.agent_edits import forget, is_kept, refuse_taking_away, withdraw_node
        from reasoningbank.graph.nodes import existing_node
        from reasoningbank.memories.standing import speaker
        from reasoningbank.memories.states import refuse_quarantined

        name, now = check_graph_id("id", node_id), self._context.clock.now()
        with observed("delete_memory", store=self._context.place), self._context.store().transaction() as transaction:
            if reader == "agent" or speaker():
                node = existing_node(transaction, name)
                lessons = transaction.graph.at_row_ids([int(number) for number in node.pointers])
                for memory in transaction.memories.many(list(lessons.values())).values():
                    refuse_quarantined(
                        transaction,
                        memory,
                        f"node {node_id[:80]!r} stays, for it links it; a person erases it with `rbank graph delete`.",
                    )
                refuse_taking_away(node, "rbank graph delete")
                withdraw_node(transaction, node, at=now)
                return now + KEPT_FOR
            if is_kept(transaction, name):
                forget(transaction, name)
                if name not in transaction.graph.nodes([name]):
                    return None
            transaction.graph.delete_node(name)
            return None

    def import_(
        self,
        source: str | Path,
        *,
        format: str | None = None,  # noqa: A002 - as the CLI
        vouched: bool = False,
    ) -> GraphImport:
        """Add the nodes, edges and lessons of a file, all of them or, when a record is unusable, none; idempotent.

        What a file says is a claim: its lessons are candidates with a confidence of at most 0.6, and the provenance
        keeps the file's SHA-256.

        Args:
            source: A JSON, JSON lines, CSV or Cypher file; see docs/explanation/graph.md.
            format: ``json``, ``jsonl``, ``csv`` or ``cypher``. Left out: what the file tells.
            vouched: You stand by the file: then its lessons begin at 0.8, and nothing of it is a claim.

        Raises:
            StoreUnavailable: When the file cannot be read.
            InvalidInput: When a record is unusable; the message says which one, and names its field.
        """
        check_person("to stand by a file", given=vouched)
        from reasoningbank.graph.importer import check_format, read_draft

        form = None if format is None else check_format(format)
        path = usable_path(source)
        text = read_text(path, most=MAX_IMPORT_BYTES)
        with open_regular(path, most=MAX_IMPORT_BYTES) as file:
            digest = digest_of(file)
        draft = read_draft(text, name=path.name, form=form, at=self._context.clock.now())
        return self._imported(draft, digest, vouched=vouched)

    def get(self, node_id: str) -> NodeView:
        """Return a node with its edges and the lessons it points to, secrets removed once more.

        Args:
            node_id: The node.

        Raises:
            NodeNotFound: When this project has no such node.
        """
        from reasoningbank.graph.nodes import existing_node
        from reasoningbank.safety.graph_text import reveal

        store = self._context.store()
        (node,) = reveal([existing_node(store, node_id)])
        lessons = store.graph.at_row_ids([int(number) for number in node.pointers])
        return NodeView(node=node, edges=tuple(reveal(store.graph.edges_of([node_id]))), lessons=lessons)

    def search(
        self,
        query: str,
        *,
        limit: SearchLimit = DEFAULT_SEEDS,
        budget: Budget | None = None,
        condition: GraphFilter | None = None,
        parameters: WalkParameters | None = None,
        user: str = "",
        role: str = "",
        bm25_weight: Share = 0.5,
        dense_weight: Share = 0.5,
        fusion: str = "weighted",
        min_score: Share | None = None,
    ) -> GraphAnswer:
        """Find the nodes that fit a question best and walks from them: the paths tell how things hang together.

        Args:
            query: The question in words.
            limit: Most nodes to begin at, 0 to 100.
            budget: Most tokens of the text for a language model. Left out: 2,000.
            condition: What a node to begin at must be.
            parameters: How to walk; None for the default preset, where without tags the question's own words serve.
            user: Who asks: their preferences stand first in the text for a language model.
            role: In which role they ask, whose preferences follow.
            bm25_weight: The weight of the words, from 0 to 1.
            dense_weight: The weight of the meaning, from 0 to 1; not both are 0.
            fusion: ``weighted`` adds weighted scores, ``rrf`` ranks.
            min_score: At least this fused score, from 0 to 1; None leaves out what nothing speaks for.

        Raises:
            EmptyQuery, NegativeLimit, InvalidInput: When an argument is not usable.
            ModelMismatch: When the bank was built with another embedder.
        """
        from reasoningbank.graph.provenance import preferences
        from reasoningbank.graph.render import BUDGET, to_llm_context
        from reasoningbank.graph.search import asked, find_nodes
        from reasoningbank.graph.walk import asked_with, reveal_walk, walk

        question = asked(query, limit, condition, bm25_weight, dense_weight, fusion=fusion, min_score=min_score)
        with observed("search_memory", store=self._context.place) as observation:
            store = self._context.store_in_space()
            hits, message = find_nodes(store, self._context.embedder, question)
            scores = {hit.node.id: hit.score for hit in hits if hit.score > 0.0}
            result = reveal_walk(walk(store.graph, scores, asked_with(question.text, parameters)))
            wishes = preferences(store, user=user, role=role)
            context = to_llm_context(result, budget=BUDGET if budget is None else budget, preferences=wishes)
            observation.delivered(len(hits))
            return GraphAnswer(
                query=question.text,
                seeds=hits,
                walk=result,
                context=context,
                pending=store.graph.graph_size().pending,
                message=message or _found(len(hits), len(result.paths)),
            )

    def walk(self, seeds: Mapping[str, float], parameters: WalkParameters | None = None) -> WalkResult:
        """Walk from nodes that are known; a seed that does not exist is named in the answer and stops no other.

        Args:
            seeds: The energy that each node starts with, above 0.
            parameters: How to walk; None for the default preset.

        Raises:
            InvalidInput: For seeds that no walk can start from.
        """
        from reasoningbank.graph.walk import reveal_walk, walk

        return reveal_walk(walk(self._context.store().graph, check_kind(seeds, Mapping, "seeds"), parameters))

    def list(self, condition: GraphFilter | None = None, *, limit: Limit = 0, offset: Offset = 0) -> tuple[Node, ...]:
        """Return nodes that meet a condition in the order they were stored; limit 0 means all.

        Args:
            condition: What a node must be.
            limit: At most so many; 0 for all.
            offset: How many to leave out first.
        """
        from reasoningbank.safety.graph_text import reveal

        found = self._context.store().graph.node_page(condition or GraphFilter(), limit=limit, offset=offset)
        return tuple(reveal(found))

    def size(self) -> GraphSize:
        """Return how many nodes, edges and links there are, and how many vectors are still to be made."""
        return self._context.store().graph.graph_size()

    def conversation(self, conv_id: str) -> tuple[Node, ...]:
        """Return the nodes of one conversation in the order in which they were ingested; empty when there is none.

        Args:
            conv_id: The conversation.

        Raises:
            InvalidNode: When there can be no such conversation.
        """
        from reasoningbank.safety.graph_text import reveal

        return tuple(reveal(self._context.store().graph.conversation(check_graph_id("conv_id", conv_id))))

    def actions(
        self,
        *,
        tags: Iterable[str] = (),
        conv_id: str | None = None,
        outcome: ActionOutcome | None = None,
        limit: Limit = DEFAULT_LIMIT,
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
        with observed("search_memory", store=self._context.place):
            found = actions(self._context.store(), tags=tuple(tags), conv_id=conv_id, outcome=outcome, limit=limit)
            return tuple(Action(node=node) for node in reveal([each.node for each in found]))

    def events(
        self,
        since: date | str | None = None,
        until: date | str | None = None,
        *,
        tags: Iterable[str] = (),
        recency: bool = False,
        limit: Limit = DEFAULT_LIMIT,
    ) -> tuple[Occurrence, ...]:
        """Return what happened in a window of time, each event with the answers that it led to.

        An event counts when any part of it lies in the window.

        Args:
            since: The first day, or a time with a zone. Left out: no beginning.
            until: The last day, all of it in the window, or a time with a zone, which is not in it. Left out: no end.
            tags: Only events with at least one of them; those with more of them come first.
            recency: Put the later ones first among equals; else they are in the order they were stored.
            limit: At most so many; 0 for all.

        Raises:
            InvalidInput: When the window ends before it begins, or a time has no zone.
        """
        from reasoningbank.graph.provenance import events
        from reasoningbank.graph.walk import reveal_paths
        from reasoningbank.safety.graph_text import reveal

        window = time_window(
            None if since is None else as_day(since, "since"), None if until is None else as_day(until, "until")
        )
        with observed("search_memory", store=self._context.place):
            found = events(self._context.store(), window, tags=tuple(tags), recency=recency, limit=limit)
            return tuple(
                replace(
                    each,
                    event=reveal([each.event])[0],
                    answers=reveal_paths(each.answers),
                    answer_nodes=tuple(reveal(each.answer_nodes)),
                )
                for each in found
            )

    def _imported(self, draft: GraphFile, digest: str, *, vouched: bool) -> GraphImport:
        """Store what is new of a draft, and make its vectors at once when they are few."""
        from reasoningbank.graph.importer import write_import
        from reasoningbank.graph.nodes import embed_few, note_pending

        now = self._context.clock.now()
        with observed("create_memory", store=self._context.place):
            store = self._context.store_in_space()
            ready = self._ready(store, draft, digest, vouched=vouched)
            with store.transaction() as transaction:
                report = write_import(transaction, ready)
                note_pending(transaction, at=now)
            return replace(report, pending=embed_few(store, self._context.embedder, at=now))

    def _ready(self, store: Store, draft: GraphFile, digest: str, *, vouched: bool) -> ReadyImport:
        """Return the draft with texts that may be stored.

        The vectors of new lessons are made before the transaction.
        """
        from reasoningbank.graph.importer import ReadyImport, sifted
        from reasoningbank.memories.admission import EnteredBy, Passed, entry_of, prepare
        from reasoningbank.memories.admission import Ready as ReadyMemory
        from reasoningbank.memories.transfer import DIGEST

        origin: EnteredBy = "copy" if vouched else "import"
        entry = entry_of(self._context.session, "person" if vouched else "import", **{DIGEST: digest})
        memories = [self._lesson_memory(each, digest, vouched=vouched) for each in draft.lessons]
        fresh = [memory for memory in memories if not store.memories.same_text(memory.fingerprint)]
        prepared = {each.memory.id: each for each in prepare(fresh, self._context.embedder, origin=origin)}
        nodes, bad_nodes = sifted(draft.nodes, store.graph.nodes, entry)
        edges, bad_edges = sifted(draft.edges, store.graph.edges, entry)

        def derive(memory: Memory) -> ReadyMemory:
            return prepared.get(memory.id) or prepare([memory], self._context.embedder, origin=origin)[0]

        return ReadyImport(
            draft=draft,
            nodes=nodes,
            edges=edges,
            left_out=(*bad_nodes, *bad_edges),
            passed=Passed(
                [
                    *(node for node, analysed in nodes if analysed is not None),
                    *(edge for edge, analysed in edges if analysed is not None),
                ]
            ),
            lessons=[
                (memory, each.link_nodes, partial(derive, memory))
                for memory, each in zip(memories, draft.lessons, strict=True)
            ],
        )

    def _lesson_memory(self, lesson: LessonDraft, digest: str, *, vouched: bool) -> Memory:
        """Return a lesson of a file as a memory; a candidate unless a person stands by the file."""
        from reasoningbank.graph.search import title_of
        from reasoningbank.memories.admission import draft, lowered
        from reasoningbank.memories.transfer import DIGEST

        memory = draft(
            project=self._context.scope.project,
            at=self._context.clock.now(),
            origin="import",
            title=lesson.title or title_of(lesson.key_lesson),
            content=lesson.key_lesson,
            outcome="success",
            description=lesson.context_to_prefer,
            tags=lesson.tags,
            category="",
            provenance={"source": "graph import", "session": self._context.session, DIGEST: digest},
        )
        if not vouched:
            memory = replace(lowered(memory), state="candidate")
        return replace(memory, id=lesson.id) if lesson.id else memory


def _found(seeds: int, paths: int) -> str:
    nodes = counted(seeds, "node fits", "nodes fit")
    ways = counted(paths, "path")
    return f"{nodes} the question; {ways} begin there."

"""Remember a finished conversation: what is certain of it, and storing it in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from reasoningbank.conversations.notes import CONVERSE, Note, Told, keep_note, read_note, told_by, waiting_in
from reasoningbank.conversations.parts import ConversationParts, certain_parts, prepared_conversation
from reasoningbank.conversations.session_graph import keep_refused, link_taught, replace_earlier, session_entry
from reasoningbank.errors import BudgetExhausted, MalformedAnswer, ModelUnavailable, PaidCallRefused
from reasoningbank.graph.nodes import PreparedGraph, note_pending, prepared, words
from reasoningbank.graph.provenance import add as add_preference
from reasoningbank.graph.search import GraphQuestion, find_nodes
from reasoningbank.jobs.worker import Handler
from reasoningbank.memories.admission import (
    Ready,
    admit,
    admit_edges,
    admit_nodes,
    entry_of,
    note_held,
    quarantined_twin,
    why_apart,
)
from reasoningbank.memories.admission import Ready as ReadyMemory
from reasoningbank.memories.links import lessons_of
from reasoningbank.memories.standing import PRINCIPAL, speaker
from reasoningbank.storage.graph_tables import Pointer
from reasoningbank.storage.store import Store, Transaction
from reasoningbank.telemetry import observed
from reasoningbank.types.conversation import Conversation, ConversationReport, Proposal, RefusedPart
from reasoningbank.types.graph import Edge, Node
from reasoningbank.types.graph_search import GraphFilter, Lesson, Preference
from reasoningbank.types.memory import Memory
from reasoningbank.types.ports import Embedder
from reasoningbank.types.quantity import counted
from reasoningbank.types.records import Job
from reasoningbank.types.resource import checked

if TYPE_CHECKING:
    from reasoningbank.context import Context
    from reasoningbank.types.session import Judgement, Trajectory


MOST = 6
"""Most neighbours of one conversation."""
_ASKED, _PER_NODE, _TEXT = 4, 8, 2_000


def propose(store: Store, embedder: Embedder, parts: ConversationParts) -> tuple[Proposal, ...]:
    """Return the nodes that are most like the request and the answers, the most alike first.

    None of the conversation itself.

    Raises:
        ModelMismatch: When the bank was built with another embedder.
    """
    best: dict[str, Proposal] = {}
    for name in parts.asks[:_ASKED]:
        question = GraphQuestion(text=parts.nodes[name].text[:_TEXT], limit=_PER_NODE, condition=GraphFilter())
        for hit in find_nodes(store, embedder, question)[0]:
            other = hit.node
            if other.id in parts.nodes or other.conv_id == parts.conv_id:
                continue
            if other.id not in best or hit.score > best[other.id].score:
                best[other.id] = Proposal(node_id=name, neighbour=other, score=hit.score)
    ranked = sorted(best.values(), key=lambda each: (-each.score, each.neighbour.id))
    return tuple(ranked[:MOST])


_KEPT = "the bank holds it with other contents; those were kept"


@dataclass(slots=True)
class Stored:
    """Tell what the bank holds of a conversation now."""

    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    preferences: tuple[Preference, ...] = ()
    lesson: Lesson | None = None
    quarantined: tuple[Memory, ...] = ()
    new: list[str] = field(default_factory=list)
    refused: list[RefusedPart] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyConversation:
    """A conversation that may be stored.

    Attributes:
        parts: What is to be stored.
        fresh: The nodes and edges that the bank did not have, admitted and with vectors.
        lesson: The lesson as a memory, ready to be stored.
        twin: Told a transaction, finds the memory that says the same as the lesson.
    """

    parts: ConversationParts
    fresh: PreparedGraph
    lesson: ReadyMemory | None = None
    twin: Callable[[Transaction], Memory | None] | None = None


def fresh_of(store: Store, parts: ConversationParts, embedder: Embedder, entry: Mapping[str, str]) -> PreparedGraph:
    """Return the nodes and edges that the store does not have, admitted and with vectors, of this provenance.

    Raises:
        InvalidNode, InvalidEdge: When one breaks a rule.
    """
    nodes, edges = store.graph.nodes(list(parts.nodes)), store.graph.edges(list(parts.edges))
    return prepared(
        [node for name, node in parts.nodes.items() if name not in nodes],
        [edge for name, edge in parts.edges.items() if name not in edges],
        embedder,
        entry=entry,
    )


def store_parts(
    transaction: Transaction, ready: ReadyConversation, told: Told, *, done: bool, waits: bool, at: datetime
) -> Stored:
    """Store what is new, note the conversation, and give what waits a job.

    Args:
        transaction: Where to.
        ready: What is to be stored.
        told: The conversation; kept whole as long as it waits.
        done: True when a language model has said what it finds.
        waits: Ask one later.
        at: Now.

    Raises:
        TrajectoryNotFound: When it was made of a session that was erased meanwhile.
    """
    note, stored = read_note(transaction, told.key), Stored()
    if told.trajectory:
        transaction.sessions.entry(told.trajectory)
        if note.digest != told.digest:
            if done:
                # A longer capture has taken its place while the model was asked.
                return stored
            replace_earlier(transaction, told, ready.parts)
            note = Note(preferences=note.preferences)
    if done and note.done:
        return stored
    alias = _put_nodes(transaction, ready, told.conversation, dict(note.preferences), stored)
    _put_edges(transaction, ready, alias, stored)
    _put_lesson(transaction, ready, alias, stored)
    if told.trajectory:
        link_taught(transaction, told, ready.parts)
        keep_refused(transaction, told, ready.parts, at=at)
    own = {name: other for name, other in alias.items() if name in _preferences_of(ready.parts)}
    keep_note(
        transaction,
        told,
        preferences=own | dict(note.preferences),
        done=done or note.done,
        waits=waits,
        at=at,
        model_id=ready.fresh.model_id,
    )
    note_pending(transaction, at=at)
    return stored


def _put_nodes(
    transaction: Transaction,
    ready: ReadyConversation,
    conversation: Conversation,
    known: dict[str, str],
    stored: Stored,
) -> dict[str, str]:
    """Store new nodes; return for each node of the conversation the id of the node that stands for it."""
    parts = ready.parts
    alias = {name: known.get(name, name) for name in parts.nodes}
    present = transaction.graph.nodes(list({*parts.nodes, *alias.values()}))
    plain: list[Node] = []
    for node in ready.fresh.nodes:
        if node.id in present or known.get(node.id) in present:
            continue
        owned = _owned(node, conversation)
        if owned is None:
            plain.append(node)
            continue
        kept = add_preference(transaction, owned)
        alias[node.id] = kept.id
        stored.preferences = (*stored.preferences, kept)
        if kept.id == node.id:
            stored.new.append(node.id)
    admit_nodes(transaction, [(node, words(node)) for node in plain])
    stored.new += [node.id for node in plain]
    made = {name: vector for name, vector in ready.fresh.vectors.get("node", {}).items() if name in stored.new}
    transaction.graph.put_graph_vectors("node", made, ready.fresh.model_id)
    for name, held in present.items():
        given = parts.nodes.get(name)
        if given is not None and _says(given) != _says(held):
            stored.refused.append(RefusedPart(part="node", name=name, reason=_KEPT))
    after = transaction.graph.nodes(list(dict.fromkeys(alias.values())))
    stored.nodes = tuple(after[name] for name in dict.fromkeys(alias.values()) if name in after)
    return {name: other for name, other in alias.items() if other in after}


def _put_edges(transaction: Transaction, ready: ReadyConversation, alias: Mapping[str, str], stored: Stored) -> None:
    wanted = {
        name: replace(edge, source=alias.get(edge.source, edge.source), target=alias.get(edge.target, edge.target))
        for name, edge in ready.parts.edges.items()
    }
    fresh = {edge.id: edge for edge in ready.fresh.edges}
    ends = transaction.graph.nodes(list({end for edge in wanted.values() for end in (edge.source, edge.target)}))
    present = transaction.graph.edges(list(wanted))
    new: list[Edge] = []
    for name, edge in wanted.items():
        missing = next((end for end in (edge.source, edge.target) if end not in ends), None)
        if name in present:
            held = present[name]
            if (held.source, held.target, held.text, held.weight) != (edge.source, edge.target, edge.text, edge.weight):
                stored.refused.append(RefusedPart(part="edge", name=name, reason=_KEPT))
        elif missing is not None:
            reason = f"it names {missing[:80]!r}, which is neither in the conversation nor in the bank"
            stored.refused.append(RefusedPart(part="edge", name=name, reason=reason))
        elif name in fresh:
            new.append(replace(fresh[name], source=edge.source, target=edge.target))
    admit_edges(transaction, [(edge, words(edge)) for edge in new])
    names = {edge.id for edge in new}
    made = {name: vector for name, vector in ready.fresh.vectors.get("edge", {}).items() if name in names}
    transaction.graph.put_graph_vectors("edge", made, ready.fresh.model_id)
    stored.new += [edge.id for edge in new]
    stored.edges = tuple(transaction.graph.edges(list(wanted)).values())


def _put_lesson(transaction: Transaction, ready: ReadyConversation, alias: Mapping[str, str], stored: Stored) -> None:
    """Store the lesson, or link the memory that says the same; one in quarantine stands for its text too."""
    note = ready.parts.lesson
    if ready.lesson is None or note is None:
        return
    memory = ready.lesson.memory
    twin = ready.twin(transaction) if ready.twin is not None else None
    kept = twin or quarantined_twin(transaction, memory)
    if kept is None:
        kept = admit(transaction, ready.lesson, at=memory.created_at)
        stored.new.append(memory.id)
    named = {alias.get(name, name): name for name in note.link_nodes}
    existing = transaction.graph.nodes(list(named))
    lesson_id = kept.id
    for node_id, name in named.items():
        if node_id in existing:
            transaction.graph.link_node(Pointer(node_id=node_id, memory_id=lesson_id))
        else:
            reason = f"it links {name[:80]!r}, which is neither in the conversation nor in the bank"
            stored.refused.append(RefusedPart(part="lesson", name=name, reason=reason))
    if kept.state == "quarantined":
        stored.quarantined = (kept,)
    else:
        stored.lesson = lessons_of(transaction, [lesson_id])[lesson_id]


def _owned(node: Node, conversation: Conversation) -> Node | None:
    """Return a preference with its owner; None for any other node, and for a preference that is nobody's."""
    if node.label != "UserPreference" or not str(node.fields.get("preference_type", "")).strip():
        return None
    if any(str(node.fields.get(name, "")).strip() for name in ("user_id", "user_role")):
        return node
    if conversation.user_id.strip():
        return replace(node, fields={**node.fields, "user_id": conversation.user_id})
    if conversation.user_role.strip():
        return replace(node, fields={**node.fields, "user_role": conversation.user_role})
    return None


def _preferences_of(parts: ConversationParts) -> set[str]:
    return {node.id for node in parts.nodes.values() if node.label == "UserPreference"}


def _says(node: Node) -> tuple[object, ...]:
    fields = {} if node.label == "UserPreference" else dict(node.fields)
    return (node.label, node.text, node.conv_id, frozenset(node.tags), fields)


@checked
class Conversations:
    """Remember finished conversations (seed 003)."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._writer = ConversationWriter(context)

    def remember(self, conversation: Conversation | Mapping[str, object]) -> ConversationReport:
        """Store a finished conversation in the graph; the same conversation a second time adds nothing.

        What the conversation tells itself is stored whatever becomes of the rest: its request, its final answer, and
        the nodes, sentences, preferences and the lesson that it names. A language model, where one is configured, adds
        nodes, sentences and at most one lesson, each checked against the conversation; when it cannot be reached or
        answers malformed, that waits in the background. Nodes of other conversations that are alike are proposed; an
        edge to one is made only of a checked sentence that says why.

        Args:
            conversation: As an object, or as the JSON object that docs/reference/web.md describes. Secrets
                are replaced and blocks of the bank's own memories removed before anything else reads it.

        Raises:
            InvalidInput: When a field is not usable; nothing was stored.
            ModelMismatch: When the bank was built with another embedder.
        """
        now = self._context.clock.now()
        return self._writer.kept(told_by(prepared_conversation(conversation, at=now)), at=now)


class ConversationWriter:
    """Write conversations into the graph, and ask the language model about those that wait, in the background."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def handlers(self) -> Mapping[str, Handler]:
        """Return the function that does each kind of job."""
        return {} if self._context.model is None else {CONVERSE: self._converse_job}

    def kept(self, told: Told, *, at: datetime) -> ConversationReport:
        """Store what is certain of a conversation and what a model finds; when it does not answer, that waits."""
        with observed("create_memory", store=self._context.place):
            store = self._context.store_in_space()
            parts = certain_parts(told.conversation, at=at)
            proposals = propose(store, self._context.embedder, parts)
            note = read_note(store, told.key)
            asks = self._context.model is not None and not (note.done and note.digest == told.digest)
            stored = self._remembered(store, parts, told, done=False, waits=asks, at=at)
            problem = ""
            if asks:
                try:
                    stored, parts = self._asked(store, told, proposals, stored)
                    with store.transaction() as transaction:
                        transaction.jobs.finish(Job(kind=CONVERSE, key=told.key, due=at))
                except (ModelUnavailable, BudgetExhausted, PaidCallRefused, MalformedAnswer) as error:
                    problem = error.message
            self._context.keep_up()
            return _report(parts, stored, proposals, problem)

    def _converse_job(self, job: Job) -> None:
        """Ask the language model about a conversation that waits."""
        store, now = self._context.store_in_space(), self._context.clock.now()
        told = waiting_in(read_note(store, job.key), at=now)
        if told is not None:
            proposals = propose(store, self._context.embedder, certain_parts(told.conversation, at=now))
            self._asked(store, told, proposals, Stored())

    def _asked(
        self, store: Store, told: Told, proposals: tuple[Proposal, ...], before: Stored
    ) -> tuple[Stored, ConversationParts]:
        """Ask the model and store what it finds, all of it or nothing."""
        from reasoningbank.conversations.extraction import ask
        from reasoningbank.llm.budget import counted_as

        if self._context.model is None:
            raise ModelUnavailable("no language model is configured")
        now = self._context.clock.now()
        parts = certain_parts(told.conversation, at=now)
        neighbours = [each.neighbour for each in proposals]
        with counted_as(told.trajectory) if told.trajectory else nullcontext():
            ask(self._context.model, told.conversation, parts, neighbours, at=now, session=bool(told.trajectory))
        stored = self._remembered(store, parts, told, done=True, waits=False, at=now)
        stored.new = [*before.new, *stored.new]
        stored.preferences = tuple({each.id: each for each in (*before.preferences, *stored.preferences)}.values())
        return stored, parts

    def _remembered(
        self, store: Store, parts: ConversationParts, told: Told, *, done: bool, waits: bool, at: datetime
    ) -> Stored:
        """Store what is new of the parts, in one transaction."""
        from reasoningbank.sessions.lessons import twin_of

        lesson = self._conversation_lesson(parts, told.conversation)

        def twin(transaction: Transaction) -> Memory | None:
            return None if lesson is None else twin_of(store, transaction, lesson.memory, lesson.indexed)

        # What the conversation told itself is there by the time that a model has said what it finds.
        if told.trajectory:
            entry = session_entry(told, "model" if done else "agent")
        else:
            entry = entry_of(self._context.session, "model" if done else None)
        ready = ReadyConversation(
            parts=parts, fresh=fresh_of(store, parts, self._context.embedder, entry), lesson=lesson, twin=twin
        )
        with store.transaction() as transaction:
            # Who lets a session be distilled has not said what happened in it.
            if not told.trajectory and speaker() and any(each.held for each in parts.refused):
                note_held(transaction, [speaker()], at=at)
            return store_parts(transaction, ready, told, done=done, waits=waits, at=at)

    def _conversation_lesson(self, parts: ConversationParts, told: Conversation) -> Ready | None:
        """Return the lesson as a memory that still has to prove itself."""
        from reasoningbank.graph.search import title_of
        from reasoningbank.memories.admission import draft, prepare

        note = parts.lesson
        if note is None:
            return None
        provenance = {
            "source": "conversation",
            "session": self._context.session,
            PRINCIPAL: speaker(),
            "conversation": told.conv_id,
            "model": parts.lesson_model,
            "prompt": parts.lesson_prompt,
        }
        memory = draft(
            project=self._context.scope.project,
            at=self._context.clock.now(),
            origin="model",
            title=title_of(note.key_lesson),
            content=note.key_lesson,
            outcome="success",
            description=note.context_to_prefer,
            tags=note.tags,
            category="",
            provenance={name: text for name, text in provenance.items() if text},
        )
        return prepare([replace(memory, state="candidate")], self._context.embedder, origin="model")[0]


class SessionGraph:
    """Remember distilled sessions as conversations, where that is wanted."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._writer = ConversationWriter(context)

    @property
    def is_wanted(self) -> bool:
        """Return whether sessions are remembered in the graph: with a language model, or always."""
        wanted = self._context.settings.graph_from_sessions
        return wanted == "always" or (wanted == "model" and self._context.model is not None)

    def remember(self, trajectory: Trajectory, judgement: Judgement) -> ConversationReport | None:
        """Remember a session as one conversation: its request, deciding actions, files, answer, and why they belong.

        A longer capture replaces what a shorter one had left, and so does a later verdict, also that nobody knows how
        the session ended; the same one a second time adds nothing. What a language
        model finds beside that, the wishes of the user among it, waits in the background when it does not answer.

        Returns:
            None when it is not wanted, when it was never known how the session ended, and when all is remembered.

        Raises:
            TrajectoryNotFound: When the session was erased meanwhile.
            ModelMismatch: When the bank was built with another embedder.
        """
        from reasoningbank.conversations.format import digest
        from reasoningbank.conversations.session_conversation import conversation_of

        if not self.is_wanted:
            return None
        now, owner = self._context.clock.now(), self._context.scope.tenant
        conversation = prepared_conversation(conversation_of(trajectory, judgement, user_id=owner), at=now)
        told = Told(
            conversation=conversation,
            digest=digest(conversation),
            trajectory=trajectory.id,
            session=trajectory.session or trajectory.id,
        )
        note = read_note(self._context.store(), told.key)
        if judgement.verdict == "unknown" and not note.digest:
            return None
        if note.digest == told.digest and (note.done or self._context.model is None):
            return None
        return self._writer.kept(told, at=now)


def _report(
    parts: ConversationParts, stored: Stored, proposals: tuple[Proposal, ...], problem: str
) -> ConversationReport:
    linked = {(edge.source, edge.target) for edge in stored.edges}
    own = {node.id for node in stored.nodes}
    open_proposals = tuple(
        each for each in proposals if not any(each.neighbour.id in pair and own & set(pair) for pair in linked)
    )
    refused = tuple(dict.fromkeys((*parts.refused, *stored.refused)))
    said = (
        f"{counted(len(stored.nodes), 'node')} and {counted(len(stored.edges), 'edge')} are remembered, "
        f"{counted(len(stored.new), 'entry is', 'entries are')} new"
        + (f"; {len(refused)} {'was' if len(refused) == 1 else 'were'} refused" if refused else "")
        + "."
    )
    said += "".join(f" {why_apart(memory)}" for memory in stored.quarantined)
    if problem:
        said += f" The rest waits for a language model: {problem}"
    return ConversationReport(
        conv_id=parts.conv_id,
        nodes=stored.nodes,
        edges=stored.edges,
        preferences=stored.preferences,
        lesson=stored.lesson,
        quarantined=tuple(memory.id for memory in stored.quarantined),
        new=tuple(stored.new),
        proposals=open_proposals,
        refused=refused,
        waiting=bool(problem),
        message=said,
    )

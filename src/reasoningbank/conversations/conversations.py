"""Remember finished conversations (seed 003)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from reasoningbank.errors import BudgetExhausted, MalformedAnswer, ModelUnavailable, PaidCallRefused
from reasoningbank.jobs.worker import Handler
from reasoningbank.memories.admission import Ready
from reasoningbank.storage.store import Store, Transaction
from reasoningbank.telemetry import observed
from reasoningbank.types.conversation import Conversation, ConversationReport, Proposal
from reasoningbank.types.memory import Memory
from reasoningbank.types.records import Job

if TYPE_CHECKING:
    from reasoningbank.context import Context
    from reasoningbank.conversations.remember import Parts, Stored


class Conversations:
    """Remember finished conversations (seed 003)."""

    def __init__(self, context: Context) -> None:
        self._context = context

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
        from reasoningbank.conversations.format import digest
        from reasoningbank.conversations.remember import (
            CONVERSE,
            certain_parts,
            prepared_conversation,
            propose,
            read_note,
        )

        now = self._context.clock.now()
        told = prepared_conversation(conversation, at=now)
        key = digest(told)
        with observed("create_memory", store=self._context.place):
            store = self._conversation_store()
            parts = certain_parts(told, at=now)
            proposals = propose(store, self._context.embedder, parts)
            asks = self._context.model is not None and not read_note(store, key).done
            stored = self._remembered(store, parts, told, key, done=False, waits=asks, at=now)
            problem = ""
            if asks:
                try:
                    stored, parts = self._asked(store, told, key, proposals, stored)
                    with store.transaction() as transaction:
                        transaction.jobs.finish(Job(kind=CONVERSE, key=key, due=now))
                except (ModelUnavailable, BudgetExhausted, PaidCallRefused, MalformedAnswer) as error:
                    problem = error.message
            self._context.keep_up()
            return _report(parts, stored, proposals, problem)

    def handlers(self) -> Mapping[str, Handler]:
        """Return what does each kind of job of this resource."""
        from reasoningbank.conversations.remember import CONVERSE

        return {} if self._context.model is None else {CONVERSE: self._converse_job}

    def queue_due(self) -> None:
        """Do nothing: a conversation is queued when it is stored."""

    def _converse_job(self, job: Job) -> None:
        """Ask the language model about a conversation that waits."""
        from reasoningbank.conversations.format import read_conversation
        from reasoningbank.conversations.remember import Stored, certain_parts, propose, read_note

        store = self._conversation_store()
        note = read_note(store, job.key)
        if note.done or note.waiting is None:
            return
        now = self._context.clock.now()
        told = read_conversation(note.waiting, at=now)
        proposals = propose(store, self._context.embedder, certain_parts(told, at=now))
        self._asked(store, told, job.key, proposals, Stored())

    def _asked(
        self, store: Store, told: Conversation, key: str, proposals: tuple[Proposal, ...], before: Stored
    ) -> tuple[Stored, Parts]:
        """Ask the model and store what it finds, all of it or nothing."""
        from reasoningbank.conversations.extraction import ask
        from reasoningbank.conversations.remember import certain_parts

        if self._context.model is None:
            raise ModelUnavailable("no language model is configured")
        now = self._context.clock.now()
        parts = certain_parts(told, at=now)
        ask(self._context.model, told, parts, [each.neighbour for each in proposals], at=now)
        stored = self._remembered(store, parts, told, key, done=True, waits=False, at=now)
        stored.new = [*before.new, *stored.new]
        stored.preferences = tuple({each.id: each for each in (*before.preferences, *stored.preferences)}.values())
        return stored, parts

    def _remembered(
        self, store: Store, parts: Parts, told: Conversation, key: str, *, done: bool, waits: bool, at: datetime
    ) -> Stored:
        """Store what is new of the parts, in one transaction."""
        from reasoningbank.conversations.remember import Ready as ReadyParts
        from reasoningbank.conversations.remember import fresh_of, store_parts
        from reasoningbank.sessions.distil import twin_of

        lesson = self._conversation_lesson(parts, told)

        def twin(transaction: Transaction) -> Memory | None:
            return None if lesson is None else twin_of(store, transaction, lesson.memory, lesson.indexed)

        ready = ReadyParts(parts=parts, fresh=fresh_of(store, parts, self._context.embedder), lesson=lesson, twin=twin)
        with store.transaction() as transaction:
            return store_parts(transaction, ready, told, key, done=done, waits=waits, at=at)

    def _conversation_lesson(self, parts: Parts, told: Conversation) -> Ready | None:
        """Return the lesson as a memory that still has to prove itself."""
        from reasoningbank.memories.admission import draft, prepare
        from reasoningbank.search.lessons import title_of

        note = parts.lesson
        if note is None:
            return None
        provenance = {
            "source": "conversation",
            "session": self._context.session,
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

    def _conversation_store(self) -> Store:
        """Return the store, when the embedder is the one that the bank was built with."""
        from reasoningbank.memories.vectors import check_space

        store = self._context.store()
        check_space(store, self._context.embedder)
        return store


def _report(parts: Parts, stored: Stored, proposals: tuple[Proposal, ...], problem: str) -> ConversationReport:
    linked = {(edge.source, edge.target) for edge in stored.edges}
    own = {node.id for node in stored.nodes}
    open_proposals = tuple(
        each for each in proposals if not any(each.neighbour.id in pair and own & set(pair) for pair in linked)
    )
    refused = tuple(dict.fromkeys((*parts.refused, *stored.refused)))
    said = (
        f"{len(stored.nodes)} nodes and {len(stored.edges)} edges are remembered, {len(stored.new)} entries are new"
        + (f"; {len(refused)} were refused" if refused else "")
        + "."
    )
    if problem:
        said += f" The rest waits for a language model: {problem}"
    return ConversationReport(
        conv_id=parts.conv_id,
        nodes=stored.nodes,
        edges=stored.edges,
        preferences=stored.preferences,
        lesson=stored.lesson,
        new=tuple(stored.new),
        proposals=open_proposals,
        refused=refused,
        waiting=bool(problem),
        message=said,
    )

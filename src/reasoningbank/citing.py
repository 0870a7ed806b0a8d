"""The part of a bank that reads sources: it finds what they name and state, with the exact place of each."""

from __future__ import annotations

from collections.abc import Iterable

from reasoningbank.domain.graph import Node
from reasoningbank.domain.mention import Mentions, SourceReport
from reasoningbank.errors import BudgetExhausted, EmptyContent, MalformedAnswer, ModelUnavailable, PaidCallRefused
from reasoningbank.jobs import Handler
from reasoningbank.ports import Job
from reasoningbank.scaling import Scaling
from reasoningbank.telemetry import observed

_NO_MODEL = "No language model: nothing was looked for."


class Citing(Scaling):
    """Finds entities and concepts in sources; without a language model none are invented (seed 002)."""

    def mentions(self, text: str) -> Mentions:
        """What a text names and states, each at its exact place in the text as it is returned by redaction; no storage.

        Secrets are replaced before the language model sees the text; places count from the replaced text, which is the
        text itself when it holds none.

        Raises:
            EmptyContent: When the text is blank.
            ConfigurationError: When the library that finds them is not installed.
            ModelUnavailable, BudgetExhausted, MalformedAnswer: When there was no usable answer.
        """
        from reasoningbank.engine.hygiene import clean
        from reasoningbank.engine.redaction import redact

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
        """Keeps a source as a node, what it names as its tags, and what it states as nodes that cite their place.

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
        from reasoningbank.engine.graphing.adding import add, prepared
        from reasoningbank.engine.graphing.citing import CITE, source_node
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
        from reasoningbank.engine.graphing.citing import CITE

        known = super()._handlers()
        return known if self._model is None else {**known, CITE: self._cite_job}

    def _cite_job(self, job: Job) -> None:
        """Finds what a stored source names and states."""
        self._cited(job.key)

    def _cited(self, source_id: str) -> SourceReport:
        """Finds and stores the mentions of a stored source, and ends the wait for them, in one transaction."""
        from reasoningbank.engine.graphing.adding import add, prepared
        from reasoningbank.engine.graphing.citing import CITE, statements, tagged
        from reasoningbank.engine.graphing.indexing import words
        from reasoningbank.engine.graphing.looking import existing_node
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
        from reasoningbank.engine.prompts import prompt
        from reasoningbank.llm.mentions import find_mentions

        if self._model is None:
            return Mentions(message=_NO_MODEL)
        return find_mentions(text, self._model, prompt("mentions", text))

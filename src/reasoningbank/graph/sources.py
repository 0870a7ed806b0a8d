"""Sources of the contextual graph, and what they name and state."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from reasoningbank.errors import BudgetExhausted, EmptyContent, MalformedAnswer, ModelUnavailable, PaidCallRefused
from reasoningbank.jobs.worker import Handler
from reasoningbank.telemetry import observed
from reasoningbank.types.graph import MAX_GRAPH_TAG, MAX_GRAPH_TAGS, Edge, Node
from reasoningbank.types.graph_search import Source
from reasoningbank.types.mention import Mention, Mentions, SourceReport
from reasoningbank.types.records import Job
from reasoningbank.types.resource import checked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reasoningbank.context import Context

CITE = "find_mentions"
"""The kind of job that looks for what a source names and states."""
WEIGHT = 0.9
"""A statement stands in its source word for word: a direct connection."""


def source_node(text: str, *, pointer: str, source_type: str, conv_id: str, tags: Iterable[str]) -> Node:
    """Return a source as a node; the same words from the same place are always the same node.

    Raises:
        InvalidNode: When the text is empty or longer than a node's, or another rule is broken.
    """
    return Node(
        id=_name("source", pointer, text),
        label="DataSource",
        text=text,
        conv_id=conv_id,
        tags=tuple(dict.fromkeys(tags)),
        fields={"source_type": source_type, "doc_pointer": pointer},
    )


def tagged(source: Node, mentions: Iterable[Mention]) -> Node:
    """Return the source with a tag for everything that it names; names too long for a tag are left out."""
    return replace(source, tags=_with(source.tags, (_tag(each) for each in mentions if not each.is_concept)))


def statements(source: Node, mentions: Iterable[Mention]) -> tuple[tuple[Node, ...], tuple[Edge, ...]]:
    """Return a node for every statement of the source, and the edge that says where it stands there."""
    known = list(mentions)
    nodes, edges = [], []
    for each in known:
        if not each.is_concept:
            continue
        named = (_tag(one) for one in known if not one.is_concept and each.start <= one.start and one.end <= each.end)
        node = Node(
            id=_name("statement", source.id, each.kind, str(each.start), str(each.end)),
            label="AgentAnswer",
            text=each.text,
            conv_id=source.conv_id,
            tags=_with((each.kind.lower(),), named),
            fields={"analysis_types": (each.kind.lower(),)},
        )
        nodes.append(node)
        edges.append(
            Edge(
                id=_name("cited", node.id),
                source=source.id,
                target=node.id,
                text=_sentence(source, each),
                weight=WEIGHT,
                tags=("cited", each.kind.lower()),
            )
        )
    return tuple(nodes), tuple(edges)


def _sentence(source: Node, mention: Mention) -> str:
    place = str(source.fields.get("doc_pointer") or source.id)
    return f'{place} makes this {mention.kind.lower()} at characters {mention.start} to {mention.end}: "{mention.text}"'


def _tag(mention: Mention) -> str:
    return f"{mention.kind.lower()}:{' '.join(mention.text.split())}"


def _with(tags: tuple[str, ...], more: Iterable[str]) -> tuple[str, ...]:
    fitting = (tag for tag in more if len(tag) <= MAX_GRAPH_TAG)
    return tuple(dict.fromkeys([*tags, *fitting]))[:MAX_GRAPH_TAGS]


def _name(kind: str, *parts: str) -> str:
    digest = hashlib.blake2b("\x00".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return f"{kind}-{digest}"


_NO_MODEL = "No language model: nothing was looked for."


@checked
class Sources:
    """Sources and what they name and state."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._citations = Citations(context)

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
        from reasoningbank.safety.stored_text import clean

        if not text.strip():
            raise EmptyContent("a source cannot be empty")
        return self._citations.found(redact(clean(text)).text)

    def add(
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
        from reasoningbank.graph.nodes import add, prepared
        from reasoningbank.memories.admission import check_items, entry_of

        (admitted,) = check_items(
            [source_node(text, pointer=pointer, source_type=source_type, conv_id=conv_id, tags=tuple(tags))]
        )
        now = self._context.clock.now()
        with observed("create_memory", store=self._context.place):
            store = self._context.store()
            known = store.graph.nodes([admitted.id])
            waiting = any(job.kind == CITE and job.key == admitted.id for job in store.jobs.waiting(due=now))
            if known and not waiting:
                return SourceReport(source=known[admitted.id], mentions=Mentions(), message="The source is known.")
            if not known:
                ready = prepared([admitted], [], self._context.embedder, entry=entry_of(self._context.session))
                with store.transaction() as transaction:
                    add(transaction, ready)
                    transaction.jobs.enqueue(Job(kind=CITE, key=admitted.id, due=now))
            try:
                return self._citations.cited(admitted.id)
            except (ModelUnavailable, BudgetExhausted, PaidCallRefused, MalformedAnswer) as error:
                source = store.graph.nodes([admitted.id])[admitted.id]
                said = f"The source is stored; its mentions wait: {error.message}"
                return SourceReport(source=source, mentions=Mentions(), waiting=True, message=said)

    def list(self, answer_id: str) -> tuple[Source, ...]:
        """Return the data sources that an answer or an action rests on, at most three hops away, the surest first.

        Args:
            answer_id: The answer or action.

        Raises:
            NodeNotFound: When this project has no such node.
            InvalidNode: When it is neither an answer nor an action.
        """
        from reasoningbank.graph.provenance import sources
        from reasoningbank.graph.walk import reveal_paths
        from reasoningbank.safety.graph_text import reveal

        with observed("search_memory", store=self._context.place):
            found = sources(self._context.store().graph, answer_id)
            nodes = reveal([each.node for each in found])
            paths = reveal_paths([each.path for each in found])
        return tuple(Source(node=node, path=path) for node, path in zip(nodes, paths, strict=True))


class Citations:
    """Find what sources name and state, at once or in the background."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def handlers(self) -> Mapping[str, Handler]:
        """Return the function that does each kind of job."""
        return {} if self._context.model is None else {CITE: self._cite_job}

    def _cite_job(self, job: Job) -> None:
        """Find what a stored source names and states."""
        self.cited(job.key)

    def cited(self, source_id: str) -> SourceReport:
        """Find and store the mentions of a stored source, and end the wait for them, in one transaction."""
        from reasoningbank.graph.nodes import add, existing_node, prepared, words
        from reasoningbank.memories.admission import admit_nodes, entry_of

        store = self._context.store()
        source = existing_node(store, source_id)
        if self._context.model is None:
            said = f"The source is stored. {_NO_MODEL} Its mentions wait for one."
            return SourceReport(source=source, mentions=Mentions(message=_NO_MODEL), waiting=True, message=said)
        mentions = self.found(source.text)
        nodes, edges = statements(source, mentions.found)
        entry = entry_of(self._context.session, "model")
        ready = prepared(nodes, edges, self._context.embedder, entry=entry)
        with store.transaction() as transaction:
            current: Node = tagged(existing_node(transaction, source_id), mentions.found)
            if current.tags != source.tags:
                admit_nodes(transaction, [(current, words(current))])
            added = add(transaction, ready)
            transaction.jobs.finish(Job(kind=CITE, key=source_id, due=self._context.clock.now()))
        said = f"The source is stored. {mentions.message}"
        return SourceReport(source=current, mentions=mentions, nodes=added.nodes, edges=added.edges, message=said)

    def found(self, text: str) -> Mentions:
        """Return what a text names and states, as the language model says; nothing without one."""
        from reasoningbank.llm.mentions import find_mentions
        from reasoningbank.llm.prompts import prompt

        if self._context.model is None:
            return Mentions(message=_NO_MODEL)
        return find_mentions(text, self._context.model, prompt("mentions", text))

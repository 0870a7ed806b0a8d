"""What one bank in memory holds, and every read of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime

from reasoningbank.domain.changes import Erasure, StateChange
from reasoningbank.domain.document import Document
from reasoningbank.domain.experience import Trace
from reasoningbank.domain.graph import Edge, Node
from reasoningbank.domain.graph_search import GRAPH_KINDS, GraphKind
from reasoningbank.domain.learning import Origin, Refusal
from reasoningbank.domain.memory import Memory
from reasoningbank.domain.recall import Filter
from reasoningbank.domain.scope import Membership
from reasoningbank.domain.signal import ProjectWeights, Signal, SignalAggregate, SignalType
from reasoningbank.domain.trajectory import Judgement, Trajectory
from reasoningbank.domain.uplift import Exposure
from reasoningbank.errors import InvalidInput, MemoryNotFound, ModelMismatch
from reasoningbank.ports import Idle, Job, Link, Pointer, RecallLog, Vector, WeightChange, WordsWorth
from reasoningbank.storage.memory_idle import idle


def _of_each_kind() -> dict[GraphKind, dict[str, tuple[str, ...]]]:
    return {kind: {} for kind in GRAPH_KINDS}


@dataclass(slots=True, kw_only=True)
class Contents:
    """Everything inside one scope. Its values are immutable; a copy therefore shares them.

    Attributes:
        project: The project of every memory.
        model: The vector space and its dimension; None when there are no vectors yet.
        memories: By id, in the order they were stored.
        words: The analysed words of each memory, lower case.
        vectors: By leg, then by memory id.
        revisions: The earlier versions of each memory, oldest first.
        signals: By signal id.
        counted: Memory id, type and session of every signal that counts once.
        aggregates: By memory id.
        changes: The history of the weights, oldest first.
        recalls: By recall id, oldest first.
        links: Every relation once.
        jobs: Jobs that are not dead, by kind and key.
        leases: Until when a claimed job is held, by kind and key.
        dead: Dead jobs and when they died, by kind and key.
        trajectories: By trajectory id, in the order they were stored.
        captured: The trajectory id of every idempotency key.
        distilled: When a trajectory was distilled, by its id.
        judgements: Of each trajectory, oldest first.
        origins: By memory id and trajectory id, oldest first.
        refusals: By refusal id, oldest first.
        traces: By trace id, oldest first.
        trace_vectors: By trace id.
        words_worth: What the bank has learned that words are worth in it.
        membership: Which team and org the project belongs to.
        exposures: By session, in the order in which they began.
        state_changes: The log of states, in the order it was written.
        erasures: When memories were erased, in that order.
        documents: By collection, path and key, in the order they were first stored.
        document_vectors: Of each document that has any.
        nodes, edges: By id, in the order they were stored; nodes without their pointers.
        graph_words: The analysed words of each node and edge, lower case, by kind and id.
        graph_vectors: By kind and id.
        pointers: Every link of a node and a lesson once.
        row_ids: The integer row id of each memory.
        last_row_id: The last that was given out.
        contexts: Where in a memory's words those of its description stand: how many come before, how many they are.
    """

    project: str
    model: tuple[str, int] | None = None
    memories: dict[str, Memory] = field(default_factory=dict)
    words: dict[str, tuple[str, ...]] = field(default_factory=dict)
    vectors: dict[str, dict[str, Vector]] = field(default_factory=dict)
    revisions: dict[str, tuple[Memory, ...]] = field(default_factory=dict)
    signals: dict[str, Signal] = field(default_factory=dict)
    counted: set[tuple[str, str, str]] = field(default_factory=set)
    aggregates: dict[str, SignalAggregate] = field(default_factory=dict)
    changes: tuple[WeightChange, ...] = ()
    recalls: dict[str, RecallLog] = field(default_factory=dict)
    links: set[Link] = field(default_factory=set)
    jobs: dict[tuple[str, str], Job] = field(default_factory=dict)
    leases: dict[tuple[str, str], datetime] = field(default_factory=dict)
    dead: dict[tuple[str, str], tuple[Job, datetime]] = field(default_factory=dict)
    trajectories: dict[str, Trajectory] = field(default_factory=dict)
    captured: dict[str, str] = field(default_factory=dict)
    distilled: dict[str, datetime] = field(default_factory=dict)
    judgements: dict[str, tuple[Judgement, ...]] = field(default_factory=dict)
    origins: dict[tuple[str, str], Origin] = field(default_factory=dict)
    refusals: dict[str, Refusal] = field(default_factory=dict)
    traces: dict[str, Trace] = field(default_factory=dict)
    trace_vectors: dict[str, Vector] = field(default_factory=dict)
    words_worth: WordsWorth = field(default_factory=WordsWorth)
    membership: Membership = field(default_factory=Membership)
    exposures: dict[str, Exposure] = field(default_factory=dict)
    state_changes: tuple[StateChange, ...] = ()
    erasures: tuple[Erasure, ...] = ()
    documents: dict[tuple[str, tuple[str, ...], str], Document] = field(default_factory=dict)
    document_vectors: dict[tuple[str, tuple[str, ...], str], tuple[Vector, ...]] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)
    edges: dict[str, Edge] = field(default_factory=dict)
    graph_words: dict[GraphKind, dict[str, tuple[str, ...]]] = field(default_factory=_of_each_kind)
    graph_vectors: dict[GraphKind, dict[str, Vector]] = field(default_factory=dict)
    pointers: set[Pointer] = field(default_factory=set)
    row_ids: dict[str, int] = field(default_factory=dict)
    last_row_id: int = 0
    contexts: dict[str, tuple[int, int]] = field(default_factory=dict)

    def copy(self) -> Contents:
        """Other contents with the same values: changing one does not change the other."""
        copied = replace(self)
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, (dict, set)):
                setattr(copied, each.name, value.copy())
        copied.vectors = {leg: vectors.copy() for leg, vectors in self.vectors.items()}
        copied.graph_words = {kind: words.copy() for kind, words in self.graph_words.items()}
        copied.graph_vectors = {kind: vectors.copy() for kind, vectors in self.graph_vectors.items()}
        return copied

    @property
    def has_vectors(self) -> bool:
        """Whether any vector is there that fixes the bank's model."""
        derived = (*self.vectors.values(), *self.graph_vectors.values(), self.trace_vectors, self.document_vectors)
        return any(derived)

    def check_space(self, model_id: str, dimension: int) -> None:
        """Refuses vectors of another model or dimension than the bank's."""
        if self.has_vectors and self.model is not None and self.model != (model_id, dimension):
            raise ModelMismatch(
                f"the bank's vectors come from {self.model[0]} ({self.model[1]} dimensions), "
                f"not from {model_id} ({dimension})"
            )

    def memory(self, memory_id: str) -> Memory:
        """The memory of this id; raises MemoryNotFound."""
        found = self.memories.get(memory_id)
        if found is None:
            raise MemoryNotFound(f"no memory {memory_id[:80]!r} in project {self.project[:80]!r}")
        return found


def check_text(texts: Iterable[str]) -> None:
    """Refuses what is not valid Unicode."""
    for text in texts:
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise InvalidInput("a text is not valid Unicode") from error


class MemoryReads(ABC):
    """The StoreReader port over whatever contents are current."""

    @property
    @abstractmethod
    def contents(self) -> Contents:
        """The contents to read from."""

    def get(self, memory_id: str) -> Memory:
        return self.contents.memory(memory_id)

    def page(self, condition: Filter, *, limit: int, offset: int) -> Sequence[Memory]:
        met = [memory for memory in self.contents.memories.values() if condition.accepts(memory)]
        return met[offset : offset + limit] if limit else met[offset:]

    def count(self, condition: Filter) -> int:
        return sum(condition.accepts(memory) for memory in self.contents.memories.values())

    def same_text(self, fingerprint: bytes) -> Sequence[str]:
        return [memory.id for memory in self.contents.memories.values() if memory.fingerprint == fingerprint]

    def signals(self, memory_id: str, *, since: datetime | None = None) -> Sequence[Signal]:
        found = [
            signal
            for signal in self.contents.signals.values()
            if signal.memory_id == memory_id and (since is None or signal.at > since)
        ]
        return sorted(found, key=lambda signal: (signal.at, signal.id))

    def counted(self, memory_id: str, kind: SignalType, session: str) -> bool:
        return (memory_id, kind, session) in self.contents.counted

    def aggregate(self, memory_id: str) -> SignalAggregate:
        contents = self.contents
        empty = SignalAggregate(memory_id=memory_id, project=contents.project, positive=0, negative=0)
        return contents.aggregates.get(memory_id, empty)

    def idle(self, before: datetime, *, below: float | None = None, after: str = "", limit: int = 0) -> Sequence[Idle]:
        return idle(self.contents, before, below=below, after=after, limit=limit)

    def weights(self) -> ProjectWeights:
        contents = self.contents
        return contents.changes[-1].weights if contents.changes else ProjectWeights(project=contents.project)

    def revisions(self, memory_id: str) -> Sequence[Memory]:
        return self.contents.revisions.get(memory_id, ())

    def changes(
        self, *, memory_id: str | None = None, reference: str | None = None, since: datetime | None = None
    ) -> Sequence[StateChange]:
        return [
            change
            for change in self.contents.state_changes
            if memory_id in {None, change.memory_id}
            and reference in {None, change.reference}
            and (since is None or change.at > since)
        ]

    def erasures(self, *, since: datetime) -> Sequence[Erasure]:
        return [erasure for erasure in self.contents.erasures if erasure.at > since]

    def changes_since(self) -> datetime | None:
        return None

    def links(self, memory_id: str) -> Sequence[Link]:
        found = [link for link in self.contents.links if memory_id in {link.source, link.target}]
        return sorted(found, key=lambda link: (link.source, link.target, link.kind))

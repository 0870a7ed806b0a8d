"""What a store of one scope reads, finds and writes; transactions and storages."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from reasoningbank.types.document import Document
from reasoningbank.types.experience import Trace
from reasoningbank.types.graph import Edge, Node
from reasoningbank.types.graph_search import GraphFilter, GraphKind, GraphSize
from reasoningbank.types.memory import Cause, Erasure, Memory, StateChange
from reasoningbank.types.ports import Vector
from reasoningbank.types.recall import Filter, Recall
from reasoningbank.types.records import (
    Candidates,
    ClosePairs,
    Idle,
    Indexed,
    Job,
    LexicalMatches,
    Link,
    Pool,
    RecallLog,
    Scored,
    StoreReport,
    TrajectoryEntry,
    Voices,
    WeightChange,
    WordsWorth,
)
from reasoningbank.types.scope import Membership, Scope
from reasoningbank.types.session import Judgement, Origin, Refusal, Trajectory, Verdict
from reasoningbank.types.signal import ProjectWeights, Signal, SignalAggregate, SignalType
from reasoningbank.types.uplift import Exposure


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphText:
    """The text of a node or an edge whose vector is still to be made."""

    id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointer:
    """A node and a lesson that belong together: the one relation behind both ``pointers`` and ``link_nodes``."""

    node_id: str
    memory_id: str


class GraphReader(Protocol):
    """What a walk needs of a graph: two calls per level, each for many nodes at once."""

    def nodes(self, ids: Collection[str], /) -> Mapping[str, Node]:
        """Return the nodes of these ids that exist."""

    def edges_around(self, ids: Collection[str], /) -> Mapping[str, Sequence[Edge]]:
        """Return for each of these nodes every edge that starts or ends there, in the order they were stored."""


class GraphReads(GraphReader, Protocol):
    """Reads of the graph; inside a transaction they see its own writes."""

    def edges_of(self, ids: Collection[str], /) -> Sequence[Edge]:
        """Return every edge that starts or ends at one of these nodes, each once, in the order they were stored."""

    def edges(self, ids: Collection[str], /) -> Mapping[str, Edge]:
        """Return the edges of these ids that exist."""

    def node_page(self, condition: GraphFilter, *, limit: int, offset: int = 0) -> Sequence[Node]:
        """Return nodes in the order they were stored; limit 0 means all."""

    def edge_page(self, *, limit: int, offset: int = 0) -> Sequence[Edge]:
        """Return edges in the order they were stored; limit 0 means all."""

    def conversation(self, conv_id: str) -> Sequence[Node]:
        """Return the nodes of a conversation by ``ingestion_time``, those of one time in the order they were stored."""

    def pointers(
        self, *, node_ids: Collection[str] | None = None, memory_ids: Collection[str] | None = None
    ) -> Sequence[Pointer]:
        """Return the links of these nodes and of these lessons, by age of the node, then of the lesson."""

    def row_ids(self, memory_ids: Collection[str], /) -> Mapping[str, int]:
        """Return the integer row id of each of these memories that exists.

        It never changes and is never given out again.
        """

    def at_row_ids(self, row_ids: Collection[int], /) -> Mapping[int, str]:
        """Return the memory at each of these row ids that has one: the inverse of ``row_ids``."""

    def graph_size(self) -> GraphSize:
        """Return how much there is of everything."""

    def graph_tags(self, *, limit: int = 0) -> Sequence[tuple[str, int]]:
        """Return every tag of a node or an edge with how many carry it, the most frequent first, then by code point.

        Limit 0 means all.
        """

    def unembedded(self, kind: GraphKind, *, limit: int) -> Sequence[GraphText]:
        """Return nodes or edges without a vector, in the order they were stored; limit 0 means all."""


class GraphWrites(Protocol):
    """Writes of the graph."""

    def put_nodes(self, nodes: Sequence[tuple[Node, str]], /) -> None:
        """Store nodes, each with its analysed words, or replaces those of their ids: all of them or none.

        The vector of a node whose text is another than before is gone. Links to lessons stay as they are, whatever the
        nodes' ``pointers`` say.
        """

    def put_edges(self, edges: Sequence[tuple[Edge, str]], /) -> None:
        """Store edges, each with its analysed words, or replaces those of their ids: all of them or none.

        Raises:
            NodeNotFound: When an end does not exist.
        """

    def put_graph_vectors(self, kind: GraphKind, vectors: Mapping[str, Vector], model_id: str) -> int:
        """Store the vectors of nodes or edges that still exist, in place of those they have; return how many.

        Raises:
            ModelMismatch: When the bank's vectors come from another model or have another dimension.
        """

    def delete_node(self, node_id: str, /) -> None:
        """Erase a node, every edge that touches it, its links to lessons and all vectors; raise NodeNotFound."""

    def delete_edge(self, edge_id: str, /) -> None:
        """Erase an edge and its vector; raise EdgeNotFound."""

    def link_node(self, pointer: Pointer, /) -> bool:
        """Store a link; False when it is there. Raises NodeNotFound or MemoryNotFound when one end does not exist."""

    def unlink_node(self, pointer: Pointer, /) -> bool:
        """Remove a link; False when there is none."""


class GraphSearch(Protocol):
    """Finding nodes, edges and lessons."""

    def graph_nearest(self, kind: GraphKind, vector: Vector, condition: GraphFilter, limit: int) -> Sequence[Scored]:
        """Return the nodes or edges closest to the vector among those that meet the condition, best first.

        Raises:
            ModelMismatch: When the bank's vectors have another dimension.
        """

    def graph_matching(self, kind: GraphKind, text: str, condition: GraphFilter, limit: int) -> LexicalMatches:
        """Return BM25 over the analysed text of nodes or edges among those that meet the condition."""

    def matching_context(self, text: str, condition: Filter, limit: int) -> LexicalMatches:
        """Return BM25 over the descriptions alone, among the memories that meet the condition.

        Word counts and frequencies are those of the descriptions; ``documents`` counts the memories that have one.
        """


class StoreReader(GraphReads, Protocol):
    """Reads of one scope; inside a transaction they see its own writes."""

    def get(self, memory_id: str) -> Memory:
        """Return the memory; raises MemoryNotFound."""

    def page(self, condition: Filter, *, limit: int, offset: int) -> Sequence[Memory]:
        """Return memories in the order they were stored; limit 0 means all."""

    def count(self, condition: Filter) -> int:
        """Return how many memories meet the condition."""

    def same_text(self, fingerprint: bytes) -> Sequence[str]:
        """Return ids of memories with this fingerprint, oldest first."""

    def signals(self, memory_id: str, *, since: datetime | None = None) -> Sequence[Signal]:
        """Return individual signals strictly newer than ``since``, oldest first."""

    def counted(self, memory_id: str, kind: SignalType, session: str) -> bool:
        """Return whether a signal of this type and session was added that counts once; a roll-up does not forget it."""

    def aggregate(self, memory_id: str) -> SignalAggregate:
        """Return rolled-up counts; all zero when nothing was rolled up."""

    def idle(self, before: datetime, *, below: float | None = None, after: str = "", limit: int = 0) -> Sequence[Idle]:
        """Return recallable memories without any activity later than a time, in the order they were stored.

        Activity is every signal but disuse, rolled-up ones included, every delivery, edit and change of state, and that
        it was recorded.

        Args:
            before: Nothing happened later than this.
            below: Only memories of a lower confidence.
            after: Only those that were stored after this one; empty for all.
            limit: At most so many; 0 means all.
        """

    def weights(self) -> ProjectWeights:
        """Return the project's current weights; the priors when nothing was learned."""

    def revisions(self, memory_id: str) -> Sequence[Memory]:
        """Return the memory's earlier versions, oldest first."""

    def links(self, memory_id: str) -> Sequence[Link]:
        """Return relations from or to the memory."""

    def trajectory(self, trajectory_id: str) -> Trajectory:
        """Return the trajectory as it was captured; raises TrajectoryNotFound."""

    def entry(self, trajectory_id: str) -> TrajectoryEntry:
        """Return the trajectory as a list shows it; raises TrajectoryNotFound."""

    def trajectories(
        self, *, limit: int, offset: int = 0, verdict: Verdict | None = None, pending: bool | None = None
    ) -> Sequence[TrajectoryEntry]:
        """Return trajectories in the order they were stored; limit 0 means all.

        Args:
            limit: At most so many.
            offset: So many are passed over.
            verdict: Only those whose latest judgement says so; ``unknown`` includes those never judged.
            pending: Only those that wait to be distilled, or only those that do not.
        """

    def captured(self, key: str) -> str | None:
        """Return the id of the trajectory that was kept under this idempotency key or digest."""

    def judgements(self, trajectory_id: str) -> Sequence[Judgement]:
        """Return every judgement of the trajectory, oldest first; raises TrajectoryNotFound."""

    def origins(self, *, memory_id: str | None = None, trajectory: str | None = None) -> Sequence[Origin]:
        """Return which trajectories taught which memories, oldest first, of one memory or of one trajectory."""

    def voices(self, memory_ids: Collection[str]) -> Mapping[str, Voices]:
        """Return the individual signals and the origins of each of these memories."""

    def refusals(self, *, trajectory: str | None = None, limit: int = 0) -> Sequence[Refusal]:
        """Return items that were not stored, newest first; limit 0 means all."""

    def trace(self, trace_id: str) -> Trace:
        """Return one search as it was run; raises TrajectoryNotFound."""

    def traces(self, *, session: str | None = None, limit: int = 0) -> Sequence[Trace]:
        """Search as they were run, newest first; limit 0 means all."""

    def exposure(self, session: str) -> Exposure | None:
        """Return what this session was shown or kept from; None when it has met nothing.

        Erased memories are gone from it.
        """

    def exposures(self) -> Sequence[Exposure]:
        """Return the same of every session, in the order in which they began."""

    def changes(
        self, *, memory_id: str | None = None, reference: str | None = None, since: datetime | None = None
    ) -> Sequence[StateChange]:
        """Change of states in the order they were written.

        Args:
            memory_id: Only this memory's.
            reference: Only those that belong to this consolidation or quarantine.
            since: Only those strictly later.
        """

    def erasures(self, *, since: datetime) -> Sequence[Erasure]:
        """Return when memories were erased, strictly later than ``since``, in the order they were.

        Nothing else is known.
        """

    def changes_since(self) -> datetime | None:
        """Return since when every change of a state is logged; None when it always was."""

    def document(self, collection: str, path: Sequence[str], key: str) -> Document | None:
        """Return the document at a place."""

    def documents(self, collection: str | None = None, path: Sequence[str] = ()) -> Sequence[Document]:
        """Return documents below a path, in the order in which they were first stored.

        Of every collection or of one.
        """

    def compared_documents(
        self, collection: str, path: Sequence[str], vector: Vector
    ) -> Sequence[tuple[Document, float | None]]:
        """Return the same with the largest cosine that a vector of each has with this one.

        None when it has no vector.
        """


class Transaction(StoreReader, GraphWrites, Protocol):
    """Writes of one scope that become visible together or not at all."""

    def whole(self) -> AbstractContextManager[None]:
        """Return a block whose writes happen together or not at all, also when its error is caught."""

    def many(self, memory_ids: Sequence[str]) -> Mapping[str, Memory]:
        """Return the memories of these ids that exist."""

    def insert(self, memory: Memory, indexed: Indexed) -> None:
        """Store a new memory with everything derived from it."""

    def update(
        self, memory: Memory, indexed: Indexed | None = None, *, revision: bool = False, cause: Cause | None = None
    ) -> None:
        """Replace a memory; with ``indexed`` also what is derived; with ``revision`` the old version is kept.

        A new state, or another memory that it went into, is logged with its cause; without one as a change that
        happens at the real time.
        """

    def update_state(self, memory: Memory, *, revision: bool = False, cause: Cause | None = None) -> None:
        """Replace a memory as ``update`` does, but for its texts: those stay as they are stored.

        Raises:
            InvalidInput: When a text of the memory is not the stored one; nothing was changed.
        """

    def update_states(self, changes: Sequence[tuple[Memory, Memory]]) -> None:
        """Replace memories as ``update_state`` does, each from what was read of it in this transaction to the new one.

        Raises:
            InvalidInput: When a stored memory is another one than was read; nothing was changed.
        """

    def forget_vectors(self) -> None:
        """Remove every vector and the bank's model, so that another model's vectors may come."""

    def delete(self, memory_id: str, *, at: datetime | None = None) -> None:
        """Erase the memory and all that hangs on it; raise MemoryNotFound.

        That a memory was erased ``at`` this time, None for the real one, is logged, and not which one it was.
        """

    def put_document(self, document: Document, vectors: Sequence[Vector] = (), model_id: str = "") -> None:
        """Store a document, in the place of the one that is there, with one vector for each of its texts."""

    def delete_document(self, collection: str, path: Sequence[str], key: str) -> bool:
        """Erase a document; False when there is none."""

    def expose(self, exposure: Exposure) -> None:
        """Replace what is known of the exposure's session; memories that do not exist are left out."""

    def note(self, change: StateChange) -> None:
        """Log what is said of a memory's state without changing it; raise MemoryNotFound."""

    def add_signal(self, signal: Signal, *, once: bool = False) -> bool:
        """Store a signal; with ``once`` only the first of its memory, type and session: False for a further one."""

    def count_once(self, memory_ids: Collection[str], kind: SignalType, session: str) -> Sequence[str]:
        """Note that a signal of this type and session counts for these memories; return those without one so far."""

    def add_signals(self, signals: Sequence[Signal]) -> None:
        """Store signals, whatever was counted before."""

    def set_aggregate(self, aggregate: SignalAggregate) -> None:
        """Replace a memory's rolled-up counts (seed 004 ``StoreAggregate``); an import brings them along."""

    def set_weights(self, change: WeightChange) -> None:
        """Replace the weights and append to their history."""

    def set_membership(self, membership: Membership) -> None:
        """Replace which team and org the project belongs to."""

    def set_words_worth(self, worth: WordsWorth) -> None:
        """Replace what the bank has learned that words are worth in it."""

    def roll_up(self, cutoff: datetime, at: datetime) -> int:
        """Move signals older than the cutoff into aggregates; return how many."""

    def log_recall(self, recall: Recall) -> None:
        """Keep what a search delivered: items, ranks, scores, tokens."""

    def link(self, link: Link) -> None:
        """Store a relation; a second time changes nothing."""

    def enqueue(self, job: Job) -> bool:
        """Store a job; False when one of its kind and key is waiting, running or dead already."""

    def claim(self, kinds: Sequence[str], *, lease: str, at: datetime, until: datetime) -> Job | None:
        """Hand out the job of these kinds that has been due longest and that no one holds at that time.

        Its attempts are one more, its lease is the caller's, and nobody else gets it before ``until``.
        """

    def extend(self, job: Job, until: datetime) -> bool:
        """Hold a claimed job longer; False when the lease was lost to another worker."""

    def finish(self, job: Job) -> bool:
        """Remove a job that was done; False, and nothing changes, when it has a lease and that was lost."""

    def put_back(self, job: Job, *, due: datetime, error: str) -> bool:
        """Give a claimed job back for a later attempt; False when the lease was lost.

        It keeps the attempts that the caller's job names, so that a wait which was no attempt need not count as one.
        """

    def bury(self, job: Job, *, at: datetime, error: str) -> bool:
        """Move a claimed job to the dead ones, where a person can see it; False when the lease was lost."""

    def revive(self, kind: str, key: str, *, due: datetime) -> bool:
        """Make a dead job wait again with no attempts; False when there is none."""

    def keep(self, trajectory: Trajectory, *, key: str = "") -> bool:
        """Store a trajectory; False when one of its key or digest is there: then nothing changes."""

    def erase_trajectory(self, trajectory_id: str) -> None:
        """Erase a trajectory, its judgements and refusals; memories stay. Raises TrajectoryNotFound."""

    def judge(self, trajectory_id: str, judgement: Judgement) -> None:
        """Add a judgement; earlier ones stay. Raises TrajectoryNotFound."""

    def mark_distilled(self, trajectory_id: str, at: datetime | None) -> None:
        """Note when a trajectory was distilled; None makes it wait again. Raises TrajectoryNotFound."""

    def add_origin(self, origin: Origin) -> bool:
        """Note that a trajectory taught a memory; False when that is noted already."""

    def refuse(self, refusal: Refusal) -> None:
        """Keep an item that was not stored."""

    def keep_trace(self, trace: Trace, vector: Vector, model_id: str) -> None:
        """Store a search as it was run with its query's vector; raise ModelMismatch like ``insert``."""

    def update_trace(self, trace: Trace, vector: Vector | None = None, model_id: str = "") -> None:
        """Replace a trace's outcome, state and strategies, and with a vector that too; raise TrajectoryNotFound."""


class Store(StoreReader, GraphSearch, Protocol):
    """Everything that belongs to one scope. Safe to use from several threads."""

    @property
    def scope(self) -> Scope:
        """The scope it holds, fixed for its life."""

    @property
    def model_id(self) -> str | None:
        """The vector space of the stored vectors; None when there are none yet."""

    @property
    def seen_model_id(self) -> str | None:
        """The same as the last search saw it, without a look into the bank; None before the first."""

    @property
    def words_worth(self) -> WordsWorth:
        """What the bank has learned that words are worth in it; factor 1 when it has not."""

    @property
    def membership(self) -> Membership:
        """Which team and org the project was last opened with; empty names when with none."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Return one atomic, durable unit of writes; an exception inside leaves no trace."""

    def nearest(self, leg: str, vector: Vector, condition: Filter, limit: int) -> Sequence[Scored]:
        """Return the memories closest to the vector in a dense leg among those that meet the condition, best first."""

    def similarities(self, leg: str, vector: Vector, memory_ids: Sequence[str]) -> Mapping[str, float]:
        """Return the inner product with each of these memories that has a vector in the leg."""

    def matching(self, text: str, condition: Filter, limit: int) -> LexicalMatches:
        """Return BM25 over analysed text among the memories that meet the condition."""

    def candidates(self, vector: Vector, text: str, pools: Sequence[Pool]) -> Sequence[Candidates]:
        """Return all that a fused search needs, pool by pool, in one state of the bank.

        The same as ``nearest`` in both dense legs, ``matching``, and ``similarities`` of whatever these have found.
        """

    def close_pairs(self, leg: str, threshold: float, condition: Filter, *, limit: int) -> ClosePairs:
        """Return every pair of memories that meet the condition and whose cosine in a dense leg is above the threshold.

        Args:
            leg: The leg; memories without a vector in it are in no pair.
            threshold: Pairs exactly at it are left out.
            condition: What both must be.
            limit: Most pairs; when there are more, the closest are given.
        """

    def vector(self, leg: str, memory_id: str) -> Vector | None:
        """Return the stored vector of one memory in one leg."""

    def vectors(self, leg: str, memory_ids: Sequence[str]) -> Mapping[str, Vector]:
        """Return the stored vectors of those of these memories that have one in the leg."""

    def many(self, memory_ids: Sequence[str]) -> Mapping[str, Memory]:
        """Return the memories of these ids that exist."""

    def weight_history(self) -> Sequence[WeightChange]:
        """Return every change of the weights, oldest first."""

    def recalls(self, *, limit: int, session: str | None = None) -> Sequence[RecallLog]:
        """Return the newest logged recalls, of all sessions or of one, newest first; limit 0 means all."""

    def jobs(self, *, due: datetime) -> Sequence[Job]:
        """Return jobs due at that time, oldest first, claimed ones included."""

    def claimable(self, kinds: Sequence[str], *, at: datetime) -> bool:
        """Return whether ``claim`` would hand out a job of these kinds: to be asked often, for it takes no lock."""

    def dead_jobs(self) -> Sequence[Job]:
        """Return jobs that failed too often, oldest first."""

    def similar_traces(self, vector: Vector, *, limit: int) -> Sequence[tuple[Trace, float]]:
        """Return the searches whose queries are closest, best first, each with its cosine.

        Only the newest 10,000 count.
        """

    def check(self) -> StoreReport:
        """Read everything and report every defect."""

    def backup(self, target: Path) -> None:
        """Write a complete, consistent copy that ``Storage.restore`` accepts."""

    def close(self) -> None:
        """Release what the store holds; a second time does nothing."""


class Storage(Protocol):
    """A place that holds one store per scope."""

    def open(self, scope: Scope) -> Store:
        """Return the scope's store, made when it does not exist."""

    def scopes(self, tenant: str) -> Sequence[Scope]:
        """Return the scopes of one tenant that exist here: projects by name, then teams, then orgs."""

    def has(self, scope: Scope) -> bool:
        """Return whether the scope has a store here; asking makes none."""

    def restore(self, scope: Scope, source: Path) -> None:
        """Replace the scope's store by a backup of the same scope; an old file is kept aside."""

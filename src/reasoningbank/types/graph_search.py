"""Searches in the contextual graph: conditions, results, reports, lessons, and what the labels of nodes answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal, get_args

from reasoningbank.errors import InvalidInput
from reasoningbank.types.argument import Share
from reasoningbank.types.graph import LABELS, Edge, Label, Node, WeightBand
from reasoningbank.types.memory import ImportOmission, Memory
from reasoningbank.types.moment import EARLIEST, LATEST, bounded
from reasoningbank.types.recall import Leg
from reasoningbank.types.standing import Standing, shown_claim
from reasoningbank.types.walk import GraphContext, WalkPath, WalkResult

LESSON_LEG = "lesson"
"""The dense leg over ``key_lesson``: the memory's content leg."""
CONTEXT_LEG = "context"
"""The dense leg over ``context_to_prefer``: the memory's description leg."""
BM25_LEG = "bm25"
"""BM25 over ``context_to_prefer`` alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """A memory and the graph nodes it came from.

    Attributes:
        memory: The memory itself; its belief, history and feedback are those of every memory.
        rb_id: Its integer row id in this bank: it never changes and is never given out again.
        link_nodes: The nodes it is linked with, oldest first: the same relation that fills ``Node.pointers``.
    """

    memory: Memory
    rb_id: int
    link_nodes: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The memory's id."""
        return self.memory.id

    @property
    def standing(self) -> Standing:
        """The memory's standing."""
        return self.memory.standing

    @property
    def claim(self) -> str:
        """What it is shown as that is no more than a claim; empty for what stands higher."""
        return shown_claim(self.memory.provenance)

    @property
    def key_lesson(self) -> str:
        """The lesson: the memory's content."""
        return self.memory.content

    @property
    def context_to_prefer(self) -> str:
        """When it applies: the memory's description."""
        return self.memory.description

    @property
    def tags(self) -> tuple[str, ...]:
        """The memory's tags."""
        return self.memory.tags


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonWeights:
    """How a search by lesson puts its three legs together (seed 003).

    Attributes:
        lesson_weight: The weight of the meaning of the content, from 0 to 1; 0 switches the leg off.
        context_weight: The weight of the meaning of the description.
        bm25_weight: The weight of the words of the description.
        fusion: ``weighted``, or ``rrf`` for reciprocal rank fusion with the same weights.
        min_score: At least this score, from 0 to 1; without it what nothing speaks for is left out.
    """

    lesson_weight: Share = 0.4
    context_weight: Share = 0.3
    bm25_weight: Share = 0.3
    fusion: str = "weighted"
    min_score: Share | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonHit:
    """A lesson that a search found.

    Attributes:
        score: The fused score, from 0 to 1.
        legs: Rank and score in every leg that found it: cosines of ``lesson`` and ``context``, BM25 of ``bm25``.
    """

    lesson: Lesson
    score: float
    legs: Mapping[str, Leg]


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonAnswer:
    """The answer to one search for lessons.

    Attributes:
        lessons: Best first.
        query: The query, secrets removed.
        message: One sentence: what was found, or why nothing was.
        warnings: What could not be done, for example logging the delivery on a full disk.
    """

    lessons: tuple[LessonHit, ...] = ()
    query: str = ""
    message: str = ""
    warnings: tuple[str, ...] = ()


GraphKind = Literal["node", "edge"]
Fusion = Literal["weighted", "rrf"]
GraphFormat = Literal["json", "jsonl", "cypher", "csv"]

GRAPH_KINDS: tuple[GraphKind, ...] = get_args(GraphKind)
FUSIONS: tuple[Fusion, ...] = get_args(Fusion)
GRAPH_FORMATS: tuple[GraphFormat, ...] = get_args(GraphFormat)

TEXT_LEG = "text"
"""The dense leg over the text of nodes or of edges."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphFilter:
    """Hold what a node or an edge must be to be considered; applied inside every leg, before its best are taken.

    Edges have neither a label nor a conversation nor a time: only ``tags`` restrict them.

    Attributes:
        labels: Any of these labels; empty for all.
        tags: All of these tags, exactly as they are stored.
        conv_id: Only nodes of this conversation.
        during: Only events whose time overlaps this window, its end exclusive.

    Raises:
        InvalidInput: When a label does not exist, or a time has no zone.
    """

    labels: tuple[Label, ...] = ()
    tags: tuple[str, ...] = ()
    conv_id: str | None = None
    during: tuple[datetime, datetime] | None = None

    def __post_init__(self) -> None:
        for label in self.labels:
            if label not in LABELS:
                raise InvalidInput(f"label: must be one of {', '.join(LABELS)}, not {str(label)[:80]!r}")
        if self.during is not None and any(moment.tzinfo is None for moment in self.during):
            raise InvalidInput("times must carry a time zone", hint="Use for example datetime.now(timezone.utc).")

    @property
    def of_nodes(self) -> bool:
        """Return whether it asks for something that only nodes have."""
        return bool(self.labels) or self.conv_id is not None or self.during is not None

    def accepts(self, item: Node | Edge) -> bool:
        """Return whether a node or an edge is what the filter asks for; stores answer the same inside their legs."""
        if any(tag not in item.tags for tag in self.tags):
            return False
        if isinstance(item, Edge):
            return not self.of_nodes
        if (self.labels and item.label not in self.labels) or self.conv_id not in {None, item.conv_id}:
            return False
        return self.during is None or _overlap(item.window, self.during)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphSize:
    """How much a graph holds.

    Attributes:
        pointers: Links of nodes and lessons.
        pending: Nodes and edges that have no vector yet: they are found by their words alone.
    """

    nodes: int = 0
    edges: int = 0
    pointers: int = 0
    pending: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeHit:
    """A node that a search found.

    Attributes:
        score: The fused score, from 0 to 1.
        legs: Rank and score in every leg that found it: ``text`` is a cosine, ``lexical`` is BM25.
    """

    node: Node
    score: float
    legs: Mapping[str, Leg]

    @property
    def standing(self) -> Standing:
        """The standing of its node."""
        return self.node.standing

    @property
    def claim(self) -> str:
        """What it is shown as that is no more than a claim; empty for what stands higher."""
        return self.node.claim


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeHit:
    """An edge that a search found; the fields are those of a NodeHit."""

    edge: Edge
    score: float
    legs: Mapping[str, Leg]

    @property
    def standing(self) -> Standing:
        """The standing of its edge."""
        return self.edge.standing

    @property
    def claim(self) -> str:
        """What it is shown as that is no more than a claim; empty for what stands higher."""
        return self.edge.claim


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicate:
    """A node or an edge of an import that could not be stored under its id.

    Attributes:
        kind: ``node`` or ``edge``.
        id: The id that it shares with another one.
        reason: What it differs in from the other one.
        stored_as: The id it has in the bank; empty when it was not stored.
        source, target: The ends of an edge.
    """

    kind: GraphKind
    id: str
    reason: str
    stored_as: str = ""
    source: str = ""
    target: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dangling:
    """A link of an import that was not stored, because what it names exists neither in the import nor in the bank.

    Attributes:
        kind: ``edge``, or ``pointer`` for a link of a node and a lesson.
        id: The edge, or the node or lesson that names it.
        missing: The id that does not exist.
    """

    kind: Literal["edge", "pointer"]
    id: str
    missing: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphImport:
    """Hold what an import did.

    Attributes:
        nodes_added, edges_added, lessons_added, pointers_added: What is new in the bank.
        nodes_updated: Nodes whose ``update_time`` in the import is later than in the bank.
        nodes_unchanged, edges_unchanged, lessons_unchanged: What the bank held already.
        conflicts: Ids of nodes, edges and lessons that the bank holds with other contents; it keeps its own.
        duplicates: Ids that the import gives twice, or to other things than the bank does.
        dangling: Links to what does not exist; they are not stored.
        left_out: Nodes and edges that look like a prompt injection; they are not stored.
        quarantined: Ids of the added lessons that look like a prompt injection: no search finds them.
        bands: How many edges of the import lie in each band of weights.
        pending: Nodes and edges of the bank whose vectors are still to be made in the background.
        messages: What else is to be known, one sentence each.
    """

    nodes_added: int = 0
    nodes_updated: int = 0
    nodes_unchanged: int = 0
    edges_added: int = 0
    edges_unchanged: int = 0
    lessons_added: int = 0
    lessons_unchanged: int = 0
    pointers_added: int = 0
    conflicts: tuple[str, ...] = ()
    duplicates: tuple[Duplicate, ...] = ()
    dangling: tuple[Dangling, ...] = ()
    left_out: tuple[ImportOmission, ...] = ()
    quarantined: tuple[str, ...] = ()
    bands: Mapping[WeightBand, int] = field(default_factory=dict)
    pending: int = 0
    messages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphAdded:
    """Hold what was added to a graph.

    Attributes:
        nodes, edges: As they are stored now, in the order they were given; what was there already included.
        new: Ids of those that were not there before.
    """

    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    new: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphRestored:
    """Hold what came back of what an agent had deleted from the graph.

    Attributes:
        id: The node or the edge.
        nodes, edges, lessons: How many nodes, edges and links to lessons are there again.
        left_out: How many edges and links are not, because what they name is gone.
    """

    id: str
    nodes: int = 0
    edges: int = 0
    lessons: int = 0
    left_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeView:
    """A node with what hangs on it.

    Attributes:
        edges: Every edge that touches it, in the order they were stored.
        lessons: The lessons it points to: their memories' ids by their row ids.
    """

    node: Node
    edges: tuple[Edge, ...] = ()
    lessons: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphAnswer:
    """The answer to a question to the graph.

    Attributes:
        query: The query, secrets removed.
        seeds: The nodes that fit it best, best first.
        walk: The paths that begin at them.
        context: The same as text for a language model, within the budget.
        pending: Nodes and edges that have no vector yet: they are found by their words alone.
        message: One sentence: what was found, or why nothing was.
    """

    query: str
    seeds: tuple[NodeHit, ...]
    walk: WalkResult
    context: GraphContext
    pending: int = 0
    message: str = ""


def _overlap(window: tuple[datetime, datetime] | None, asked: tuple[datetime, datetime]) -> bool:
    """Return whether a window touches the one asked for; a window without length is a moment.

    No time comes after the last one, so an end there includes it.
    """
    if window is None:
        return False
    start, end = window
    return (start < asked[1] or start == LATEST == asked[1]) and (
        end > asked[0] or (start == end and start >= asked[0])
    )


ActionOutcome = Literal["success", "failure", "unknown"]
ACTION_OUTCOMES: tuple[ActionOutcome, ...] = get_args(ActionOutcome)

SUPERSEDES = "supersedes"
"""The tag of an edge from a preference to the one that it replaces."""
DELETED_PARTS = "reasoningbank.graph.deleted"
"""The collection of documents that holds what agents have deleted from the graph, by its id."""
DISPUTES = "disputes"
"""The tag of an edge from a claim to what stands higher and says otherwise."""

_DONE = frozenset({"success", "successful", "succeeded", "complete", "completed", "done", "finished", "ok", "passed"})
_FAILED = frozenset(
    {"failed", "failure", "error", "aborted", "cancelled", "canceled", "rejected", "refused", "timeout", "timed out"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preference:
    """A rule about how somebody wants things.

    Attributes:
        node: Where it is kept: a node of label UserPreference.
        user: Whose it is; empty when it is a role's.
        role: The role that it holds for; empty when it is a user's.
        replaced_by: The id of the preference that holds instead; empty for one that holds.
    """

    node: Node
    user: str = ""
    role: str = ""
    replaced_by: str = ""

    @property
    def standing(self) -> Standing:
        """The standing of its node."""
        return self.node.standing

    @property
    def claim(self) -> str:
        """What it is shown as that is no more than a claim; empty for what stands higher."""
        return self.node.claim

    @property
    def id(self) -> str:
        """The node's id."""
        return self.node.id

    @property
    def text(self) -> str:
        """The rule."""
        return self.node.text

    @property
    def preference_type(self) -> str:
        """Return what it is about: of one type and owner only the newest holds."""
        return str(self.node.fields.get("preference_type", ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class LedTo:
    """An answer that an event led to.

    Attributes:
        id: The answer.
        text: What it says.
        path: The way from the event to it.
        standing: Where it comes from and what became of it.
    """

    id: str
    text: str
    path: WalkPath
    standing: Standing = "claim"


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """Something that happened, and what was concluded from it.

    Attributes:
        event: A node of label Event.
        start, end: From when to when it lasted, the end exclusive.
        answers: The ways to the answers that it is linked with, over at most one action, the strongest first.
        answer_nodes: The last node of each of these ways.
    """

    event: Node
    start: datetime
    end: datetime
    answers: tuple[WalkPath, ...] = ()
    answer_nodes: tuple[Node, ...] = ()

    @property
    def standing(self) -> Standing:
        """The standing of the event."""
        return self.event.standing

    @property
    def claim(self) -> str:
        """What it is shown as that is no more than a claim; empty for what stands higher."""
        return self.event.claim

    @property
    def led_to(self) -> tuple[LedTo, ...]:
        """The answers that it led to, each with the way to it."""
        pairs = zip(self.answer_nodes, self.answers, strict=True)
        return tuple(LedTo(id=node.id, text=node.text, path=path, standing=node.standing) for node, path in pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Evidence behind an answer.

    Attributes:
        node: A node of label DataSource.
        path: The way from the answer to it, at most three hops; its score is the product of its edges' weights.
    """

    node: Node
    path: WalkPath

    @property
    def standing(self) -> Standing:
        """The standing of its node."""
        return self.node.standing

    @property
    def claim(self) -> str:
        """What it is shown as that is no more than a claim; empty for what stands higher."""
        return self.node.claim

    @property
    def doc_pointer(self) -> str:
        """Where the document is."""
        return str(self.node.fields.get("doc_pointer", ""))

    @property
    def relevant_parts(self) -> str:
        """Where to look in it."""
        return str(self.node.fields.get("relevant_parts", ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """How something was done.

    Attributes:
        node: A node of label AgentAction.
    """

    node: Node

    @property
    def standing(self) -> Standing:
        """The standing of its node."""
        return self.node.standing

    @property
    def claim(self) -> str:
        """What it is shown as that is no more than a claim; empty for what stands higher."""
        return self.node.claim

    @property
    def parameters(self) -> str:
        """Return what it was done with, character for character as stored: SQL, JSON, the text of a call."""
        return str(self.node.fields.get("parameter_field", ""))

    @property
    def status(self) -> str:
        """How it ended, in the words of whoever stored it."""
        return str(self.node.fields.get("status", ""))

    @property
    def outcome(self) -> ActionOutcome:
        """Return what the status means; a word that is not known is never taken for a success."""
        return action_outcome(self.node)


def action_outcome(node: Node) -> ActionOutcome:
    """Return what the status of an action means: case, dashes and underscores make no difference."""
    word = " ".join(str(node.fields.get("status", "")).casefold().replace("_", " ").replace("-", " ").split())
    if word in _DONE:
        return "success"
    return "failure" if word in _FAILED else "unknown"


def time_window(since: date | None, until: date | None) -> tuple[datetime, datetime]:
    """Return the window from the one to the other, its end exclusive; a day without a time is in it as a whole.

    Args:
        since: A day, or a time with a zone; None for no beginning. Days are days in UTC.
        until: A day, or a time with a zone; None for no end.

    Raises:
        InvalidInput: When a time has no zone, or the end is before the beginning.
    """
    start = EARLIEST if since is None else _moment("since", since, days=0)
    end = LATEST if until is None else _moment("until", until, days=1)
    if end < start:
        raise InvalidInput("until: is before since")
    return start, end


def _moment(name: str, day: date, *, days: int) -> datetime:
    if isinstance(day, datetime):
        return bounded(day, name)
    try:
        return min(datetime.combine(day + timedelta(days=days), time(), tzinfo=UTC), LATEST)
    except OverflowError:
        return LATEST

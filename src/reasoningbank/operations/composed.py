"""Operations that are more than one call of a bank: each takes a bank first, and answers with a dataclass."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from reasoningbank.errors import BankError, ConversationNotFound, InvalidInput, NodeNotFound
from reasoningbank.types.argument import Budget, EdgeWeight, Limit, Offset, SearchLimit
from reasoningbank.types.graph import Edge, FieldValue, Label, Node
from reasoningbank.types.graph_search import GraphAnswer, GraphFilter, LessonAnswer, LessonHit, NodeView
from reasoningbank.types.memory import Event, Memory
from reasoningbank.types.quantity import counted
from reasoningbank.types.quarantine import unquoted
from reasoningbank.types.records import Job, Run
from reasoningbank.types.session import (
    VERDICTS,
    CaptureReport,
    DistilReport,
    Judgement,
    Refusal,
    SessionSummary,
    Trajectory,
)
from reasoningbank.types.walk import GraphContext, WalkParameters, WalkResult

if TYPE_CHECKING:
    from reasoningbank.bank import Bank
    from reasoningbank.types.conversation import ConversationRecord, ConversationReport
    from reasoningbank.types.mention import SourceReport
    from reasoningbank.types.quarantine import Reader

Rendering: TypeAlias = Literal["text", "llm", "d3", "cypher", "mermaid"]
MOST_NODES = 200
"""Most nodes of a conversation in one answer."""
MOST_TOKENS = 6_000
"""Most tokens of a context for an agent: clients cut longer answers off."""
MAX_BYTES = 16 * 2**20
"""The longest conversation that is read from a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """A memory's life; confidence = alpha / (alpha + beta), both beginning at alpha0 and beta0."""

    memory: Memory
    events: tuple[Event, ...]

    @property
    def alpha0(self) -> float:
        """Alpha before any evidence."""
        return 2 * self.memory.belief.initial

    @property
    def beta0(self) -> float:
        """Beta before any evidence."""
        return 2 * (1 - self.memory.belief.initial)


def history(bank: Bank, memory_id: str, *, reader: Reader = "human") -> History:
    """Show everything that happened to a memory, each event with the confidence that followed.

    Args:
        bank: The bank.
        memory_id: The memory.
        reader: Who is given it; an agent gets nothing of a memory in quarantine.
    """
    return History(memory=bank.get(memory_id, reader=reader), events=bank.memories.history(memory_id))


@dataclass(frozen=True, slots=True, kw_only=True)
class Deleted:
    """Hold what was taken out of the graph.

    Attributes:
        id: Its id.
        edges: The edges that went with a node.
        unlinked_lessons: How many lessons lost their link to it.
        kept_until: Until when it can be brought back; None when it is erased.
    """

    deleted: bool = True
    id: str
    edges: tuple[str, ...] = ()
    unlinked_lessons: int = 0
    kept_until: datetime | None = None

    @property
    def message(self) -> str:
        """Return what a person can do about what an agent has deleted; empty when it is erased."""
        if self.kept_until is None:
            return ""
        return (
            f"Archived {self.id}, not erased: nothing finds it. Until {self.kept_until:%Y-%m-%d} a person brings it "
            f"back with `rbank graph restore {self.id}`, or erases it with `rbank graph delete {self.id}`."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedMemory:
    """Hold what became of a memory that was deleted.

    Attributes:
        memory_id: Its id.
        kept_until: Until when it can be brought back; None when it is erased.
    """

    deleted: bool = True
    memory_id: str
    kept_until: datetime | None = None

    @property
    def message(self) -> str:
        """Return what became of it, and what a person can do about what an agent has deleted."""
        if self.kept_until is None:
            return f"Deleted {self.memory_id}."
        return (
            f"Archived {self.memory_id}, not erased: no search finds it. Until {self.kept_until:%Y-%m-%d} a person "
            f"brings it back with `rbank update {self.memory_id} --state active`, or erases it with "
            f"`rbank delete {self.memory_id}`."
        )


def delete_memory(bank: Bank, memory_id: str, *, reader: Reader = "human") -> DeletedMemory:
    """Erase a memory, its evidence and its earlier versions; what an agent deletes is archived for thirty days.

    Args:
        bank: The bank.
        memory_id: The memory.
        reader: Who deletes it; an agent deletes no memory in quarantine, and none that a person stands by.
    """
    return DeletedMemory(memory_id=memory_id, kept_until=bank.delete(memory_id, reader=reader))


def delete_node(bank: Bank, node_id: str, *, reader: Reader = "human") -> Deleted:
    """Erase a node with its edges, words and vectors; lessons stay.

    Args:
        bank: The bank.
        node_id: The node.
        reader: Who erases it; an agent erases no link of a memory in quarantine.
    """
    try:
        view = bank.graph.get(node_id)
        edges, lessons = tuple(each.id for each in view.edges), len(view.lessons)
    except NodeNotFound:
        edges, lessons = (), 0  # an agent has deleted it, and a person erases what was kept
    until = bank.graph.delete(node_id, reader=reader)
    return Deleted(id=node_id, edges=edges, unlinked_lessons=lessons, kept_until=until)


def delete_edge(bank: Bank, edge_id: str, *, reader: Reader = "human") -> Deleted:
    """Erase an edge, its words and its vector; its nodes stay.

    Args:
        bank: The bank.
        edge_id: The edge.
        reader: Who erases it.
    """
    return Deleted(id=edge_id, kept_until=bank.edges.delete(edge_id, reader=reader))


def search_lessons(
    bank: Bank,
    query: str,
    *,
    limit: SearchLimit = 5,
    tags: Iterable[str] = (),
    linked_to: Iterable[str] | None = None,
    session: str | None = None,
) -> LessonAnswer:
    """Find memories by what they say and by when they apply, in the words of seed 003.

    Args:
        bank: The bank.
        query: The task or problem in words; words that every text has do not count.
        limit: Most lessons, 0 to 100.
        tags: Only lessons that carry all of these.
        linked_to: Only lessons linked with any of these nodes.
        session: What the delivery counts for.
    """
    from reasoningbank.graph.search import together

    recall = bank.search(query, limit=limit, tags=tags, linked_to=linked_to, session=session, by="lesson")
    hits = together([recall.memories, recall.unproven], limit)
    found = tuple(LessonHit(lesson=bank.memories.links(hit.id), score=hit.relevance, legs=hit.legs) for hit in hits)
    said = f"{counted(len(found), 'lesson')}." if found else recall.message
    return LessonAnswer(lessons=found, query=recall.query, message=said, warnings=recall.warnings)


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedSession:
    """A captured session and every judgement of it."""

    trajectory: Trajectory
    judgements: tuple[Judgement, ...]


def captured_session(bank: Bank, trajectory_id: str) -> CapturedSession:
    """Show the steps of a captured session, its evidence and how it was judged.

    Args:
        bank: The bank.
        trajectory_id: The session.
    """
    return CapturedSession(
        trajectory=bank.sessions.get(trajectory_id), judgements=bank.sessions.judgements(trajectory_id)
    )


def distill_summary(
    bank: Bank,
    *,
    task: str,
    approach: str,
    result: str,
    outcome: Literal["success", "failure", "partial"],
    avoid: str = "",
    tags: Iterable[str] = (),
    session: str | None = None,
) -> DistilReport:
    """Make lessons of a finished session's own summary, without a model; each begins at confidence 0.6.

    Args:
        bank: The bank.
        task: What was to be done.
        approach: How it was done.
        result: What came of it.
        outcome: How it ended.
        avoid: Of a partial or failed session: what not to do again.
        tags: A label.
        session: The session's name; without it a new one.
    """
    return bank.distillation.from_summary(
        SessionSummary(
            session_id=session or bank.session,
            project_id=bank.scope.project,
            outcome=next(known for known in VERDICTS if known == outcome),
            task=task,
            approach=approach,
            result=result,
            avoid=avoid,
            tags=tuple(tags),
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundWork:
    """Hold what background work was done in a bank, what waits, and what failed for good.

    Attributes:
        dead: Jobs that failed for good.
        pending: How many sessions wait to be distilled.
        waiting: Jobs that wait for their time or for a worker.
        runs: When each kind of work was last done, and what came of it.
    """

    dead: tuple[Job, ...]
    pending: int
    waiting: tuple[Job, ...] = ()
    runs: tuple[Run, ...] = ()


def background_work(bank: Bank) -> BackgroundWork:
    """Show what background work was done and when, what waits, and the jobs that failed for good."""
    return BackgroundWork(
        dead=bank.jobs.dead(),
        pending=len(bank.sessions.list(pending=True)),
        waiting=bank.jobs.waiting(),
        runs=bank.jobs.runs(),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Queued:
    """How many files were queued."""

    queued: int


def capture(
    bank: Bank,
    *sources: str,
    format: str = "auto",  # noqa: A002 - the name of the option
    later: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> CaptureReport | Queued:
    """Store the sessions of transcripts, judged by the evidence in them; the same session twice adds nothing.

    Args:
        bank: The bank.
        sources: Files; of a folder all `.json` and `.jsonl` files in it and in its folders, but no links.
        format: What the files hold; auto tells it by the content.
        later: Only queue the files for a worker, as a hook does.
        progress: Called before each file with how many are done, and with how many there are.
    """
    from reasoningbank.operations.files import transcripts_in

    files = [file for source in sources for file in transcripts_in(source)]
    if later:
        return Queued(queued=bank.sessions.capture_later(*files, format=format))
    return bank.sessions.capture(*files, format=format, progress=progress)


def keep_source(
    bank: Bank,
    text: str,
    *,
    pointer: str = "",
    source_type: str = "text",
    conv_id: str = "",
    tags: Iterable[str] = (),
) -> SourceReport:
    """Keep a text file in the graph, with what it names as tags and what it states as nodes that cite their place.

    Without a language model nothing is invented, and the source waits for one.

    Args:
        bank: The bank.
        text: The file.
        pointer: Where it lies; by default the file's name.
        source_type: What the source is.
        conv_id: The conversation that it is a part of.
        tags: A further tag.
    """
    if not pointer:
        raise InvalidInput("a source from stdin needs --pointer", hint="Say where the text lies.")
    return bank.sources.add(text, pointer=pointer, source_type=source_type, conv_id=conv_id, tags=tags)


def remember(bank: Bank, conversation: ConversationRecord) -> ConversationReport:
    """Store a finished conversation in the graph; the same conversation a second time adds nothing.

    Args:
        bank: The bank.
        conversation: A file that holds the JSON object of the conversation.
    """
    return bank.conversations.remember(conversation)


def json_object(text: str, name: str) -> Mapping[str, object]:
    """Return the JSON object in a text.

    Raises:
        InvalidInput: When it holds none.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{name} is not JSON", hint="Write one JSON object; see docs/reference/rest.md.") from error
    if not isinstance(value, dict):
        raise InvalidInput(f"{name} must be a JSON object", hint="A conversation is one object with a conv_id.")
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePage:
    """Some nodes, and how large the graph is."""

    nodes: tuple[Node, ...]
    count: int
    all_nodes: int
    all_edges: int
    pending: int


def list_nodes(
    bank: Bank,
    *,
    label: Label | None = None,
    tags: Iterable[str] = (),
    conversation: str | None = None,
    limit: Limit = 0,
    offset: Offset = 0,
) -> NodePage:
    """List nodes in the order they were stored; those of one conversation in the order they were ingested.

    Args:
        bank: The bank.
        label: Only nodes of this label.
        tags: Only nodes with this tag.
        conversation: Only nodes of this conversation.
        limit: Most nodes; 0 lists all.
        offset: How many to leave out first.
    """
    from reasoningbank.safety.checks import checked_limit, checked_offset

    condition = GraphFilter(labels=() if label is None else (label,), tags=unique(tags))
    if conversation is None:
        nodes = bank.graph.list(condition, limit=limit, offset=offset)
    else:
        begin, most = checked_offset(offset), checked_limit(limit)
        nodes = tuple(node for node in bank.graph.conversation(conversation) if condition.accepts(node))
        nodes = nodes[begin : begin + most] if most else nodes[begin:]
    size = bank.graph.size()
    return NodePage(nodes=nodes, count=len(nodes), all_nodes=size.nodes, all_edges=size.edges, pending=size.pending)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A node or an edge that was added, or was there already.

    Attributes:
        what: It, as it is stored.
        new: True when it was added.
    """

    what: Node | Edge
    new: bool

    @property
    def message(self) -> str:
        """Return what became of it, as a sentence."""
        what = self.what
        if isinstance(what, Node):
            return f"{'Added' if self.new else 'Known already:'} {what.label} {what.id}."
        return f"{'Linked' if self.new else 'Known already:'} {what.id}, weight {what.weight:g} ({what.band})."


def add_node(
    bank: Bank,
    *,
    label: Label,
    text: str,
    id: str | None = None,  # noqa: A002 - the name of the field
    conv_id: str = "",
    tags: Iterable[str] = (),
    fields: Mapping[str, FieldValue] | None = None,
) -> Kept:
    """Keep one node; without an id it gets one that follows from its contents, so that a second time adds nothing.

    Args:
        bank: The bank.
        label: What it is.
        text: What it says.
        id: Its id; by default made from label, conversation and text.
        conv_id: The conversation that it belongs to.
        tags: A tag.
        fields: Special fields of its label.
    """
    from reasoningbank.conversations.format import derived_id

    node = Node(
        id=id or derived_id("n", label, conv_id, text),
        label=label,
        text=text,
        conv_id=conv_id,
        tags=unique(tags),
        fields=fields or {},
    )
    added = bank.graph.add(nodes=[node])
    return Kept(what=added.nodes[0], new=bool(added.new))


def add_edge(
    bank: Bank,
    source: str,
    target: str,
    *,
    text: str,
    weight: EdgeWeight,
    id: str | None = None,  # noqa: A002 - the name of the field
    tags: Iterable[str] = (),
) -> Kept:
    """Connect two nodes by a whole sentence that reads from source to target; a second time adds nothing.

    Args:
        bank: The bank.
        source: The node that the sentence begins with.
        target: The node that it ends with.
        text: Why and how they belong together.
        weight: How strong, from 0 to 1.
        id: Its id; by default made from its ends and its text.
        tags: A tag.
    """
    from reasoningbank.conversations.format import derived_id
    from reasoningbank.conversations.parts import why_bare

    if problem := why_bare(text, (source, target)):
        raise InvalidInput(f"text: {problem}", hint="Say in a whole sentence why and how they belong together.")
    name = id or derived_id("e", source, target, text)
    edge = Edge(id=name, source=source, target=target, text=text, weight=weight, tags=unique(tags))
    added = bank.graph.add(edges=[edge])
    return Kept(what=added.edges[0], new=bool(added.new))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """Paths in another form than sentences."""

    form: Rendering
    text: str


def search_graph(
    bank: Bank,
    query: str,
    *,
    limit: SearchLimit = 3,
    budget: Budget | None = None,
    parameters: WalkParameters | None = None,
    user: str = "",
    role: str = "",
    rendering: Rendering = "text",
) -> GraphAnswer | Rendered:
    """Find the nodes that fit a question, and the paths of sentences that begin there.

    Args:
        bank: The bank.
        query: The question in words.
        limit: Most nodes to begin at, 0 to 100.
        budget: Most tokens of the context for a model; 2,000 by default.
        parameters: How to walk.
        user: Who asks.
        role: In which role.
        rendering: The paths as sentences, a model's context, a D3 graph, a query or a picture.
    """
    answer = bank.graph.search(query, limit=limit, budget=budget, parameters=parameters, user=user, role=role)
    return answer if rendering == "text" else _rendered(rendering, answer.walk, answer.context.text)


def walk_graph(
    bank: Bank,
    seeds: Mapping[str, float],
    parameters: WalkParameters | None = None,
    *,
    rendering: Rendering = "text",
    budget: Budget | None = None,
) -> WalkResult | Rendered:
    """Show the paths from nodes that are known.

    A node that does not exist is named in the answer, and the walk begins at the others. When none exists, that is an
    error.

    Args:
        bank: The bank.
        seeds: Where to begin, and with what energy.
        parameters: How to walk.
        rendering: The paths as sentences, a model's context, a D3 graph, a query or a picture.
        budget: Most tokens of a model's context.

    Raises:
        InvalidInput: When there is nothing to begin at, or a budget without a model's context.
        NodeNotFound: When none of the nodes exists.
    """
    from reasoningbank.graph.render import BUDGET, to_llm_context

    if budget is not None and rendering != "llm":
        raise InvalidInput("a budget needs the rendering llm", hint="Add --as llm, or leave the budget out.")
    result = _begun(bank.graph.walk(seeds, parameters))
    if rendering == "text":
        return result
    context = to_llm_context(result, budget=BUDGET if budget is None else budget) if rendering == "llm" else None
    return _rendered(rendering, result, "" if context is None else context.text)


def _begun(result: WalkResult) -> WalkResult:
    """Return a walk that began somewhere.

    Raises:
        InvalidInput: When no node was named.
        NodeNotFound: When none of its nodes exists.
    """
    if not result.seeds:
        raise InvalidInput("a walk needs a node to begin at", hint="Name the id of a node, or ID=SCORE.")
    if any(seed.found for seed in result.seeds):
        return result
    names = ", ".join(repr(seed.id[:80]) for seed in result.seeds[:10])
    raise NodeNotFound(f"no node {names} in this project's graph")


def _rendered(form: Rendering, result: WalkResult, context: str) -> Rendered:
    from reasoningbank.graph.render import to_cypher, to_d3, to_mermaid

    match form:
        case "d3":
            text = json.dumps(to_d3(result), ensure_ascii=False, indent=2)
        case "cypher":
            text = to_cypher(result)
        case "mermaid":
            text = to_mermaid(result)
        case _:
            text = context
    return Rendered(form=form, text=text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Walked:
    """Paths from known nodes, and the same as a language model reads them."""

    walk: WalkResult
    context: GraphContext


def walk_with_context(bank: Bank, seeds: Mapping[str, float], parameters: WalkParameters | None = None) -> Walked:
    """Show the paths from nodes that are known, as sentences and as a model's context.

    Args:
        bank: The bank.
        seeds: Where to begin.
        parameters: How to walk.

    Raises:
        NodeNotFound: When none of the nodes exists.
    """
    return walked(bank.graph.walk(seeds, parameters))


def walked(result: WalkResult) -> Walked:
    """Return a walk with its context.

    Raises:
        NodeNotFound: When none of its nodes exists.
    """
    from reasoningbank.graph.render import to_llm_context

    _begun(result)
    return Walked(walk=result, context=to_llm_context(result, budget=MOST_TOKENS))


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationNodes:
    """The nodes of one conversation, in the order they were ingested."""

    nodes: tuple[Node, ...]


def conversation(bank: Bank, conv_id: str) -> tuple[Node, ...]:
    """Return the nodes of one conversation in the order in which they were ingested.

    Args:
        bank: The bank.
        conv_id: The conversation.

    Raises:
        ConversationNotFound: When none of this id is remembered.
    """
    nodes = bank.graph.conversation(conv_id)
    if not nodes:
        raise ConversationNotFound(f"no conversation {conv_id[:80]!r} in this project")
    return nodes


def node_or_conversation(
    bank: Bank,
    *,
    id: str | None = None,  # noqa: A002 - the name of the field
    conv_id: str | None = None,
) -> NodeView | ConversationNodes:
    """Show a node with its edges and lessons, or every node of a conversation in order.

    Args:
        bank: The bank.
        id: The node.
        conv_id: The conversation.
    """
    if id is not None and conv_id is None:
        return bank.graph.get(id)
    if conv_id is not None and id is None:
        return ConversationNodes(nodes=bank.graph.conversation(conv_id)[:MOST_NODES])
    raise InvalidInput("graph_get needs either id or conv_id", hint="Pass the id of a node, or of a conversation.")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedLesson:
    """Hold what became of a lesson that an agent recorded.

    Attributes:
        state: Its state; quarantined when it looks like a prompt injection.
        stored: new, or corroborated when a memory said the same already.
        message: The same as a sentence.
    """

    id: str
    title: str
    outcome: str
    confidence: float
    state: str = "active"
    stored: str = "new"
    message: str


class LessonRefused(BankError):
    """The lesson was not stored: it breaks a rule of what a session may teach."""

    default_hint = "Change the item and record it again, or leave it: recording nothing is a good answer."
    code = "refused"

    def __init__(self, refusal: Refusal) -> None:
        detail = unquoted(refusal.detail) if refusal.reason == "instruction" else refusal.detail
        super().__init__(f"Not stored: {detail}")
        self.reason = refusal.reason


def record_or_learn(
    bank: Bank,
    *,
    title: str,
    content: str,
    outcome: str,
    description: str = "",
    tags: Iterable[str] = (),
    session: str | None = None,
    trajectory_id: str | None = None,
    steps: Sequence[int] = (),
) -> RecordedLesson:
    """Store a lesson; one that names a captured session is checked and believed like any distilled one.

    Args:
        bank: The bank.
        title: Names the situation.
        content: What to do or avoid, and why.
        outcome: success or failure.
        description: When it applies.
        tags: Labels.
        session: What it is recorded in.
        trajectory_id: The captured session it was learned from.
        steps: The steps of that session it was learned from.
    """
    from reasoningbank.memories.admission import why_held, why_known, why_redacted

    if trajectory_id is None:
        if steps:
            raise InvalidInput("steps belong to a trajectory", hint="Name the trajectory_id from memory_distill.")
        memory = bank.record(
            title=title,
            content=content,
            outcome=outcome,
            description=description,
            tags=tags,
            session=session,
            source="mcp",
        )
        said = f"Recorded {memory.id} with confidence {memory.confidence:.2f}; searches find it from now on."
        held = why_held(memory)
        said = f"{memory.id}: {held}" if held else said
        return _recorded(memory, " ".join(filter(None, (said, why_known(memory), why_redacted(memory)))))
    report = bank.distillation.record(
        trajectory_id, title=title, content=content, outcome=outcome, description=description, tags=tags, steps=steps
    )
    if report.distilled:
        memory = bank.get(report.distilled[0])
        said = f"Recorded {memory.id} with confidence {memory.confidence:.2f}; it rises as it proves itself."
        return _recorded(memory, " ".join(filter(None, (said, why_redacted(memory)))))
    if report.corroborated:
        memory = bank.get(report.corroborated[0])
        said = f"Memory {memory.id} says the same already; nothing new was stored."
        return replace(_recorded(memory, said), stored="corroborated")
    raise LessonRefused(report.refused[0])


def _recorded(memory: Memory, message: str) -> RecordedLesson:
    return RecordedLesson(
        id=memory.id,
        title=memory.title,
        outcome=memory.outcome,
        confidence=memory.confidence,
        state=memory.state,
        message=message,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Assigned:
    """A captured session for the calling agent to distil; without an id none waits.

    Attributes:
        trajectory_id: The session.
        instructions: What to do with it.
        digest: What happened in it, as quoted data.
        schema: What an item is.
        pending: How many sessions wait whose end is known.
        message: What to do next.
    """

    trajectory_id: str = ""
    instructions: str = ""
    digest: str = ""
    schema: Mapping[str, object] = field(default_factory=dict)
    pending: int = 0
    message: str = "No session waits to be distilled."


def next_assignment(bank: Bank, trajectory_id: str | None = None, nothing_in: str | None = None) -> Assigned:
    """Hand out a captured session to distil: the one named, else the one that waits longest.

    Args:
        bank: The bank.
        trajectory_id: The session; without it the one that waits longest.
        nothing_in: A session that taught nothing, so that it no longer waits.
    """
    if nothing_in is not None:
        bank.distillation.skip(nothing_in)
    pending = bank.sessions.list(pending=True)
    waiting = [each.id for each in pending if each.judgement is not None and each.judgement.verdict != "unknown"]
    if trajectory_id is None and not waiting:
        said = "No session waits to be distilled."
        if pending:
            said += f" Of {len(pending)} it is not known how they ended; a person says so with `rbank verdict`."
        return Assigned(message=said)
    assignment = bank.distillation.assignment(trajectory_id if trajectory_id is not None else waiting[0])
    left = len([one for one in waiting if one != assignment.trajectory])
    return Assigned(
        trajectory_id=assignment.trajectory,
        instructions=assignment.instructions,
        digest=assignment.record,
        schema=dict(assignment.schema),
        pending=len(waiting),
        message=(
            f"Record each item with memory_record and this trajectory_id. When there is none, call memory_distill with "
            f"nothing_in={assignment.trajectory}, so that the session no longer waits. Beside it, {left} wait."
        ),
    )


def unique(tags: Iterable[str]) -> tuple[str, ...]:
    """Return the tags without repetition, in their order."""
    return tuple(dict.fromkeys(tags))


def memory_named(text: str) -> int | str:
    """Return the row id of a memory, or its id."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else text


def special_fields(texts: Iterable[str]) -> Mapping[str, FieldValue]:
    """Return the special fields of a node out of ``NAME=VALUE``; those that hold several texts may be repeated.

    Raises:
        InvalidInput: When one is not so written, or given twice.
    """
    from reasoningbank.types.graph import LIST_FIELDS

    found: dict[str, FieldValue] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise InvalidInput(f"a field is NAME=VALUE, not {text[:80]!r}")
        if name in LIST_FIELDS:
            found[name] = (*cast("tuple[str, ...]", found.get(name, ())), value)
        elif name in found:
            raise InvalidInput(f"the field {name[:80]} is given twice, and holds one text")
        else:
            found[name] = value
    return found

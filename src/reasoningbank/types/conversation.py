"""Conversations, questions and workflows (seed 003)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypedDict, get_args

from reasoningbank.errors import InvalidInput
from reasoningbank.types.graph import Edge, Label, Node, check_graph_id
from reasoningbank.types.graph_search import GraphAnswer, Lesson, LessonHit, Preference

Speaker = Literal["user", "assistant", "system", "tool"]
SPEAKERS: tuple[Speaker, ...] = get_args(Speaker)
Part = Literal["node", "edge", "preference", "lesson"]

CONVERSATIONS = "reasoningbank.conversations"
"""The collection in which a bank notes what it has remembered: by digest, of a captured session by its id."""
REQUEST = "request"
"""The name of the request among the ends of a conversation's edges."""
ANSWER = "answer"
"""The name of the final answer there."""
MAX_CONVERSATION = 400_000
"""Most characters of all texts of a conversation together."""
MAX_PARTS = 500
"""Most nodes, edges or preferences of one conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """Hold what somebody said.

    Raises:
        InvalidInput: When the role is none of ``SPEAKERS``.
    """

    role: Speaker
    text: str

    def __post_init__(self) -> None:
        if self.role not in SPEAKERS:
            raise InvalidInput(f"role: must be one of {', '.join(SPEAKERS)}, not {str(self.role)[:80]!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A preference that came up: of the user when the conversation names one, else of the role.

    Attributes:
        preference_type: What it is about, for example ``report_style``.
        text: The rule.
        tags: Words to find it by.
    """

    preference_type: str
    text: str
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonNote:
    """The one lesson of a conversation; ``link_nodes`` holds names as the conversation's edges do."""

    key_lesson: str
    context_to_prefer: str = ""
    tags: tuple[str, ...] = ()
    link_nodes: tuple[str, ...] = ()


class MessageRecord(TypedDict, total=False):
    """A message of a conversation as JSON; its words are ``content`` or ``text``."""

    role: Speaker
    content: str
    text: str


class SourceRecord(TypedDict, total=False):
    """A source of a conversation as JSON; further parts name it by its id, or as ``source-1``, ``source-2``."""

    id: str
    text: str
    source_type: str
    doc_pointer: str
    relevant_parts: str
    tags: list[str]


class ActionRecord(TypedDict, total=False):
    """A step of a conversation as JSON; ``uses`` names the sources and steps that it works with."""

    id: str
    text: str
    status: str
    parameters: str
    uses: list[str]
    tags: list[str]


class NodeRecord(TypedDict, total=False):
    """A node of a conversation as JSON, with the special fields of its label."""

    id: str
    label: Label
    text: str
    tags: list[str]
    user_role: str
    user_id: str
    preference_type: str
    analysis_types: list[str]
    metrics: list[str]
    status: str
    parameter_field: str
    source_type: str
    start_date: str
    end_date: str
    doc_pointer: str
    relevant_parts: str


class EdgeRecord(TypedDict, total=False):
    """A sentence between two parts of a conversation as JSON; an end may be ``request`` or ``answer``."""

    id: str
    source: str
    target: str
    text: str
    weight: float
    tags: list[str]


class WishRecord(TypedDict, total=False):
    """A preference that came up, as JSON."""

    preference_type: str
    text: str
    tags: list[str]


class LessonRecord(TypedDict, total=False):
    """The lesson of a conversation as JSON."""

    key_lesson: str
    context_to_prefer: str
    tags: list[str]
    link_nodes: list[str]


class ConversationName(TypedDict):
    """What every conversation as JSON has."""

    conv_id: str


class ConversationRecord(ConversationName, total=False):
    """A conversation as JSON: what a file, a tool or a request says; ``rests_on`` names what the answer rests on."""

    user_id: str
    user_role: str
    request: str
    answer: str
    messages: list[MessageRecord]
    sources: list[SourceRecord]
    actions: list[ActionRecord]
    nodes: list[NodeRecord]
    rests_on: list[str]
    edges: list[EdgeRecord]
    preferences: list[WishRecord]
    lesson: LessonRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Hold what was asked, done, found and answered.

    Attributes:
        conv_id: The conversation's id; all its nodes carry it.
        messages: What was said, in order.
        user_id, user_role: Who asked.
        request: What was asked; empty to take the first message of the user.
        answer: What was answered in the end; empty to take the last message of the assistant.
        nodes: What else is known of it: sources, actions, events, further answers. Give them ids that stay the same
            when the conversation is remembered again.
        edges: Sentences between them; an end is ``request``, ``answer``, the id of one of these nodes, or of a node
            that the bank has already.
        wishes: Preferences that came up.
        lesson: The lesson of it, if there is one.
        broke_off: Whether it ended before anything was answered: no message is taken for the answer then.

    Raises:
        InvalidInput: The message names the field.
    """

    conv_id: str
    messages: tuple[Message, ...] = ()
    user_id: str = ""
    user_role: str = ""
    request: str = ""
    answer: str = ""
    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    wishes: tuple[Wish, ...] = ()
    lesson: LessonNote | None = None
    broke_off: bool = False

    def __post_init__(self) -> None:
        check_graph_id("conv_id", self.conv_id)
        for name, parts in (("nodes", self.nodes), ("edges", self.edges), ("preferences", self.wishes)):
            if len(parts) > MAX_PARTS:
                raise InvalidInput(f"{name}: a conversation has at most {MAX_PARTS}, not {len(parts)}")
        if self.wishes and not (self.user_id.strip() or self.user_role.strip()):
            raise InvalidInput("preferences: name the user_id or the user_role whose they are")
        if self._length > MAX_CONVERSATION:
            raise InvalidInput(f"messages: a conversation has at most {MAX_CONVERSATION:,} characters in all")
        if not self.asked:
            raise InvalidInput("request: is missing; there is neither a request nor a message of the user")

    @property
    def asked(self) -> str:
        """The request."""
        return self.request.strip() or next((each.text.strip() for each in self.messages if each.role == "user"), "")

    @property
    def answered(self) -> str:
        """The final answer; empty when there is none."""
        if self.answer.strip():
            return self.answer.strip()
        if self.broke_off:
            return ""
        said = [each.text.strip() for each in self.messages if each.role == "assistant" and each.text.strip()]
        return said[-1] if said else ""

    @property
    def is_one_turn(self) -> bool:
        """Return whether the final answer certainly answers the request: the user spoke once, or both were given."""
        spoken = sum(each.role == "user" and bool(each.text.strip()) for each in self.messages)
        return spoken <= 1 or bool(self.request.strip() and self.answer.strip())

    @property
    def _length(self) -> int:
        parts: tuple[Message | Node | Edge | Wish, ...] = (*self.messages, *self.nodes, *self.edges, *self.wishes)
        return sum(len(each.text) for each in parts) + len(self.request) + len(self.answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A node of the bank that is like one of the conversation; no edge is made of likeness alone.

    Attributes:
        node_id: The conversation's node.
        neighbour: The other one.
        score: How much they are alike, from 0 to 1.
    """

    node_id: str
    neighbour: Node
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedPart:
    """Something of a conversation, or of a model's answer about it, that was not stored.

    Attributes:
        part: What it is.
        name: Its name.
        reason: Why it was not stored.
        held: Whether the gate has stopped its text.
    """

    part: Part
    name: str
    reason: str
    held: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationReport:
    """Hold what became of a conversation.

    Attributes:
        conv_id: The conversation.
        nodes, edges: What the bank holds of it now, that was named in this call.
        preferences: The preferences that were stored or held already.
        lesson: The lesson; None when there is none, and when it is in quarantine.
        quarantined: Id of the lesson's memory when it is in quarantine; no search finds it, and the message says why.
        new: Ids of the nodes and edges, and of the lesson's memory, that were not there before.
        proposals: Nodes of other conversations that are like those of this one and are not linked with them.
        refused: What was not stored, with the reason.
        waiting: True when the rest waits for a language model.
        message: One sentence for a person.
    """

    conv_id: str
    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    preferences: tuple[Preference, ...] = ()
    lesson: Lesson | None = None
    quarantined: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    refused: tuple[RefusedPart, ...] = ()
    waiting: bool = False
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphQuery:
    """One search in the graph.

    Attributes:
        query: What to look for.
        bm25_weight, dense_weight: Of the words and of the meaning, each from 0 to 1, not both 0.
        tags: Tags of the graph, as they are stored there; the walk prefers edges that carry them.

    Raises:
        InvalidInput: The message names the field.
    """

    query: str
    bm25_weight: float = 0.5
    dense_weight: float = 0.5
    tags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_query(self.query, self.bm25_weight, self.dense_weight)


@dataclass(frozen=True, slots=True, kw_only=True)
class BankQuery:
    """One search among the lessons; the fields are those of a GraphQuery.

    The dense weight is shared by what a lesson says and when it applies, in the proportion of ``lesson_search``.
    """

    query: str
    bm25_weight: float = 0.5
    dense_weight: float = 0.5

    def __post_init__(self) -> None:
        check_query(self.query, self.bm25_weight, self.dense_weight)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionPlan:
    """How a question is answered.

    Attributes:
        question: The question, secrets removed.
        clarification: One question back; then both lists are empty and nothing is searched.
        graph, bank: The sub-queries.
        dropped: Tags that a model named and the graph does not have.
        model: Who planned; empty for the rule.
        message: One sentence: how it was planned, and what was not used.
    """

    question: str
    clarification: str = ""
    graph: tuple[GraphQuery, ...] = ()
    bank: tuple[BankQuery, ...] = ()
    dropped: tuple[str, ...] = ()
    model: str = ""
    message: str = ""

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of all sub-queries, each once."""
        return tuple(dict.fromkeys(tag for each in self.graph for tag in each.tags))


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAnswer:
    """Hold what the bank knows about a question.

    Attributes:
        plan: How it was searched for.
        graph: Nodes, paths and preferences; its context is the whole answer as text, lessons included, within the
            budget. None when a question was asked back.
        lessons: The lessons that fit, best first.
        sentences: Each path as one story: its sentences in the order of the walk.
        message: One sentence for a person.
    """

    plan: QuestionPlan
    graph: GraphAnswer | None = None
    lessons: tuple[LessonHit, ...] = ()
    sentences: tuple[tuple[str, ...], ...] = ()
    message: str = ""


def check_query(query: str, bm25_weight: float, dense_weight: float) -> None:
    """Refuse a sub-query that cannot be searched.

    Raises:
        InvalidInput: The message names the field.
    """
    if not query.strip():
        raise InvalidInput("query: cannot be empty")
    for name, weight in (("bm25_weight", bm25_weight), ("dense_weight", dense_weight)):
        if isinstance(weight, bool) or not 0.0 <= weight <= 1.0:
            raise InvalidInput(f"{name}: must be a number from 0 to 1, not {weight!r}")
    if not bm25_weight and not dense_weight:
        raise InvalidInput("bm25_weight: and dense_weight cannot both be 0")


WorkflowStatus = Literal["running", "waiting_for_input", "completed", "failed", "cancelled"]
WorkflowEventKind = Literal["progress", "memories", "status", "error", "complete"]
FINAL_EVENTS: frozenset[WorkflowEventKind] = frozenset({"memories", "complete"})
"""What who wants only results is sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowEvent:
    """Something that happened in a workflow.

    Attributes:
        cursor: Its number in the workflow, from 1, without gaps; what comes later has a higher one.
        kind: One of ``EventKind``.
        payload: A JSON object.
        at: When it happened.
    """

    cursor: int
    kind: WorkflowEventKind
    payload: Mapping[str, object]
    at: datetime

    @property
    def final(self) -> bool:
        """Return whether it is a result and not only news about the way to it."""
        return self.kind in FINAL_EVENTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A turn that has ended; it never changes.

    Attributes:
        message_id: The turn's id.
        user_input: What the user asked.
        clarification_question, clarification: What was asked back, and the user's answer; empty when nothing was.
        answer, reasoning: What was answered, and why.
        tool_calls: What was called for it, as JSON objects.
        at: When it ended.
    """

    message_id: str
    user_input: str
    answer: str
    clarification_question: str = ""
    clarification: str = ""
    reasoning: str = ""
    tool_calls: tuple[Mapping[str, object], ...] = ()
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """A conversation and the turn that is under way.

    Attributes:
        id: The workflow's id; also the ``conv_id`` of what is remembered of it.
        status: ``running`` until the turn is answered; ``waiting_for_input`` while a question back is open.
        message_id: The id of the turn under way, or of the last one.
        user_input: What the user asked in it.
        clarification_question: The question back; empty when there was none.
        clarification: The user's answer to it.
        searched: True when the memories of the turn have been found.
        until: Until when whoever searches has time; later another may take the search up.
        user, role: Who asks.
        turns: Turns that have ended, the oldest first; the last 20 of them.
        events: What happened, the oldest first; the last 200 of it.
        cursor: The number of the last event.
    """

    id: str
    status: WorkflowStatus
    message_id: str
    user_input: str
    clarification_question: str = ""
    clarification: str = ""
    searched: bool = False
    until: datetime | None = None
    user: str = ""
    role: str = ""
    turns: tuple[Turn, ...] = ()
    events: tuple[WorkflowEvent, ...] = field(default=())
    cursor: int = 0

    @property
    def message(self) -> str:
        """How it stands, as a sentence."""
        return {
            "running": "The question is being looked up.",
            "waiting_for_input": "The question needs to be made clear first.",
            "completed": "The turn has ended.",
            "failed": "The turn has failed.",
            "cancelled": "The turn was cancelled.",
        }[self.status]

    def after(self, cursor: int, *, final_only: bool = False) -> tuple[WorkflowEvent, ...]:
        """Return the events later than a cursor; of these only the results when only they are wanted."""
        return tuple(each for each in self.events if each.cursor > cursor and (each.final or not final_only))

"""A finished conversation as a bank remembers it, and the report of what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from reasoningbank.domain.graph import Edge, Node, check_graph_id
from reasoningbank.domain.lesson import Lesson
from reasoningbank.domain.reminders import Preference
from reasoningbank.errors import InvalidInput

Speaker = Literal["user", "assistant", "system", "tool"]
SPEAKERS: tuple[Speaker, ...] = get_args(Speaker)
Part = Literal["node", "edge", "preference", "lesson"]

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
    """What somebody said.

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """What was asked, done, found and answered.

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
        said = [each.text.strip() for each in self.messages if each.role == "assistant" and each.text.strip()]
        return said[-1] if said else ""

    @property
    def is_one_turn(self) -> bool:
        """Whether the final answer is certainly the answer to the request: the user spoke once, or both were given."""
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
    """Something of a conversation, or of a model's answer about it, that was not stored."""

    part: Part
    name: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationReport:
    """What became of a conversation.

    Attributes:
        conv_id: The conversation.
        nodes, edges: What the bank holds of it now, that was named in this call.
        preferences: The preferences that were stored or held already.
        lesson: The lesson; None when there is none.
        new: Ids of the nodes and edges, and of the lesson's memory, that were not there before.
        proposals: Nodes of other conversations that are like those of this one and are not linked with them.
        refused: What was not stored, with the reason.
        waiting: Whether the rest waits for a language model.
        message: One sentence for a person.
    """

    conv_id: str
    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    preferences: tuple[Preference, ...] = ()
    lesson: Lesson | None = None
    new: tuple[str, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    refused: tuple[RefusedPart, ...] = ()
    waiting: bool = False
    message: str = ""

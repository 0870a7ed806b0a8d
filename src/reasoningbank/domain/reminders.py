"""What a graph is asked for by what its nodes are: whose preference, what happened when, what from, how it went."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal, get_args

from reasoningbank.domain.graph import Node
from reasoningbank.domain.walk import WalkPath
from reasoningbank.errors import InvalidInput

ActionOutcome = Literal["success", "failure", "unknown"]
ACTION_OUTCOMES: tuple[ActionOutcome, ...] = get_args(ActionOutcome)

SUPERSEDES = "supersedes"
"""The tag of an edge from a preference to the one that it replaces."""

_DONE = frozenset({"success", "successful", "succeeded", "complete", "completed", "done", "finished", "ok", "passed"})
_FAILED = frozenset(
    {"failed", "failure", "error", "aborted", "cancelled", "canceled", "rejected", "refused", "timeout", "timed out"}
)
_ALWAYS = (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))


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
    def id(self) -> str:
        """The node's id."""
        return self.node.id

    @property
    def text(self) -> str:
        """The rule."""
        return self.node.text

    @property
    def preference_type(self) -> str:
        """What it is about: of one type and owner only the newest holds."""
        return str(self.node.fields.get("preference_type", ""))


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
    def parameters(self) -> str:
        """What it was done with, character for character as stored: SQL, JSON, the text of a call."""
        return str(self.node.fields.get("parameter_field", ""))

    @property
    def status(self) -> str:
        """How it ended, in the words of whoever stored it."""
        return str(self.node.fields.get("status", ""))

    @property
    def outcome(self) -> ActionOutcome:
        """What the status means; a word that is not known is never taken for a success."""
        return action_outcome(self.node)


def action_outcome(node: Node) -> ActionOutcome:
    """What the status of an action means: case, dashes and underscores make no difference."""
    word = " ".join(str(node.fields.get("status", "")).casefold().replace("_", " ").replace("-", " ").split())
    if word in _DONE:
        return "success"
    return "failure" if word in _FAILED else "unknown"


def time_window(since: date | None, until: date | None) -> tuple[datetime, datetime]:
    """The window from the one to the other, its end exclusive; a day without a time is in it as a whole.

    Args:
        since: A day, or a time with a zone; None for no beginning. Days are days in UTC.
        until: A day, or a time with a zone; None for no end.

    Raises:
        InvalidInput: When a time has no zone, or the end is before the beginning.
    """
    start = _ALWAYS[0] if since is None else _moment("since", since, days=0)
    end = _ALWAYS[1] if until is None else _moment("until", until, days=1)
    if end < start:
        raise InvalidInput("until: is before since")
    return start, end


def _moment(name: str, day: date, *, days: int) -> datetime:
    if isinstance(day, datetime):
        if day.tzinfo is None:
            raise InvalidInput(f"{name}: must carry a time zone", hint="Use for example datetime.now(timezone.utc).")
        return day
    try:
        return datetime.combine(day + timedelta(days=days), time(), tzinfo=UTC)
    except OverflowError:
        return _ALWAYS[1]

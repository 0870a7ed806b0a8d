"""Preferences, events, sources and actions: questions that the label of a node answers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from reasoningbank.errors import InvalidInput, InvalidNode, NodeNotFound
from reasoningbank.graph.agent_edits import disputing
from reasoningbank.graph.nodes import words
from reasoningbank.graph.traversal import Surroundings, plain_tag
from reasoningbank.graph.walk import read_around, trace
from reasoningbank.memories.admission import admit_edges, admit_nodes
from reasoningbank.safety.injection import verdict
from reasoningbank.storage.database import GraphReader
from reasoningbank.storage.graph_tables import GraphText
from reasoningbank.storage.store import StoreReader, Transaction
from reasoningbank.telemetry import observed
from reasoningbank.types.graph import Edge, Label, Node
from reasoningbank.types.graph_search import (
    SUPERSEDES,
    Action,
    ActionOutcome,
    GraphFilter,
    Occurrence,
    Preference,
    Source,
)
from reasoningbank.types.memory import fingerprint
from reasoningbank.types.resource import checked
from reasoningbank.types.standing import rank_of

if TYPE_CHECKING:
    from reasoningbank.context import Context

_ALL = GraphFilter(labels=("UserPreference",))
_REPLACES = 0.95
_WORDS = 12


@dataclass(frozen=True, slots=True)
class _Owner:
    """A user, or a role."""

    user: str = ""
    role: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """Users are told apart character by character; roles as people write them."""
        return self.user, plain_tag(self.role)


def add(transaction: Transaction, node: Node) -> Preference:
    """Store a preference; the one of its owner and type that held so far is kept, and linked with a sentence.

    The same words once more add nothing: the preference that holds is returned. A claim replaces none that stands
    higher: it is linked as one that disputes it.

    Args:
        transaction: The transaction to write in.
        node: A node of label UserPreference with a type and either a user or a role.
    """
    owner = _stated(node)
    before = [each for each in _known(transaction) if each[1].key == owner.key and _type(each[0]) == _type(node)]
    held = _newest(before)
    above = next((each for each, _ in reversed(before) if rank_of(each.standing) > rank_of(node.standing)), None)
    for known in (above, held):
        if known is not None and fingerprint(known.text) == fingerprint(node.text):
            if rank_of(node.standing) > rank_of(known.standing):
                known = replace(known, provenance=node.provenance)
                admit_nodes(transaction, [(known, words(known))])
            return _preference(known, owner)
    if held is not None and node.ingestion_time < held.ingestion_time:
        node = replace(node, ingestion_time=held.ingestion_time, update_time=None)
    admit_nodes(transaction, [(node, words(node))])
    if above is not None:
        edge = disputing(node, above, node.provenance)
        admit_edges(transaction, [(edge, words(edge))])
    elif held is not None:
        text = f"The wish '{_short(node)}' of {owner.user or owner.role} replaces the earlier wish '{_short(held)}'."
        if verdict(text):
            text = f"A newer wish of {owner.user or owner.role} replaces the earlier one."
        edge = Edge(
            source=node.id,
            target=held.id,
            text=text,
            weight=_REPLACES,
            tags=(SUPERSEDES, "preference"),
            created_time=node.ingestion_time,
            provenance=node.provenance,
        )
        admit_edges(transaction, [(edge, words(edge))])
    return _preference(node, owner)


def preferences(
    reader: StoreReader, *, user: str = "", role: str = "", preference_type: str = "", history: bool = False
) -> tuple[Preference, ...]:
    """Return what holds for a user in a role: the user's own, then the role's where the user has none of a type.

    Of one owner and type the newest holds of those that stand higher than a claim; a newer claim stands beside it.

    Args:
        reader: The graph.
        user: Who asks; only their own preferences and those of the role are looked at, none for nobody.
        role: In which role; roles are compared without case, dashes and underscores.
        preference_type: Only those of this type; empty for all.
        history: Include those that were replaced, after the others, the newest first.
    """
    own, shared = _Owner(user=user), _Owner(role=role)
    if own == shared:
        return ()
    asked = plain_tag(preference_type)
    mine: dict[tuple[tuple[str, str], str], list[Node]] = {}
    for node, owner in _known(reader):
        if owner.key in {own.key, shared.key} and asked in {"", _type(node)}:
            mine.setdefault((owner.key, _type(node)), []).append(node)
    holding: list[Preference] = []
    replaced: list[Preference] = []
    for (key, kind), nodes in mine.items():
        owner = own if key == own.key else shared
        current, disputed = _holding(nodes)
        personal = mine.get((own.key, kind), []) if owner is shared and user else []
        theirs = _holding(personal)[0] if personal else None
        if theirs is not None and (theirs.standing != "claim" or current.standing == "claim"):
            replaced.append(_preference(current, owner, replaced_by=theirs.id))
        else:
            holding.append(_preference(current, owner))
            holding += [_preference(node, owner) for node in disputed]
        later = current
        for node in reversed(nodes):
            if node is not current and node not in disputed:
                replaced.append(_preference(node, owner, replaced_by=later.id))
                later = node
    holding.sort(key=_latest_first)
    holding.sort(key=lambda each: (each.standing == "claim", not each.user))
    replaced.sort(key=_latest_first)
    return tuple(holding + replaced if history else holding)


def _holding(nodes: Sequence[Node]) -> tuple[Node, tuple[Node, ...]]:
    """Return the preference of one owner and type that holds, and the newest claim that says otherwise since.

    Args:
        nodes: At least one, the oldest first.
    """
    current = next((node for node in reversed(nodes) if node.standing != "claim"), nodes[-1])
    newest = nodes[-1]
    return current, () if newest is current else (newest,)


def _known(reader: StoreReader) -> list[tuple[Node, _Owner]]:
    """Return every preference that has an owner, the oldest first."""
    requesters: dict[str, _Owner | None] = {}
    found: list[tuple[Node, _Owner]] = []
    for node in reader.graph.node_page(_ALL, limit=0):
        owner = _stated(node)
        if owner == _Owner() and node.conv_id:
            if node.conv_id not in requesters:
                requesters[node.conv_id] = _requester(reader.graph.conversation(node.conv_id))
            owner = requesters[node.conv_id] or owner
        if owner != _Owner():
            found.append((node, owner))
    found.sort(key=lambda each: each[0].ingestion_time)
    return found


def _requester(conversation: Iterable[Node]) -> _Owner | None:
    """Return who a conversation was held with, when that was one person or one role."""
    asked = {_stated(node) for node in conversation if node.label == "UserRequest"} - {_Owner()}
    return asked.pop() if len(asked) == 1 else None


def _stated(node: Node) -> _Owner:
    """Return whose a node says it is: a user's, else a role's."""
    user, role = (str(node.fields.get(name, "")) for name in ("user_id", "user_role"))
    return _Owner(user=user) if user else _Owner(role=role)


def _newest(known: Sequence[tuple[Node, _Owner]]) -> Node | None:
    return known[-1][0] if known else None


def _type(node: Node) -> str:
    return plain_tag(str(node.fields.get("preference_type", "")))


def _preference(node: Node, owner: _Owner, *, replaced_by: str = "") -> Preference:
    return Preference(node=node, user=owner.user, role=owner.role, replaced_by=replaced_by)


def _latest_first(preference: Preference) -> float:
    return -preference.node.ingestion_time.timestamp()


def _short(node: Node) -> str:
    return " ".join(node.text.split()[:_WORDS])


SOURCE_HOPS = 3
"""How many edges lie between an answer and its sources at most."""
_METHOD: tuple[Label, ...] = ("AgentAction", "AgentAnswer")
_TRACED: tuple[Label, ...] = ("AgentAnswer", "AgentAction")


def sources(reader: GraphReader, answer_id: str, *, hops: int = SOURCE_HOPS) -> tuple[Source, ...]:
    """Return the data sources behind an answer or an action, each with the way to it, the surest first.

    Edges are followed from what came of something to what it came of, over the actions and answers between; so what
    was made of the answer later is none of its sources.

    Raises:
        NodeNotFound: When there is no such node.
        InvalidNode: When it is neither an answer nor an action.
    """
    node = reader.nodes([answer_id]).get(answer_id)
    if node is None:
        raise NodeNotFound(f"there is no node {answer_id[:80]!r}")
    if node.label not in _TRACED:
        raise InvalidNode(f"label: only answers and actions have sources, not a node of label {node.label}")
    found = trace(Surroundings(reader), answer_id, "DataSource", hops=hops, through=_METHOD, backwards=True)
    return tuple(Source(node=source, path=path) for source, path in found)


def actions(
    reader: StoreReader,
    *,
    tags: Collection[str] = (),
    conv_id: str | None = None,
    outcome: ActionOutcome | None = None,
    limit: int = 0,
) -> tuple[Action, ...]:
    """Return the actions that meet every condition: more tags first, then in the order they were stored.

    Args:
        reader: The graph.
        tags: At least one of these; empty for all.
        conv_id: Only those of this conversation.
        outcome: Only those that ended so.
        limit: At most so many; 0 for all.
    """
    wanted = frozenset(map(plain_tag, tags))
    page = reader.graph.node_page(GraphFilter(labels=("AgentAction",), conv_id=conv_id), limit=0)
    kept = [
        Action(node=node) for node in page if (not wanted or matches(node, wanted)) and outcome in {None, _ended(node)}
    ]
    kept.sort(key=lambda action: -matches(action.node, wanted))
    return tuple(kept[:limit] if limit else kept)


def matches(node: Node, wanted: Collection[str]) -> int:
    """Return how many of the tags, each in its plain form, the node carries."""
    return len({plain_tag(tag) for tag in node.tags} & set(wanted))


def _ended(node: Node) -> ActionOutcome:
    return Action(node=node).outcome


ANSWER_HOPS = 2
"""How many edges lie between an event and the answers it led to at most: an action is between."""
_BETWEEN: tuple[Label, ...] = ("AgentAction",)


def events(
    reader: StoreReader,
    window: tuple[datetime, datetime],
    *,
    tags: Collection[str] = (),
    recency: bool = False,
    limit: int = 0,
) -> tuple[Occurrence, ...]:
    """Return the events that overlap the window, each with the answers it is linked with.

    Those with more of the tags come first. Equal ones are in the order they were stored; with recency, and only then,
    the ones that began last come first among equals.

    Args:
        reader: The graph.
        window: From when to when, the end exclusive.
        tags: At least one of these; empty for all.
        recency: Put later ones first among equals.
        limit: At most so many; 0 for all.
    """
    wanted = frozenset(map(plain_tag, tags))
    page = reader.graph.node_page(GraphFilter(labels=("Event",), during=window), limit=0)
    kept = [node for node in page if not wanted or matches(node, wanted)]
    if recency:
        kept.sort(key=_start, reverse=True)
    kept.sort(key=lambda node: -matches(node, wanted))
    kept = kept[:limit] if limit else kept
    surroundings = Surroundings(reader.graph)
    read_around(surroundings, [node.id for node in kept], hops=ANSWER_HOPS, through=_BETWEEN)
    return tuple(_occurrence(surroundings, node) for node in kept)


def _occurrence(surroundings: Surroundings, event: Node) -> Occurrence:
    start, end = event.window or (event.ingestion_time, event.ingestion_time)
    found = trace(surroundings, event.id, "AgentAnswer", hops=ANSWER_HOPS, through=_BETWEEN)
    return Occurrence(
        event=event,
        start=start,
        end=end,
        answers=tuple(path for _, path in found),
        answer_nodes=tuple(node for node, _ in found),
    )


def _start(event: Node) -> datetime:
    return (event.window or (event.ingestion_time, event.ingestion_time))[0]


@checked
class Preferences:
    """Preferences of users and roles."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def add(
        self,
        preference_type: str,
        text: str,
        *,
        user: str = "",
        role: str = "",
        conv_id: str = "",
        tags: Iterable[str] = (),
    ) -> Preference:
        """Keep a preference out of somebody's feedback; it takes the place of the earlier one of its type and owner.

        The earlier one is kept, linked by a sentence, and listed with its history; it holds again when
        the node of the newer one is deleted. The same words once more add nothing.

        Args:
            preference_type: What it is about, for example ``report_style``; of one type only the newest holds.
            text: The rule, for example "tables, no pie charts".
            user: Whose it is, by id.
            role: Or the role for which it holds. Exactly one of both is given.
            conv_id: The conversation in which it was said.
            tags: Words to find it by.

        Raises:
            InvalidNode: When the type or the text is empty, or not exactly one owner is given.
            ModelMismatch: When the bank was built with another embedder.
        """
        from reasoningbank.graph.nodes import embedded, note_pending
        from reasoningbank.memories.admission import check_items, entry_of

        owner = _owner(user, role)
        if not preference_type.strip():
            raise InvalidNode("preference_type: cannot be empty")
        now = self._context.clock.now()
        node = Node(
            label="UserPreference",
            text=text,
            conv_id=conv_id,
            tags=tuple(dict.fromkeys(tags)),
            fields={"preference_type": preference_type.strip(), **owner},
            ingestion_time=now,
            provenance=entry_of(self._context.session),
        )
        (node,) = check_items([node])
        store = self._context.store_in_space()
        vectors = embedded([GraphText(id=node.id, text=node.text)], self._context.embedder)
        with observed("create_memory", store=self._context.place), store.transaction() as transaction:
            kept = add(transaction, node)
            if kept.id == node.id:
                transaction.graph.put_graph_vectors("node", vectors, self._context.embedder.model_id)
                note_pending(transaction, at=now)
        return kept

    def list(
        self, *, user: str = "", role: str = "", preference_type: str = "", history: bool = False
    ) -> tuple[Preference, ...]:
        """Return what holds for a user, for a role, or for a user in a role; nobody else's preferences are looked at.

        The user's own come first, then the role's, where the user has none of the same type. A preference that names no
        owner belongs to whom its conversation was held with.

        Args:
            user: Who asks, by id.
            role: In which role.
            preference_type: Only this type.
            history: Include those that were replaced, each with the id of what holds instead.

        Raises:
            InvalidInput: When neither a user nor a role is given.
        """
        from reasoningbank.safety.graph_text import reveal

        if not user.strip() and not role.strip():
            raise InvalidInput("user: say for whom; preferences are shown to nobody else", hint="Pass user= or role=.")
        with observed("search_memory", store=self._context.place):
            found = preferences(
                self._context.store(), user=user, role=role, preference_type=preference_type, history=history
            )
            shown = reveal([each.node for each in found])
        return tuple(replace(each, node=node) for each, node in zip(found, shown, strict=True))


def _owner(user: str, role: str) -> dict[str, str]:
    """Return the fields that say whose a preference is."""
    if bool(user.strip()) == bool(role.strip()):
        raise InvalidNode("user: a preference belongs to a user or to a role, to exactly one of both")
    return {"user_id": user} if user.strip() else {"user_role": role}

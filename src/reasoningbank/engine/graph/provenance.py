"""What an answer rests on, and how things were done: sources, and actions with their parameters word for word."""

from __future__ import annotations

from collections.abc import Collection

from reasoningbank.domain.graph import Label, Node
from reasoningbank.domain.graph_search import GraphFilter
from reasoningbank.domain.reminders import Action, ActionOutcome, Source
from reasoningbank.engine.graph.energy import plain_tag
from reasoningbank.engine.graph.reading import Surroundings
from reasoningbank.engine.graph.tracing import trace
from reasoningbank.errors import InvalidNode, NodeNotFound
from reasoningbank.ports.graph import GraphReader, GraphReads

SOURCE_HOPS = 3
"""How many edges lie between an answer and its sources at most."""
_METHOD: tuple[Label, ...] = ("AgentAction", "AgentAnswer")
_TRACED: tuple[Label, ...] = ("AgentAnswer", "AgentAction")


def sources(reader: GraphReader, answer_id: str, *, hops: int = SOURCE_HOPS) -> tuple[Source, ...]:
    """The data sources behind an answer or an action, each with the way to it, the surest first.

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
    reader: GraphReads,
    *,
    tags: Collection[str] = (),
    conv_id: str | None = None,
    outcome: ActionOutcome | None = None,
    limit: int = 0,
) -> tuple[Action, ...]:
    """The actions that meet every condition, those with more of the tags first, else in the order they were stored.

    Args:
        reader: The graph.
        tags: At least one of these; empty for all.
        conv_id: Only those of this conversation.
        outcome: Only those that ended so.
        limit: At most so many; 0 for all.
    """
    wanted = frozenset(map(plain_tag, tags))
    page = reader.node_page(GraphFilter(labels=("AgentAction",), conv_id=conv_id), limit=0)
    kept = [
        Action(node=node) for node in page if (not wanted or matches(node, wanted)) and outcome in {None, _ended(node)}
    ]
    kept.sort(key=lambda action: -matches(action.node, wanted))
    return tuple(kept[:limit] if limit else kept)


def matches(node: Node, wanted: Collection[str]) -> int:
    """How many of the tags, each in its plain form, the node carries."""
    return len({plain_tag(tag) for tag in node.tags} & set(wanted))


def _ended(node: Node) -> ActionOutcome:
    return Action(node=node).outcome

"""What becomes of a source's mentions: names are tags of the source, statements are nodes that cite their place."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace

from reasoningbank.types.graph import MAX_GRAPH_TAG, MAX_GRAPH_TAGS, Edge, Node
from reasoningbank.types.mention import Mention

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

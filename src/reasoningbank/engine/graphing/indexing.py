"""What is derived from nodes and edges: their words at once, their vectors when there is time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reasoningbank.domain.graph import Edge, Node
from reasoningbank.domain.graph_search import GRAPH_KINDS, GraphKind
from reasoningbank.engine.analysis import analyse
from reasoningbank.errors import ModelMismatch
from reasoningbank.ports import Embedder, GraphText, Store, Vector

EMBED = "graph_embed"
"""The kind of job that makes the vectors of nodes and edges that have none."""
EMBED_KEY = "pending"
AT_ONCE = 256
"""Up to so many vectors are made before a write returns: two to five seconds of one core with the shipped model."""
_BATCH = 64


def words(item: Node | Edge) -> str:
    """The analysed words that a node or an edge is found by: its text and tags, of a node its special fields too."""
    parts = [item.text, " ".join(item.tags)]
    if isinstance(item, Node):
        parts += [" ".join(value) if isinstance(value, tuple) else value for value in item.fields.values()]
    return " ".join(part for part in map(analyse, parts) if part)


def embedded(texts: Sequence[GraphText], embedder: Embedder) -> dict[str, Vector]:
    """The vector of each text by the id of its node or edge."""
    found: dict[str, Vector] = {}
    for start in range(0, len(texts), _BATCH):
        batch = texts[start : start + _BATCH]
        vectors = embedder.embed_documents([each.text for each in batch])
        found |= {each.id: vector for each, vector in zip(batch, vectors, strict=True)}
    return found


def embed_pending(store: Store, embedder: Embedder, *, limit: int = 0) -> int:
    """Makes missing vectors, nodes before edges, in transactions of their own; returns how many were stored.

    Args:
        store: Where they are missing.
        embedder: Makes them; must be of the bank's vector space.
        limit: At most so many; 0 means all.

    Raises:
        ModelMismatch: When the bank's vectors come from another model.
    """
    if store.model_id not in {None, embedder.model_id}:
        raise ModelMismatch(f"the bank's vectors come from {store.model_id}, the embedder is {embedder.model_id}")
    made = 0
    for kind in GRAPH_KINDS:
        for batch in _pending(store, kind):
            wanted = batch[: limit - made] if limit else batch
            if not wanted:
                return made
            vectors = embedded(wanted, embedder)
            with store.transaction() as transaction:
                current = transaction.nodes(vectors) if kind == "node" else transaction.edges(vectors)
                same = {
                    each.id: vectors[each.id]
                    for each in wanted
                    if each.id in current and current[each.id].text == each.text
                }
                made += transaction.put_graph_vectors(kind, same, embedder.model_id)
    return made


def _pending(store: Store, kind: GraphKind) -> Iterator[Sequence[GraphText]]:
    """Batches of what has no vector yet, until there is none; what cannot get one is not asked for again."""
    tried: set[str] = set()
    while True:
        batch = store.unembedded(kind, limit=_BATCH)
        fresh = [each for each in batch if each.id not in tried]
        if not fresh:
            return
        tried.update(each.id for each in fresh)
        yield fresh

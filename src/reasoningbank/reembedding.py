"""Making every vector of a bank anew: of memories, of traces' queries, of documents and of the graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from reasoningbank.documents.documents import put_again, vectors_of
from reasoningbank.graph.nodes import embedded
from reasoningbank.memories.admission import reindex
from reasoningbank.memories.vectors import index
from reasoningbank.storage.store import GraphText, Store, StoreReader, Transaction
from reasoningbank.types.experience import COMPARED_TRACES, Trace
from reasoningbank.types.graph_search import GRAPH_KINDS, GraphFilter, GraphKind
from reasoningbank.types.memory import STATES
from reasoningbank.types.ports import Embedder, Vector
from reasoningbank.types.recall import Filter
from reasoningbank.types.records import Indexed

Progress = Callable[[int, int], None]

_EVERYTHING = Filter(states=STATES)
_BATCH = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Remade:
    """New vectors of everything, made while others may write.

    Attributes:
        memories: By id and version.
        queries: By trace.
        texts: By a document's text.
        graph: By kind, then by id and text.
    """

    memories: Mapping[tuple[str, int], Indexed]
    queries: dict[str, Vector]
    texts: Mapping[str, Vector]
    graph: Mapping[GraphKind, Mapping[tuple[str, str], Vector]]


def remake(store: Store, embedder: Embedder, progress: Progress | None = None) -> Remade:
    """Embed everything that the bank holds; the longest part, and it holds no lock.

    Args:
        store: The bank.
        embedder: Makes the vectors.
        progress: Called with memories, nodes and edges done, and with how many there are in all.
    """
    memories = store.memories.page(_EVERYTHING, limit=0, offset=0)
    size = store.graph.graph_size()
    total = len(memories) + size.nodes + size.edges
    indexed: dict[tuple[str, int], Indexed] = {}
    for start in range(0, len(memories), _BATCH):
        batch = memories[start : start + _BATCH]
        for memory, each in zip(batch, index(batch, embedder), strict=True):
            indexed[memory.id, memory.version] = each
        if progress:
            progress(len(indexed), total)
    graph: dict[GraphKind, dict[tuple[str, str], Vector]] = {}
    done = len(indexed)
    for kind in GRAPH_KINDS:
        graph[kind] = {}
        texts = graph_texts(store, kind)
        for start in range(0, len(texts), _BATCH):
            group = texts[start : start + _BATCH]
            vectors = embedded(group, embedder)
            graph[kind].update({(each.id, each.text): vectors[each.id] for each in group})
            done += len(group)
            if progress:
                progress(done, total)
    return Remade(
        memories=indexed,
        queries=query_vectors(store.sessions.traces(limit=COMPARED_TRACES), embedder),
        texts=vectors_of(store.documents.below(), embedder),
        graph=graph,
    )


def put_remade(transaction: Transaction, embedder: Embedder, remade: Remade) -> int:
    """Replace every vector in one step for readers; return how many memories there are.

    What was changed since ``remake`` is embedded here.
    """
    transaction.forget_vectors()
    current = transaction.memories.page(_EVERYTHING, limit=0, offset=0)
    for memory in current:
        indexed = remade.memories.get((memory.id, memory.version)) or index([memory], embedder)[0]
        reindex(transaction, memory, indexed)
    queries = dict(remade.queries)
    for trace in transaction.sessions.traces(limit=COMPARED_TRACES):
        if trace.id not in queries:
            queries |= query_vectors([trace], embedder)
        transaction.sessions.update_trace(trace, queries[trace.id], embedder.model_id)
    put_again(transaction, embedder, remade.texts)
    for kind in GRAPH_KINDS:
        texts, known = graph_texts(transaction, kind), remade.graph[kind]
        late = embedded([each for each in texts if (each.id, each.text) not in known], embedder)
        vectors = {each.id: late[each.id] if each.id in late else known[each.id, each.text] for each in texts}
        transaction.graph.put_graph_vectors(kind, vectors, embedder.model_id)
    return len(current)


def query_vectors(traces: Sequence[Trace], embedder: Embedder) -> dict[str, Vector]:
    """Return the vectors of the traces' queries by trace id, made as those of the queries they are compared with."""
    found: dict[str, Vector] = {}
    for start in range(0, len(traces), _BATCH):
        batch = traces[start : start + _BATCH]
        vectors = embedder.embed_queries([trace.query for trace in batch])
        found |= {trace.id: vector for trace, vector in zip(batch, vectors, strict=True)}
    return found


def graph_texts(reader: StoreReader, kind: GraphKind) -> list[GraphText]:
    """Return the text of every node, or of every edge."""
    if kind == "node":
        return [GraphText(id=node.id, text=node.text) for node in reader.graph.node_page(GraphFilter(), limit=0)]
    return [GraphText(id=edge.id, text=edge.text) for edge in reader.graph.edge_page(limit=0)]
